"""Policies inside real programs: threads, workers that load one file, compiling before traffic comes, bad input."""

from __future__ import annotations

import contextlib
import copy
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import rankloop as rl
from rankloop import interleaving
from rankloop.policies import Segments
from rankloop.policies.clicks import base as click_base
from rankloop.policies.clicks import draws
from rankloop.policies.clicks.bubble_rank import OBSERVED, TURN
from rankloop.policies.dueling import base as dueling_base
from rankloop.policies.dueling import batches
from rankloop.policies.features import base as feature_base
from rankloop.storage import read_archive, write_archive
from rankloop.testing import N_THREADS, assert_same_state, play_once

ROUNDS = 30


@pytest.fixture
def overlaps(monkeypatch) -> list[int]:
    """Notes each compiled step that begins while another one has not ended; a step lets other threads run meanwhile."""
    inside: list[int] = []
    found: list[int] = []

    def watched(step):
        def call(*args):
            inside.append(1)
            if len(inside) > 1:
                found.append(1)
            time.sleep(1e-5)
            step(*args)
            inside.pop()

        return call

    for module in (click_base, dueling_base, feature_base):
        monkeypatch.setattr(module, "choose_once", watched(module.choose_once))
        monkeypatch.setattr(module, "learn_once", watched(module.learn_once))
    return found


def in_threads(work) -> list:
    start = threading.Barrier(N_THREADS)

    def begin(number: int):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return [done.result() for done in [pool.submit(begin, number) for number in range(N_THREADS)]]


def hybrid(seed: int = 1) -> rl.CascadeHybrid:
    draw = np.random.default_rng(0)
    return rl.CascadeHybrid(draw.uniform(size=(12, 2)), draw.uniform(size=(12, 3)), n_positions=3, seed=seed)


POLICIES = {
    "CascadeKLUCB": lambda: rl.CascadeKLUCB(10, 5, seed=1),
    "BubbleRank": lambda: rl.BubbleRank(range(6), horizon=1000, seed=1),
    "MergeDTS": lambda: rl.MergeDTS(10, seed=1),
    "CascadeHybrid": hybrid,
}


def play(policy) -> None:
    for _ in range(ROUNDS):
        play_once(policy)


@pytest.mark.parametrize("name", POLICIES)
def test_threads_take_turns(name: str, overlaps: list[int]) -> None:
    policy = POLICIES[name]()
    in_threads(lambda _: play(policy))
    assert not overlaps, f"{len(overlaps)} steps ran beside another"
    n = N_THREADS * ROUNDS
    if name == "BubbleRank":
        assert policy.state.counts[TURN] == policy.state.counts[OBSERVED] == n
        assert sorted(policy.base) == list(range(6))
        assert policy.receipt().promises, "threads that share a policy share its random numbers, and repeat none"
    if name == "MergeDTS":
        assert policy.state.batches.counts[batches.TURN] == n
    assert pickle.loads(pickle.dumps(policy)).best == policy.best


def test_without_the_lock_threads_overlap(overlaps: list[int]) -> None:
    """The test above can fail."""
    policy = rl.CascadeKLUCB(10, 5, seed=1)
    policy._lock = contextlib.nullcontext()  # type: ignore[assignment]
    in_threads(lambda _: play(policy))
    assert overlaps


def test_threads_share_segments_and_a_catalogue(overlaps: list[int]) -> None:
    segments = Segments(hybrid())

    def work(number: int) -> list[int]:
        added = []
        for k in range(ROUNDS):
            ranking = segments[f"user {(number + k) % 5}"].rank()
            assert len(set(ranking)) == 3
            segments.update(ranking, [0, 1, 0])
            if k % 10 == 0:
                added += segments.add_items([[0.1, 0.2]], [[0.1, 0.2, 0.3]])
            list(segments.items())
        return added

    added = [number for numbers in in_threads(work) for number in numbers]
    assert not overlaps
    assert sorted(added) == list(range(12, 12 + N_THREADS * 3)), "each item must get a number of its own"
    assert all(policy.n_items == 12 + len(added) for policy in segments.values())
    assert len({id(policy._lock) for policy in segments.values()}) == 1


def test_copies_of_segments_share_nothing_with_them_and_all_among_themselves() -> None:
    segments = Segments(hybrid())
    for name in ("a", "b"):
        play(segments[name])
    for twin in (copy.deepcopy(segments), pickle.loads(pickle.dumps(segments))):
        assert twin["a"].rank() == copy.deepcopy(segments)["a"].rank()
        before = twin["b"].state.rng.copy()
        twin["a"].rank()
        assert (twin["b"].state.rng != before).any() or twin["a"].state.rng is twin["b"].state.rng
        assert twin["a"]._lock is twin["b"]._lock is not segments["a"]._lock
        twin.remove_items([0])
        assert 0 not in twin["b"].items
        assert 0 in segments["b"].items


# -- workers that load one file -------------------------------------------------------------------------------------

PERFECT = [0, 1, 2, 3]
USERS = rl.PositionBasedModel([0.9, 0.85, 0.8, 0.75], [1.0, 0.9, 0.1, 0.05])


def learn_from_workers(trainer: rl.BubbleRank, path: Path, worker_of, lists: int) -> None:
    """Each list is chosen by a worker that has just loaded the trainer's file; its clicks go back to the trainer."""
    trainer.save(path)
    loaded = rl.load(path)
    for number in range(lists):
        stored = worker_of(copy.deepcopy(loaded), number).rank().to_json()  # a copy, as reading the file takes longer
        ranking = rl.Ranking.from_json(stored)
        trainer.update(ranking, USERS.click(ranking, seed=number))


def test_workers_that_repeat_the_draws_of_the_file_void_the_promise(tmp_path: Path) -> None:
    """Everybody sees the same exchange, and what users see first passes for better."""
    worsened = 0
    for seed in range(12):
        trainer = rl.BubbleRank(PERFECT, horizon=1000, seed=seed)
        learn_from_workers(trainer, tmp_path / "policy.npz", lambda worker, _: worker, 300)
        worsened += trainer.base != PERFECT
        receipt = trainer.receipt()
        assert receipt.repeated_draws == 299
        assert not receipt.promises
        assert receipt.probability == 0
        assert "none: at least 299 of these lists" in str(receipt)
    assert worsened >= 3
    trainer.revert()
    assert trainer.receipt().promises


def test_workers_with_random_numbers_of_their_own_keep_the_promise(tmp_path: Path) -> None:
    """For each of 12 trainers the chance of any wrong decision is below 16/1000, by the receipt itself."""

    def seeded(worker: rl.BubbleRank, number: int) -> rl.BubbleRank:
        worker.reseed(number)
        return worker

    def fresh(worker: rl.BubbleRank, _: int) -> rl.BubbleRank:
        worker.reseed()
        return worker

    for seed in range(12):
        trainer = rl.BubbleRank(PERFECT, horizon=1000, seed=seed)
        learn_from_workers(trainer, tmp_path / "policy.npz", fresh if seed % 4 == 0 else seeded, 300)
        assert trainer.base == PERFECT
        assert trainer.receipt().promises
        assert trainer.receipt().probability == pytest.approx(1 - 16 / 1000)


def test_a_seed_gives_other_numbers_once_the_file_was_saved_anew(tmp_path: Path) -> None:
    """So a worker that always loads with its own number does not repeat itself, nor does it repeat the trainer."""
    trainer = rl.BubbleRank(PERFECT, horizon=1000, seed=3)
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    ranking = trainer.rank()
    trainer.save(first)
    trainer.update(ranking, [1, 0, 0, 0])
    trainer.save(second)
    seen = [rl.load(path, seed=3).rank().notes[-1] for path in (first, first, second)]
    assert seen[0] == seen[1] != seen[2]
    assert rl.BubbleRank(PERFECT, horizon=1000, seed=3).rank().notes[-1] not in seen
    reseeded = rl.load(first)
    reseeded.reseed(3)
    assert_same_state(reseeded.snapshot(), rl.load(first, seed=3).snapshot())


def test_all_generators_of_a_policy_are_its_own(tmp_path: Path) -> None:
    """DTS draws from two."""
    path = tmp_path / "policy.npz"
    rl.DTS(9, seed=1).save(path)
    states = [rl.load(path, **given).state for given in ({}, {"seed": 1}, {"seed": 2}, {"fresh_randomness": True})]
    for k, one in enumerate(states):
        for other in states[:k]:
            assert (one.rng != other.rng).all()
            assert (one.lanes != other.lanes).all()


def test_segments_load_with_random_numbers_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "segments.npz"
    segments = Segments(rl.CascadeLinTS(np.eye(6), n_positions=3, seed=1))
    play(segments["a"])
    segments.save(path)
    lists = [list(rl.load(path, seed=seed)["a"].rank()) for seed in (1, 1, *range(2, 8))]
    assert lists[0] == lists[1]
    assert len({tuple(items) for items in lists}) > 1
    assert rl.load(path)["a"].rank() == segments["a"].rank()
    one, other = (rl.load(path, fresh_randomness=True)["a"].state.rng for _ in range(2))
    assert (one != other).all()


def test_a_result_takes_no_seed(tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    rl.simulate(rl.FixedRanking([0, 1]), rl.CascadeModel([0.5, 0.2]), horizon=10, progress=False).save(path)
    for arguments in ({"seed": 1}, {"fresh_randomness": True}):
        with pytest.raises(ValueError, match="draws no random numbers"):
            rl.load(path, **arguments)
    rl.load(path)


def test_a_file_of_before_draws_were_remembered_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    rl.BubbleRank(PERFECT, horizon=1000).save(path)
    header, arrays = read_archive(path)
    del arrays["state.draws"], header["rankloop"], header["format"]
    write_archive(path, "policy", header, arrays)
    with pytest.raises(ValueError, match="another version of rankloop, whose state has another draws"):
        rl.load(path)


def test_draws_are_told_apart_and_remembered() -> None:
    memory = draws.no_draws()
    random = np.random.default_rng(1)
    notes = [float(n) for n in random.integers(0, 2**draws.BITS, 20_000)]
    assert not any(draws.repeats(memory, note) for note in notes)
    assert draws.repeats(memory, notes[-1])
    again = draws.no_draws()
    for note in notes:
        draws.repeats(again, note)
    # The latest of each place, and the largest ever: of 20,000 about 1,024 less those that are both.
    known = sum(draws.repeats(again.copy(), note) for note in notes)
    assert 900 < known <= 1024
    early = sum(draws.repeats(again.copy(), note) for note in notes[:10_000])
    assert 200 < early < 312, "half of the largest are among the first half: 256, with a standard error of 11"


# -- compiling before traffic comes ---------------------------------------------------------------------------------

COUNT_COMPILED = """
import numpy as np
from numba.core.dispatcher import Dispatcher

loaded = []
compile = Dispatcher.compile
Dispatcher.compile = lambda self, signature: (loaded.append(self.py_func.__name__), compile(self, signature))[1]
import rankloop as rl
from rankloop.policies import Segments

relevance, topics = np.eye(8)[:, :2], np.eye(8)[:, 2:5]
hybrid = rl.CascadeHybrid(relevance, topics, n_positions=2)
hybrid.remove_items(range(7))
for policy in (rl.BubbleRank([1, 0, 2]), rl.MergeDTS(4), rl.RecurRank(np.eye(4), 2, horizon=100), hybrid):
    policy.warm_up()
    assert {"choose_once", "learn_once"} <= set(loaded), loaded
    loaded.clear()
    if policy is hybrid:
        hybrid = rl.CascadeHybrid(relevance, topics, n_positions=2)
        for ranking in (hybrid.rank(), hybrid.rank([1, 2, 3, 4, 5]), hybrid.rank([1, 2]),
                        hybrid.rank([1, 2], relevance=relevance[:2], topics=topics[:2])):
            hybrid.update(ranking, [0, 1])
        hybrid.best, hybrid.explain()
    elif hasattr(policy, "duel"):
        duel = policy.duel()
        policy.update(duel, duel.left)
        policy.best, policy.winner
    else:
        policy.update(policy.rank(), [0] * policy.n_positions)
        policy.best
    assert not loaded, (policy, loaded)
segments = Segments(hybrid)
segments.warm_up()
segments.update(segments["a"].rank(), [1, 0])
assert not loaded, loaded
"""


def test_nothing_is_left_to_compile_after_warming_up() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNT_COMPILED], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


# -- bad input ------------------------------------------------------------------------------------------------------

STRANGE = [None, True, 3, -1, 10**400, 0.5, float("nan"), 1j, "x", b"x", [], [None], [[0]], {}, object(), np.array(3)]


def is_refused(call) -> bool:
    try:
        call()
    except ValueError:
        return True
    return False


METHODS = sorted(interleaving.Interleaver.known)


@pytest.mark.parametrize("method", METHODS)
def test_interleaving_refuses_what_it_cannot_take(method: str) -> None:
    made = interleaving.Interleaver.known[method]()
    lists = [["a", "b", "c"], ["b", "d", "a"]]
    page = made.interleave(lists, 3, seed=1)
    for value in STRANGE:
        calls = [
            lambda value=value: made.interleave(value),
            lambda value=value: made.interleave([lists[0], value]),
            lambda value=value: made.interleave([lists[0], [value, []]]),
            lambda value=value: made.extend(value, lists),
            lambda value=value: made.extend(page, value),
            lambda value=value: page.credit(value),
            lambda value=value: page.preference(value),
            lambda value=value: page.preference([0, 0, value if value is not True else None]),
            lambda value=value: page.preference([0, 0, 0], value, 1),
            lambda value=value: interleaving.Interleaving.from_json(
                {"method": value, "items": ["a"], "notes": [[1, 0]]}
            ),
        ]
        for number, call in enumerate(calls):
            assert is_refused(call), f"call {number} took {value!r}"


def test_a_number_is_no_path() -> None:
    """It would stand for an open file, which would be closed: 1 is standard output."""
    for value in (1, None, True, 0.5):
        with pytest.raises(ValueError, match="a path must be"):
            rl.load(value)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="a path must be"):
            rl.MergeDTS(4).save(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", STRANGE)
def test_feature_policies_refuse_what_they_cannot_take(value) -> None:
    policy = hybrid()
    segments = Segments(policy)
    before = policy.snapshot()
    calls = [
        lambda: policy.update_many(value if value not in ([], {}) else [None]),
        lambda: policy.update_many([(value, [0, 0, 0])]),
        lambda: policy.update_many([(policy.rank(), value)]),
        lambda: policy.rank(value) if value is not None else policy.rank(5),
        lambda: policy.add_items(value, value),
        lambda: policy.remove_items(value if value not in ([], {}) else None),
        lambda: policy.explain(titles=value if value is not None else 5),
        lambda: policy.explain(topic_names=value if value is not None else 5),
        lambda: segments[value] if value != "x" else segments[""],
        lambda: segments.update(value, [0, 0, 0]),
        lambda: segments.update(segments["a"].rank(), value),
    ]
    for number, call in enumerate(calls):
        assert is_refused(call), f"call {number} took {value!r}"
    assert value == "x" or value not in segments
    assert segments.get(value) is None
    after = policy.snapshot()
    del before["rng"], after["rng"]  # some calls choose a list to have one
    assert_same_state(after, before)


def test_duels_of_the_same_arms_are_equal_whoever_they_belong_to() -> None:
    policy = rl.RUCB(3, seed=1)
    duel = policy.duel()
    assert duel.policy == policy.identity
    assert duel == rl.Duel(duel.left, duel.right)
    assert rl.Duel.from_json(duel.to_json()).policy == policy.identity
    assert rl.Duel.from_json('{"left": 0, "right": 1}').policy == ""
    with pytest.raises(ValueError, match="the policy must be a text"):
        rl.Duel.from_json('{"left": 0, "right": 1, "policy": 5}')
    with pytest.raises(ValueError, match="is not a duel of this policy"):
        rl.RUCB(3).update(duel, duel.left)
