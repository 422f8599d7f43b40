"""The documents and their full-text index: one SQLite file, made once and kept in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FIELDS = ("name", "module", "signature", "summary", "body")
"""What is indexed of a document, and what rankers weigh."""

TOKENIZERS = {"plain": "unicode61", "stems": "porter unicode61"}
"""The two indexes: words as they are, and their stems."""

N_CANDIDATES = 100
"""Documents that an index gives for a query: rankers put them into their order."""

FORMAT = 2
"""Raised whenever an index made before is of no use any more."""

SECONDS_TO_COLLECT = 120

STOP_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "do", "does", "for", "from", "has", "have",
    "how", "if", "in", "into", "is", "it", "its", "may", "must", "no", "not", "of", "on", "or", "so", "such", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "used", "using", "was", "when",
    "where", "which", "will", "with", "you",
})  # fmt: skip
"""Words that say nothing of what is looked for."""


@dataclass(frozen=True, slots=True)
class Document:
    """A module, class, function or method, and what its docstring says."""

    id: str
    module: str
    name: str
    signature: str
    summary: str
    body: str
    text: str
    """The whole docstring, to be shown."""
    held: str
    """A sentence of its docstring that is not in the index: simulated users make their queries of it."""


def words(text: str) -> list[str]:
    """The words of a text in small letters, identifiers taken apart: `OrderedDict.move_to_end` has five."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ")
    return re.findall(r"[^\W_]+", apart.lower())


def sentences(text: str) -> list[str]:
    """The sentences of a docstring, paragraph by paragraph."""
    paragraphs = (re.sub(r"\s+", " ", paragraph).strip() for paragraph in re.split(r"\n\s*\n", text))
    return [each for paragraph in paragraphs for each in re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph) if each]


class Corpus:
    """All documents, and what the index says of each for a query.

    Parameters
    ----------
    path
        The SQLite file that `open_corpus` has made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        self._lock = threading.Lock()
        rows = self._database.execute(
            "SELECT id, in_module, own_name, signature, summary, body, text, held FROM documents"
        )
        self._in_order = [Document(*row) for row in rows.fetchall()]
        self.documents = {document.id: document for document in self._in_order}
        self.candidates = lru_cache(20_000)(self._candidates)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _candidates(self, query: str, index: str) -> tuple[list[Document], npt.NDArray[np.float64]]:
        """The documents that share most with a query, and the BM25 score of each of their fields."""
        wanted = [word for word in words(query) if word not in STOP_WORDS] or words(query)
        if not wanted:
            return [], np.zeros((0, len(FIELDS)))
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(wanted))
        each = ", ".join(f"-bm25({index}, {', '.join('1' if k == field else '0' for k in FIELDS)})" for field in FIELDS)
        with self._lock:
            rows = self._database.execute(
                f"SELECT rowid, {each} FROM {index} WHERE {index} MATCH ? ORDER BY rank LIMIT ?", (match, N_CANDIDATES)
            ).fetchall()
        rows.sort()  # so that a ranker that cannot tell documents apart does not get the order of another
        scores = np.array([row[1:] for row in rows], np.float64).reshape(len(rows), len(FIELDS))
        return [self._in_order[row[0] - 1] for row in rows], scores


def open_corpus(folder: str | Path) -> Corpus:
    """The corpus of this Python, from the index in a folder, which is made if it is not there."""
    version = "-".join(map(str, (*sys.version_info[:3], FORMAT)))
    path = Path(folder).resolve() / f"docs-{version}.db"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as apart:
            made = Path(apart) / path.name
            _write(made, _documents(_collected(Path(apart) / "documents.jsonl")))
            os.replace(made, path)
    return Corpus(path)


def _collected(path: Path) -> list[dict[str, str]]:
    """What another process found by importing the whole standard library, where that can do no harm."""
    command = [sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("collect.py")), str(path)]
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    subprocess.run(command, check=True, timeout=SECONDS_TO_COLLECT, env=environment, **quiet)
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _documents(collected: Sequence[dict[str, str]]) -> list[Document]:
    """Documents with their sentences apart: the first is the summary, and where there are enough one is held back."""
    apart = [sentences(each["text"]) for each in collected]
    everything = "\n".join(" ".join(words(each["text"])) for each in collected)
    made = []
    for each, found in zip(collected, apart, strict=True):
        held = _held(found, everything)
        body = " ".join(sentence for sentence in found[1:] if sentence != held)
        made.append(Document(**each, summary=found[0], body=body, held=held))
    return made


def _held(found: Sequence[str], everything: str) -> str:
    """A sentence that stands nowhere else, not even within another; none if the docstring is short.

    A digest chooses: it has nothing to do with what a sentence says, and is the same wherever this Python runs.
    """
    if len(found) < 3:
        return ""
    for sentence in sorted(found[1:], key=lambda each: hashlib.blake2b(each.encode()).digest()):
        if len(content_words(sentence)) >= 4 and everything.count(" ".join(words(sentence))) == 1:
            return sentence
    return ""


def content_words(text: str) -> list[str]:
    """The words of a text that say what it is about."""
    return [word for word in words(text) if word not in STOP_WORDS and len(word) > 2]


def _write(path: Path, documents: Iterable[Document]) -> None:
    """Write documents and indexes. `name` and `module` hold words, to be found; the names themselves stand beside."""
    database = sqlite3.connect(path)
    database.execute(
        "CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT, in_module TEXT, own_name TEXT, text TEXT,"
        " held TEXT, name TEXT, module TEXT, signature TEXT, summary TEXT, body TEXT)"
    )
    rows = (
        (d.id, d.module, d.name, d.text, d.held, _findable(d.name), _findable(d.module), d.signature, d.summary, d.body)
        for d in documents
    )
    columns = "id, in_module, own_name, text, held, name, module, signature, summary, body"
    database.executemany(f"INSERT INTO documents ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    for index, tokenizer in TOKENIZERS.items():
        definition = f"{', '.join(FIELDS)}, content='documents', content_rowid='number', tokenize='{tokenizer}'"
        database.execute(f"CREATE VIRTUAL TABLE {index} USING fts5({definition})")
        database.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
    database.commit()
    database.close()


def _findable(name: str) -> str:
    """A name as people may write it: whole, and word by word."""
    whole = re.findall(r"\w+", name.lower())
    return " ".join(dict.fromkeys([*whole, *words(name)]))
