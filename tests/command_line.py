"""The command line, called as a user calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer.main
from typer.testing import CliRunner, Result

from rankloop.cli.app import app


def rankloop(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(*arguments: object) -> str:
    """The one line with which a command is refused."""
    result = rankloop(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("rankloop: ")
    return result.stderr.removeprefix("rankloop: ").strip()


def options_of(command: Sequence[str]) -> set[str]:
    """The options that a command has, which is written as words: `rankloop live keys create ...`."""
    found: Any = typer.main.get_command(app)
    for word in command[1:]:
        if not hasattr(found, "commands"):
            break
        assert word in found.commands, f"there is no {word} in {' '.join(command)}"
        found = found.commands[word]
    return {option for parameter in found.params for option in parameter.opts}
