"""Compiled steps and random draws: the floor that everything else stands on."""

from rankloop.kernels.arrays import Stream
from rankloop.kernels.compiler import allocating, cache_directory, compiled, entry, inlined, rare, single_step
from rankloop.kernels.lanes import Lanes, fill_words, lanes
from rankloop.kernels.posterior import (
    Rates,
    draw_below,
    draw_below_given_half,
    draw_lower_half,
    draw_pair_below,
    no_rates,
    pick_sampled_best,
    record_outcome,
    record_win,
)
from rankloop.kernels.random import beta, draw_index, next_word, normal, pick_largest, shuffle, stream, uniform
from rankloop.kernels.states import StepError, step
from rankloop.kernels.steps import choose, gains, learn, regret, respond, settled
from rankloop.wording import former_names

__all__ = [
    "Lanes",
    "Rates",
    "StepError",
    "Stream",
    "allocating",
    "beta",
    "cache_directory",
    "choose",
    "compiled",
    "draw_below",
    "draw_below_given_half",
    "draw_index",
    "draw_lower_half",
    "draw_pair_below",
    "entry",
    "fill_words",
    "gains",
    "inlined",
    "lanes",
    "learn",
    "next_word",
    "no_rates",
    "normal",
    "pick_largest",
    "pick_sampled_best",
    "rare",
    "record_outcome",
    "record_win",
    "regret",
    "respond",
    "settled",
    "shuffle",
    "single_step",
    "step",
    "stream",
    "uniform",
]

__getattr__ = former_names(__name__, {"below": "draw_index"})
