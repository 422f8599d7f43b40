"""Trained rankers: a family of LambdaMART models, where LightGBM is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from rankloop.datasets.letor import Letor
from rankloop.datasets.rankers import Rankers

MISSING = "trained rankers need LightGBM: pip install 'rankloop[letor]'"


def settings_family(n: int = 24, *, seed: int = 0) -> list[dict[str, Any]]:
    """n settings of LambdaMART, from small and quick to large and thorough, in random order.

    >>> settings_family(2)[0].keys()
    dict_keys(['num_leaves', 'learning_rate', 'n_estimators', 'colsample_bytree'])
    """
    leaves, rates, trees, columns = (7, 31, 63), (0.03, 0.1), (10, 50, 200), (0.2, 1.0)
    grid = [
        {"num_leaves": a, "learning_rate": b, "n_estimators": c, "colsample_bytree": d}
        for a, b, c, d in product(leaves, rates, trees, columns)
    ]
    if not 1 <= n <= len(grid):
        raise ValueError(f"there are from 1 to {len(grid)} settings, not {n!r}")
    order = np.random.default_rng(seed).permutation(len(grid))
    return [grid[at] for at in order[:n]]


def train_lambdamart(
    data: Letor, train: Letor, settings: Sequence[dict[str, Any]] | None = None, *, seed: int = 0
) -> Rankers:
    """Train one LambdaMART model for each setting, and let them rank the documents of `data`.

    Parameters
    ----------
    data
        Documents to be ranked.
    train
        Documents to learn from: another part of the dataset, since the comparison would else favour models that learned
        it by heart.
    settings
        Parameters of LightGBM for each model; `settings_family()` if not given.
    seed
        Seed of the training.
    """
    columns, names = [], []
    for name, model in _trained(train, settings_family() if settings is None else settings, seed):
        columns.append(model.predict(_as_wide(data, train.n_features)))
        names.append(name)
    return Rankers(data, np.stack(columns, axis=1), names)


def _trained(train: Letor, settings: Sequence[dict[str, Any]], seed: int) -> Iterator[tuple[str, Any]]:
    try:
        import lightgbm
    except ImportError:
        raise ImportError(MISSING) from None
    if not settings:
        raise ValueError("there must be at least one setting to train")
    for number, setting in enumerate(settings, 1):
        parameters = {"objective": "lambdarank", "seed": seed, "deterministic": True, "verbosity": -1, **setting}
        n_trees = parameters.pop("n_estimators", 100)
        parameters["label_gain"] = [2**grade - 1 for grade in range(int(train.labels.max()) + 1)]
        dataset = lightgbm.Dataset(train.features, train.labels, group=train.sizes)
        model = lightgbm.train(parameters, dataset, num_boost_round=n_trees)
        described = ", ".join(f"{name}={value}" for name, value in setting.items())
        yield f"LambdaMART {number} ({described})", model


def _as_wide(data: Letor, n_features: int) -> Any:
    """The features in the width of the model: a file may lack the last ones, which are then 0."""
    wide = np.zeros((data.n_documents, n_features), np.float32)
    common = min(n_features, data.n_features)
    wide[:, :common] = data.features[:, :common]
    return wide
