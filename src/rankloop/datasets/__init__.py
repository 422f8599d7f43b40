"""Data: click logs and LETOR datasets, read or made up."""

from rankloop.datasets.any_click_log import read_click_log
from rankloop.datasets.click_logs import ClickLog, ReadReport
from rankloop.datasets.columnar import read_csv, read_parquet, write_csv
from rankloop.datasets.lambdamart import settings_family, train_lambdamart
from rankloop.datasets.letor import Letor, read_letor
from rankloop.datasets.ranker_files import rankers_from_runs, rankers_from_scores, read_docids
from rankloop.datasets.rankers import Rankers, Rankings
from rankloop.datasets.synthetic import synthetic_letor
from rankloop.datasets.synthetic_clicks import SyntheticQueries, synthetic_click_log
from rankloop.datasets.ubi import read_ubi
from rankloop.datasets.yandex import read_yandex, write_yandex

__all__ = [
    "ClickLog",
    "Letor",
    "Rankers",
    "Rankings",
    "ReadReport",
    "SyntheticQueries",
    "rankers_from_runs",
    "rankers_from_scores",
    "read_click_log",
    "read_csv",
    "read_docids",
    "read_letor",
    "read_parquet",
    "read_ubi",
    "read_yandex",
    "settings_family",
    "synthetic_click_log",
    "synthetic_letor",
    "train_lambdamart",
    "write_csv",
    "write_yandex",
]
