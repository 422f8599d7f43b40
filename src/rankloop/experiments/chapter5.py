"""Chapter 5, lists that are relevant and diverse: CascadeHybrid and bandits that rank by features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from rankloop.experiments.data import Data
from rankloop.experiments.declare import Amount, Experiment, Panel, Player, Scale
from rankloop.experiments.parts import even, player
from rankloop.experiments.ratings import MOVIELENS, YAHOO_MUSIC, RatedDataset
from rankloop.policies import CascadeHybrid, CascadeLinUCB, CascadeLinUCBFull, CascadeLSB, CascadeLSBFull

TRADE_OFFS = tuple(tenth / 10 for tenth in range(11))
TOPICS = (5, 10, 15, 20)
POSITIONS = (5, 10, 15, 20)

TRADE_OFF, N_TOPICS, SHOWN = 0.5, 20, 10
"""Values in the experiments that study another parameter."""


def recommenders(n_positions: int) -> list[Player]:
    """The policies that chapter 5 compares: two that only know one side of items, and three that know both."""
    return [
        player("CascadeHybrid", CascadeHybrid, n_positions, gamma=1.0),
        player("CascadeLinUCB", CascadeLinUCB, n_positions, gamma=1.0),
        player("CascadeLinUCBFull", CascadeLinUCBFull, n_positions, gamma=1.0),
        player("CascadeLSB", CascadeLSB, n_positions, gamma=1.0),
        player("CascadeLSBFull", CascadeLSBFull, n_positions, gamma=1.0),
    ]


def _panel(
    name: str, value: float, data: Data, dataset: RatedDataset, amount: Amount, *, trade_off: float = TRADE_OFF,
    n_topics: int = N_TOPICS, n_positions: int = SHOWN,
) -> Panel:  # fmt: skip
    number = amount.problems or 1
    users, source = data.users(dataset, trade_off=trade_off, n_topics=n_topics, number=number)
    return Panel(name, users, source, recommenders(n_positions), value=value, checkpoints=even(amount.horizon))


def _trade_offs(dataset: RatedDataset, data: Data, amount: Amount) -> list[Panel]:
    return [_panel(f"lambda = {x:g}", x, data, dataset, amount, trade_off=x) for x in TRADE_OFFS]


def _topics(dataset: RatedDataset, data: Data, amount: Amount) -> list[Panel]:
    """One panel for each number of topics; where there are fewer than the last, it has all there are."""
    found: dict[int, Panel] = {}
    for wanted in TOPICS:
        panel = _panel("", wanted, data, dataset, amount, n_topics=wanted)
        d = len(panel.environment[0].topic_names)
        found.setdefault(d, replace(panel, name=f"d = {d}", value=d))
    return list(found.values())


def _positions(dataset: RatedDataset, data: Data, amount: Amount) -> list[Panel]:
    return [_panel(f"K = {k}", k, data, dataset, amount, n_positions=k) for k in POSITIONS]


def _amounts(users: int) -> dict[Scale, Amount]:
    """The same for the studies of a dataset, since where their settings coincide experiments share results.

    At laptop scale so many users; few for CascadeLSBFull, which takes many times as long as the others.
    """
    return {
        "smoke": Amount(horizon=500, runs=1, problems=4),
        "laptop": Amount(20_000, 1, users, others={"*: CascadeLSBFull": Amount(10_000, 1, 4)}),
        "paper": Amount(horizon=50_000, runs=2, problems=500),
    }


_STUDIES = (
    (
        "lambda",
        "Relevant or diverse",
        """Ten of 1,000 items are shown to users who click the first that attracts them. An item attracts by its
        relevance, times lambda, and by what it adds to the topics that the list covers, times 1 - lambda. Tastes follow
        from ratings; policies know the items' features as other users' ratings tell them. Two conventions are ours and
        not the thesis': relevance features are singular vectors times singular values, and for CascadeLSBFull a
        relevance feature below 0 covers nothing.""",
        _trade_offs,
        "lambda",
    ),
    (
        "topics",
        "How many topics",
        "The same with lambda = 0.5 and only the d topics that most items have.",
        _topics,
        "d",
    ),
    (
        "positions",
        "How long a list",
        "The same with lambda = 0.5, up to 20 topics and K items shown.",
        _positions,
        "K",
    ),
)
"""What is studied of each dataset: its name, title and text, the panels and the parameter."""


def _studies(dataset: RatedDataset, figure: int, amounts: dict[Scale, Amount]) -> Iterator[Experiment]:
    """The studies of a dataset, the first of which is shown by that figure of chapter 5."""
    name = {MOVIELENS: "movielens", YAHOO_MUSIC: "yahoo"}[dataset]
    for number, (what, title, text, panels, parameter) in enumerate(_STUDIES, figure):
        yield Experiment(
            name=f"diversity-{what}-{name}",
            chapter=5,
            section=f"5.4.2, figure 5.{number}",
            title=f"{title}, {dataset.name}",
            text=text,
            panels=partial(panels, dataset),
            amounts=amounts,
            parameter=parameter,
            log=False,
        )


EXPERIMENTS = (*_studies(MOVIELENS, 1, _amounts(24)), *_studies(YAHOO_MUSIC, 4, _amounts(12)))
