"""Policies as their pseudo-code says, compiled, with no cleverness: what the package's own are measured against."""
