"""What the package shows of itself, and how quickly it comes."""

from __future__ import annotations

import importlib
import sys

import processes
import pytest

import rankloop

NAMES = """
C2UCB DTS REX3 RMED1 RUCB AsyncClient AsyncLive BatchRank BubbleRank CascadeDUCB CascadeHybrid CascadeHybridTS
CascadeKLUCB CascadeLSB CascadeLSBFull CascadeLinTS CascadeLinUCB CascadeLinUCBFull CascadeModel CascadeSWUCB
CascadeUCB1 ClickEnvironment ClickPolicy ClickProblem Client DependentClickModel Difference DriftingCascade
DriftingDependentClickModel DriftingPositionBasedModel Duel DuelingPolicy FeaturePolicy FixedRanking HybridCascade
HybridClippingWarning HybridProblem LSBGreedy Live MergeDTS MergeRUCB PositionBasedModel PreferenceMatrix RankedEXP3
Ranking RecurRank Result Segments SelfSparring Sparring TopRank click_problems difference hybrid_problems load plot
simulate train
"""


def loaded_after(statement: str) -> set[str]:
    """The top-level modules in a fresh process after a statement."""
    script = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(processes.run([sys.executable, "-c", script]).stdout.split())


def test_import_loads_nothing_heavy() -> None:
    assert not loaded_after("import rankloop") & {"numpy", "numba", "llvmlite", "matplotlib", "rich", "typer"}


def test_environments_and_simulations_need_no_plots() -> None:
    loaded = loaded_after("import rankloop\nrankloop.simulate, rankloop.MergeDTS, rankloop.PreferenceMatrix")
    assert "numba" in loaded
    assert "matplotlib" not in loaded


WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
import importlib, pkgutil
import rankloop as rl
for module in pkgutil.walk_packages(rl.__path__, "rankloop."):
    if module.name not in ("rankloop.__main__", "rankloop.simulation.plots", "rankloop.simulation.panels"):
        importlib.import_module(module.name)
from rankloop.policies import Policy
made = [policy(**example) for policy in Policy.known.values() for example in policy.examples]
result = rl.simulate(rl.FixedRanking([1, 0]), rl.CascadeModel([0.2, 0.1]), horizon=10)
print(len({type(policy) for policy in made}), result.regret.shape)
from typer.testing import CliRunner
from rankloop.cli.app import app
for command in (["experiments"], ["policies"], ["bounds", "duel", "cycle"]):
    assert CliRunner().invoke(app, command).exit_code == 0, command
try:
    result.plot()
except ImportError as error:
    print(error)
"""


def test_policies_and_simulations_work_without_matplotlib() -> None:
    told = processes.run([sys.executable, "-c", WITHOUT_MATPLOTLIB]).stdout.splitlines()
    n_policies, _, shape = told[0].partition(" ")
    assert int(n_policies) > 20
    assert shape.startswith("(1, ")
    assert told[1:] == ["plots need matplotlib: pip install 'rankloop[plots]'"]


def test_the_command_line_loads_the_compiler_only_to_run() -> None:
    assert not loaded_after("import rankloop.cli.app") & {"numpy", "numba", "matplotlib"}


def test_all_names_what_is_public() -> None:
    for name in rankloop.__all__:
        assert getattr(rankloop, name) is not None
        assert name in dir(rankloop)
    assert len(set(rankloop.__all__)) == len(rankloop.__all__)
    namespace: dict[str, object] = {}
    exec("from rankloop import *", namespace)
    assert namespace.keys() >= set(rankloop.__all__)


def test_no_public_name_is_lost() -> None:
    """Names of released versions, which stay until a version after the one that warns about them."""
    assert set(rankloop.__all__) >= set(NAMES.split())


def test_names_in_the_rooms_of_policies() -> None:
    from rankloop import policies
    from rankloop.policies import clicks, dueling, features

    assert policies.Policy is rankloop.Policy
    for kind, name in ((clicks, "BubbleRank"), (dueling, "MergeDTS"), (features, "CascadeHybrid")):
        assert getattr(kind, name) is getattr(policies, name) is getattr(rankloop, name)
    assert not [name for name in policies.__all__ if name.startswith("_")]


def test_modules_are_found_without_the_compiler() -> None:
    assert "numba" not in loaded_after("from rankloop import version, storage")


def test_every_policy_and_environment_is_public() -> None:
    from rankloop import environments, policies

    for cls in policies.Policy.known.values():
        if cls.__module__.startswith("rankloop.policies.") and cls.examples:
            assert cls.__name__ in rankloop.__all__
            assert getattr(policies, cls.__name__) is cls
    for name in environments.__all__:
        assert name in rankloop.__all__


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="MergeDts"):
        rankloop.MergeDts  # noqa: B018


@pytest.mark.parametrize(
    ("module", "former", "name"),
    [
        ("kernels", "below", "draw_index"),
        ("interleaving", "Outcome", "Preference"),
        ("interleaving", "judge", "score_clicks"),
    ],
)
def test_former_names_are_found_with_a_warning(module: str, former: str, name: str) -> None:
    room = importlib.import_module(f"rankloop.{module}")
    with pytest.warns(DeprecationWarning, match=f"{module}.{former} is called {name} now"):
        assert getattr(room, former) is getattr(room, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        room.nothing  # noqa: B018


def test_the_former_name_of_an_interleaving_s_preference_warns() -> None:
    page = rankloop.interleaving.TeamDraft().interleave([["a", "b"], ["b", "a"]], length=2, seed=1)
    with pytest.warns(DeprecationWarning, match="outcome is called preference now"):
        assert page.outcome([1, 0]) == page.preference([1, 0])
