"""A search engine over the documentation of Python's standard library, which learns from its users with rankloop."""
