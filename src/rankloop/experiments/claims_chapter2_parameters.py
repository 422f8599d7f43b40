"""What chapter 2 says of the parameters of dueling bandits: how they were tuned, and what they change."""

from __future__ import annotations

from rankloop.experiments.claims_chapter2 import SETTLED, SMALL_SETTLED
from rankloop.experiments.comparisons import happens, happens_as_often, log_ratio, measured
from rankloop.experiments.declare import Claim
from rankloop.experiments.judging import judged_by
from rankloop.experiments.readings import Read
from rankloop.experiments.trends import trend


def _tuned(
    name: str,
    player: str,
    text: str,
    parameter: str,
    best: str,
    others: tuple[str, ...],
    not_before: int = SMALL_SETTLED,
) -> Claim:
    """That the value which section 2.5.6 found best has less regret than others."""
    return Claim(
        f"{name}-tuned",
        name,
        "2.5.6",
        text,
        judged_by(
            *(
                measured(
                    f"regret of {player} at {other} over that at {parameter} = {best}",
                    [Read(other, player), Read(f"{parameter} = {best}", player)],
                    lambda m: log_ratio(m[0], m[1]),
                    more_than=1.0,
                    ratio=True,
                )
                for other in (f"{parameter} = {value}" for value in others)
            ),
            not_before=not_before,
        ),
        changed="New.",
    )


CLAIMS = (
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
            not_before=SETTLED,
        ),
    ),
    Claim(
        "low-alpha-loses-winners",
        "duels-alpha",
        "2.6.6",
        "The less MergeDTS explores, the more often it eliminates the winner.",
        judged_by(trend("MergeDTS", rises=False, record="failures"), not_before=SETTLED),
    ),
    Claim(
        "winners-lost-at-low-alpha",
        "duels-alpha",
        "2.6.6",
        "MergeDTS eliminates the winner in 1, 4 and 10 of 100 runs with alpha = 0.8^7, 0.8^8 and 0.8^9.",
        judged_by(
            *(
                happens_as_often("MergeDTS", (lost, 100), panel=f"alpha = 0.8^{power}", margin=0.05)
                for power, lost in ((7, 1), (8, 4), (9, 10))
            ),
            not_before=SETTLED,
        ),
        changed="New.",
    ),
    Claim(
        "larger-batches-less-regret",
        "duels-batch-size",
        "2.6.6",
        "The larger the batches of MergeDTS, the less regret it has.",
        judged_by(trend("MergeDTS", rises=False), not_before=SETTLED),
    ),
    Claim(
        "lower-c-less-regret",
        "duels-c",
        "2.6.6",
        "The smaller C is, the less regret MergeDTS has.",
        judged_by(trend("MergeDTS", rises=True), not_before=SETTLED),
    ),
    Claim(
        "low-c-loses-winners",
        "duels-c",
        "2.6.6",
        "The smaller C is, the more often MergeDTS eliminates the winner: with C = 400 in more than 1 of 100 runs, as "
        "many as 100 runs would show, and with C = 4,726,908 in less than 5.",
        judged_by(
            happens("MergeDTS", panel="C = 400", more_than=0.01),
            happens("MergeDTS", panel="C = 4,726,908", less_than=0.05),
            not_before=SETTLED,
        ),
        changed="It asked for any slope at all, which no number of runs refutes where hardly any run loses the winner.",
    ),
    Claim(
        "c-of-four-million-lowest-without-failure",
        "duels-c",
        "2.6.6",
        "C = 4,000,000 is the lowest value at which none of 100 runs of MergeDTS loses the winner: there less than 5 % "
        "do, and at each lower value at least 1 %.",
        judged_by(
            happens("MergeDTS", panel="C = 4,000,000", less_than=0.05),
            *(happens("MergeDTS", panel=f"C = {c:,}", more_than=0.01) for c in (400, 4_000, 40_000, 400_000)),
            not_before=SETTLED,
        ),
        changed="New.",
    ),
    _tuned(
        "duels-alpha-merge-rucb",
        "MergeRUCB",
        "With alpha = 0.8^6 MergeRUCB has less regret than with 1, 0.8^2 and 0.8^4.",
        "alpha",
        "0.8^6",
        ("0.8^0", "0.8^2", "0.8^4"),
    ),
    _tuned(
        "duels-batch-size-merge-rucb",
        "MergeRUCB",
        "With batches of 8 MergeRUCB has less regret than with 2, 4 and 16.",
        "M",
        "8",
        ("2", "4", "16"),
    ),
    _tuned(
        "duels-c-merge-rucb",
        "MergeRUCB",
        "With C = 400,000 MergeRUCB has less regret than with 4,726,908.",
        "C",
        "400,000",
        ("4,726,908",),
    ),
    _tuned(
        "duels-alpha-dts",
        "DTS",
        "With alpha = 0.8^7 DTS has less regret than with 1, 0.8^2 and 0.8^4.",
        "alpha",
        "0.8^7",
        ("0.8^0", "0.8^2", "0.8^4"),
        not_before=300_000,
    ),
)
