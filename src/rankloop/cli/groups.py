"""Commands with subcommands, which suggest the nearest where there is none of a name."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from rankloop.cli.errors import Refused
from rankloop.wording import suggestion


class Group(TyperGroup):
    """A command with subcommands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The subcommand that was asked for."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise Refused(f"no command {args[0]!r}{suggestion(args[0], sorted(self.commands))}")
        return super().resolve_command(ctx, args)
