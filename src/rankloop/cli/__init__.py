"""What a person sees: the command line."""

from rankloop.cli.app import main

__all__ = ["main"]
