"""Why a list is as it is: each item's estimated attraction, split into relevance and novelty, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloop.extras import PLOTS, extra
from rankloop.kernels.arrays import Floats, Ints
from rankloop.policies.features.catalogue import check_one_each

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LONGEST_TITLE = 42


class ExplainedItem(NamedTuple):
    """One position of a list."""

    item: int
    title: str
    topics: tuple[str, ...]
    """What the item is about, the most covered first."""
    attraction: float
    """The estimate of the probability of a click on the item once it is seen: relevance plus novelty."""
    relevance: float
    novelty: float
    """What it is worth that the items above lack its topics."""
    uncertainty: float
    """What exploration adds for not being sure, gamma included."""


class Explanation:
    """A list with the reasons for it, as text and as a picture.

    >>> import rankloop as rl
    >>> policy = rl.CascadeHybrid([[1, 0], [0, 1]], [[0.9, 0], [0, 0.5]], n_positions=2)
    >>> policy.update(rl.Ranking([0, 1], policy=policy.identity), clicks=[1, 0])
    >>> print(policy.explain([0, 1], titles=["Heat", "Brazil"], topic_names=["crime", "comedy"]))
       title   topics  attraction  relevance  novelty  uncertainty
    1  Heat    crime         0.64       0.36     0.29        ±0.80
    2  Brazil  comedy        0.00       0.00     0.00        ±1.12
    """

    def __init__(self, items: Sequence[ExplainedItem], covered: Floats, topic_names: Sequence[str]) -> None:
        self.items = list(items)
        self.covered = covered
        """How much of each topic (columns) the list covers down to each position (rows)."""
        self.topic_names = list(topic_names)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("", "title", "topics", "attraction", "relevance", "novelty", "uncertainty")]
        for position, item in enumerate(self.items, 1):
            numbers = (f"{value:.2f}" for value in (item.attraction, item.relevance, item.novelty))
            rows.append(
                (str(position), _short(item.title), ", ".join(item.topics), *numbers, f"±{item.uncertainty:.2f}")
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        aligned = (
            "  ".join(
                cell.ljust(width) if column in (1, 2) else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )
        return "\n".join(aligned)

    def plot(self, title: str = "") -> Figure:
        """How the list covers topics, position by position."""
        return plot_coverage({title: self})


def names_of(items: Ints, titles: Sequence[str] | None, n_items: int) -> list[str]:
    """What to call the items of a list, those from outside the catalogue among them, which are below 0."""
    known = None if titles is None else check_one_each("titles", titles, n_items)
    own = [f"item {item}" if known is None else str(known[item]) for item in np.maximum(items, 0)]
    return [name if item >= 0 else f"new item {-item}" for name, item in zip(own, items, strict=True)]


def explain_list(
    numbers: Ints,
    titles: Sequence[str],
    features: tuple[Floats, Floats],
    weights: Floats,
    covariance: Floats,
    gamma: float,
    covering: Floats,
    topic_names: Sequence[str] | None,
    *,
    literal: bool,
) -> Explanation:
    """Why items stand on a list, by the weights of topics and relevance features, and their covariance.

    Titles, features and what the items cover come in the order of the list. With `literal`, topics below 0 uncover what
    the items above cover; else they cover nothing.
    """
    relevance, topics = features
    n_topics = topics.shape[1]
    names = [f"topic {j}" for j in range(covering.shape[1])]
    if topic_names is not None:
        names = [str(name) for name in check_one_each("topic_names", topic_names, covering.shape[1], "topics")]
    remaining = np.ones(n_topics)
    items = []
    for k, number in enumerate(numbers.tolist()):
        phi = np.concatenate([topics[k] * remaining, relevance[k]])
        novel, relevant = float(phi[:n_topics] @ weights[:n_topics]), float(phi[n_topics:] @ weights[n_topics:])
        width = gamma * float(np.sqrt(max(0.0, phi @ covariance @ phi)))
        about = [names[j] for j in np.argsort(-covering[k], kind="stable") if covering[k, j] > 0]
        items.append(ExplainedItem(number, titles[k], tuple(about), relevant + novel, relevant, novel, width))
        remaining *= 1.0 - (topics[k] if literal else np.maximum(topics[k], 0.0))
    covered = np.asarray(1.0 - np.cumprod(1.0 - covering, axis=0), np.float64)
    return Explanation(items, covered, names)


def _short(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"


def plot_coverage(explanations: Mapping[str, Explanation], *, ink: str = "#333333") -> Figure:
    """How several lists cover topics, position by position, side by side: the darker, the more of a topic is covered.

    Topics are ordered by how much of them all lists cover together; what each position adds is marked by a dot.
    """
    with extra("plots", PLOTS):
        from matplotlib.figure import Figure

    lists = list(explanations.values())
    if not lists or not all(each.items for each in lists):
        raise ValueError("there is no list to plot")
    names = lists[0].topic_names
    if not names:
        raise ValueError("the policy has no topics: give them with explain(topics=...)")
    if any(each.topic_names != names for each in lists):
        raise ValueError("the lists have different topics: explain them with the same ones")
    order = np.argsort(-sum(each.covered[-1] for each in lists), kind="stable")
    most = max(1e-9, max(float(each.covered.max()) for each in lists))
    n_positions = max(len(each.items) for each in lists)
    figure = Figure(
        figsize=(1.6 + (0.9 + 0.16 * n_positions) * len(lists), 1.3 + 0.23 * len(names)), layout="constrained"
    )
    axes = figure.subplots(1, len(lists), sharey=True, squeeze=False)[0]
    for axis, (label, each) in zip(axes, explanations.items(), strict=True):
        image = axis.imshow(each.covered[:, order].T, cmap="Blues", vmin=0.0, vmax=most, aspect="auto")
        added = np.diff(each.covered, axis=0, prepend=0.0)[:, order]
        position, topic = np.nonzero(added > 0.02 * most)
        sizes = 4 + 26 * np.sqrt(added[position, topic] / most)
        axis.scatter(position, topic, s=sizes, color="#D55E00", linewidths=0)
        axis.set_title(label, fontsize=9, color=ink)
        axis.set_xticks(range(0, len(each.items), 1 if len(each.items) <= 5 else 2))
        axis.set_xticklabels([str(k + 1) for k in range(0, len(each.items), 1 if len(each.items) <= 5 else 2)])
        axis.set_yticks(range(len(names)), [names[j] for j in order])
        axis.tick_params(labelsize=8, length=0, colors=ink)
        for spine in axis.spines.values():
            spine.set_visible(False)
    figure.supxlabel("position", fontsize=9, color=ink)
    bar = figure.colorbar(image, ax=axes.tolist(), fraction=0.04, pad=0.02)
    bar.set_label("covered down to here", fontsize=8, color=ink)
    bar.ax.tick_params(labelsize=8, length=0, colors=ink)
    bar.outline.set_visible(False)
    return figure
