"""Anybody's policies, found by import path."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankloop.experiments import load_player

MODULE = """
from typing import Any

class Greedy:
    def rank(self): ...
    def update(self, ranking, clicks): ...

class Notes:
    pass

def make(n_items): ...

number = 3
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_players.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def test_what_plays_is_found() -> None:
    assert load_player("my_players:Greedy").__name__ == "Greedy"
    assert load_player("my_players:make").__name__ == "make"


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("my_players", "a policy is named as module:name, my_module:MyPolicy for example, not 'my_players'"),
        ("my_players:greedy", "my_players:greedy: my_players has no greedy: did you mean Greedy?"),
        ("my_players:Zebra", "my_players:Zebra: my_players has no Zebra: there are Greedy, Notes and make"),
        ("my_players:Notes", "my_players:Notes is not a policy: it has neither a method rank nor a method duel"),
        ("my_players:number", "my_players:number is 3: neither a policy nor a class or function that makes one"),
        ("no_players:Greedy", "there is no module no_players in the current folder or among those installed"),
    ],
)
def test_what_does_not_is_refused_in_one_sentence(path: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        load_player(path)
    assert str(refused.value).endswith(complaint)
