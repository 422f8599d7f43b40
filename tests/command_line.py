"""The command line, called as a user calls it."""

from __future__ import annotations

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
