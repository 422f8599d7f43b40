"""Models of how users click: fitting them to logs, and judging them."""

from rankloop.click_models.base import ClickModel, Perplexity
from rankloop.click_models.cm import CM
from rankloop.click_models.dbn import DBN
from rankloop.click_models.dcm import DCM
from rankloop.click_models.files import QueryModel, load, query_models, read_query_models, save
from rankloop.click_models.pbm import PBM
from rankloop.click_models.sdbn import SDBN
from rankloop.click_models.ubm import UBM

__all__ = [
    "CM",
    "DBN",
    "DCM",
    "PBM",
    "SDBN",
    "UBM",
    "ClickModel",
    "Perplexity",
    "QueryModel",
    "load",
    "query_models",
    "read_query_models",
    "save",
]
