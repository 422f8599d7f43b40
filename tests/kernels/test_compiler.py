"""The compiler's cache is keyed by every source that can end up in compiled code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rankloop
from rankloop.kernels.compiler import ROOMS_WITHOUT_COMPILED_CODE

PACKAGE = Path(rankloop.__file__).parent


@pytest.mark.parametrize("room", sorted(ROOMS_WITHOUT_COMPILED_CODE))
def test_rooms_outside_the_cache_key_compile_nothing(room: str) -> None:
    for path in (PACKAGE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("rankloop.kernels", "numba")):
                assert {alias.name for alias in node.names} <= {"cache_directory", "stream"}, path
            if isinstance(node, ast.Import):
                assert not any(alias.name.split(".")[0] == "numba" for alias in node.names), path
