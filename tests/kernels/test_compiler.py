"""The compiler's cache, keyed by every source that can end up in compiled code, and what it does to the process."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import processes
import pytest

import rankloop
from rankloop.kernels.compiler import ROOMS_WITHOUT_COMPILED_CODE, _alone
from rankloop.kernels.lean import without_collecting

PACKAGE = Path(rankloop.__file__).parent


@pytest.mark.parametrize("room", sorted(ROOMS_WITHOUT_COMPILED_CODE))
def test_rooms_outside_the_cache_key_compile_nothing(room: str) -> None:
    for path in (PACKAGE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("rankloop.kernels", "numba")):
                assert {alias.name for alias in node.names} <= {"cache_directory", "stream"}, path
            if isinstance(node, ast.Import):
                assert not any(alias.name.split(".")[0] == "numba" for alias in node.names), path


def test_garbage_is_collected_again_after_compiling() -> None:
    seen: list[bool] = []

    def fail() -> None:
        seen.append(gc.isenabled())
        raise KeyError

    gc.enable()
    with pytest.raises(KeyError):
        without_collecting(fail)()
    assert seen == [False]
    assert gc.isenabled()
    gc.disable()
    try:
        assert without_collecting(lambda given: given)(3) == 3
        assert not gc.isenabled()
    finally:
        gc.enable()


COMPILES_WHEN_TOLD = """
import sys
import rankloop as rl
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
policy = rl.FixedRanking([1, 0])
print("ready", flush=True)
sys.stdin.readline()
policy.rank()
print(sum(one.data["dispatcher"].py_func.__name__ == "choose_once" for _, one in compiled.buffer if one.is_end))
"""


def test_processes_that_need_the_same_code_at_once_compile_it_once(tmp_path: Path) -> None:
    options = {"stdin": subprocess.PIPE, "env": {**os.environ, "RANKLOOP_CACHE_DIR": str(tmp_path)}}
    with ExitStack() as stack:
        command = [sys.executable, "-c", COMPILES_WHEN_TOLD]
        programs = [stack.enter_context(processes.started(command, **options)) for _ in range(3)]
        for program in programs:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
        for program in programs:
            assert program.stdin is not None
            program.stdin.write("\n")
            program.stdin.flush()
        answers = [program.communicate(timeout=processes.LIMIT) for program in programs]
    assert sorted(answer[0] for answer in answers) == ["0\n", "0\n", "1\n"], answers


def test_a_process_that_stands_still_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    entered = []
    with _alone(tmp_path / "lock"), _alone(tmp_path / "lock", longest=0.05):
        entered.append(True)
    assert entered
