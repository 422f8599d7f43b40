"""`rankloop policies`: what there is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def policies() -> None:
    """List the policies by the problem they are for, with their parameters."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from rankloop.cli.arguments import click_policies, dueling_policies, feature_policies
    from rankloop.cli.tables import console

    problems: dict[str, Mapping[str, Callable[..., Any]]] = {
        "Which of many rankers is best? (rankloop duel)": dueling_policies(),
        "Which items to show, in which order? (rankloop rerank, rankloop drift)": click_policies(),
        "Which items, by their features and topics? (rankloop diversify)": feature_policies(),
    }
    for problem, known in problems.items():
        table = Table(title=problem, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("policy", "what it is for", "parameters"):
            table.add_column(heading, overflow="fold")
        for name, cls in sorted(known.items()):
            table.add_row(f"[bold]{escape(name)}[/]", escape(_first_line(cls)), escape(_parameters(cls)))
        console().print(table)


def _first_line(cls: Callable[..., Any]) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _parameters(cls: Callable[..., Any]) -> str:
    """The parameters that one may set, with their defaults; what the problem gives is left out."""
    given = inspect.signature(cls).parameters.values()
    return ", ".join(
        f"{parameter.name}={_short(parameter.default)}"
        for parameter in given
        if parameter.name != "seed" and parameter.default is not inspect.Parameter.empty
    )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
