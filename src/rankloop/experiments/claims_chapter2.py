"""What chapter 2 says of dueling bandits."""

from __future__ import annotations

import math

from rankloop.experiments.comparisons import (
    Comparison,
    Read,
    judged_by,
    late_share,
    less,
    log_ratio,
    measured,
    outgrows,
    scales,
    seldom,
    trend,
)
from rankloop.experiments.declare import Claim

_MSLR, _ISTELLA, _YAHOO = "MSLR-Navigational", "ISTELLA-Navigational", "Yahoo-Navigational"
_WITH_ALL = ("MSLR", "ISTELLA")
"""Where all policies play."""
_USERS = ("Perfect", "Navigational", "Informational")
_EXTREMES = ("Informational", "Perfect")
_BASELINES = ("MergeRUCB", "DTS", "RMED1", "Self-Sparring", "REX3")

_SETTLED = 3_000_000
"""Steps after which MergeDTS has found the winner among hundreds of rankers, by the thesis."""

_LONG = 100_000_000
"""The thesis' horizon, for what it says of those who still pay long after MergeDTS has settled."""

_SMALL_SETTLED = 1_000_000
"""The same for tens of rankers."""

_MAGNITUDE = math.sqrt(10)
"""From here on a ratio rounds to an order of magnitude."""


def _hurt_more(a: str, b: str, dataset: str) -> Comparison:
    """That noise makes one player's regret grow by a larger factor than another's."""
    return measured(
        f"{dataset}: factor of {a} over that of {b}",
        [Read(f"{dataset}-{user}", player) for player in (a, b) for user in _EXTREMES],
        lambda m: log_ratio(m[0], m[1]) - log_ratio(m[2], m[3]),
        more_than=1.0,
        ratio=True,
    )


LARGE_SCALE = (
    Claim(
        "merge-dts-beats-merge-rucb",
        "duels-large-scale",
        "2.6.1",
        "MergeRUCB has far more regret than MergeDTS, at least a quarter more, however many rankers there are.",
        judged_by(less("MergeDTS", ["MergeRUCB"], times=1.25), not_before=_SETTLED),
    ),
    Claim(
        "merge-dts-beats-dts",
        "duels-large-scale",
        "2.6.1",
        "Among the rankers of MSLR and of ISTELLA, MergeDTS ends with less regret than DTS.",
        judged_by(less("MergeDTS", ["DTS"], panels=[_MSLR, _ISTELLA]), not_before=_LONG // 10),
    ),
    Claim(
        "merge-dts-beats-self-sparring",
        "duels-large-scale",
        "2.6.1",
        "Among the rankers of MSLR and of ISTELLA, MergeDTS ends with less regret than Self-Sparring.",
        judged_by(less("MergeDTS", ["Self-Sparring"], panels=[_MSLR, _ISTELLA]), not_before=_LONG),
    ),
    Claim(
        "self-sparring-just-ahead-on-yahoo",
        "duels-large-scale",
        "2.6.1",
        "Among the 700 rankers of Yahoo, MergeDTS has more regret than Self-Sparring, but less than 1.5 times as much.",
        judged_by(
            less("Self-Sparring", ["MergeDTS"], panels=[_YAHOO]),
            measured(
                f"{_YAHOO}: regret of MergeDTS over that of Self-Sparring",
                [Read(_YAHOO, "MergeDTS"), Read(_YAHOO, "Self-Sparring")],
                lambda m: log_ratio(m[0], m[1]),
                less_than=1.5,
                ratio=True,
            ),
            not_before=_LONG,
        ),
    ),
    Claim(
        "merge-dts-settles-on-yahoo",
        "duels-large-scale",
        "2.6.1",
        "Among the 700 rankers of Yahoo, MergeDTS settles, with less than 2 % of its regret in the second half of the "
        "steps; Self-Sparring goes on paying, with more than 1 %.",
        judged_by(
            late_share("MergeDTS", panels=[_YAHOO], less_than=0.02),
            late_share("Self-Sparring", panels=[_YAHOO], more_than=0.01),
            not_before=2 * _SETTLED,
        ),
    ),
    Claim(
        "merge-dts-pays-at-first",
        "duels-large-scale",
        "2.6.1",
        "In the first 100,000 steps MergeDTS has more regret than DTS and Self-Sparring.",
        judged_by(
            less("DTS", ["MergeDTS"], panels=[_MSLR, _ISTELLA], at=100_000),
            less("Self-Sparring", ["MergeDTS"], at=100_000),
        ),
    ),
    Claim(
        "rex3-of-higher-order",
        "duels-large-scale",
        "2.6.1",
        "The regret of REX3 grows at a higher order of time than that of the policies for stochastic preferences.",
        judged_by(
            outgrows("REX3", ["MergeDTS", "MergeRUCB", "DTS", "RMED1", "Self-Sparring"], panels=[_MSLR, _ISTELLA]),
            outgrows("REX3", ["MergeDTS", "MergeRUCB", "Self-Sparring"], panels=[_YAHOO]),
            not_before=_SETTLED,
        ),
    ),
)

RUNNING_TIME = (
    Claim(
        "dts-slowest",
        "duels-running-time",
        "2.6.2",
        "DTS takes at least five times as long as any other policy.",
        judged_by(
            *(
                less(player, ["DTS"], record="seconds", times=5)
                for player in ("MergeDTS", "MergeRUCB", "RMED1", "Self-Sparring", "REX3")
            )
        ),
    ),
    Claim(
        "merging-fastest",
        "duels-running-time",
        "2.6.2",
        "MergeDTS and MergeRUCB take less time than any other policy.",
        judged_by(
            *(
                less(player, ["DTS", "RMED1", "Self-Sparring", "REX3"], record="seconds")
                for player in ("MergeDTS", "MergeRUCB")
            ),
            not_before=_SETTLED,
        ),
    ),
    Claim(
        "merging-time-independent-of-rankers",
        "duels-running-time",
        "2.6.2",
        "The time of MergeDTS and MergeRUCB hardly grows with the rankers: by less than the root of their number.",
        judged_by(
            *(scales(player, _MSLR, _YAHOO, less_than=0.5) for player in ("MergeDTS", "MergeRUCB")),
            not_before=_SETTLED,
        ),
    ),
    Claim(
        "self-sparring-time-linear",
        "duels-running-time",
        "2.6.2",
        "The time of Self-Sparring is about proportional to the number of rankers (a power from 0.75 to 1.25).",
        judged_by(scales("Self-Sparring", _MSLR, _YAHOO, more_than=0.75, less_than=1.25)),
    ),
    Claim(
        "dts-time-quadratic",
        "duels-running-time",
        "2.6.2",
        "The time of DTS grows about with the square of the number of rankers (a power from 1.5 to 2.5).",
        judged_by(scales("DTS", _MSLR, _YAHOO, more_than=1.5, less_than=2.5)),
    ),
)

NOISE = (
    Claim(
        "merge-dts-best-at-any-noise",
        "duels-noise",
        "2.6.3",
        "Among the rankers of MSLR and of ISTELLA, whichever of the three users clicks, MergeDTS has less regret than "
        "every other policy.",
        judged_by(
            less("MergeDTS", _BASELINES, panels=[f"{name}-{user}" for name in _WITH_ALL for user in _USERS]),
            not_before=_LONG,
        ),
    ),
    Claim(
        "noise-widens-the-gaps",
        "duels-noise",
        "2.6.3",
        "Among the rankers of MSLR and of ISTELLA, MergeDTS is further ahead of every other policy where clicks say "
        "less: informational against perfect users.",
        judged_by(
            *(
                measured(
                    f"{name}: gap in regret from MergeDTS to {player}, informational minus perfect users",
                    [Read(f"{name}-{user}", who) for user in _EXTREMES for who in (player, "MergeDTS")],
                    lambda m: m[0] - m[1] - m[2] + m[3],
                    more_than=0.0,
                )
                for name in _WITH_ALL
                for player in _BASELINES
            ),
            not_before=_LONG,
        ),
    ),
    Claim(
        "noise-hurts-self-sparring",
        "duels-noise",
        "2.6.3",
        "Among the rankers of MSLR and of ISTELLA, from perfect to informational users, the regret of Self-Sparring "
        "grows by a larger factor than MergeDTS'.",
        judged_by(*(_hurt_more("Self-Sparring", "MergeDTS", name) for name in _WITH_ALL), not_before=_LONG),
    ),
    Claim(
        "noise-hurts-merge-dts-on-yahoo",
        "duels-noise",
        "2.6.3",
        "Among the 700 rankers of Yahoo it is the other way round: from perfect to informational users, the regret of "
        "MergeDTS grows by a larger factor.",
        judged_by(_hurt_more("MergeDTS", "Self-Sparring", "Yahoo"), not_before=_LONG),
    ),
)

CYCLE = (
    Claim(
        "cycle-breaks-self-sparring",
        "duels-cycle",
        "2.6.4",
        "In Cycle the regret of Self-Sparring is an order of magnitude above that of MergeDTS (more than 3.16 times).",
        judged_by(less("MergeDTS", ["Self-Sparring"], panels=["Cycle"], times=_MAGNITUDE), not_before=_SMALL_SETTLED),
    ),
    Claim(
        "cycle-only-two-beat-merge-dts",
        "duels-cycle",
        "2.6.4",
        "In Cycle RMED1 and MergeRUCB have less regret than MergeDTS, and DTS, Self-Sparring and REX3 have more.",
        judged_by(
            *(less(player, ["MergeDTS"], panels=["Cycle"]) for player in ("RMED1", "MergeRUCB")),
            less("MergeDTS", ["DTS", "Self-Sparring", "REX3"], panels=["Cycle"]),
            not_before=_SMALL_SETTLED,
        ),
    ),
    Claim(
        "cycle2-rmed1-behind",
        "duels-cycle",
        "2.6.4",
        "In Cycle2, where preferences among the losers are weak, RMED1 has more regret than MergeDTS.",
        judged_by(less("MergeDTS", ["RMED1"], panels=["Cycle2"]), not_before=_SMALL_SETTLED),
    ),
)

WITHOUT_CONDORCET = (
    Claim(
        "non-condorcet-least-regret",
        "duels-non-condorcet",
        "2.6.5",
        "Without a Condorcet winner, MergeDTS still has less (Copeland) regret than every other policy.",
        judged_by(less("MergeDTS", _BASELINES), not_before=_SMALL_SETTLED),
    ),
    Claim(
        "non-condorcet-keeps-a-winner",
        "duels-non-condorcet",
        "2.6.5",
        "Without a Condorcet winner, MergeDTS eliminates all Copeland winners in less than a tenth of its runs.",
        judged_by(seldom("MergeDTS", 0.1, panel="MSLR-non-Condorcet"), not_before=_SMALL_SETTLED),
    ),
)

SENSITIVITY = (
    Claim(
        "lower-alpha-less-regret",
        "duels-alpha",
        "2.6.6",
        "Less exploration pays: with alpha = 0.8^4 MergeDTS has about a third of the regret that it has with "
        "alpha = 1 (a ratio from 2 to 4.5).",
        judged_by(
            measured(
                "regret at alpha = 1 over that at alpha = 0.8^4",
                [Read("alpha = 0.8^0", "MergeDTS"), Read("alpha = 0.8^4", "MergeDTS")],
                lambda m: log_ratio(m[0], m[1]),
                more_than=2.0,
                less_than=4.5,
                ratio=True,
            ),
            not_before=_SETTLED,
        ),
    ),
    Claim(
        "low-alpha-loses-winners",
        "duels-alpha",
        "2.6.6",
        "The less MergeDTS explores, the more often it eliminates the winner.",
        judged_by(trend("MergeDTS", rises=False, record="failures"), not_before=_SETTLED),
    ),
    Claim(
        "larger-batches-less-regret",
        "duels-batch-size",
        "2.6.6",
        "The larger the batches of MergeDTS, the less regret it has.",
        judged_by(trend("MergeDTS", rises=False), not_before=_SETTLED),
    ),
    Claim(
        "lower-c-less-regret",
        "duels-c",
        "2.6.6",
        "The smaller C is, the less regret MergeDTS has.",
        judged_by(trend("MergeDTS", rises=True), not_before=_SETTLED),
    ),
    Claim(
        "low-c-loses-winners",
        "duels-c",
        "2.6.6",
        "The smaller C is, the more often MergeDTS eliminates the winner.",
        judged_by(trend("MergeDTS", rises=False, record="failures"), not_before=_SETTLED),
    ),
)

CLAIMS = (*LARGE_SCALE, *RUNNING_TIME, *NOISE, *CYCLE, *WITHOUT_CONDORCET, *SENSITIVITY)
