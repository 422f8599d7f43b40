"""Which rankloop this is: apart from the front door, so that every room may ask."""

__version__ = "0.1.0"
