"""The command `rankloop`. Each subcommand has its own module, which imports what is heavy only when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from rankloop import __version__
from rankloop.cli.advise import app as advise
from rankloop.cli.bounds import app as bounds
from rankloop.cli.clicks import app as clicks
from rankloop.cli.dashboard import dashboard
from rankloop.cli.demo import demo
from rankloop.cli.diversify import diversify
from rankloop.cli.drift import drift
from rankloop.cli.duel import duel
from rankloop.cli.errors import Refused
from rankloop.cli.experiments import experiments
from rankloop.cli.groups import Group
from rankloop.cli.keys import app as keys
from rankloop.cli.live import app as live
from rankloop.cli.policies import policies
from rankloop.cli.preferences import preferences
from rankloop.cli.reproduce import reproduce
from rankloop.cli.rerank import rerank
from rankloop.cli.serve import serve

INTERRUPTED = 130
"""What a shell expects of a command that Ctrl-C has ended."""


class Commands(Group):
    """Subcommands whose errors are one line on standard error."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - errors are shown here, whoever calls
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and exit."""
        try:
            code = super().main(args, prog_name or "rankloop", complete_var, False, windows_expand_args, **extra)
        except Refused as error:
            _complain(str(error))
            code = 2
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except Exception as error:
            # The framework's errors have no common base that all its versions name, but all can say what is wrong.
            if not hasattr(error, "format_message"):
                raise
            if error.format_message():  # empty where the help was shown instead
                _complain(error.format_message())
            code = 2
        if code == INTERRUPTED:
            print("interrupted", file=sys.stderr)
        sys.exit(code or 0)


def _complain(message: str) -> None:
    line = " ".join(message.split())
    print(f"rankloop: {line}", file=sys.stderr)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"rankloop {__version__}")
        raise typer.Exit


@app.callback()
def _rankloop(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Optimise ranking systems online, as bandits."""


for command in (duel, rerank, drift, diversify, preferences, policies, experiments, reproduce, demo, serve):
    app.command()(command)
app.add_typer(clicks, name="clicks")
app.add_typer(bounds, name="bounds")
app.add_typer(advise, name="advise")
live.add_typer(keys, name="keys")
live.command()(dashboard)
app.add_typer(live, name="live")
