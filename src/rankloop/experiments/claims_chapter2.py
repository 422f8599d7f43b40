"""What chapter 2 says of dueling bandits, compared with each other.

RMED1 is the policy as it was published; the thesis' own experiments ran another rule, which is RMED1-strongest here.
"""

from __future__ import annotations

import math

from rankloop.experiments.chapter2 import DAYS
from rankloop.experiments.comparisons import Comparison, happens_as_often, less, log_ratio, matches, measured
from rankloop.experiments.declare import Claim
from rankloop.experiments.judging import judged_by
from rankloop.experiments.readings import Read
from rankloop.experiments.statistics import Published
from rankloop.experiments.trends import late_share, outgrows, scales

_MSLR, _ISTELLA, _YAHOO = "MSLR-Navigational", "ISTELLA-Navigational", "Yahoo-Navigational"
_WITH_ALL = ("MSLR", "ISTELLA")
"""Datasets on which all policies are run."""
_USERS = ("Perfect", "Navigational", "Informational")
_EXTREMES = ("Informational", "Perfect")
_BASELINES = ("MergeRUCB", "DTS", "RMED1", "Self-Sparring", "REX3")
_MERGING = ("MergeDTS", "MergeRUCB")

SETTLED = 3_000_000
"""Steps after which MergeDTS has found the winner among hundreds of rankers, by the thesis."""

_LONG = 100_000_000
"""The thesis' horizon, for what it says of those who still pay long after MergeDTS has settled."""

_DTS_ENDS = 10_000_000
"""Steps to which the thesis ran DTS on the rankers of ISTELLA."""

SMALL_SETTLED = 1_000_000
"""The same for tens of rankers."""

_MAGNITUDE = math.sqrt(10)
"""Smallest ratio that rounds to an order of magnitude."""

_OUR_CHOICE = "our choice of 32 rankers from the author's matrix"


def _hurt_more(a: str, b: str, dataset: str) -> Comparison:
    """That noise makes one player's regret grow by a larger factor than another's."""
    return measured(
        f"{dataset}: factor of {a} over that of {b}, from perfect to informational users",
        [Read(f"{dataset}-{user}", player) for player in (a, b) for user in _EXTREMES],
        lambda m: log_ratio(m[0], m[1]) - log_ratio(m[2], m[3]),
        more_than=1.0,
        ratio=True,
    )


def _time_of(panel: str, player: str) -> Comparison:
    """A time of table 2.2 over that of Self-Sparring, ours and the thesis'; it has two digits, and no errors."""
    days = DAYS[panel]
    return matches(
        f"{panel}: time of {player} over that of Self-Sparring",
        [Read(panel, player, record="seconds"), Read(panel, "Self-Sparring", record="seconds")],
        Published(days[player] / days["Self-Sparring"], text=f"{days[player] / days['Self-Sparring']:.2g}"),
        margin=2.0,
        statistic=lambda m: log_ratio(m[0], m[1]),
        ratio=True,
    )


LARGE_SCALE = (
    Claim(
        "merge-dts-beats-merge-rucb",
        "duels-large-scale",
        "2.6.1",
        "MergeDTS has less regret than MergeRUCB, however many rankers there are.",
        judged_by(less("MergeDTS", ["MergeRUCB"], at=_LONG)),
        changed="It asked for a quarter more, a number of ours; the thesis' own number is the next claim.",
    ),
    Claim(
        "merge-rucb-almost-twice",
        "duels-large-scale",
        "2.3",
        "In the large-scale setup MergeRUCB has almost twice the regret of MergeDTS (a ratio from 1.5 to 2.25).",
        judged_by(less("MergeDTS", ["MergeRUCB"], at=_LONG, times=1.5, at_most=2.25)),
        changed="New.",
    ),
    Claim(
        "merge-dts-beats-dts",
        "duels-large-scale",
        "2.6.1",
        "Among the rankers of MSLR and of ISTELLA, MergeDTS has less regret than DTS after 10 million steps, where the "
        "thesis' runs of DTS end.",
        judged_by(less("MergeDTS", ["DTS"], panels=[_MSLR, _ISTELLA], at=_DTS_ENDS)),
    ),
    Claim(
        "merge-dts-beats-self-sparring",
        "duels-large-scale",
        "2.6.1",
        "Among the rankers of MSLR and of ISTELLA, MergeDTS ends with less regret than Self-Sparring.",
        judged_by(less("MergeDTS", ["Self-Sparring"], panels=[_MSLR, _ISTELLA], at=_LONG)),
    ),
    Claim(
        "self-sparring-just-ahead-on-yahoo",
        "duels-large-scale",
        "2.6.1",
        "Among the 700 rankers of Yahoo, MergeDTS has more regret than Self-Sparring, but less than 1.5 times as much.",
        judged_by(less("Self-Sparring", ["MergeDTS"], panels=[_YAHOO], at=_LONG, at_most=1.5)),
    ),
    Claim(
        "merge-dts-settles-on-yahoo",
        "duels-large-scale",
        "2.6.1",
        "Among the 700 rankers of Yahoo, MergeDTS has converged after 3 million steps, with less than 2 % of its "
        "regret later; the regret of Self-Sparring still grows.",
        judged_by(
            late_share("MergeDTS", panels=[_YAHOO], since=SETTLED, less_than=0.02),
            late_share("Self-Sparring", panels=[_YAHOO], more_than=0.0),
            not_before=2 * SETTLED,
        ),
        changed="It spoke of the second half of the steps, and asked for more than 1 % of Self-Sparring; the thesis "
        "names the step, and says that regret grows.",
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
            not_before=SETTLED,
        ),
    ),
    Claim(
        "merge-dts-best-in-most-setups",
        "duels-noise",
        "2.6.1",
        "In most of the large-scale setups, three datasets with three kinds of users, MergeDTS has less regret than "
        "the other policies.",
        judged_by(
            less("MergeDTS", _BASELINES, panels=[f"{name}-{user}" for name in _WITH_ALL for user in _USERS], at=_LONG),
            less(
                "MergeDTS",
                ["MergeRUCB", "Self-Sparring", "REX3"],
                panels=[f"Yahoo-{user}" for user in _USERS],
                at=_LONG,
            ),
            rule="most",
        ),
        changed="New.",
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
        "MergeDTS and MergeRUCB take less time for 100 million steps than any other policy.",
        judged_by(
            *(less(player, ["DTS", "RMED1", "Self-Sparring", "REX3"], record="seconds") for player in _MERGING),
            not_before=SETTLED,
        ),
        changed="Times are of 100 million steps, as in the thesis' table, where those who settled compute nothing "
        "more; the other policies' are projected from shorter runs.",
    ),
    Claim(
        "merging-time-independent-of-rankers",
        "duels-running-time",
        "2.6.2",
        "The time of MergeDTS and MergeRUCB hardly grows with the rankers: by less than the root of their number.",
        judged_by(
            *(scales(player, _MSLR, _YAHOO, less_than=0.5) for player in _MERGING),
            not_before=SETTLED,
        ),
    ),
    Claim(
        "self-sparring-time-grows",
        "duels-running-time",
        "2.6.2",
        "The time of Self-Sparring grows with the number of rankers, at most about in proportion (a power from 0 to "
        "1.25): the thesis' program draws a sample for each ranker in each step, and ours does with fewer.",
        judged_by(scales("Self-Sparring", _MSLR, _YAHOO, more_than=0.0, less_than=1.25)),
        changed="It asked for a power of at least 0.75, which is the thesis' statement about its own program.",
    ),
    Claim(
        "dts-time-quadratic",
        "duels-running-time",
        "2.6.2",
        "The time of DTS grows about with the square of the number of rankers (a power from 1.5 to 2.5).",
        judged_by(scales("DTS", _MSLR, _YAHOO, more_than=1.5, less_than=2.5)),
    ),
    Claim(
        "times-of-table-2-2",
        "duels-running-time",
        "2.6.2",
        "The times of table 2.2, as multiples of Self-Sparring's, are met within a factor of two: our programs are "
        "compiled, so only ratios can be compared.",
        judged_by(
            *(
                _time_of(panel, player)
                for panel in (_MSLR, _ISTELLA, _YAHOO)
                for player in ("MergeDTS", "MergeRUCB", "DTS", "RMED1", "REX3")
            )
        ),
        changed="New.",
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
            less("MergeDTS", _BASELINES, panels=[f"{name}-{user}" for name in _WITH_ALL for user in _USERS], at=_LONG)
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
                    lambda m: float(m[0] - m[1] - m[2] + m[3]),
                    more_than=0.0,
                )
                for name in _WITH_ALL
                for player in _BASELINES
            ),
            not_before=SETTLED,
        ),
        changed="It waited for 100 million steps; by 3 million MergeDTS has settled, and gaps can be seen.",
    ),
    Claim(
        "noise-hurts-self-sparring",
        "duels-noise",
        "2.6.3",
        "Among the rankers of MSLR and of ISTELLA, from perfect to informational users, the regret of Self-Sparring "
        "grows by a larger factor than MergeDTS'.",
        judged_by(*(_hurt_more("Self-Sparring", "MergeDTS", name) for name in _WITH_ALL), not_before=SETTLED),
        changed="It waited for 100 million steps; by 3 million MergeDTS has settled, and factors can be seen.",
    ),
    Claim(
        "noise-hurts-merge-dts-on-yahoo",
        "duels-noise",
        "2.6.3",
        "Among the 700 rankers of Yahoo it is the other way round: from perfect to informational users, the regret of "
        "MergeDTS grows by a larger factor.",
        judged_by(_hurt_more("MergeDTS", "Self-Sparring", "Yahoo"), not_before=SETTLED),
        changed="It waited for 100 million steps; by 3 million MergeDTS has settled, and factors can be seen.",
    ),
)


def _cycle_claims(rmed1: str, name: str, which: str, **more: str) -> tuple[Claim, ...]:
    """What is said of RMED1, for one of its two rules."""
    return (
        Claim(
            f"cycle-{name}-ahead",
            "duels-cycle",
            "2.6.4",
            f"In Cycle, RMED1 by {which} has less regret than MergeDTS.",
            judged_by(less(rmed1, ["MergeDTS"], panels=["Cycle"]), not_before=SMALL_SETTLED),
            **more,
        ),
        Claim(
            f"cycle2-{name}-behind",
            "duels-cycle",
            "2.6.4",
            f"In Cycle2, where preferences among the losers are weak, RMED1 by {which} has more regret than MergeDTS.",
            judged_by(less("MergeDTS", [rmed1], panels=["Cycle2"]), not_before=SMALL_SETTLED),
            **more,
        ),
    )


CYCLE = (
    Claim(
        "cycle-breaks-self-sparring",
        "duels-cycle",
        "2.6.4",
        "In Cycle the regret of Self-Sparring is an order of magnitude above that of MergeDTS (more than 3.16 times).",
        judged_by(less("MergeDTS", ["Self-Sparring"], panels=["Cycle"], times=_MAGNITUDE), not_before=SMALL_SETTLED),
    ),
    Claim(
        "cycle-merge-dts-ahead-of-three",
        "duels-cycle",
        "2.6.4",
        "In Cycle, DTS, Self-Sparring and REX3 have more regret than MergeDTS.",
        judged_by(
            less("MergeDTS", ["DTS", "Self-Sparring", "REX3"], panels=["Cycle"]),
            not_before=SMALL_SETTLED,
        ),
        changed="It also spoke of RMED1 and MergeRUCB, which have claims of their own now.",
    ),
    Claim(
        "cycle-merge-rucb-slightly-ahead",
        "duels-cycle",
        "2.6.4",
        "In Cycle, MergeRUCB has less regret than MergeDTS, and the gap is small: MergeDTS has less than 1.5 times as "
        "much.",
        judged_by(less("MergeRUCB", ["MergeDTS"], panels=["Cycle"], at_most=1.5), not_before=SMALL_SETTLED),
        changed="It was part of the claim before.",
    ),
    *_cycle_claims(
        "RMED1-strongest",
        "rmed1",
        "the rule that the thesis' author ran",
        changed="It was judged by RMED1 as published, which is not what the thesis' experiments ran.",
    ),
    *_cycle_claims(
        "RMED1",
        "published-rmed1",
        "the rule as it was published",
        changed="New: the thesis ran another rule, so this says how far its sentence goes.",
    ),
    Claim(
        "cycles-merging-settles",
        "duels-cycle",
        "2.6.4",
        "In Cycle and Cycle2 MergeDTS and MergeRUCB converge within a million steps: less than 2 % of their regret "
        "comes later.",
        judged_by(
            *(
                late_share(player, panels=["Cycle", "Cycle2"], since=SMALL_SETTLED, less_than=0.02)
                for player in _MERGING
            ),
            not_before=2 * SMALL_SETTLED,
        ),
        changed="New.",
    ),
)

WITHOUT_CONDORCET = (
    Claim(
        "non-condorcet-least-regret",
        "duels-non-condorcet",
        "2.6.5",
        f"Without a Condorcet winner ({_OUR_CHOICE}), MergeDTS still has less (Copeland) regret than every other "
        "policy.",
        judged_by(less("MergeDTS", _BASELINES), not_before=SMALL_SETTLED),
    ),
    Claim(
        "non-condorcet-loses-both-in-1-of-100",
        "duels-non-condorcet",
        "2.6.5",
        f"Without a Condorcet winner ({_OUR_CHOICE}), MergeDTS eliminates both Copeland winners in 1 of 100 runs.",
        judged_by(
            happens_as_often("MergeDTS", (1, 100), panel="MSLR-non-Condorcet", margin=0.1), not_before=SMALL_SETTLED
        ),
        changed="It asked for less than a tenth of the runs; the thesis has a number.",
    ),
    Claim(
        "non-condorcet-loses-one-in-99-of-100",
        "duels-non-condorcet",
        "2.6.5",
        f"Without a Condorcet winner ({_OUR_CHOICE}), MergeDTS eliminates one of the two Copeland winners in 99 of 100 "
        "runs.",
        judged_by(
            happens_as_often(
                "MergeDTS", (99, 100), panel="MSLR-non-Condorcet", margin=0.1, record="winners_lost", exactly=1
            ),
            not_before=SMALL_SETTLED,
        ),
        changed="New.",
    ),
)

CLAIMS = (*LARGE_SCALE, *RUNNING_TIME, *NOISE, *CYCLE, *WITHOUT_CONDORCET)
