"""Compiled steps and random draws: the floor that everything else stands on."""

from rankloop.kernels.compiler import cache_directory, compiled, entry, inlined, step
from rankloop.kernels.posterior import draw_below, draw_pair_below, record_win
from rankloop.kernels.random import Stream, below, beta, next_word, pick_largest, shuffle, stream, uniform
from rankloop.kernels.steps import choose, gains, learn, regret, respond, settled

__all__ = [
    "Stream",
    "below",
    "beta",
    "cache_directory",
    "choose",
    "compiled",
    "draw_below",
    "draw_pair_below",
    "entry",
    "gains",
    "inlined",
    "learn",
    "next_word",
    "pick_largest",
    "record_win",
    "regret",
    "respond",
    "settled",
    "shuffle",
    "step",
    "stream",
    "uniform",
]
