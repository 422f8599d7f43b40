"""Steps belong to the state they were registered for, and mistakes in them are told in one sentence."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
import processes
import pytest

import rankloop as rl
from rankloop.environments.click_environment import regret_once
from rankloop.kernels import StepError, choose, entry, learn, regret, settled, step, stream
from rankloop.kernels.states import lasting
from rankloop.policies import ClickPolicy
from rankloop.simulation.loop import run_duels


def state_that_shows(item: int) -> type:
    """A type of state, each time of the same name and shape, whose policy shows this item."""

    class State(NamedTuple):
        rng: Any
        clicked: Any

    @step(choose, State)
    def _choose(state: Any, items: Any, notes: Any) -> None:
        items[0] = item

    @step(learn, State)
    def _learn(state: Any, items: Any, notes: Any, clicks: Any) -> None:
        state.clicked[item] += 1

    return State


class _OneItem(ClickPolicy):
    """Shows one item, as the type of its state says."""

    def __init__(self, state_type: type) -> None:
        super().__init__(3, 1, seed=0)
        self.state = state_type(self._rng, np.zeros(3, np.int64))


def test_a_class_that_is_defined_once_more_runs_its_own_steps() -> None:
    policies = [_OneItem(state_that_shows(item)) for item in (0, 1, 2)]
    for _ in range(2):
        for item, policy in enumerate(policies):
            assert list(policy.rank()) == [item]
            policy.update(policy.rank(), [1])
    assert [policy.state.clicked.tolist() for policy in policies] == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]


def test_only_a_policy_that_says_so_has_settled() -> None:
    """`settled` is optional: without it a loop plays every duel that it is asked for."""
    problem = rl.PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]])
    played = []
    for settles in (False, True):
        state_type = state_that_shows(1)
        if settles:
            step(settled, state_type)(lambda state: state.clicked[1] == 3)
        state = state_type(stream(0), np.zeros(3, np.int64))
        played.append(run_duels(state, problem.state, stream(0), 7, np.zeros(2, np.int64), np.zeros(2), np.zeros(2)))
    assert played == [7, 3]


class Wrapper(NamedTuple):
    rng: Any
    inner: Any


@step(choose, Wrapper)
def _choose_within(state: Any, items: Any, notes: Any) -> None:
    choose(state.inner, items, notes)


def test_states_within_a_state_run_their_own_steps() -> None:
    shown = []
    for item in (0, 1):
        policy = _OneItem(state_that_shows(item))
        policy.state = Wrapper(policy.state.rng, policy.state)
        shown.append(list(policy.rank()))
    assert shown == [[0], [1]]


@pytest.mark.parametrize("names", [("Users", "Users"), ("Läufer", "Lufer")], ids=["same", "same in ASCII"])
def test_environments_run_their_own_steps(names: tuple[str, str]) -> None:
    """All fields of these states have one type, for which the compiler has a type of its own, NamedUniTuple."""

    def environment(name: str, loss: float) -> Any:
        state_type = namedtuple(name, ["attraction", "optimal"])

        @step(regret, state_type)
        def _regret(environment: Any, items: Any) -> float:
            return loss

        return state_type(np.zeros(1), np.zeros(1))

    given = dict(zip((0.25, 0.75), names, strict=True))
    assert [regret_once(environment(name, loss), np.zeros(1, np.int64)) for loss, name in given.items()] == list(given)


MODULE = """
from typing import Any, NamedTuple
import numpy as np
from rankloop.environments import ClickEnvironment
from rankloop.kernels import choose, gains, learn, regret, respond, settled, step
from rankloop.policies import ClickPolicy
from rankloop.simulation.loop import run_duels

class State(NamedTuple):
    rng: Any
    clicked: Any

@step(choose, State)
def _choose(state, items, notes):
    items[0] = ITEM

@step(learn, State)
def _learn(state, items, notes, clicks):
    state.clicked[ITEM] += 1

@step(settled, State)
def _settled(state):
    return False

class Mine(ClickPolicy):
    def __init__(self, n_items, seed=None):
        super().__init__(n_items, 1, seed)
        self.state = State(self._rng, np.zeros(n_items, np.int64))

class Users(NamedTuple):
    attraction: Any

@step(respond, Users)
def _respond(environment, rng, items, feedback):
    feedback[0] = 1

@step(regret, Users)
def _regret(environment, items):
    return 1.0 + ITEM

@step(gains, Users)
def _gains(environment):
    return environment.attraction

class Crowd(ClickEnvironment):
    def state_at(self, top):
        return Users(np.array(self.attraction))
"""

SCRIPT = """
import numba.core.event
import rankloop as rl
from shape_a import Crowd as CrowdA, Mine as A
from shape_b import Crowd as CrowdB, Mine as B

attraction = [0.1, 0.2, 0.3]
for policy, users in [(A(3), CrowdA(attraction, "a")), (B(3), CrowdB(attraction, "b"))]:
    result = rl.simulate(policy, users, horizon=10, runs=1, checkpoints=[10], progress=False)
    print(list(policy.rank())[0], result.regret[0, 0], end=" ")
with numba.core.event.install_recorder("numba:compile") as compiled:
    print(list(rl.FixedRanking([2, 0, 1]).rank())[0], end=" ")
print(len(compiled.buffer) > 0)
"""


def test_modules_of_one_shape_run_their_own_steps_with_a_warm_cache_too(tmp_path: Path) -> None:
    for name, item in (("shape_a", 1), ("shape_b", 2)):
        (tmp_path / f"{name}.py").write_text(MODULE.replace("ITEM", str(item)))
    cache = tmp_path / "cache"
    printed = []
    for _ in range(2):
        ran = processes.run(
            [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=processes.environment(RANKLOOP_CACHE_DIR=str(cache))
        )
        printed.append(ran.stdout.split())
    same = ["1", "20.0", "2", "30.0", "2"]
    assert printed == [[*same, "True"], [*same, "False"]], (
        "the second time, the package's own code comes from the cache"
    )
    kept = [file.read_bytes() for file in cache.rglob("*.nb?")]
    assert kept
    assert not any(b"shape_a" in each or b"shape_b" in each for each in kept), "nothing tells when these files change"


def test_only_code_of_the_package_is_kept_and_none_of_a_class_defined_twice() -> None:
    def generic(state: Any) -> None:
        raise NotImplementedError

    def values(module: str) -> Any:
        class Values(NamedTuple):
            values: Any

        Values.__module__ = module

        @step(generic, Values)
        def _nothing(state: Any) -> None:
            pass

        return Values(np.zeros(1))

    def type_within(value: Any) -> tuple[Any, ...]:
        return (numba.typeof(Wrapped(value)),)

    class Wrapped(NamedTuple):
        value: Any

    Wrapped.__module__ = "rankloop.made_up"
    ours, theirs = values("rankloop.made_up"), values("rankloops_friend")
    assert lasting((numba.typeof(ours), numba.typeof(1)))
    assert lasting(type_within(ours))
    assert not lasting((numba.typeof(ours), numba.typeof(theirs)))
    assert not lasting(type_within(theirs))
    again = values("rankloop.made_up")
    assert not lasting((numba.typeof(again),))


def test_a_step_cannot_be_registered_twice() -> None:
    """Code that is compiled already would go on running the first one."""
    state_type = state_that_shows(0)
    with pytest.raises(
        StepError, match=rf"^the step learn of {__name__}\..*State is registered already, from .*:\d+, "
    ):

        @step(learn, state_type)
        def _learn(state: Any, items: Any, notes: Any, clicks: Any) -> None:
            state.clicked[0] += 2


def test_a_step_must_take_what_it_is_given() -> None:
    with pytest.raises(
        StepError, match=r"takes state, items and should take policy, items, notes, feedback, at .*:\d+$"
    ):

        @step(learn, Wrapper)
        def _learn(state: Any, items: Any) -> None:
            pass


BROKEN = """
from typing import Any, NamedTuple
import numpy as np
from rankloop.kernels import choose, compiled, learn, settled, step
from rankloop.policies import ClickPolicy
from rankloop.simulation.loop import run_duels

class State(NamedTuple):
    rng: Any
    clicked: Any

@step(choose, State)
def _choose(state, items, notes):
    for k in range(len(items)):
        items[k] = k

@compiled
def _more(state):
    return state.bonus  # a helper's mistake

@step(learn, State)
def _learn(state, items, notes, clicks):
    for k in range(len(items)):
        state.clicked[k] += clicks[k]

@step(settled, State)
def _settled(state):
    return False

class Mine(ClickPolicy):
    def __init__(self, n_items, n_positions, seed=None):
        super().__init__(n_items, n_positions, seed)
        self.state = State(self._rng, np.zeros(n_items))
"""

_numbers = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], ModuleType]:
    """A module of a policy, with one part of its source replaced."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(old: str, new: str) -> ModuleType:
        assert old in BROKEN
        name = f"broken_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(BROKEN.replace(old, new))
        return __import__(name)

    return write


def _through_update(policy: Any) -> None:
    policy.update(policy.rank(), [1, 0])


def _through_simulate(policy: Any) -> None:
    rl.simulate(policy, rl.CascadeModel([0.5, 0.4, 0.3]), horizon=10, runs=1, progress=False)


def line_of(module: ModuleType, text: str) -> str:
    lines = Path(str(module.__file__)).read_text().splitlines()
    return f"{module.__file__}:{next(number for number, line in enumerate(lines, 1) if text in line)}"


@pytest.mark.parametrize("used", [_through_update, _through_simulate])
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("state.clicked[k] +=", "state.clickd[k] +=", "Unknown attribute 'clickd' of type {name}.State"),
        ("state.clicked[k] +=", "state.clicked[kk] +=", "NameError: name 'kk' is not defined"),
        ("+= clicks[k]", "= 'one'", "No implementation of function setitem found for signature: setitem("),
        ("state.clicked[k] +=", "import math; state.clicked[k] +=", "Use of unsupported opcode (IMPORT_NAME) found"),
    ],
    ids=["attribute", "name", "type", "bytecode"],
)
def test_a_mistake_in_a_step_is_one_sentence(
    module: Callable[[str, str], ModuleType], used: Callable[[Any], None], old: str, new: str, says: str
) -> None:
    mine = module(old, new)
    with pytest.raises(StepError) as caught:
        used(mine.Mine(3, 2, seed=0))
    text = str(caught.value)
    begin = f"the step learn of {mine.__name__}.State cannot be compiled: {says.format(name=mine.__name__)}"
    assert text.startswith(begin)
    assert text.endswith(f", at {line_of(mine, new)}")
    assert "\n" not in text
    assert caught.value.__suppress_context__, "so that the compiler's report is not printed before it"


def test_a_mistake_in_a_helper_is_told_with_its_own_line(module: Callable[[str, str], ModuleType]) -> None:
    mine = module("+= clicks[k]", "+= _more(state)")
    with pytest.raises(StepError) as caught:
        _through_update(mine.Mine(3, 2, seed=0))
    name = mine.__name__
    place = line_of(mine, "a helper's mistake")
    assert str(caught.value) == (
        f"the step learn of {name}.State cannot be compiled: Unknown attribute 'bonus' of type {name}.State, at {place}"
    )


@pytest.mark.parametrize("used", [_through_update, _through_simulate])
def test_a_missing_step_is_named(module: Callable[[str, str], ModuleType], used: Callable[[Any], None]) -> None:
    mine = module("@step(learn, State)\n", "")
    with pytest.raises(StepError) as caught:
        used(mine.Mine(3, 2, seed=0))
    places = (line_of(mine, "@step(choose"), line_of(mine, "@step(settled"))
    assert str(caught.value) == (
        f"{mine.__name__}.State has no step learn: register one with @step(learn, State) "
        f"(it has choose at {places[0]}, settled at {places[1]})"
    )


def test_a_state_without_steps_is_named() -> None:
    class Bare(NamedTuple):
        rng: Any
        clicked: Any

    with pytest.raises(StepError, match=r"Bare has no step choose: register .* \(it has no steps at all\)$"):
        _OneItem(Bare).rank()


def test_what_compiled_code_cannot_keep_is_named(module: Callable[[str, str], ModuleType]) -> None:
    mine = module("np.zeros(n_items)", "{}")
    with pytest.raises(StepError, match=rf"^the field clicked of {mine.__name__}\.State is of type dict, which "):
        mine.Mine(3, 2, seed=0).rank()


def test_a_loop_that_cannot_use_what_a_step_gives_says_so() -> None:
    state_type = state_that_shows(0)

    @step(settled, state_type)
    def _settled(state: Any) -> Any:
        return state

    @entry
    def ask(state: Any) -> Any:
        return settled(state) + 1

    with pytest.raises(
        StepError, match=r"^ask cannot be compiled for .*State: No implementation of function add found"
    ):
        ask(_OneItem(state_type).state)


def test_errors_that_steps_raise_on_purpose_pass(module: Callable[[str, str], ModuleType]) -> None:
    mine = module("state.clicked[k] += clicks[k]", "raise ArithmeticError('no more clicks')")
    for _ in range(2):
        with pytest.raises(ArithmeticError, match=r"^no more clicks$"):
            _through_update(mine.Mine(3, 2, seed=0))


def test_an_argument_that_is_not_stored_is_named(module: Callable[[str, str], ModuleType]) -> None:
    mine = module("n_positions, seed=None", "n_positions, bonus=1.0, seed=None")
    policy = mine.Mine(3, 2, seed=0)
    place = line_of(mine, "def __init__")
    says = f"{mine.__name__}.Mine takes bonus but does not store it: add self.bonus = bonus to __init__, at {place}"
    for use in (lambda: policy.parameters, lambda: policy.fresh(1), lambda: _through_simulate(policy)):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            use()
        assert str(caught.value) == says
