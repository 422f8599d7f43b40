"""`rankloop advise`: how many days until a decision, and with which parameters."""

from __future__ import annotations

from typing import Annotated

import typer

from rankloop.cli.arguments import number, whole
from rankloop.cli.errors import refusing
from rankloop.cli.groups import Group
from rankloop.cli.options import OPTIONS, ListLength, needed

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Estimate how many days a decision takes, and with which parameters."
)

Traffic = Annotated[str, needed("Comparisons or lists per day.", "X")]
AttractionGap = Annotated[str, needed("The smallest difference in attraction that matters.", "X")]
Positions = Annotated[str, needed("Positions of a list.", "K")]


@app.command()
def rankers(
    traffic: Traffic,
    rankers: Annotated[str, needed("Number of rankers.", "N")],
    gap: Annotated[
        str,
        needed("The smallest difference that matters: the better of two rankers wins with probability 1/2 + gap.", "X"),
    ],
    epsilon: Annotated[str, typer.Option(metavar="X", help="Accepted probability of losing the best ranker.")] = "0.01",
) -> None:
    """Which of many rankers is best?

    Example: rankloop advise rankers --traffic 1e5 --rankers 136 --gap 0.05
    """
    with refusing(options=OPTIONS):
        from rankloop.theory import advise_rankers

        a_day, n_rankers = number("--traffic", traffic), whole("--rankers", rankers, 2)
        difference, risk = number("--gap", gap), number("--epsilon", epsilon)
        print(advise_rankers(a_day, n_rankers=n_rankers, gap=difference, epsilon=risk))


@app.command()
def rerank(
    traffic: Traffic,
    items: ListLength,
    gap: AttractionGap,
    attraction: Annotated[str, needed("Probability of a click on the better of two such items.", "X")],
    examination: Annotated[str, needed("Probability that a user looks at the last position.", "X")],
    wrong_pairs: Annotated[
        str | None,
        typer.Option(metavar="N", help="Pairs of the production list in the wrong order.", show_default="all"),
    ] = None,
) -> None:
    """What is the best order of the items of a production list?

    Example: rankloop advise rerank --traffic 2e4 --items 10 --gap 0.1 --attraction 0.5 --examination 0.5
    """
    with refusing(options=OPTIONS):
        from rankloop.theory import advise_reranking

        advice = advise_reranking(
            number("--traffic", traffic),
            n_items=whole("--items", items, 2),
            gap=number("--gap", gap),
            attraction=number("--attraction", attraction),
            examination=number("--examination", examination),
            wrong_pairs=None if wrong_pairs is None else whole("--wrong-pairs", wrong_pairs, 0),
        )
        print(advice)


@app.command()
def drift(
    traffic: Traffic,
    items: Annotated[str, needed("Number of items.", "L")],
    positions: Positions,
    gap: AttractionGap,
    days: Annotated[str, needed("Days that this will run.", "X")],
    changes: Annotated[str, needed("Number of changes of preferences in that time.", "X")],
    epsilon: Annotated[str, typer.Option(metavar="X", help="Width of the policies' confidence bounds.")] = "0.5",
) -> None:
    """How long until a change is followed, and how long to remember?

    Example: rankloop advise drift --traffic 1e4 --items 10 --positions 3 --gap 0.3 --days 100 --changes 9
    """
    with refusing(options=OPTIONS):
        from rankloop.theory import advise_drift

        advice = advise_drift(
            number("--traffic", traffic),
            n_items=whole("--items", items, 2),
            n_positions=whole("--positions", positions, 1),
            gap=number("--gap", gap),
            days=number("--days", days),
            changes=number("--changes", changes),
            epsilon=number("--epsilon", epsilon),
        )
        print(advice)


@app.command()
def diversify(
    traffic: Traffic,
    features: Annotated[str, needed("Features of relevance and topics together.", "D")],
    positions: Positions,
    gap: AttractionGap,
    looks: Annotated[str, typer.Option(metavar="X", help="Items of a list that a user looks at, on average.")] = "1.0",
) -> None:
    """How long until relevance and topics are known?

    Example: rankloop advise diversify --traffic 1e4 --features 30 --positions 10 --gap 0.1
    """
    with refusing(options=OPTIONS):
        from rankloop.theory import advise_diversity

        a_day, n_features = number("--traffic", traffic), whole("--features", features, 1)
        n_positions, difference = whole("--positions", positions, 1), number("--gap", gap)
        looked_at = number("--looks", looks)
        print(advise_diversity(a_day, n_features=n_features, n_positions=n_positions, gap=difference, looks=looked_at))
