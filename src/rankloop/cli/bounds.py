"""`rankloop bounds`: what the thesis' theorems promise, in numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from rankloop.cli.arguments import number, whole
from rankloop.cli.errors import refusing
from rankloop.cli.groups import Group
from rankloop.cli.options import OPTIONS, ListLength, Matrix, needed, option

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Print what the theorems guarantee: bounds on regret, and their parameters.",
)

Horizon = Annotated[str, needed("Steps: duels, or lists shown.", "N")]
Alpha = Annotated[
    str, typer.Option(metavar="X", help="Exploration parameter of MergeDTS; the theorem needs more than 1/2.")
]
BatchSize = Annotated[
    str, typer.Option(metavar="N", help="Rankers per batch of MergeDTS; the theorem needs at least 4.")
]


@app.command()
def merge_dts(
    rankers: Annotated[str, needed("Number of rankers.", "N")],
    gap: Annotated[str, needed("The smallest |p - 1/2| of two rankers.", "X")],
    horizon: Horizon,
    alpha: Alpha = "1.01",
    batch_size: BatchSize = "4",
) -> None:
    """The regret of MergeDTS, with high probability and expected.

    Example: rankloop bounds merge-dts --rankers 136 --gap 0.05 --horizon 1e8
    """
    n_arms, steps, size = (
        whole("--rankers", rankers, 2),
        whole("--horizon", horizon, 2),
        whole("--batch-size", batch_size, 2),
    )
    _show(
        f"MergeDTS: {n_arms:,} rankers, {steps:,} duels", _merge_dts(n_arms, number("--gap", gap), steps, alpha, size)
    )


@app.command()
def duel(matrix: Matrix, horizon: Horizon = "1e7", alpha: Alpha = "1.01", batch_size: BatchSize = "4") -> None:
    """The regret of MergeDTS on a preference matrix, and a lower bound for any policy.

    Example: rankloop bounds duel cycle --horizon 1e7
    """
    steps, size = whole("--horizon", horizon, 2), whole("--batch-size", batch_size, 2)

    from rankloop.cli.arguments import read_matrix
    from rankloop.theory import dueling_lower_bound, smallest_gap

    problem = read_matrix(matrix)
    with refusing(problem.name, OPTIONS):
        lower = float(dueling_lower_bound(steps, problem.preferences))
        gap = smallest_gap(problem.preferences)
    rows = [
        ("smallest gap", f"{gap:.4g}"),
        ("any consistent policy, in the long run, at least", _number(lower)),
    ]
    if problem.assumptions.met:
        rows.append(("a Condorcet winner and assumptions 2.1 and 2.2, for the bounds of MergeDTS", "met"))
        rows += _merge_dts(problem.n_arms, gap, steps, alpha, size)
    else:
        rows.append(("MergeDTS", f"no bound: {problem.assumptions.failure}"))
    _show(f"{problem.name}: {problem.n_arms:,} rankers, {steps:,} duels", rows)


@app.command()
def bubble_rank(
    items: ListLength,
    gap: Annotated[str, needed("The smallest difference of two items' attractions.", "X")],
    chi_min: Annotated[str, needed("Probability that a user looks at the last position.", "X")],
    horizon: Horizon,
    wrong_pairs: Annotated[str, needed("Pairs of the production list in the wrong order, |V_0|.", "N")],
    chi_max: Annotated[
        str, typer.Option(metavar="X", help="Probability that a user looks at the first position.")
    ] = "1.0",
) -> None:
    """The regret of BubbleRank, and how safe it is.

    Example: rankloop bounds bubble-rank --items 10 --gap 0.05 --chi-min 0.2 --wrong-pairs 5 --horizon 5e6
    """
    n_items, steps = whole("--items", items, 2), whole("--horizon", horizon, 2)
    wrong = whole("--wrong-pairs", wrong_pairs, 0)
    looked_at = {"chi_min": number("--chi-min", chi_min), "chi_max": number("--chi-max", chi_max)}
    difference = number("--gap", gap)

    from rankloop.theory import bubble_rank_bound, safety_probability

    with refusing(options=OPTIONS):
        bound = float(bubble_rank_bound(steps, n_items=n_items, initial_inversions=wrong, gap=difference, **looked_at))
        safe = float(safety_probability(steps, n_items=n_items))
    rows = [
        ("delta", f"{float(steps) ** -4:.3g}"),
        ("pairs in the wrong order in any list, at most", f"{wrong + n_items / 2:g}"),
        ("which holds for all lists with probability of at least", f"{safe:.10g}"),
        ("expected regret, at most", _number(bound)),
        *_trivial(bound, float(steps) * n_items, "K clicks per list"),
    ]
    _show(f"BubbleRank: {n_items:,} items, {wrong:,} pairs in the wrong order, {steps:,} lists", rows)


@app.command()
def drift(
    items: Annotated[str, needed("Number of items.", "L")],
    gap: Annotated[str, needed("The smallest difference in attraction to the items that should be shown.", "X")],
    breakpoints: Annotated[str, needed("Number of changes of preferences.", "N")],
    horizon: Horizon,
    epsilon: Annotated[
        str,
        typer.Option(
            metavar="X",
            help="Width of the policies' confidence bounds: above 1/2, their default, and below 1.",
        ),
    ] = "0.6",
    gamma: Annotated[str | None, option("Discount of CascadeDUCB.", "X", "from horizon and breakpoints")] = None,
    window: Annotated[
        str | None, option("Window of CascadeSWUCB, in lists.", "N", "from horizon and breakpoints")
    ] = None,
    attraction: Annotated[
        str | None,
        typer.Option(
            metavar="X", help="Attraction of good items, for the lower bound, in which half of the items are good."
        ),
    ] = None,
) -> None:
    """The regret of CascadeDUCB and CascadeSWUCB, and a lower bound for any policy.

    Example: rankloop bounds drift --items 10 --gap 0.2 --breakpoints 10 --horizon 1e6 --attraction 0.5
    """
    n_items, steps = whole("--items", items, 2), whole("--horizon", horizon, 2)
    changes = whole("--breakpoints", breakpoints, 1)
    width, difference = number("--epsilon", epsilon), number("--gap", gap)

    from rankloop.theory import best_discount, best_window, cascade_ducb_bound, cascade_swucb_bound, drift_lower_bound

    with refusing(options=OPTIONS):
        tau = best_window(steps, changes) if window is None else whole("--window", window, 2)
        discount = best_discount(steps, changes) if gamma is None else number("--gamma", gamma)
        gaps = [difference] * n_items
        ducb = float(cascade_ducb_bound(steps, gaps=gaps, breakpoints=changes, gamma=discount, epsilon=width))
        swucb = float(cascade_swucb_bound(steps, gaps=gaps, breakpoints=changes, window=tau, epsilon=width))
        rows = [
            ("gamma of CascadeDUCB", f"{discount:.8g}"),
            ("window of CascadeSWUCB", f"{tau:,}"),
            ("CascadeDUCB, expected regret, at most", _number(ducb)),
            ("CascadeSWUCB, expected regret, at most", _number(swucb)),
        ]
        if attraction is not None:
            good = number("--attraction", attraction)
            lower = float(drift_lower_bound(steps, n_items=n_items, attraction=good, gap=difference))
            rows.append(("any policy on the hard problem, in the long run, at least", _number(lower)))
    rows += _trivial(min(ducb, swucb), float(steps), "1 click per list")
    _show(f"Drift: {n_items:,} items, {changes:,} changes in {steps:,} lists, epsilon {width:g}", rows)


@app.command()
def hybrid(
    features: Annotated[str, needed("Features of relevance and topics together.", "D")],
    positions: Annotated[str, needed("Positions of a list.", "K")],
    horizon: Horizon,
    largest_attraction: Annotated[
        str,
        typer.Option(
            metavar="X",
            help="Largest attraction of any item, for eta, the greedy list's share of the best list's reward.",
        ),
    ] = "1.0",
) -> None:
    """The scaled regret of CascadeHybrid, and the gamma it needs.

    Example: rankloop bounds hybrid --features 30 --positions 10 --horizon 5e4
    """
    n_features, n_positions = whole("--features", features, 1), whole("--positions", positions, 1)
    steps = whole("--horizon", horizon, 2)

    from rankloop.theory import hybrid_bound, hybrid_eta, hybrid_gamma

    with refusing(options=OPTIONS):
        eta = hybrid_eta(n_positions, number("--largest-attraction", largest_attraction))
    bound = float(hybrid_bound(steps, n_features=n_features, n_positions=n_positions))
    gamma = float(hybrid_gamma(steps, n_features=n_features, n_positions=n_positions))
    rows = [
        ("gamma, at least", f"{gamma:.4f}"),
        ("eta", f"{eta:.4f}"),
        ("expected regret against eta times the best list, at most", _number(bound)),
        *_trivial(bound, eta * steps, "eta clicks per list"),
    ]
    _show(f"CascadeHybrid: {n_features:,} features, {n_positions:,} positions, {steps:,} lists", rows)


def _merge_dts(n_arms: int, gap: float, steps: int, alpha_text: str, batch_size: int) -> list[tuple[str, str]]:
    alpha = number("--alpha", alpha_text)

    from rankloop.theory import merge_comparisons_bound, merge_constant, merge_dts_bound

    with refusing(options=OPTIONS):
        bound = float(
            merge_dts_bound(steps, n_arms=n_arms, gap=gap, alpha=alpha, batch_size=batch_size, epsilon=1 / steps)
        )
        constant = merge_constant(alpha, n_arms, 1 / steps)
        pair = float(merge_comparisons_bound(steps, n_arms=n_arms, gap=gap, alpha=alpha, epsilon=1 / steps))
    return [
        ("alpha, batch size and C(1/horizon) of MergeDTS", f"{alpha:g}, {batch_size}, {_number(constant)}"),
        (f"MergeDTS, with probability of at least 1 - {1 / steps:.3g}, less than", _number(bound)),
        ("duels of two rankers before their batch is merged, with the same probability, at most", _number(pair)),
        ("MergeDTS, expected, at most", _number(bound + 1)),
        *_trivial(bound, steps / 2, "1/2 per duel"),
    ]


def _trivial(bound: float, largest: float, reason: str) -> list[tuple[str, str]]:
    """What can be lost at all, where a bound says no more than that."""
    if bound < largest:
        return []
    return [(f"but no more than {reason} can be lost: the bound says nothing yet", _number(largest))]


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) >= 1e15 else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"


def _show(title: str, rows: list[tuple[str, str]]) -> None:
    print(title)
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        print(f"  {label:<{width}}  {value}")
