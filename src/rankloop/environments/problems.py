"""What is simulated: users who click, with what a policy is told of them, alone or several of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rankloop.environments.click_environment import ClickEnvironment
from rankloop.environments.hybrid_cascade import HybridCascade
from rankloop.kernels.arrays import Floats


@dataclass(frozen=True, eq=False)
class ClickProblem:
    """One query to be re-ranked in simulation.

    Parameters
    ----------
    query
        The name of the query.
    environment
        The users who ask it.
    initial
        The initial list R_0: production's order of the items.
    items
        The names of the items that the environment calls 0, 1, ...

    Examples
    --------
    >>> from rankloop import CascadeModel
    >>> problem = ClickProblem("shoes", CascadeModel([0.2, 0.5, 0.1]), [2, 1, 0], ["boot", "sandal", "clog"])
    >>> problem.n_items, offers(problem)["initial"]
    (3, [2, 1, 0])
    """

    query: str
    environment: ClickEnvironment
    initial: list[int]
    items: list[str]

    offers: ClassVar[tuple[str, ...]] = ("initial",)

    @property
    def n_items(self) -> int:
        """The number of items that can be shown."""
        return self.environment.n_items


@dataclass(frozen=True, eq=False)
class HybridProblem:
    """One user to be recommended items in simulation; `hybrid_problems` makes them from ratings.

    Parameters
    ----------
    user
        The user's id.
    environment
        The user.
    relevance, topics
        Features of the items that policies get: relevance features and topic coverage, estimated from other users.
    titles
        Names of the items.
    topic_names
        Names of the topics.

    Examples
    --------
    >>> from rankloop import HybridCascade
    >>> user = HybridCascade([[0.5], [0.1]], [[1.0], [0.0]], beta=[0.4], theta=[0.3], trade_off=0.5)
    >>> problem = HybridProblem(7, user, user.relevance, user.topics, ["Alien", "Brazil"], ["science fiction"])
    >>> problem.n_items, sorted(offers(problem))
    (2, ['features', 'initial', 'n_items', 'n_positions', 'relevance', 'topics'])
    """

    user: int
    environment: HybridCascade
    relevance: Floats
    topics: Floats
    titles: list[str]
    topic_names: list[str]

    offers: ClassVar[tuple[str, ...]] = ("relevance", "topics")

    @property
    def n_items(self) -> int:
        """The number of items that can be shown."""
        return self.environment.n_items


def is_several(environment: Any) -> bool:
    """Whether several problems are given, not one alone."""
    return isinstance(environment, Sequence)


def each_of(environment: Any) -> list[Any]:
    """The problems of a list of them, or the one that is given alone.

    >>> from rankloop import CascadeModel
    >>> users = CascadeModel([0.2, 0.5])
    >>> len(each_of(users)), len(each_of([users, users]))
    (1, 2)
    """
    return list(environment) if is_several(environment) else [environment]


def users_of(problem: Any) -> Any:
    """What answers a policy: the environment of a problem, or the environment that is given itself."""
    return problem.environment if isinstance(problem, ClickProblem | HybridProblem) else problem


def offers(problem: Any) -> dict[str, Any]:
    """What a problem, or an environment alone, offers to policies, by the names of a policy's parameters.

    An environment says in its `offers` which of its attributes it offers. Where nothing else is said, production's
    order of the items is that of their numbers, lists may be as long as there are items, and `features` are the
    relevance features.

    >>> from rankloop import PositionBasedModel, PreferenceMatrix
    >>> offers(PreferenceMatrix.cycle())
    {'n_arms': 20}
    >>> found = offers(PositionBasedModel([0.5, 0.2, 0.1], examination=[1.0, 0.5]))
    >>> found["n_items"], found["n_positions"], found["examination"], found["initial"]
    (3, 2, array([1. , 0.5]), [0, 1, 2])
    """
    sources = (users_of(problem), problem)
    found = {name: getattr(each, name) for each in sources for name in getattr(each, "offers", ())}
    if "n_items" in found:
        found.setdefault("initial", list(range(found["n_items"])))
        found["n_positions"] = min(found["n_items"], found.get("n_positions") or found["n_items"])
    if "relevance" in found:
        found.setdefault("features", found["relevance"])
    return found
