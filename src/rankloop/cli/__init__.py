"""The command line."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit."""
    try:
        from rankloop.cli.app import app

        app()
    except KeyboardInterrupt:  # before there was anything to interrupt
        sys.exit(130)
