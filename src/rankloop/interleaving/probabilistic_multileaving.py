"""Probabilistic interleave for any number of rankers."""

from __future__ import annotations

from rankloop.interleaving.probabilistic import Probabilistic


class ProbabilisticMultileaving(Probabilistic):
    """Probabilistic interleave with many rankers at once, their credit exact over all assignments.

    At each position a ranker picked at random draws an item by 1 / rank³. Every clicked item is shared among the
    rankers in proportion to their chances of having placed it, so each click tells something about every ranker.

    Parameters
    ----------
    exponent
        As in `Probabilistic`.

    Examples
    --------
    >>> page = ProbabilisticMultileaving().interleave([["a", "b"], ["b", "a"], ["c", "a"]], length=2, seed=0)
    >>> page.items
    ('c', 'a')
    >>> [round(share, 3) for share in page.credit([0, 1])]
    [0.444, 0.056, 0.5]

    References
    ----------
    Schuth, Bruintjes, Büttner, van Doorn, Groenland, Oosterhuis, Tran, Veeling, van der Velde, Wechsler, Woudenberg,
    de Rijke (2015). Probabilistic multileave for online retrieval evaluation. SIGIR.
    """

    name = "probabilistic-multileaving"
    most_rankers = None
