"""Data to compare rankers on."""

from rankloop.datasets.lambdamart import settings_family, train_lambdamart
from rankloop.datasets.letor import Letor, read_letor
from rankloop.datasets.ranker_files import rankers_from_runs, rankers_from_scores, read_docids
from rankloop.datasets.rankers import Rankers, Rankings
from rankloop.datasets.synthetic import synthetic_letor

__all__ = [
    "Letor",
    "Rankers",
    "Rankings",
    "rankers_from_runs",
    "rankers_from_scores",
    "read_docids",
    "read_letor",
    "settings_family",
    "synthetic_letor",
    "train_lambdamart",
]
