"""Long work: kept on disk, interrupted, gone on with and added to, the same bytes in every case."""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankloop as rl
from rankloop.experiments import (
    Amount,
    Experiment,
    Interrupted,
    Outcome,
    Panel,
    Player,
    Source,
    load_player,
    run_experiment,
    run_experiments,
)
from rankloop.runs import Lines, Status

MADE_UP = Source("made up", real=False)
USERS = [
    rl.ClickProblem(f"query {i}", rl.CascadeModel(attraction), [4, 3, 2, 1, 0], list("abcde"))
    for i, attraction in enumerate([[0.9, 0.5, 0.4, 0.2, 0.1], [0.1, 0.8, 0.2, 0.4, 0.3]])
]


def panels(_data: Any, amount: Amount) -> list[Panel]:
    def bubble_rank(problem: Any) -> rl.BubbleRank:
        return rl.BubbleRank(problem.initial, horizon=amount.horizon, n_positions=3)

    return [
        Panel(
            "cycle2",
            rl.PreferenceMatrix.cycle2(),
            MADE_UP,
            [Player("MergeDTS", rl.MergeDTS(20)), Player("MergeRUCB", rl.MergeRUCB(20))],
            checkpoints=[10, amount.horizon],
        ),
        Panel(
            "users",
            USERS,
            MADE_UP,
            [Player("BubbleRank", bubble_rank), Player("CascadeUCB1", rl.CascadeUCB1(5, 3))],
            checkpoints=[10, amount.horizon],
        ),
    ]


def experiment(horizon: int = 2000, runs: int = 6, panels: Callable[..., Sequence[Panel]] = panels) -> Experiment:
    return Experiment("small", 2, "2.5", "Small", "A small one.", panels, {"smoke": Amount(horizon, runs)})


def one_panel(environment: Any, *players: Player, **options: Any) -> Experiment:
    return experiment(**options, panels=lambda _data, _amount: [Panel("one", environment, MADE_UP, players)])


def run(folder: Path, what: Experiment | None = None, **options: Any) -> Outcome:
    return run_experiment(what or experiment(), "smoke", None, folder, **options)


def contents(folder: Path) -> dict[str, str]:
    files = sorted(folder.glob("*.npz"))
    return {file.name: hashlib.blake2b(file.read_bytes()).hexdigest() for file in files}


class Recorder:
    """Remembers what it is told, and interrupts after some units."""

    def __init__(self, interrupt_at: int | None = None, after: float = 0.0) -> None:
        self.told: list[Status] = []
        self.notes: list[str] = []
        self._interrupt_at, self._after, self._begin = interrupt_at, after, 0.0

    def show(self, status: Status) -> None:
        self.told.append(status)
        if status.doing != "running":
            return
        self._begin = self._begin or time.monotonic()
        due = self._interrupt_at is not None and status.done >= self._interrupt_at
        if due and time.monotonic() - self._begin >= self._after:
            self._interrupt_at = None
            signal.raise_signal(signal.SIGINT)

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(autouse=True)
def _hears_ctrl_c() -> Iterator[None]:
    """Where the tests were started with SIGINT ignored (by nohup, say), an interrupt would be waited for in vain."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    run(folder, workers=1)
    return folder


def test_gives_what_simulate_gives(reference: Path) -> None:
    outcome = run(reference)
    assert not outcome.failures
    for panel in outcome.panels:
        for player in panel.players:
            expected = rl.simulate(
                player.policy, panel.environment, horizon=2000, runs=6, checkpoints=[10, 2000], progress=False
            )
            result = outcome.result(panel.name, player.label)
            assert result.policy == player.label
            for name in expected.finished[0].records:
                np.testing.assert_array_equal(result.record(name), expected.record(name))
            np.testing.assert_array_equal(result.best, expected.best)
            np.testing.assert_array_equal(result.failures, expected.failures)
            assert result.queries == expected.queries
            assert (result.seconds > 0).all()
    assert outcome.seconds == pytest.approx(sum(result.seconds.sum() for result in outcome.results.values()))


def processes(workers: int) -> Executor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


@pytest.mark.parametrize("make", [None, lambda: ThreadPoolExecutor(2), lambda: processes(2)])
def test_every_executor_gives_the_same_bytes(
    tmp_path: Path, reference: Path, make: Callable[[], Executor] | None
) -> None:
    if make is None:
        run(tmp_path, workers=2)
    else:
        with make() as executor:
            run(tmp_path, executor=executor)
    assert contents(tmp_path) == contents(reference)
    assert len(contents(tmp_path)) == 4


def test_running_again_computes_and_writes_nothing(
    tmp_path: Path, reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(tmp_path)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    monkeypatch.setattr("rankloop.runs.runner.do", None)
    again = run(tmp_path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before
    assert again.seconds == first.seconds > 0


def test_adding_runs_computes_only_the_new_ones(tmp_path: Path) -> None:
    few = run(tmp_path / "few", experiment(runs=2))
    recorder = Recorder()
    more = run(tmp_path / "few", experiment(runs=5), progress=recorder)
    assert recorder.told[-1].total == 5 * 6
    straight = run(tmp_path / "many", experiment(runs=5))
    assert contents(tmp_path / "few") == contents(tmp_path / "many")
    for key, result in straight.results.items():
        np.testing.assert_array_equal(result.regret, more.results[key].regret)
        taken_over = few.results[key].seconds
        np.testing.assert_array_equal(taken_over, more.results[key].seconds[: len(taken_over)])
    fewer = run(tmp_path / "few", experiment(runs=2))
    assert {key: len(result.finished) for key, result in fewer.results.items()} == {
        key: len(result.finished) for key, result in few.results.items()
    }


def test_players_may_have_amounts_of_their_own(tmp_path: Path) -> None:
    """Other steps, runs or queries of a player give what it gives where all have them, to the byte."""
    mixed = Amount(2000, 2, others={"cycle2: MergeDTS": Amount(500, 4), "*: BubbleRank": Amount(2000, 2, 1)})
    outcome = run(tmp_path / "mixed", replace(experiment(), amounts={"smoke": mixed}))
    assert not outcome.failures
    units = {key: sorted(result.finished) for key, result in outcome.results.items()}
    assert units == {
        ("cycle2", "MergeDTS"): [0, 1, 2, 3],
        ("cycle2", "MergeRUCB"): [0, 1],
        ("users", "BubbleRank"): [0, 1],
        ("users", "CascadeUCB1"): [0, 1, 2, 3],
    }
    short = outcome.result("cycle2", "MergeDTS")
    assert short.steps.tolist() == [10, 50, 250, 500]
    assert (short.setting["horizon"], outcome.amount_of("cycle2", "MergeDTS").runs) == (500, 4)
    assert outcome.n_problems("cycle2", "MergeDTS") == outcome.n_problems("users", "BubbleRank") == 1
    assert outcome.n_problems("users", "CascadeUCB1") == 2
    first = rl.simulate(
        rl.BubbleRank(USERS[0].initial, horizon=2000, n_positions=3), USERS[0], horizon=2000, runs=2, progress=False
    )
    np.testing.assert_array_equal(outcome.result("users", "BubbleRank").regret[:, -1], first.regret[:, -1])

    def four_checkpoints(data: Any, amount: Amount) -> list[Panel]:
        return [replace(panels(data, amount)[0], checkpoints=[10, 50, 250, 500])]

    run(tmp_path / "alike", experiment(horizon=500, runs=4, panels=four_checkpoints))
    run(tmp_path / "alike", experiment(runs=2))
    same = contents(tmp_path / "alike")
    ours = contents(tmp_path / "mixed")
    assert len(set(same.items()) & set(ours.items())) == 3  # all but BubbleRank, which met one query here


def test_interrupted_and_gone_on_with_gives_the_same_bytes(tmp_path: Path) -> None:
    what = experiment(horizon=200_000, runs=12)
    interrupts = 0
    while True:
        try:
            outcome = run(tmp_path / "often", what, progress=Recorder(interrupt_at=18 * interrupts + 1), workers=2)
            break
        except Interrupted as interrupted:
            interrupts += 1
            (so_far,) = interrupted.outcomes
            left = interrupted.left
        kept = sum(len(result.finished) for result in so_far.results.values())
        assert 0 < left == 6 * 12 - kept
        assert not so_far.failures
    assert interrupts >= 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    straight = run(tmp_path / "once", what, workers=1)
    assert contents(tmp_path / "often") == contents(tmp_path / "once")
    assert outcome.results.keys() == straight.results.keys()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_does_not_wait_for_long_units(tmp_path: Path, workers: int) -> None:
    what = one_panel(rl.PreferenceMatrix.cycle2(), Player("RUCB", rl.RUCB(20)), horizon=10**12)
    recorder = Recorder(interrupt_at=0, after=0.5)
    with pytest.raises(Interrupted, match="6 runs left: the same command continues"):
        run(tmp_path, what, progress=recorder, workers=workers)  # would take days
    left = [status.seconds_left for status in recorder.told if status.seconds_left is not None]
    assert min(left) > 3600
    assert contents(tmp_path) == {}


def test_a_watcher_that_raises_ends_the_work_in_order(tmp_path: Path) -> None:
    class Broken(Recorder):
        def show(self, status: Status) -> None:
            super().show(status)
            if status.doing == "running":
                raise RuntimeError("no terminal")

    what = one_panel(rl.PreferenceMatrix.cycle2(), Player("RUCB", rl.RUCB(20)), horizon=10**12)
    with pytest.raises(RuntimeError, match="no terminal"):
        run(tmp_path, what, progress=Broken())


class Fragile:
    """A duelist at Python's speed who does not survive some of its runs."""

    n_arms = 20

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.duels = 0

    def fresh(self, seed: int) -> Fragile:
        return Fragile(seed)

    def duel(self) -> tuple[int, int]:
        self.duels += 1
        if self.seed % 3 == 0 and self.duels == 5:
            raise ZeroDivisionError(f"seed {self.seed}")
        return 0, self.duels % 20

    def update(self, duel: tuple[int, int], winner: int) -> None:
        pass


def test_failures_are_collected_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = rl.PreferenceMatrix.cycle2()
    what = one_panel(environment, Player("Fragile", Fragile()), Player("MergeDTS", rl.MergeDTS(20)), runs=12)
    outcome = run(tmp_path, what)
    failed = {failure.run for failure in outcome.failures}
    assert 0 < len(failed) < 12
    assert {(failure.panel, failure.player) for failure in outcome.failures} == {("one", "Fragile")}
    assert all(failure.error.startswith("ZeroDivisionError: seed") for failure in outcome.failures)
    assert "test_runner.py, line" in outcome.failures[0].error
    assert set(outcome.result("one", "Fragile").finished) == set(range(12)) - failed
    assert len(outcome.result("one", "MergeDTS").finished) == 12

    monkeypatch.setattr(Fragile, "duel", lambda self: (0, self.seed % 20))
    assert not run(tmp_path, what).failures


def test_what_cannot_begin_is_a_failure_of_its_own(tmp_path: Path) -> None:
    environment = rl.PreferenceMatrix.cycle2()
    outcome = run(tmp_path, one_panel(environment, Player("MergeDTS", rl.MergeDTS(3)), Player("RUCB", rl.RUCB(20))))
    (failure,) = outcome.failures
    assert (failure.panel, failure.player, failure.run) == ("one", "MergeDTS", -1)
    assert "3 arms" in failure.error
    assert [label for _, label in outcome.results] == ["RUCB"]

    def no_panels(_data: Any, _amount: Amount) -> list[Panel]:
        raise ValueError("the dataset is not there")

    outcomes = run_experiments([experiment(panels=no_panels), experiment(runs=1)], "smoke", None, tmp_path)
    assert "the dataset is not there" in outcomes[0].failures[0].error
    assert len(outcomes[1].results) == 4


def test_broken_pools_fail_units_and_lose_nothing(tmp_path: Path) -> None:
    with processes(1) as executor:
        executor.submit(int, "1").result()
        for process in list(executor._processes.values()):
            process.kill()
        outcome = run(tmp_path, experiment(runs=1), executor=executor)
    assert len(outcome.failures) == 6
    assert "BrokenProcessPool" in outcome.failures[0].error
    assert not run(tmp_path, experiment(runs=1)).failures


def test_other_settings_have_other_files(tmp_path: Path) -> None:
    environment = rl.PreferenceMatrix.cycle2()
    settings: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
        (rl.MergeDTS(20), {}, {}),
        (rl.MergeDTS(20, alpha=0.9), {}, {}),
        (rl.MergeRUCB(20), {}, {}),
        (rl.MergeDTS(20), {"horizon": 1000}, {}),
        (rl.MergeDTS(20), {}, {"seed": 1}),
    ]
    for number, (policy, amount, options) in enumerate(settings, 1):
        run(tmp_path, one_panel(environment, Player("same label", policy), runs=1, **amount), **options)
        assert len(contents(tmp_path)) == number
    run(tmp_path, one_panel(rl.PreferenceMatrix.cycle(), Player("same label", settings[0][0]), runs=1))
    assert len(contents(tmp_path)) == len(settings) + 1
    run(tmp_path, one_panel(environment, Player("another label", settings[0][0]), runs=1))
    assert len(contents(tmp_path)) == len(settings) + 1


SIMPLE = """
class Simple:
    def __init__(self, n_arms, seed=None):
        self.n_arms = n_arms
        self.seed = seed

    def duel(self):
        return {arm}, self.seed % self.n_arms

    def update(self, duel, winner):
        pass
"""


def test_an_edited_policy_is_not_served_old_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    arms = np.arange(20)
    environment = rl.PreferenceMatrix(0.5 + 0.02 * (arms - arms[:, None]))  # each arm has another regret
    what = one_panel(environment, Player("MergeDTS", rl.MergeDTS(20)), runs=3)
    regrets = []
    for arm in (0, 7):
        (tmp_path / "edited_policy.py").write_text(SIMPLE.format(arm=arm))
        sys.modules.pop("edited_policy", None)
        outcome = run(tmp_path, what, players=[("mine", "edited_policy:Simple")])
        assert not outcome.failures
        regrets.append(outcome.result("one", "mine").regret[:, -1])
    assert len(set(regrets[0])) > 1  # each run has a seed of its own
    assert (regrets[0] < regrets[1]).all()
    assert len(contents(tmp_path)) == 3
    sys.modules.pop("edited_policy")


@pytest.mark.parametrize("harm", ["cut", "other", "empty"])
def test_damaged_files_are_reported_and_computed_anew(tmp_path: Path, reference: Path, harm: str) -> None:
    run(tmp_path)
    first, second = sorted(tmp_path.glob("*.npz"))[:2]
    damaged = {"cut": first.read_bytes()[:-7], "other": second.read_bytes(), "empty": b""}[harm]
    first.write_bytes(damaged)
    recorder = Recorder()
    outcome = run(tmp_path, progress=recorder)
    assert not outcome.failures
    (note,) = recorder.notes
    assert first.name in note
    assert "damaged" in note
    assert contents(tmp_path) == contents(reference)
    first.write_bytes(damaged)
    with pytest.warns(UserWarning, match="damaged"):
        run(tmp_path)


def test_lost_times_lose_no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path)
    for file in tmp_path.glob("*.json"):
        file.write_text("[]")
    monkeypatch.setattr("rankloop.runs.runner.do", None)
    outcome = run(tmp_path)
    assert outcome.seconds == 0
    assert np.isnan(outcome.result("cycle2", "MergeDTS").seconds).all()


def test_experiments_in_a_row_share_what_is_the_same(tmp_path: Path, reference: Path) -> None:
    finished: list[str] = []
    small, large = experiment(runs=2), experiment(runs=6)
    outcomes = run_experiments(
        [small, large], "smoke", None, tmp_path, finished=lambda outcome: finished.append(outcome.experiment.name)
    )
    assert len(finished) == 2
    assert contents(tmp_path) == contents(reference)
    assert [len(outcome.result("users", "BubbleRank").finished) for outcome in outcomes] == [4, 12]


def test_progress_counts_units_and_knows_the_time_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = Recorder()
    run(tmp_path, experiment(horizon=100_000, runs=30), progress=recorder)
    running = [status for status in recorder.told if status.doing == "running"]
    done = [status.done for status in running]
    assert done == sorted(done)
    assert {status.total for status in running} == {180}
    assert all(status.seconds_left is not None for status in running)
    assert recorder.told[0].doing == "preparing"
    run(tmp_path, experiment(runs=1), progress=Lines())
    assert "[1/1] small: 0 of 1 experiments prepared" in capsys.readouterr().err


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="workers must be at least 1, not 0"):
        run(tmp_path, workers=0)
    with pytest.raises(ValueError, match="small has no scale 'paper', only smoke"):
        run_experiment(experiment(), "paper", None, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot keep results in"):
        run(tmp_path / "file")


def test_files_of_earlier_versions_are_left_alone_and_told_of(tmp_path: Path) -> None:
    old = tmp_path / "0123.parquet"
    old.write_bytes(b"old")
    recorder = Recorder()
    run(tmp_path, experiment(horizon=100, runs=1), progress=recorder)
    (note,) = recorder.notes
    assert "1 files of an earlier version" in note
    assert old.read_bytes() == b"old"


class Plain:
    """Ranks at Python's speed, and remembers what it was made for."""

    def __init__(self, n_items: int, n_positions: int, horizon: int = 0, initial: Sequence[int] = ()) -> None:
        self.n_items, self.n_positions = n_items, n_positions
        self.horizon, self.initial = horizon, list(initial)

    def rank(self) -> list[int]:
        return self.initial[: self.n_positions]

    def update(self, _ranking: list[int], _clicks: list[int]) -> None:
        assert (self.n_items, self.n_positions, self.horizon) == (5, 3, 300)


class Greedy:
    def __init__(self, n_items: int, wisdom: float) -> None:
        pass

    def rank(self) -> list[int]:
        raise NotImplementedError

    def update(self, ranking: list[int], clicks: list[int]) -> None:
        pass


def test_anybodys_policies_join(tmp_path: Path) -> None:
    recorder = Recorder()
    mine = [
        ("plain", Plain),
        ("by path", "rankloop:CascadeKLUCB"),
        ("with a list", "rankloop:BubbleRank"),
        ("duels", "rankloop:RUCB"),
        ("made", lambda environment: rl.FixedRanking(environment.initial, n_positions=3)),
        ("greedy", Greedy),
    ]
    what = experiment(horizon=300, runs=2, panels=lambda data, amount: panels(data, amount)[1:])
    outcome = run(tmp_path, what, players=mine, progress=recorder)
    assert [player.label for player in outcome.panels[0].players] == [
        "BubbleRank",
        "CascadeUCB1",
        "plain",
        "by path",
        "with a list",
        "made",
        "greedy",
    ]
    (failure,) = outcome.failures
    assert failure.player == "greedy"
    assert "Greedy asks for wisdom" in failure.error
    assert recorder.notes == ["duels cannot play in small, which asks for other methods"]
    np.testing.assert_array_equal(
        outcome.result("users", "with a list").regret, outcome.result("users", "BubbleRank").regret
    )
    np.testing.assert_array_equal(outcome.result("users", "plain").regret, outcome.result("users", "made").regret)
    in_duels = run(tmp_path, experiment(horizon=300, runs=1), players=[("duels", "rankloop:RUCB")])
    assert {panel for panel, label in in_duels.results if label == "duels"} == {"cycle2"}
    taken = run(tmp_path, what, players=[("BubbleRank", Plain)])
    assert "already has a player 'BubbleRank'" in taken.failures[0].error


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("MyPolicy", "named as module:name"),
        ("no_such_module:MyPolicy", "there is no module no_such_module"),
        ("rankloop.policies:Nobody", "rankloop.policies has no Nobody"),
        ("rankloop:__version__", "neither a policy nor"),
        ("broken_module:Policy", "cannot be imported"),
        ("needy_module:Policy", "the module needy_module itself cannot be imported"),
    ],
)
def test_wrong_import_paths_say_what_is_wrong(
    path: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    (tmp_path / "needy_module.py").write_text("import no_such_thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=complaint):
        load_player(path)
