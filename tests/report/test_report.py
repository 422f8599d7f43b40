"""Tables, plots and pages made of results."""

from __future__ import annotations

import csv
import io
import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from html_pages import Collector

import rankloop as rl
from rankloop import report
from rankloop.report.tables import HEADINGS, ranking
from rankloop.runs import Run
from rankloop.simulation.plots import _spread, _tick

STEPS = np.array([1, 10, 100, 1000])


def made_up(policy: str, end: float, *, runs: int = 3, environment: str = "cycle", found: int = 0) -> rl.Result:
    finished = {
        k: Run({"regret": np.array([0.0, 0.1, 0.5, 1.0]) * (end + k)}, 0 if k < found else 1, k == 0, 0.002)
        for k in range(runs)
    }
    return rl.Result({"policy": policy, "environment": environment, "winners": [0], "horizon": 1000}, STEPS, finished)


def test_rows_are_sorted_by_regret_and_count_winners() -> None:
    table = report.rows([made_up("B", 20.0), made_up("A", 10.0, found=2), made_up("none", 5.0, runs=0)])
    assert [row.policy for row in table] == ["A", "B"]
    best = table[0]
    assert best.mean_regret == pytest.approx(11)
    assert best.standard_error == pytest.approx(1 / np.sqrt(3))
    assert best.found_winner == pytest.approx(2 / 3)
    assert best.failures == 1
    assert best.runs == 3
    assert best.steps == 1000
    assert best.microseconds_per_step == pytest.approx(2.0)


def test_csv_reads_back() -> None:
    name = "MergeDTS(alpha=1.01, batch_size=4)"
    table = report.rows([made_up(name, 10.0)])
    [row] = csv.DictReader(io.StringIO(report.as_csv(table)))
    assert row["policy"] == name
    assert float(row["mean_regret"]) == table[0].mean_regret


def test_cells_are_what_a_person_reads() -> None:
    row = report.Row("DTS", 1000, 1, 15489.6, 0.0, 0.5, 0, 0.0001)
    assert report.cells(row) == ("DTS", "15,490", "–", "50%", "0", "1", "<0.01")
    assert len(report.cells(row)) == len(HEADINGS)


def test_plots_cope_with_zeros_single_points_and_single_runs() -> None:
    nothing = rl.Result({"policy": "perfect"}, STEPS, {0: Run({"regret": np.zeros(4)}, 0, False, 0.0)})
    point = rl.Result({"policy": "point"}, STEPS[-1:], {0: Run({"regret": np.ones(1)}, 0, False, 0.0)})
    for log in (True, False):
        for results in (
            [nothing],
            [point],
            [made_up("A", 10.0, runs=1)],
            [nothing, made_up("A", 10.0)],
            [nothing, point],
        ):
            figure = rl.plot(results, log=log)
            figure.savefig(io.BytesIO(), format="png")
            axes = figure.axes[0]
            scale = "log" if log else "linear"
            assert axes.get_xscale() == axes.get_yscale() == scale
            names = [text.get_text() for text in axes.texts]
            assert [name.removesuffix(" on cycle") for name in names] == [result.policy for result in results]


def test_plots_show_each_result_once_with_its_band() -> None:
    results = [made_up("A", 10.0), made_up("B", 20.0), made_up("A", 5.0, environment="cycle2")]
    axes = rl.plot(results, title="three").axes[0]
    assert axes.get_title(loc="left") == "three"
    assert len(axes.collections) == 3
    assert [text.get_text() for text in axes.texts] == ["A on cycle", "B on cycle", "A on cycle2"]
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(11)
    with pytest.raises(ValueError, match="no record 'clicks'"):
        rl.plot(results, record="clicks")


def test_names_beside_lines_never_overlap() -> None:
    draw = np.random.default_rng(0)
    for _ in range(200):
        n = int(draw.integers(1, 12))
        heights, sizes = draw.random(n) ** 4, draw.choice([0.05, 0.1], n) * 0.8
        places = np.array(_spread(heights.tolist(), sizes.tolist()))
        order = np.argsort(places)
        gaps = np.diff(places[order]) - (sizes[order][1:] + sizes[order][:-1]) / 2
        assert (gaps > -1e-9).all()
        assert (places - sizes / 2).min() > -1e-9
        assert (places + sizes / 2).max() < 1 + 1e-9
        assert np.array_equal(order, np.lexsort((np.arange(n), heights))), "the order of the lines is kept"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.5, "0.5"), (1000, "1,000"), (1e6, "1,000,000"), (1e8, "$10^{8}$"), (2.5e8, "$2.5×10^{8}$")],
)
def test_ticks_are_readable(value: float, text: str) -> None:
    assert _tick(value) == text


def test_a_page_is_whole_in_itself() -> None:
    sections = [
        report.Section(
            "First <problem>", "One & two.\n\nThree.", [made_up("A", 10.0), made_up("B<1>", 20.0)], {"x": "1"}
        ),
        report.Section("Second", "", [made_up("A", 10.0)], log=False),
    ]
    text = report.page("Title & more", "Hello.", sections, "The end.")
    page = Collector()
    page.feed(text)
    assert page.open == [], "every tag is closed"
    assert len(page.ids) == len(set(page.ids)), "no name is given twice"
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links), "nothing comes from elsewhere"
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(page.ids)
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    assert page.cells == 3 * len(HEADINGS)
    assert "Title &amp; more" in text
    assert "First &lt;problem&gt;" in text
    assert "B&lt;1&gt;" in text
    assert "{{" not in text
    assert "#010203" not in text
    assert text.count("currentColor") > 10
    for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(drawing)


def test_a_page_is_the_same_each_time() -> None:
    sections = [report.Section("One", "", [made_up("A", 10.0)])]
    assert report.page("T", "", sections) == report.page("T", "", sections)


def test_a_section_without_runs_says_so() -> None:
    assert "No run has finished" in report.page("T", "", [report.Section("One", "", [made_up("A", 1.0, runs=0)])])


def test_without_matplotlib_a_page_has_its_tables_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = report.page("T", "", [report.Section("One", "", [made_up("A", 10.0), made_up("B", 20.0)])])
    assert "plots need matplotlib: pip install 'rankloop[plots]'" in text
    assert "<svg" not in text
    assert text.count("<td") == 2 * len(HEADINGS)


def lists(policy: str, regret: float, violations: float) -> rl.Result:
    records = {"regret": STEPS * regret, "violations": STEPS * violations, "ndcg": STEPS * 0.0 + 0.9}
    return rl.Result({"policy": policy, "horizon": 1000}, STEPS, {0: Run(records, -1, False, 0.1)})


def test_lists_are_ranked_by_safety_before_regret() -> None:
    found = [lists("reckless", 0.1, 0.2), lists("production", 0.9, 0.0), lists("safe", 0.5, 0.0)]
    assert [row.policy for row in report.rows(found)] == ["safe", "production", "reckless"]
    table = ranking(found)
    assert table.headings[1] == "unsafe lists"
    assert [[cell.strong for cell in row[:3]] for row in table.rows] == [[True, True, False]] * 2 + [[False] * 3]


def test_users_who_change_are_ranked_by_what_comes_after_the_change() -> None:
    def drifting(policy: str, first: float, later: float) -> rl.Result:
        regret = np.array([first, first + later, first + 2 * later])
        run = Run({"regret": regret, "ndcg": regret * 0 + 0.9}, -1, False, 0.1)
        return rl.Result({"policy": policy, "horizon": 30, "epochs": [10, 10, 10]}, np.array([10, 20, 30]), {0: run})

    found = [drifting("remembers", 0.0, 40.0), drifting("forgets", 200.0, 10.0)]
    best, other = report.rows(found)
    assert (best.policy, best.regret_after_change, best.first_epoch_regret) == ("forgets", 20.0, 200.0)
    assert best.mean_regret > other.mean_regret
    assert report.cells(best)[1] == "20"
