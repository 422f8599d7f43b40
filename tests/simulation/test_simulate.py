"""Simulation: reproducible, interruptible, resumable, and free of charge once a policy has converged."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from pathlib import Path

import numpy as np
import processes
import pytest

import rankloop as rl
from rankloop.runs import Run, Status
from rankloop.storage import FORMAT_VERSION, read_archive, write_archive

CYCLE = rl.PreferenceMatrix.cycle()
EASY = rl.PreferenceMatrix.from_utilities([0.0, 3.0, 0.5])


class Uniform:
    """A policy in plain Python that never learns."""

    def __init__(self, n_arms: int, seed: int = 0) -> None:
        self.n_arms = n_arms
        self.seed = seed
        self.random = random.Random(seed)
        self.seen: list[tuple[tuple[int, int], int]] = []

    def duel(self) -> tuple[int, int]:
        return self.random.randrange(self.n_arms), self.random.randrange(self.n_arms)

    def update(self, duel: tuple[int, int], winner: int) -> None:
        self.seen.append((duel, winner))


class FreshUniform(Uniform):
    """One that makes itself anew for each run."""

    def fresh(self, seed: int) -> FreshUniform:
        return FreshUniform(self.n_arms, seed)


class Slow(Uniform):
    """A policy that takes its time."""

    def duel(self) -> tuple[int, int]:
        time.sleep(0.001)
        return 0, 1


def test_workers_and_further_runs_change_nothing() -> None:
    alone = rl.simulate(rl.MergeDTS(20), CYCLE, horizon=5000, runs=3, seed=4, workers=1)
    together = rl.simulate(rl.MergeDTS(20), CYCLE, horizon=5000, runs=6, seed=4, workers=2)
    assert np.array_equal(alone.regret, together.regret[:3])
    assert np.array_equal(alone.best, together.best[:3])
    other = rl.simulate(rl.MergeDTS(20), CYCLE, horizon=5000, runs=3, seed=5)
    assert not np.array_equal(alone.regret, other.regret)
    assert len(np.unique(together.regret[:, -1])) > 1, "each run has its own random numbers"


def test_checkpoints_only_choose_what_is_recorded() -> None:
    fine = rl.simulate(rl.MergeRUCB(20), CYCLE, horizon=3000, checkpoints=[1, 10, 500, 2999])
    coarse = rl.simulate(rl.MergeRUCB(20), CYCLE, horizon=3000, checkpoints=[500])
    assert fine.steps.tolist() == [1, 10, 500, 2999]
    assert fine.regret[0, 2] == coarse.regret[0, 0]
    assert (np.diff(fine.regret) >= 0).all()


def test_checkpoints_are_spread_evenly_on_a_logarithmic_scale() -> None:
    steps = rl.simulate(rl.MergeDTS(3), EASY, horizon=10**6).steps
    assert steps[0] == 1
    assert steps[-1] == 10**6
    assert 50 < len(steps) <= 60
    growth = steps[30:] / steps[29:-1]
    assert growth.max() / growth.min() < 1.02
    for horizon in (1, 2, 7):
        assert rl.simulate(rl.MergeDTS(3), EASY, horizon=horizon).steps.tolist()[-1] == horizon
    assert rl.simulate(rl.MergeDTS(3), EASY, horizon=50, checkpoints=1).steps.tolist() == [50]


def test_regret_is_that_of_the_duels() -> None:
    """An arm of known loss against itself: exact, whatever the answers."""

    class Stubborn(Uniform):
        def duel(self) -> tuple[int, int]:
            return 0, 0

    losses = sorted(EASY.losses.tolist())
    result = rl.simulate(Stubborn(3), EASY, horizon=10, runs=30, checkpoints=[1, 10])
    assert result.regret[:, 1] == pytest.approx(10 * result.regret[:, 0])
    found = np.unique(result.regret[:, 0].round(12))
    assert found == pytest.approx(losses), "each run names the arms anew, so arm 0 is each of them in turn"


def test_a_settled_policy_costs_nothing_more() -> None:
    begin = time.perf_counter()
    result = rl.simulate(rl.MergeDTS(3), EASY, horizon=10**12, runs=4, checkpoints=[10**6, 10**12])
    assert time.perf_counter() - begin < 30, "compilation included"
    assert result.seconds.max() < 2
    assert result.found.all()
    assert np.array_equal(result.regret[:, 0], result.regret[:, 1]), "the winner has no regret"
    longest = rl.simulate(rl.MergeDTS(3), EASY, horizon=10**18)
    assert longest.steps[-1] == 10**18


def test_a_policy_settled_on_a_wrong_arm_goes_on_paying() -> None:
    """With bounds far too narrow some runs lose the winner: their regret grows by its loss in each step."""
    problem = rl.PreferenceMatrix.from_utilities([0.0, 0.3])
    result = rl.simulate(
        rl.MergeDTS(2, alpha=0.01, c=1), problem, horizon=10**9, runs=20, checkpoints=[10**8, 10**9], seed=1
    )
    lost = result.failures
    assert 0 < lost.sum() < 20
    assert np.array_equal(~lost, result.found)
    growth = result.regret[:, 1] - result.regret[:, 0]
    assert growth[lost] == pytest.approx(np.full(lost.sum(), 9e8 * problem.losses[0]))
    assert (growth[~lost] == 0).all()


def test_best_is_named_as_the_environment_names_it() -> None:
    result = rl.simulate(rl.MergeDTS(3), EASY, horizon=10**5, runs=8)
    assert result.best.tolist() == [1] * 8


def test_a_plain_python_policy_runs() -> None:
    policy = Uniform(3)
    result = rl.simulate(policy, EASY, horizon=2000, runs=4, workers=2)
    assert result.policy == "Uniform"
    assert result.regret[:, -1] == pytest.approx(np.full(4, 2000 * EASY.losses.mean()), rel=0.1)
    assert result.best.tolist() == [-1] * 4
    assert not result.found.any()
    assert not result.failures.any()
    assert policy.seen == [], "each run has its own copy"
    again = rl.simulate(policy, EASY, horizon=2000, runs=4, workers=1)
    assert np.array_equal(result.regret, again.regret)


def test_answers_follow_the_matrix() -> None:
    """1,000 duels of arms 0 and 1 on a matrix where the first beats the second 3 of 4 times, in any naming."""
    problem = rl.PreferenceMatrix([[0.5, 0.75], [0.25, 0.5]])
    outcomes = []

    class Watching(Uniform):
        def duel(self) -> tuple[int, int]:
            return 0, 1

        def update(self, _duel: tuple[int, int], winner: int) -> None:
            outcomes.append(winner)

    for run in range(2):
        outcomes.clear()
        rl.simulate(Watching(2), problem, horizon=1000, seed=run, workers=1)
        share = outcomes.count(0) / 1000
        assert min(abs(share - 0.25), abs(share - 0.75)) < 0.07, "five standard errors"


def test_a_policy_that_can_make_itself_anew_gets_a_seed_for_each_run() -> None:
    same = rl.simulate(Uniform(3), EASY, horizon=50, runs=5)
    fresh = rl.simulate(FreshUniform(3), EASY, horizon=50, runs=5)
    assert len(np.unique(fresh.regret[:, -1])) > 3
    assert same.regret.shape == fresh.regret.shape


def test_a_policy_that_chooses_what_is_not_there_is_refused() -> None:
    class Wild(Uniform):
        def duel(self) -> tuple[int, int]:
            return 0, 7

    with pytest.raises(ValueError, match=r"\(0, 7\), but arms go from 0 to 2"):
        rl.simulate(Wild(3), EASY, horizon=5, runs=3)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"horizon": 0}, "horizon must be a whole number of at least 1, not 0"),
        ({"horizon": -5}, "horizon"),
        ({"horizon": 1.5}, "horizon"),
        ({"horizon": float("nan")}, "horizon"),
        ({"horizon": float("inf")}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"horizon": "100"}, "horizon"),
        ({"horizon": 10**30}, r"less than 2\^63"),
        ({"horizon": 2 * 10**18}, "at most 1e"),
        ({"runs": 0}, "runs must be a whole number of at least 1, not 0"),
        ({"seed": -1}, "seed"),
        ({"workers": 0}, "workers"),
        ({"checkpoints": 0}, "checkpoints"),
        ({"checkpoints": []}, "checkpoints"),
        ({"checkpoints": [0]}, "checkpoint must be a whole number of at least 1, not 0"),
        ({"checkpoints": [50, 101]}, r"between 1 and the horizon 100, not be \[50, 101\]"),
        ({"checkpoints": 2.5}, "checkpoints"),
        ({"checkpoints": object()}, "checkpoints"),
        ({"policy": rl.MergeDTS(4)}, "the policy has 4 arms, but the preference matrix 3"),
        ({"policy": object()}, "duel and update"),
        ({"environment": EASY.preferences}, "must be a PreferenceMatrix"),
    ],
)
def test_bad_arguments(arguments, complaint: str) -> None:
    given = {"policy": rl.MergeDTS(3), "environment": EASY, "horizon": 100, **arguments}
    with pytest.raises(ValueError, match=complaint):
        rl.simulate(given.pop("policy"), given.pop("environment"), **given)


def test_scientific_notation_is_a_whole_number() -> None:
    result = rl.simulate(rl.MergeDTS(3), EASY, horizon=1e3, runs=np.int64(2), seed=np.int32(1), checkpoints=3)
    assert result.steps[-1] == 1000
    assert len(result.finished) == 2


def test_resuming_runs_only_what_is_missing() -> None:
    setting = {"horizon": 2000, "checkpoints": 5, "seed": 3}
    whole = rl.simulate(rl.MergeDTS(20), CYCLE, runs=5, **setting)
    part = rl.simulate(rl.MergeDTS(20), CYCLE, runs=2, **setting)
    marked = rl.Result(part.setting, part.steps, {0: Run({"regret": np.zeros(5)}, 0, False, 0.0), 1: part.finished[1]})
    resumed = rl.simulate(rl.MergeDTS(20), CYCLE, runs=5, resume=marked, **setting)
    assert np.array_equal(resumed.regret[1:], whole.regret[1:])
    assert (resumed.regret[0] == 0).all(), "a finished run is not run again"
    assert len(marked.finished) == 2, "what is resumed from stays as it is"
    fewer = rl.simulate(rl.MergeDTS(20), CYCLE, runs=1, resume=whole, **setting)
    assert len(fewer.finished) == 5, "nothing that is there is thrown away"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"horizon": 300}, "horizon was 200 and is now 300"),
        ({"seed": 1}, "seed was 0 and is now 1"),
        ({"checkpoints": [7, 200]}, "checkpoints"),
        ({"policy": rl.MergeDTS(20, alpha=0.3)}, "policy was 'MergeDTS' and is now 'MergeDTS"),
        ({"policy": rl.MergeRUCB(20)}, "policy was 'MergeDTS' and is now 'MergeRUCB'"),
        ({"environment": rl.PreferenceMatrix.cycle2()}, "problem was"),
    ],
)
def test_another_setting_cannot_be_resumed(change, complaint: str) -> None:
    done = rl.simulate(rl.MergeDTS(20), CYCLE, horizon=200)
    given = {"policy": rl.MergeDTS(20), "environment": CYCLE, "horizon": 200, **change}
    with pytest.raises(ValueError, match=f"cannot resume: .*{complaint}"):
        rl.simulate(given.pop("policy"), given.pop("environment"), resume=done, **given)


def test_parameters_that_round_to_the_same_are_not_the_same() -> None:
    done = rl.simulate(rl.MergeDTS(20, alpha=0.3), CYCLE, horizon=50)
    with pytest.raises(ValueError, match="parameters"):
        rl.simulate(rl.MergeDTS(20, alpha=0.3 + 1e-9), CYCLE, horizon=50, resume=done)


def test_names_tell_policies_apart_by_what_is_not_default() -> None:
    def name(policy) -> str:
        return rl.simulate(policy, CYCLE, horizon=1).policy

    assert name(rl.MergeDTS(20)) == "MergeDTS"
    assert name(rl.MergeDTS(20, batch_size=16)) == "MergeDTS"
    theory = rl.MergeDTS(20, alpha=1.01, batch_size=4, c=None, epsilon=0.01)
    assert name(theory) == "MergeDTS(alpha=1.01, batch_size=4, c=None, epsilon=0.01)"


def test_results_are_handed_out_as_runs_finish() -> None:
    counts = []
    threads = set()

    def after_run(result: rl.Result) -> None:
        counts.append(len(result.finished))
        threads.add(threading.current_thread())

    rl.simulate(rl.MergeDTS(3), EASY, horizon=1000, runs=5, after_run=after_run)
    assert counts[-1] == 5
    assert counts == sorted(counts)
    assert threads == {threading.current_thread()}


class Recorder:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[Status] = []

    def show(self, status: Status) -> None:
        self.told.append(status)

    def note(self, text: str) -> None:
        raise AssertionError(text)


def test_progress_can_be_watched() -> None:
    recorder = Recorder()
    rl.simulate(rl.MergeDTS(20), CYCLE, horizon=30_000, runs=2, progress=recorder)
    last = recorder.told[-1]
    assert (last.title, last.doing, last.done, last.total) == ("MergeDTS on cycle", "running", 2, 2)


def test_progress_as_a_function_still_works_and_warns() -> None:
    from contextlib import contextmanager

    seen: list[int] = []
    told = []

    @contextmanager
    def watch(label: str, total: int):
        told.append((label, total))
        yield seen.append

    with pytest.warns(DeprecationWarning, match="give a watcher"):
        rl.simulate(rl.MergeDTS(20), CYCLE, horizon=30_000, runs=2, progress=watch)
    assert told == [("MergeDTS on cycle", 60_000)]
    assert sum(seen) == 60_000, "what a settled policy spares counts as done"


def test_several_policies_give_several_results() -> None:
    policies = [rl.MergeDTS(3), rl.MergeRUCB(3)]
    alone = [rl.simulate(policy, EASY, horizon=500, runs=3) for policy in policies]
    together = rl.simulate(policies, EASY, horizon=500, runs=3)
    for one, other in zip(alone, together, strict=True):
        assert one.policy == other.policy
        np.testing.assert_array_equal(one.regret, other.regret)
    more = rl.simulate(policies, EASY, horizon=500, runs=4, resume=together)
    assert [len(result.finished) for result in more] == [4, 4]
    np.testing.assert_array_equal(more[1].seconds[:3], together[1].seconds)
    with pytest.raises(ValueError, match="the list is empty"):
        rl.simulate([], EASY, horizon=5)


def test_nothing_is_printed_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setattr("rankloop.runs.watcher.PATIENCE", 0.0)
    rl.simulate(rl.MergeDTS(20), CYCLE, horizon=10_000, runs=4)
    assert capfd.readouterr() == ("", "")


INTERRUPTED = """
import sys, time
import rankloop as rl
problem = rl.PreferenceMatrix.from_utilities([0.0] * 20)   # nobody wins: no run ever settles
told = False
def after(result):
    global told
    if not told:
        print("one", flush=True)
    told = True
first = rl.simulate(rl.MergeDTS(20), problem, horizon=10**5, runs=1)
try:
    result = rl.simulate(rl.MergeDTS(20), problem, horizon=HORIZON, runs=1000, workers=2, after_run=after)
except KeyboardInterrupt:
    print("raised")
else:
    print(result.interrupted, len(result.finished), sorted(result.finished) == list(result.finished))
"""


def until_interrupted(script: str, after: float) -> tuple[str, float]:
    """What a script prints from Ctrl-C on, some seconds after its first line, and how long it then takes to end."""
    with processes.started([sys.executable, "-c", script]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "one\n", process.communicate()
        time.sleep(after)
        begin = time.monotonic()
        rest, _ = processes.interrupt(process)
        return rest, time.monotonic() - begin


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_keeps_finished_runs() -> None:
    rest, took = until_interrupted(INTERRUPTED.replace("HORIZON", "10**5"), after=0.0)
    interrupted, finished, in_order = rest.split()
    assert interrupted == in_order == "True"
    assert 1 <= int(finished) < 1000
    assert took < 5, "about half a second on an idle machine"


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_stops_long_runs_at_once() -> None:
    script = INTERRUPTED.replace("HORIZON", "10**12").replace("try:", "print('one', flush=True)\ntry:")
    rest, took = until_interrupted(script, after=1.0)
    assert rest == "raised\n", "with nothing to return, the interrupt goes on to the caller"
    assert took < 5, "about half a second on an idle machine"


def test_an_error_in_a_run_stops_the_others() -> None:
    class Failing(Slow):
        def update(self, _duel: tuple[int, int], _winner: int) -> None:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        rl.simulate(Failing(3), EASY, horizon=10**6, runs=50, workers=2)


def test_an_interrupt_from_after_run_keeps_what_is_finished() -> None:
    """What Ctrl-C does while a result is being saved."""
    calls = 0

    def interrupt(_: rl.Result) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt

    result = rl.simulate(Slow(3), EASY, horizon=30, runs=100, workers=2, after_run=interrupt)
    assert result.interrupted
    assert 2 <= len(result.finished) < 100
    assert calls == 3, "and hands it out once more"


def test_a_saved_result_reads_back(tmp_path: Path) -> None:
    theory = rl.MergeDTS(20, alpha=1.01, batch_size=4, c=None, epsilon=0.01)
    result = rl.simulate(theory, CYCLE, horizon=1000, runs=3, seed=2)
    path = tmp_path / "result.npz"
    result.save(path)
    back = rl.Result.load(path)
    assert back.setting == result.setting
    assert np.array_equal(back.steps, result.steps)
    for name in ("regret", "best", "failures", "seconds", "found"):
        assert np.array_equal(getattr(back, name), getattr(result, name)), name
    assert str(back) == str(result)
    assert isinstance(rl.load(path), rl.Result)
    more = rl.simulate(theory, CYCLE, horizon=1000, runs=4, seed=2, resume=back)
    assert np.array_equal(more.regret[:3], result.regret)
    assert more.regret.shape[0] == 4


def test_an_empty_result_saves_and_says_so(tmp_path: Path) -> None:
    result = rl.Result({"policy": "DTS"}, np.array([10]))
    result.save(tmp_path / "empty.npz")
    assert str(rl.Result.load(tmp_path / "empty.npz")) == "DTS: no finished run"
    with pytest.raises(ValueError, match="no finished run to plot"):
        result.plot()


@pytest.mark.parametrize("kept", [0, 3, 100, 700, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "result.npz"
    rl.simulate(rl.MergeDTS(20), CYCLE, horizon=1000, runs=3).save(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"result\.npz is damaged or was not written by rankloop"):
        rl.Result.load(path)


def test_files_of_another_version_or_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    rl.simulate(rl.MergeDTS(3), EASY, horizon=10).save(path)
    header, arrays = read_archive(path)
    header["format"] = FORMAT_VERSION + 1
    with path.open("wb") as file:
        np.savez(file, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    with pytest.raises(ValueError, match=f"format version {FORMAT_VERSION + 1}, this version of rankloop reads"):
        rl.Result.load(path)
    rl.MergeDTS(3).save(path)
    with pytest.raises(ValueError, match="holds a policy, not a result"):
        rl.Result.load(path)
    with pytest.raises(ValueError, match="no file"):
        rl.Result.load(tmp_path / "missing.npz")
    steps = np.array([1])
    for header, arrays in (
        ({}, {}),
        ({"setting": {}}, {"steps": steps, "runs": steps, "best": steps, "failures": steps, "seconds": steps}),
        ({"setting": {"policy": "DTS"}}, {"steps": steps, "runs": steps}),
        (
            {"setting": {"policy": "DTS"}},
            {"steps": steps, "runs": steps, "best": steps[:0], "failures": steps, "seconds": steps},
        ),
    ):
        write_archive(path, "result", header, arrays)
        with pytest.raises(ValueError, match="damaged"):
            rl.Result.load(path)


def test_mean_and_standard_error() -> None:
    rows = [[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]]
    runs = {k: Run({"regret": np.array(row)}, k, False, 1.0) for k, row in enumerate(rows)}
    result = rl.Result({"policy": "X", "winners": [0, 2]}, np.array([5, 10]), runs)
    assert result.mean().tolist() == [3.0, 6.0]
    assert result.standard_error() == pytest.approx([2 / np.sqrt(3), 4 / np.sqrt(3)])
    assert result.found.tolist() == [True, False, True]
    assert result.summary()[1] == {"steps": 10, "mean": 6.0, "standard_error": pytest.approx(4 / np.sqrt(3))}
    single = rl.Result({"policy": "X"}, np.array([5, 10]), {0: runs[0]})
    assert single.standard_error().tolist() == [0, 0]


def test_an_interrupt_just_after_a_file_got_its_name_is_only_an_interrupt(tmp_path: Path, monkeypatch) -> None:
    real = os.replace

    def interrupted(source: str, target: str) -> None:
        real(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    result = rl.simulate(rl.MergeDTS(3), EASY, horizon=10)
    with pytest.raises(KeyboardInterrupt):
        result.save(tmp_path / "result.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["result.npz"]
    assert len(rl.Result.load(tmp_path / "result.npz").finished) == 1


def test_winners_lost_are_counted_over_time() -> None:
    """Three arms in a ring beat the three others: whoever is left in the end, at least two winners are lost by then."""
    wins = [(0, 1), (1, 2), (2, 0), *((best, other) for best in range(3) for other in range(3, 6))]
    preferences = np.full((6, 6), 0.5)
    for winner, loser in wins:
        preferences[winner, loser], preferences[loser, winner] = 0.9, 0.1
    matrix = rl.PreferenceMatrix(preferences)
    assert matrix.winners == [0, 1, 2]
    result = rl.simulate(
        rl.MergeDTS(6, alpha=0.3, batch_size=6, c=100), matrix, horizon=20_000, runs=20, checkpoints=60, progress=False
    )
    lost = result.record("winners_lost")
    assert (lost[:, 0] == 0).all()
    assert (np.diff(lost, axis=1) >= 0).all()
    assert set(np.unique(lost)) <= {0, 1, 2, 3}
    assert (lost[:, -1] >= 2).all()
    np.testing.assert_array_equal(lost[:, -1] == 3, result.failures)
    keeps_all = rl.simulate(rl.RUCB(6), matrix, horizon=100, progress=False)
    assert (keeps_all.record("winners_lost") == 0).all()


def test_a_result_says_in_one_line_what_it_is() -> None:
    result = rl.simulate(rl.MergeDTS(3), EASY, horizon=100, runs=2)
    assert repr(result) == f"Result({result})"
    assert len(repr(result)) < 100


@pytest.mark.parametrize("library", ["pandas", "pyarrow", None])
def test_results_go_to_tables_of_other_libraries(library: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    users = [rl.CascadeModel([0.9, 0.1, 0.2], name="first"), rl.CascadeModel([0.1, 0.2, 0.7], name="second")]
    result = rl.simulate(rl.CascadeUCB1(3, 1), users, horizon=50, runs=2, checkpoints=[10, 50])
    monkeypatch.setattr("rankloop.simulation.result.find_spec", lambda name: name == library or None)
    if library is None:
        with pytest.raises(ImportError, match="pip install pandas"):
            result.to_pandas()
        return
    pytest.importorskip(library)
    table = result.to_pandas()
    columns = {name: list(table[name]) if library == "pandas" else table[name].to_pylist() for name in ("query", "run")}
    assert columns == {"query": ["first", "first", "second", "second"] * 2, "run": [0] * 4 + [1] * 4}
    assert np.array_equal(np.asarray(table["regret"]), result.regret.ravel())
    assert np.asarray(table["step"]).tolist() == [10, 50] * 4


def made_up(regret: list[float], **setting: object) -> rl.Result:
    runs = {unit: Run({"regret": np.array([0.0, value])}) for unit, value in enumerate(regret)}
    return rl.Result({"policy": "X", "problem": "p", "seed": 0, **setting}, np.array([5, 10]), runs)


def test_differences_are_paired_and_have_the_interval_of_student() -> None:
    from scipy import stats

    draw = np.random.default_rng(5)
    shared = draw.normal(0, 100, 8)
    left, right = shared + draw.normal(3, 1, 8), shared + draw.normal(0, 1, 8)
    found = rl.difference(made_up(left.tolist()), made_up(right.tolist()), confidence=0.9)
    expected = stats.ttest_rel(left, right).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.mean == pytest.approx((left - right).mean())
    assert (found.step, found.pairs) == (10, 8)
    assert "X minus X: regret " in str(found)


def test_differences_average_over_queries_where_each_has_several_runs() -> None:
    queries = {"queries": ["a", "b"]}
    zero = made_up([0.0] * 4, **queries)
    found = rl.difference(made_up([1.0, 5.0, 2.0, 6.0], **queries), zero)
    assert (found.mean, found.pairs) == (3.5, 2)
    single = rl.difference(made_up([1.0, 5.0], **queries), made_up([0.0] * 2, **queries))
    assert (single.mean, single.pairs) == (3.0, 2)
    assert single.high - single.low > found.high - found.low
    for other, complaint in (
        (made_up([0.0] * 4, seed=1), "the seed differs"),
        (made_up([0.0]), "at least 2 pairs"),
        (rl.Result(zero.setting, np.array([7]), {}), "no checkpoint that both"),
    ):
        with pytest.raises(ValueError, match=complaint):
            rl.difference(made_up([1.0] * 4), other)
