"""Models of how users click: fitting them to logs, judging them, and simulating users of graded results."""

from rankloop.click_models.base import ClickModel, Perplexity
from rankloop.click_models.cm import CM
from rankloop.click_models.dbn import DBN
from rankloop.click_models.dcm import DCM
from rankloop.click_models.files import QueryModel, load, query_models, read_query_models, save
from rankloop.click_models.pbm import PBM
from rankloop.click_models.sdbn import SDBN
from rankloop.click_models.ubm import UBM
from rankloop.click_models.users import User

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
    "User",
    "load",
    "query_models",
    "read_query_models",
    "save",
]
