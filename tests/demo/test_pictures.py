"""The demo's pictures show what the answers hold."""

from __future__ import annotations

from typing import Any

import pytest

from rankloop.demo.answers import DemoAnswer
from rankloop.demo.pictures import AXES, pictures


def answer(kind: str, rows: list[list[str]], **data: Any) -> DemoAnswer:
    return DemoAnswer(kind, "Title", "", "", ["a"], rows, "", data=data)


@pytest.mark.parametrize("kind", AXES)
def test_curves(kind: str) -> None:
    [picture] = pictures(answer(kind, [["x"]], curves={"one": [(0, 1), (1, 2)], "<other>": [(0, 2)]}, changes=[1]))
    assert picture.file == f"demo-{kind}.png"
    assert "one and <other>" in picture.alt
    assert "one and &lt;other&gt;" in picture.svg
    assert "tastes change" in picture.caption
    [other] = pictures(answer(kind, [["x"]], curves={"one": [(0, 1), (1, 2)]}))
    assert "tastes change" not in other.caption
    assert other.svg != picture.svg


def test_rankers() -> None:
    rows = [
        {"ranker": name, "mrr": mrr, "low": mrr - 0.1, "high": mrr + 0.1, "left": left}
        for name, mrr, left in (("a", 0.4, True), ("b", 0.3, False))
    ]
    [picture] = pictures(answer("evaluate", [["a"]], rankers=rows, chosen="a", default="b"))
    assert "Mean reciprocal rank of 2 rankers" in picture.svg
    [other] = pictures(answer("evaluate", [["a"]], rankers=rows, chosen="b", default="a"))
    assert other.svg != picture.svg


def test_nothing_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pictures(answer("follow", [], curves={})) == []
    monkeypatch.setattr("rankloop.demo.pictures.can_plot", lambda: False)
    assert pictures(answer("follow", [["x"]], curves={"one": [(0, 1)]})) == []
