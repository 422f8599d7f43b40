"""Fitted click models as JSON.

The file is an object with `queries`, a list of entries such as

    {"query": "101524", "sessions": 812, "items": ["17", "4", ...], "list_length": 10,
     "DCM": {"attraction": [0.28, ...], "abandonment": [0.66, ...]}}

Items stand in the order of the query's most frequent list, then by how often they were shown; parameters of items are
in that order, those of positions in the order of positions. `models` holds, for each click model, the smoothing and
the values for unknown items. A bare list of entries is read too, and in an entry only `query` and one model are needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankloop.checks import check_whole
from rankloop.click_models.base import ClickModel
from rankloop.click_models.pairs import QueryItems
from rankloop.kernels.arrays import Floats
from rankloop.storage import replacing

KIND = "click models"
FORMAT_VERSION = 1


class QueryModel(NamedTuple):
    """The click models of one query.

    Attributes
    ----------
    query
        Its name.
    items
        The names of its items; the first `list_length` are the initial list R_0, in its order.
    list_length
        Number of items of R_0.
    n_sessions
        Number of sessions that the models were fitted to; 0 if not known.
    parameters
        The values of each parameter of each click model, by name.
    """

    query: str
    items: list[str]
    list_length: int
    n_sessions: int
    parameters: dict[str, dict[str, Floats]]


def query_models(models: Sequence[ClickModel]) -> list[QueryModel]:
    """The models of each query, from models that were fitted to the same log."""
    if not models:
        raise ValueError("there are no models")
    pairs = models[0].pairs
    for model in models[1:]:
        if list(model.pairs.item_names) != list(pairs.item_names) or not np.array_equal(model.pairs.start, pairs.start):
            raise ValueError("models that go together must have been fitted to the same log")
    result = []
    for q, query in enumerate(pairs.query_names):
        span = slice(int(pairs.start[q]), int(pairs.start[q + 1]))
        if span.start == span.stop:
            continue
        parameters = {}
        for model in models:
            own = {name: model.parameters[name][span] for name in model.pair_parameters}
            parameters[type(model).__name__] = own | {n: model.parameters[n] for n in model.shared_parameters}
        items = list(pairs.item_names[span])
        result.append(QueryModel(query, items, int(pairs.list_length[q]), int(pairs.n_sessions[q]), parameters))
    return result


def save(path: str | Path, models: Sequence[ClickModel]) -> None:
    """Write models that were fitted to the same log to one file, one query a line."""
    header = {
        type(model).__name__: {
            "smoothing": model.smoothing,
            "n_positions": model.n_positions,
            "unknown": {name: float(model.parameters[name][-1]) for name in model.pair_parameters},
        }
        for model in models
    }
    lines = []
    for entry in query_models(models):
        values = {
            name: {parameter: value.tolist() for parameter, value in own.items()}
            for name, own in entry.parameters.items()
        }
        fields = {"query": entry.query, "sessions": entry.n_sessions, "items": entry.items}
        lines.append(json.dumps(fields | {"list_length": entry.list_length} | values))
    with replacing(path) as file:
        opening = json.dumps({"rankloop": KIND, "format": FORMAT_VERSION, "models": header})
        text = opening[:-1] + ', "queries": [\n' + ",\n".join(lines) + "\n]}\n"
        file.write(text.encode())


def read_query_models(path: str | Path) -> list[QueryModel]:
    """Read the models of each query."""
    return _entries(*_read(path), str(path))


def load(path: str | Path) -> dict[str, ClickModel]:
    """Read fitted models, by the name of the click model."""
    header, raw = _read(path)
    entries = _entries(header, raw, str(path))
    sizes = [len(entry.items) for entry in entries]
    pairs = QueryItems(
        query_names=[entry.query for entry in entries],
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        item_names=[item for entry in entries for item in entry.items],
        n_sessions=np.array([entry.n_sessions for entry in entries], np.int64),
        list_length=np.array([entry.list_length for entry in entries], np.int64),
    )
    if len(set(pairs.query_names)) < len(entries):
        raise ValueError(f"{path} has two entries for one query")
    models: dict[str, ClickModel] = {}
    for name in entries[0].parameters:
        if not all(name in entry.parameters for entry in entries):
            raise ValueError(f"{path}: some queries have no {name}, which query {entries[0].query!r} has")
        kind, about = ClickModel.known[name], header.get(name, {})
        parameters = {}
        for parameter in kind.pair_parameters:
            values = np.concatenate([entry.parameters[name][parameter] for entry in entries])
            unknown = about.get("unknown", {}).get(parameter, float(values.mean()))
            parameters[parameter] = np.append(values, unknown)
        for parameter in kind.shared_parameters:
            values = entries[0].parameters[name][parameter]
            if not all(np.array_equal(values, entry.parameters[name][parameter]) for entry in entries):
                raise ValueError(f"{path}: {parameter} of {name} must be the same for all queries")
            parameters[parameter] = values
        longest = max(entry.list_length for entry in entries)
        n_positions = next((len(parameters[p]) for p in kind.shared_parameters if parameters[p].ndim), longest)
        models[name] = kind(pairs, parameters, n_positions=n_positions, smoothing=float(about.get("smoothing", 0.0)))
    return models


def _read(path: str | Path) -> tuple[dict[str, Any], list[Any]]:
    """What the file says about its models, and its entries."""
    try:
        content = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error})") from None
    if isinstance(content, dict):
        if content.get("rankloop") != KIND or content.get("format") != FORMAT_VERSION:
            raise ValueError(f"{path} is not a file of click models in format {FORMAT_VERSION}")
        header, entries = content.get("models"), content.get("queries")
    else:
        header, entries = {}, content
    if not isinstance(header, dict) or not isinstance(entries, list) or not entries:
        raise ValueError(f"{path} has no list of queries with click models")
    return header, entries


def _entries(header: dict[str, Any], entries: list[Any], path: str) -> list[QueryModel]:
    return [_entry(entry, f"{path}, query {number}") for number, entry in enumerate(entries, 1)]


def _entry(entry: Any, where: str) -> QueryModel:
    if not isinstance(entry, dict) or not isinstance(entry.get("query"), str | int):
        raise ValueError(f"{where} has no name under 'query'")
    parameters = {name: _parameters(entry[name], name, where) for name in entry if name in ClickModel.known}
    if not parameters:
        raise ValueError(f"{where} has none of the models {', '.join(sorted(ClickModel.known))}")
    sizes = {len(own[p]) for name, own in parameters.items() for p in ClickModel.known[name].pair_parameters}
    items = entry.get("items", [str(i) for i in range(max(sizes))])
    if not isinstance(items, list) or len(set(map(str, items))) < len(items) or sizes != {len(items)}:
        raise ValueError(f"{where}: items must be distinct, with one value each in every model")
    length = check_whole(f"{where}: list_length", entry.get("list_length", len(items)), 1, len(items))
    sessions = check_whole(f"{where}: sessions", entry.get("sessions", 0), 0)
    return QueryModel(str(entry["query"]), [str(item) for item in items], length, sessions, parameters)


def _parameters(given: Any, name: str, where: str) -> dict[str, Floats]:
    kind = ClickModel.known[name]
    values = {}
    for parameter in kind.pair_parameters + kind.shared_parameters:
        try:
            value = np.array(given[parameter], np.float64)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{where}: {name} must have numbers under {parameter!r}") from None
        if not ((value >= 0) & (value <= 1)).all():
            wrong = value[~((value >= 0) & (value <= 1))].flat[0]
            raise ValueError(f"{where}: {parameter} of {name} must be probabilities in [0, 1], not {wrong:g}")
        expected = 1 if parameter in kind.pair_parameters else kind.shared_dimensions
        if value.ndim != expected or (value.ndim == 2 and value.shape[0] != value.shape[1]) or value.size == 0:
            raise ValueError(f"{where}: {parameter} of {name} has the wrong shape {value.shape}")
        values[parameter] = value
    return values
