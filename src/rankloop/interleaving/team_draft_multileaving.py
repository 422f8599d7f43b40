"""Team draft for any number of rankers."""

from __future__ import annotations

from rankloop.interleaving.team_draft import TeamDraft


class TeamDraftMultileaving(TeamDraft):
    """Team draft with many rankers at once: in each round all of them, in random order, pick one item each.

    One list compares all pairs of rankers, each with few of its positions: for a first look at many rankers. With
    more rankers than positions some have no item in a list, and neither win nor lose by it against each other.

    Examples
    --------
    >>> lists = [list("abcd"), list("bcef"), list("daeg")]
    >>> page = TeamDraftMultileaving().interleave(lists, length=3, seed=0)
    >>> page.items, page.credit([1, 0, 0])
    (('d', 'b', 'a'), (0.0, 0.0, 1.0))
    >>> page.preference([1, 0, 0], left=1, right=2)
    Preference(win=0.0, tie=0.0, loss=1.0)

    References
    ----------
    Schuth, Sietsma, Whiteson, Lefortier, de Rijke (2014). Multileaved comparisons for fast online evaluation. CIKM.
    """

    name = "team-draft-multileaving"
    most_rankers = None
