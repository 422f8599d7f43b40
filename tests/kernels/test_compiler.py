"""The compiler's cache, keyed by every source that can end up in compiled code, and what it does to the process."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest

import rankloop
from rankloop.kernels.compiler import ROOMS_WITHOUT_COMPILED_CODE
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
