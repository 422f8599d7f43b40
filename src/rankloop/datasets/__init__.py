"""Data: click logs, read and made up."""

from rankloop.datasets.any_click_log import read_click_log
from rankloop.datasets.click_logs import ClickLog, ReadReport
from rankloop.datasets.columnar import read_csv, read_parquet, write_csv
from rankloop.datasets.synthetic_clicks import SyntheticQueries, synthetic_click_log
from rankloop.datasets.ubi import read_ubi
from rankloop.datasets.yandex import read_yandex, write_yandex

__all__ = [
    "ClickLog",
    "ReadReport",
    "SyntheticQueries",
    "read_click_log",
    "read_csv",
    "read_parquet",
    "read_ubi",
    "read_yandex",
    "synthetic_click_log",
    "write_csv",
    "write_yandex",
]
