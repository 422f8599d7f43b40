"""Made-up outcomes of experiments: worlds in which the thesis is right, and worlds in which it is wrong."""

# ruff: noqa: ARG005  all worlds share one signature

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rankloop.environments import HybridProblem
from rankloop.experiments import chapter2
from rankloop.experiments.catalogue import find
from rankloop.experiments.claims_chapter3 import _UNSAFE
from rankloop.experiments.data import Data
from rankloop.experiments.declare import Amount, Experiment, Outcome, Panel
from rankloop.runs import Run
from rankloop.simulation import Result

World = Callable[[Panel, str, np.ndarray], dict[str, Any]]
"""What a player gets in a panel at some shares of the horizon: records, and `seconds` and `failures` (their share)."""

HORIZON = 10**8

DATA = Data(None)

MANY = {"duels-alpha": 1000, "duels-c": 1000}
"""Runs where rare events are counted."""

QUIET = {"drift-regret": 0.002}
"""Noise where what is lost in a short time is the difference of two sums."""

WHOLE = ("winners_lost",)
"""Records that are counts, the same in every run."""


@cache
def declared(name: str, runs: int, problems: int) -> tuple[Experiment, list[Panel]]:
    [experiment] = find([name])
    many = experiment.amounts["smoke"].problems is not None
    amount = Amount(HORIZON, max(1, runs // 20) if many else runs, problems if many else None)
    experiment = dataclasses.replace(experiment, amounts={"smoke": amount})
    return experiment, list(experiment.panels(DATA, amount))


def made_up(
    name: str, world: World, *, runs: int | None = None, problems: int = 12, noise: float | None = None
) -> Outcome:
    """An outcome in which every number is the world's, give or take some noise."""
    experiment, panels = declared(name, MANY.get(name, 60) if runs is None else runs, problems)
    noise = QUIET.get(name, 0.02) if noise is None else noise
    draw = np.random.default_rng(0)
    results = {}
    for panel in panels:
        found = panel.environment if isinstance(panel.environment, list) else [panel.environment]
        n_units = experiment.amounts["smoke"].runs * len(found)
        steps = np.array(panel.checkpoints)
        setting = {"horizon": int(steps[-1])}
        if len(found) > 1:
            setting |= {"queries": [str(k) for k in range(len(found))], "hybrid": isinstance(found[0], HybridProblem)}
        for player in panel.players:
            true = world(panel, player.label, steps / HORIZON)
            seconds, failing = true.pop("seconds", 1.0), true.pop("failures", 0.0)
            finished = {}
            for unit in range(n_units):
                luck = 1 + noise * draw.standard_normal()
                lucks = luck + noise * draw.standard_normal(len(steps))
                records = {
                    key: value * (1 + 0.1 * (lucks - 1) if key == "ndcg" else 1.0 if key in WHOLE else lucks)
                    for key, value in true.items()
                }
                finished[unit] = Run(records, best=0, failed=unit < failing * n_units, seconds=seconds * luck)
            results[panel.name, player.label] = Result({"policy": player.label, **setting}, steps, finished)
    return Outcome(experiment, "smoke", panels, results)


def _large_scale(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    slow = 8000 if panel.name.startswith("Yahoo") else 11000
    return {
        "regret": {
            "MergeDTS": 10000 * np.minimum(1, t / 0.03),
            "MergeRUCB": 20000 * np.minimum(1, t / 0.03),
            "DTS": 100000 * t**0.9,
            "RMED1": 12000 * t**0.5,
            "Self-Sparring": slow * t**0.56,
            "REX3": 50000 * t,
        }[player]
    }


def _large_scale_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    return {"regret": 90000 * t if player == "MergeDTS" else 5000 * np.minimum(1, t / 0.01)}


def _noise(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    dataset, user = panel.name.split("-")
    level = ("Perfect", "Navigational", "Informational").index(user)
    slower, faster = (1.3, 2.0) if dataset != "Yahoo" else (2.0, 1.3)
    return {"regret": (10000 * slower**level if player == "MergeDTS" else 15000 * faster**level) * t}


def _noise_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    dataset, user = panel.name.split("-")
    level = ("Perfect", "Navigational", "Informational").index(user)
    ahead, behind = (50000 * 2.0**level, 10000) if dataset != "Yahoo" else (10000, 50000 * 2.0**level)
    return {"regret": (ahead if player == "MergeDTS" else behind) * t}


def _cycle(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    hard = {"MergeDTS": 1000, "MergeRUCB": 900, "DTS": 2000, "Self-Sparring": 10000, "REX3": 20000}
    regret = hard.get(player, 800) if panel.name == "Cycle" else 1000 if player == "MergeDTS" else 2000
    return {"regret": np.full(len(t), regret)}


def _cycle_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    rmed1 = 3000 if panel.name == "Cycle" else 500
    easy = {"MergeDTS": 1000, "MergeRUCB": 1500, "RMED1": rmed1, "RMED1-strongest": rmed1}
    return {"regret": easy.get(player, 500) * np.maximum(t, 0.1)}


def _regret(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    return {
        "regret": {
            "BubbleRank": 10000 * t**0.7,
            "BatchRank": 5000 * t**0.3,
            "TopRank": 4000 * t**0.3,
            "CascadeKL-UCB": 3000 * t if panel.name == "PBM" else 1000 * t**0.2,
            "Production": 50000 * t,
        }[player]
    }


def _regret_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    return {
        "regret": {
            "BubbleRank": 100 + 0 * t,
            "BatchRank": 5000 * t,
            "TopRank": 5000 * t,
            "CascadeKL-UCB": 3000 * t ** (0.1 if panel.name == "PBM" else 0.9),
            "Production": 50000 * t**0.1,
        }[player]
    }


def _first_lists(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    safe = player in ("BubbleRank", "Production")
    unsafe = 0 if safe else _UNSAFE[player][panel.name][0]
    return {
        "regret": (100 if safe else 200) * np.ones(len(t)),
        "violations": unsafe * np.ones(len(t)),
        "ndcg": (0.9 if safe else 0.6) * np.ones(len(t)),
    }


def _first_lists_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    unsafe = {"CascadeKL-UCB": 10, "BatchRank": 5, "TopRank": 15}.get(player, 1)
    return {
        "regret": (300 if player == "BubbleRank" else 100) * np.ones(len(t)),
        "violations": unsafe * np.ones(len(t)),
        "ndcg": (0.5 if player == "BubbleRank" else 0.9) * np.ones(len(t)),
    }


def _ndcg(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    first = 0.9 if player in ("BubbleRank", "Production") else 0.6
    last = 0.9 if player == "Production" else 0.995
    return {"ndcg": np.where(t < 0.1, first, last)}


def _ndcg_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    return {"ndcg": np.where(t < 0.1, 0.5 if player == "BubbleRank" else 0.9, 0.8 if player == "BubbleRank" else 0.99)}


def _drift(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    if player in ("CascadeSWUCB", "CascadeDUCB"):
        epochs, within = np.divmod(t * 10 + 1e-9, 1)
        return {"regret": (200 if player == "CascadeSWUCB" else 250) * (epochs + np.sqrt(within))}
    if player == "CascadeKL-UCB":
        return {"regret": np.where(t <= 0.1, 1115.0 * t, 111.5 + 4478.2 * (t - 0.1))}
    return {"regret": 10000 * t**1.2}


def _drift_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    if player in ("CascadeSWUCB", "CascadeDUCB"):
        epochs, within = np.divmod(t * 10 + 1e-9, 1)
        return {"regret": (4000 if player == "CascadeSWUCB" else 1500) * (epochs + within**3)}
    return {"regret": (30000 if player == "CascadeKL-UCB" else 1000) * t**0.3}


def _single(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    return {"regret": 10000 * t ** (0.5 if player in ("CascadeDUCB", "CascadeSWUCB") else 1.0)}


def _single_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    return {"regret": 10000 * t ** (1.2 if player in ("CascadeDUCB", "CascadeSWUCB") else 0.3)}


def _wrong_pairs(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    return {"regret": (1000 + 100 * (panel.value or 0)) * t}


def _wrong_pairs_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    return {"regret": (5000 - 100 * (panel.value or 0)) * t}


def _trade_offs(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    x = panel.value or 0.0
    specialists = {"CascadeLSB": 80 if x == 0 else 200 * (1 + x), "CascadeLinUCB": 80 if x > 0.85 else 200 * (2 - x)}
    return {"regret": {**specialists, "CascadeHybrid": 100, "CascadeLinUCBFull": 130}.get(player, 160) * t**0.5}


def _trade_offs_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    x = panel.value or 0.0
    specialists = {"CascadeLSB": 300 * (2 - x), "CascadeLinUCB": 300 * (1 + x)}
    return {"regret": {**specialists, "CascadeHybrid": 1000}.get(player, 500) * t**0.5}


def _topics(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    d = panel.value or 0.0
    full = {"CascadeLinUCBFull": 200 - 3 * d, "CascadeLSBFull": 180 + d}
    return {"regret": {**full, "CascadeHybrid": 100}.get(player, 500) * t**0.5}


def _topics_not(panel: Panel, player: str, t: np.ndarray) -> dict[str, Any]:
    d = panel.value or 0.0
    return {"regret": {"CascadeLinUCBFull": 200 + 10 * d, "CascadeHybrid": 180}.get(player, 100) * t**0.5}


RIGHT: dict[str, World] = {
    "duels-large-scale": _large_scale,
    "duels-running-time": lambda panel, player, t: {"regret": t, "seconds": chapter2.DAYS[panel.name][player]},
    "duels-noise": _noise,
    "duels-cycle": _cycle,
    "duels-non-condorcet": lambda panel, player, t: {
        "regret": 1000 if player == "MergeDTS" else 2000,
        "winners_lost": np.ones(len(t)),
    },
    "duels-alpha": lambda panel, player, t: {
        "regret": 9000 * panel.value**1.2,
        "failures": {"alpha = 0.8^7": 0.01, "alpha = 0.8^8": 0.04, "alpha = 0.8^9": 0.1}.get(panel.name, 0.0),
    },
    "duels-batch-size": lambda panel, player, t: {"regret": 9000 * panel.value**-0.5},
    "duels-c": lambda panel, player, t: {
        "regret": 9000 * panel.value**0.1,
        "failures": max(0.0, 0.65 - 0.1 * np.log10(panel.value)),
    },
    "duels-alpha-merge-rucb": lambda panel, player, t: {"regret": 9000 * panel.value**1.2},
    "duels-batch-size-merge-rucb": lambda panel, player, t: {"regret": {2: 900, 4: 700, 8: 500, 16: 600}[panel.value]},
    "duels-c-merge-rucb": lambda panel, player, t: {"regret": 9000 * panel.value**0.1},
    "duels-alpha-dts": lambda panel, player, t: {"regret": 9000 * panel.value**1.2},
    "rerank-regret": _regret,
    "rerank-first-lists": _first_lists,
    "rerank-violations": lambda panel, player, t: {
        "violations": {"BubbleRank": 0, "CascadeKL-UCB": 25}.get(player, 70) * np.maximum(1, t * 1e6)
    },
    "rerank-initial-cm": _wrong_pairs,
    "rerank-initial-dcm": _wrong_pairs,
    "rerank-initial-pbm": _wrong_pairs,
    "rerank-examination": lambda panel, player, t: {"regret": 1000 / panel.value * t},
    "rerank-ndcg": _ndcg,
    "drift-regret": _drift,
    "drift-single-queries": _single,
    "diversity-lambda-movielens": _trade_offs,
    "diversity-topics-movielens": _topics,
    "diversity-positions-movielens": _topics,
    "diversity-lambda-yahoo": _trade_offs,
    "diversity-topics-yahoo": _topics,
    "diversity-positions-yahoo": _topics,
}
"""Worlds in which all claims are true."""

WRONG: dict[str, World] = {
    "duels-large-scale": _large_scale_not,
    "duels-running-time": lambda panel, player, t: {
        "regret": t,
        "seconds": (panel.environment.n_arms / 136) ** (2 if player.startswith("Merge") else -1)
        * (5 if player.startswith("Merge") else 1),
    },
    "duels-noise": _noise_not,
    "duels-cycle": _cycle_not,
    "duels-non-condorcet": lambda panel, player, t: {
        "regret": 5000 if player == "MergeDTS" else 2000,
        "failures": 0.5,
        "winners_lost": np.zeros(len(t)),
    },
    "duels-alpha-merge-rucb": lambda panel, player, t: {"regret": 9000 * panel.value**-1.2},
    "duels-batch-size-merge-rucb": lambda panel, player, t: {"regret": {8: 900}.get(panel.value, 500)},
    "duels-c-merge-rucb": lambda panel, player, t: {"regret": 9000 * panel.value**-0.1},
    "duels-alpha-dts": lambda panel, player, t: {"regret": 9000 * panel.value**-1.2},
    "duels-alpha": lambda panel, player, t: {"regret": 9000, "failures": 0.5 * panel.value},
    "duels-batch-size": lambda panel, player, t: {"regret": 9000 * panel.value**0.5},
    "duels-c": lambda panel, player, t: {"regret": 9000 * panel.value**-0.1, "failures": 0.1 * np.log10(panel.value)},
    "rerank-regret": _regret_not,
    "rerank-first-lists": _first_lists_not,
    "rerank-violations": lambda panel, player, t: {
        "violations": {"BubbleRank": 1, "CascadeKL-UCB": 10}.get(player, 5) * np.minimum(1, t * 1e6)
    },
    "rerank-initial-cm": _wrong_pairs_not,
    "rerank-initial-dcm": _wrong_pairs_not,
    "rerank-initial-pbm": _wrong_pairs_not,
    "rerank-examination": lambda panel, player, t: {"regret": 1000 * t},
    "rerank-ndcg": _ndcg_not,
    "drift-regret": _drift_not,
    "drift-single-queries": _single_not,
    "diversity-lambda-movielens": _trade_offs_not,
    "diversity-topics-movielens": _topics_not,
    "diversity-positions-movielens": _topics_not,
    "diversity-lambda-yahoo": _trade_offs_not,
    "diversity-topics-yahoo": _topics_not,
    "diversity-positions-yahoo": _topics_not,
}
"""Worlds in which no claim is true."""
