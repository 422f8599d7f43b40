"""Clicks on one list, compiled: what the environments are made of.

Each function writes 0 or 1 into `clicks` for every position of `items`, which index the attractions.
"""

from __future__ import annotations

from rankloop.kernels import inlined, uniform
from rankloop.kernels.arrays import Clicks, Floats, Items, Stream


@inlined
def draw_cascade(rng: Stream, attraction: Floats, items: Items, clicks: Clicks) -> None:
    """The cascade model: the first attractive item is clicked, and nothing below it is seen."""
    n = len(items)
    for k in range(n):
        clicks[k] = 0
    for k in range(n):
        if uniform(rng) < attraction[items[k]]:
            clicks[k] = 1
            break


@inlined
def draw_dependent(rng: Stream, attraction: Floats, abandonment: Floats, items: Items, clicks: Clicks) -> None:
    """The dependent click model: attractive items are clicked until a click at k satisfies, with probability v(k)."""
    n = len(items)
    for k in range(n):
        clicks[k] = 0
    for k in range(n):
        # One draw for both questions: given that it is below the attraction, it is uniform there.
        draw = uniform(rng)
        attractive = attraction[items[k]]
        if draw < attractive:
            clicks[k] = 1
            if draw < attractive * abandonment[k]:
                break


@inlined
def draw_position_based(rng: Stream, attraction: Floats, examination: Floats, items: Items, clicks: Clicks) -> None:
    """The position-based model: position k is clicked with probability chi(k) alpha(item), independently."""
    for k in range(len(items)):
        clicks[k] = int(uniform(rng) < examination[k] * attraction[items[k]])
