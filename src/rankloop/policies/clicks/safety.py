"""The safety receipt of BubbleRank: what was decided, by what evidence, and what is guaranteed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

Item = int | str
"""An item's number, or the name that users know it by."""


@dataclass(frozen=True)
class PairEvidence:
    """What is known of two items, of which `upper` stands above `lower` in the base list.

    `lead` is how often only the upper one was clicked minus how often only the lower one was, in `observations` lists
    in which their order was left to chance and just one of them was clicked. The pair is decided once the lead exceeds
    the threshold.
    """

    upper: Item
    lower: Item
    lead: int
    observations: int
    threshold: float
    decided: bool


@dataclass(frozen=True)
class Exchange:
    """After that many lists, `raised` was proven better than `lowered` and took its place."""

    after: int
    raised: Item
    lowered: Item


@dataclass(frozen=True)
class SafetyReceipt:
    """What BubbleRank did to a production list, and what it guarantees.

    >>> receipt = SafetyReceipt([0, 1], [1, 0], 2, 900, 1000, 1e-12, [PairEvidence(1, 0, 80, 90, 99.7, True)],
    ...     [Exchange(450, 1, 0)])
    >>> receipt.probability > 0.99
    True
    >>> print(receipt)
    production list  0 1
    base list now    1 0
    learned from     900 lists (horizon 1,000)
    guarantee        no list has more than 1 pair in the wrong order beyond those of the production list,
                     with probability at least 0.996
    exchanges        after 450 lists: 1 above 0
    pairs            1 over 0: decided (lead 80 of 90, needs more than 99.7)
    """

    initial: Sequence[Item]
    base: Sequence[Item]
    n_positions: int
    lists_learned_from: int
    horizon: int
    delta: float
    pairs: list[PairEvidence]
    exchanges: list[Exchange]
    first_horizon: int | None = None
    """The first horizon tried if none was given; it was doubled until it became `horizon`."""
    repeated_draws: int = 0
    """How many of the lists learned from, at least, were found to repeat the random exchanges of an earlier one."""
    n_items_ever: int = 0
    """How many items the production list has had, where it has changed: all of their pairs were at risk."""

    def named(self, names: Sequence[str]) -> SafetyReceipt:
        """The receipt with the names of items in place of their numbers."""

        def name(item: Item) -> str:
            return names[int(item)]

        return replace(
            self,
            initial=[name(item) for item in self.initial],
            base=[name(item) for item in self.base],
            pairs=[replace(pair, upper=name(pair.upper), lower=name(pair.lower)) for pair in self.pairs],
            exchanges=[replace(each, raised=name(each.raised), lowered=name(each.lowered)) for each in self.exchanges],
        )

    @property
    def promises(self) -> bool:
        """Whether anything is guaranteed: not where lists were not drawn independently, so that the proof is void."""
        return self.repeated_draws == 0

    @property
    def extra_inversions(self) -> float:
        """K/2: how many more pairs in the wrong order than the production list a list may have."""
        return self.n_positions / 2

    def bound(self, initial_inversions: int) -> float:
        """|V_0| + K/2, where the production list's own number of pairs in the wrong order is known."""
        return initial_inversions + self.extra_inversions

    @property
    def probability(self) -> float:
        """The bound holds for all lists at once with at least this probability: 1 - sqrt(delta) L^2 n.

        L is the number of items, of all that were ever listed, and n that of lists, the horizon or more. Where the
        horizon was doubled, each stretch of lists had its own delta, and what may go wrong in them adds up. Where
        nothing is promised it is 0.
        """
        if not self.promises:
            return 0.0
        if self.first_horizon is None:
            failure = math.sqrt(self.delta) * max(self.horizon, self.lists_learned_from)
        else:
            failure, horizon = 1 / self.first_horizon, self.first_horizon
            while horizon < self.horizon:
                horizon *= 2
                failure += 0.5 / horizon  # half as many lists as the horizon, each with sqrt(delta) = 1 / horizon^2
        return max(0.0, 1 - failure * max(len(self.initial), self.n_items_ever) ** 2)

    @property
    def _horizon_in_words(self) -> str:
        doubled = self.first_horizon is not None and self.horizon > self.first_horizon
        return f"horizon doubled to {self.horizon:,}" if doubled else f"horizon {self.horizon:,}"

    def to_json(self) -> str:
        """The receipt as a JSON object."""
        derived = {
            "extra_inversions": self.extra_inversions,
            "probability": self.probability,
            "promises": self.promises,
        }
        return json.dumps({**asdict(self), **derived})

    def __str__(self) -> str:
        extra = math.floor(self.extra_inversions)
        lines = [
            ("production list", " ".join(map(str, self.initial))),
            ("base list now", " ".join(map(str, self.base))),
            ("learned from", f"{self.lists_learned_from:,} lists ({self._horizon_in_words})"),
        ]
        if self.promises:
            lines += [
                (
                    "guarantee",
                    f"no list has more than {extra} pair{'s' * (extra != 1)} in the wrong order beyond those of the "
                    "production list,",
                ),
                ("", f"with probability at least {self.probability:.6g}"),
            ]
        else:
            lines += [
                (
                    "guarantee",
                    f"none: at least {self.repeated_draws:,} of these lists repeated the exchanges of",
                ),
                ("", "an earlier one, so that position may pass for evidence. Answer each list once, and"),
                ("", "load a policy that others load too with rl.load(path, seed=...); then revert()."),
            ]
        lines += _column(
            "exchanges", [f"after {e.after:,} lists: {e.raised} above {e.lowered}" for e in self.exchanges]
        )
        lines += _column("pairs", [_describe(pair) for pair in self.pairs])
        return "\n".join(f"{name:<17}{text}" for name, text in lines)


def _column(name: str, texts: list[str]) -> list[tuple[str, str]]:
    return [(name if k == 0 else "", text) for k, text in enumerate(texts or ["none yet"])]


def _describe(pair: PairEvidence) -> str:
    verdict = "decided" if pair.decided else "open"
    return (
        f"{pair.upper} over {pair.lower}: {verdict} "
        f"(lead {pair.lead} of {pair.observations}, needs more than {pair.threshold:.4g})"
    )
