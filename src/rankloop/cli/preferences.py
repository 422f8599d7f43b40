"""`rankloop preferences`: from LETOR data to the preference matrix of its rankers."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.errors import Refused, refusing
from rankloop.cli.options import Seed, Workers, option

if TYPE_CHECKING:
    from rankloop.datasets import Letor, Rankers
    from rankloop.preferences import MeasuredPreferences

SYNTHETIC = "synthetic"
SYNTHETIC_QUERIES = 100


def preferences(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A LETOR file (grade qid:number feature:value ...), plain or gzip; or synthetic.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File of the matrix.")] = Path("matrix.npz"),
    user: Annotated[str, option("Who clicks: perfect, navigational or informational.", "NAME")] = "navigational",
    interleaver: Annotated[str, option("probabilistic, team-draft, balanced or optimised.", "NAME")] = "probabilistic",
    comparisons: Annotated[str | None, option("Comparisons of each pair.", "N", "400000")] = None,
    error: Annotated[
        str | None,
        typer.Option(metavar="E", help="Standard error of each entry to reach, with at most --comparisons per pair."),
    ] = None,
    length: Annotated[str, typer.Option(metavar="N", help="Documents in a list.")] = "10",
    estimator: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="marginal (exact over all teams, where known), sampled, or binary (the favoured ranker wins).",
        ),
    ] = "marginal",
    ties: Annotated[
        str, typer.Option(metavar="NAME", help="Order of documents with equal scores: random, pessimistic or redrawn.")
    ] = "random",
    queries: Annotated[str | None, option("Number of queries to use, drawn at random.", "N", "all")] = None,
    features: Annotated[str | None, option("Features to be rankers, such as 1-5,110.", "LIST", "all")] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A ranker's scores, one per line as in DATA; instead of features, repeatable."
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A ranker as a TREC run; instead of features, repeatable."),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="LETOR data to train LambdaMART rankers on; instead of features."),
    ] = None,
    models: Annotated[str, typer.Option(metavar="N", help="Number of rankers to train with --train.")] = "24",
    seed: Seed = "0",
    workers: Workers = None,
    cache: Annotated[bool, typer.Option(help="Cache the parsed DATA beside it, to read it faster next time.")] = True,
) -> None:
    """Measure how often each ranker beats each other one, by interleaving with simulated users.

    Finished pairs are kept in the folder FILE.partial: the same command continues where it was interrupted. The matrix
    is for `rankloop duel`.
    """
    from rankloop.cli.arguments import choice, number, whole, whole_or_none
    from rankloop.click_models.users import User
    from rankloop.interleaving import Interleaver
    from rankloop.preferences import measure_preferences
    from rankloop.preferences.measure import key_of
    from rankloop.runs import Folder, display

    kept = out.with_name(out.name + ".partial")
    n_workers = whole_or_none("--workers", workers, 1)
    n_comparisons = whole_or_none("--comparisons", comparisons, 2)
    wanted_error = None if error is None else number("--error", error)
    first_seed, n_positions = whole("--seed", seed, 0), whole("--length", length, 1)
    n_models, n_queries = whole("--models", models, 2), whole_or_none("--queries", queries, 1)
    if out.suffix != ".npz":
        raise Refused(f"--out must end in .npz, not be {out}")
    if not out.parent.is_dir():
        raise Refused(f"--out: there is no folder {out.parent}")
    methods = {name: cls for name, cls in Interleaver.known.items() if cls.most_rankers == 2}
    method = methods[choice("--interleaver", interleaver, list(methods))]()
    with refusing(), display() as watcher:
        User.named(user)
        documents = _read(data, n_queries, first_seed, cache)
        rankers = _rankers(documents, data, features, scores, run, train, n_models, first_seed, cache)
        clicker = User.named(user, n_grades=2 if documents.labels.max() <= 1 else 5)
        watcher.note(f"{documents!r}, {len(rankers.names)} rankers, {clicker!r}")
        try:
            matrix = measure_preferences(
                rankers,
                clicker,
                method,
                comparisons=n_comparisons,
                error=wanted_error,
                length=n_positions,
                estimator=estimator,
                ties=ties,
                seed=first_seed,
                workers=n_workers,
                progress=watcher,
                keep=kept,
            )
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):  # it is not empty, or was never made
                kept.rmdir()
            if kept.exists():
                watcher.note(f"Finished pairs are kept in {kept}, and the same command continues from there.")
            raise
        matrix.save(out)
        Folder(kept).remove(key_of(matrix.setting))
    _print(matrix, out)


def _read(data: str, wanted: int | None, seed: int, cache: bool) -> Letor:
    import numpy as np

    from rankloop.datasets import read_letor, synthetic_letor

    if data == SYNTHETIC:
        return synthetic_letor(SYNTHETIC_QUERIES if wanted is None else wanted, seed=seed)
    documents = read_letor(data, cache=cache)
    for kind, n in documents.counts.items():
        _say(f"{data}: {kind}: {n:,}")
    if wanted is None or wanted >= documents.n_queries:
        return documents
    return documents.select(np.sort(np.random.default_rng(seed).permutation(documents.n_queries)[:wanted]).tolist())


def _rankers(
    documents: Letor,
    data: str,
    features: str | None,
    scores: list[Path] | None,
    runs: list[Path] | None,
    train: Path | None,
    n_models: int,
    seed: int,
    cache: bool,
) -> Rankers:
    from rankloop import datasets

    groups = []
    if features is not None or not (scores or runs or train):
        numbers = None if features is None else _numbers(features)
        groups.append(datasets.Rankers.from_features(documents, numbers))
    if scores:
        groups.append(datasets.rankers_from_scores(documents, scores))
    if runs:
        docids = None if data == SYNTHETIC else datasets.read_docids(data)
        found, skipped = datasets.rankers_from_runs(documents, runs, docids)
        groups.append(found)
        for why, n in skipped.items():
            _say(f"runs: {why} skipped: {n:,}")
    if train is not None:
        known = datasets.read_letor(train, cache=cache)
        family = datasets.settings_family(n_models)
        try:
            groups.append(datasets.train_lambdamart(documents, known, family, seed=seed))
        except ImportError as missing:
            raise Refused(str(missing)) from None
    rankers = groups[0]
    for group in groups[1:]:
        rankers = rankers.joined(group)
    return rankers


def _numbers(text: str) -> list[int]:
    """The numbers of a list such as 1-5,110, each once."""
    numbers: dict[int, None] = {}
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise ValueError(f"--features must be numbers and ranges such as 1-5,110, not {text!r}")
        numbers.update(dict.fromkeys(range(int(low), int(high if dash else low) + 1)))
    return list(numbers)


def _print(matrix: MeasuredPreferences, out: Path) -> None:
    counts = matrix.counts[matrix.counts > 0]
    each = f"{counts.min():,}" if counts.min() == counts.max() else f"{counts.min():,} to {counts.max():,}"
    print(f"{len(counts) // 2:,} pairs, {each} comparisons each, standard error at most {matrix.errors.max():.2g}")
    if matrix.condorcet_winner is None:
        best = ", ".join(matrix.names[arm] for arm in matrix.copeland_winners)
        print(f"No ranker beats all others; those that beat most: {best}")
    else:
        print(f"Best: {matrix.names[matrix.condorcet_winner]}, which beats all others")
    print(f"Matrix: {out}")


def _say(line: str) -> None:
    print(line, file=sys.stderr)
