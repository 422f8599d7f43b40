"""What the feature bandits keep, and the compiled steps that all of them share."""

from __future__ import annotations

from typing import NamedTuple

from rankloop.kernels import choose, learn, step
from rankloop.kernels.arrays import Clicks, Floats, Items, Notes, Stream
from rankloop.policies.features.catalogue import Catalogue
from rankloop.policies.features.diverse import Room, fill_diversely
from rankloop.policies.features.greedy import Desk, covered_by, fill_greedily
from rankloop.policies.features.ridge import Ridge, draw_weights, estimate, observe


class FeatureState(NamedTuple):
    rng: Stream
    model: Ridge
    widths: Floats
    catalogue: Catalogue
    desk: Desk
    gamma: float
    cascade: bool
    """Whether users look down to their first click only, and so only the items down to it were seen."""
    literal: bool
    """Whether a topic below 0 uncovers what items above cover, as the product literally says."""


class SampledState(FeatureState):
    """A FeatureState that explores by drawing weights, not by adding a bonus."""

    __slots__ = ()


class DiverseState(NamedTuple):
    """A FeatureState whose lists are worth more the more their items differ."""

    rng: Stream
    model: Ridge
    widths: Floats
    catalogue: Catalogue
    desk: Desk
    gamma: float
    cascade: bool
    literal: bool
    room: Room
    diversity: float
    """The weight of a list's entropy beside the scores of its items."""
    variance: float


AnyState = FeatureState | SampledState | DiverseState


@step(choose, FeatureState, counted=False)
def _choose(state: FeatureState, items: Items, notes: Notes) -> None:
    desk = state.desk
    for i in range(len(desk.weights)):
        desk.weights[i] = state.model.weights[i]
    covariance = state.model.covariance
    fill_greedily(state.rng, items, state.catalogue, covariance, state.widths, desk, state.gamma, state.literal)


@step(choose, SampledState, counted=False)
def _choose_by_sampling(state: SampledState, items: Items, notes: Notes) -> None:
    desk = state.desk
    draw_weights(state.rng, state.model, state.gamma, desk.weights)
    fill_greedily(state.rng, items, state.catalogue, state.model.covariance, state.widths, desk, 0.0, state.literal)


@step(choose, DiverseState, counted=False)
def _choose_diversely(state: DiverseState, items: Items, notes: Notes) -> None:
    desk = state.desk
    for i in range(len(desk.weights)):
        desk.weights[i] = state.model.weights[i]
    fill_diversely(
        state.rng,
        items,
        state.catalogue,
        state.model.covariance,
        state.widths,
        desk,
        state.gamma,
        state.room,
        state.diversity,
        state.variance,
    )


def _learn(state: AnyState, items: Items, notes: Notes, clicks: Clicks) -> None:
    catalogue, desk = state.catalogue, state.desk
    phi, remaining = desk.phi, desk.remaining
    n_topics = len(remaining)
    for j in range(n_topics):
        remaining[j] = 1.0
    for k in range(len(clicks)):
        a = items[k]
        for j in range(n_topics):
            phi[j] = 0.0
        for p in range(catalogue.starts[a], catalogue.starts[a + 1]):
            j = catalogue.topics[p]
            phi[j] = catalogue.coverage[p] * remaining[j]
            remaining[j] -= covered_by(phi[j], state.literal)
        for i in range(len(catalogue.columns)):
            phi[n_topics + i] = catalogue.relevance[a, i]
        observe(state.model, phi, desk.along, float(clicks[k]))
        if state.cascade and clicks[k]:
            break
    estimate(state.model)


step(learn, FeatureState, counted=False)(_learn)
step(learn, SampledState, counted=False)(_learn)
step(learn, DiverseState, counted=False)(_learn)
