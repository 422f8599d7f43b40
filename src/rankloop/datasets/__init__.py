"""Data: click logs, LETOR datasets and ratings, read or made up."""

from rankloop.datasets.any_click_log import read_click_log
from rankloop.datasets.any_ratings import read_ratings
from rankloop.datasets.click_logs import ClickLog, ReadReport
from rankloop.datasets.columnar import read_csv, read_parquet, write_csv
from rankloop.datasets.lambdamart import settings_family, train_lambdamart
from rankloop.datasets.letor import Letor, read_letor
from rankloop.datasets.movielens import read_movielens
from rankloop.datasets.ranker_files import rankers_from_runs, rankers_from_scores, read_docids
from rankloop.datasets.rankers import Rankers, Rankings
from rankloop.datasets.ratings import Attractive, Ratings
from rankloop.datasets.synthetic import synthetic_letor
from rankloop.datasets.synthetic_clicks import SyntheticQueries, synthetic_click_log
from rankloop.datasets.synthetic_ratings import synthetic_ratings
from rankloop.datasets.ubi import read_ubi
from rankloop.datasets.yahoo_music import read_yahoo_music
from rankloop.datasets.yandex import read_yandex, write_yandex

__all__ = [
    "Attractive",
    "ClickLog",
    "Letor",
    "Rankers",
    "Rankings",
    "Ratings",
    "ReadReport",
    "SyntheticQueries",
    "rankers_from_runs",
    "rankers_from_scores",
    "read_click_log",
    "read_csv",
    "read_docids",
    "read_letor",
    "read_movielens",
    "read_parquet",
    "read_ratings",
    "read_ubi",
    "read_yahoo_music",
    "read_yandex",
    "settings_family",
    "synthetic_click_log",
    "synthetic_letor",
    "synthetic_ratings",
    "train_lambdamart",
    "write_csv",
    "write_yandex",
]
