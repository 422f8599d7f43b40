"""The scorecard, and the report on experiments, made of made-up outcomes."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from html_pages import Collector

from rankloop.experiments import Amount, Claim, Experiment, Finding, Outcome, Panel, Player, Source
from rankloop.experiments.declare import Compared, Failure
from rankloop.report import data, timings
from rankloop.report.data import scorecard
from rankloop.report.experiment_tables import reached, running_times_table
from rankloop.report.figures import pictures
from rankloop.report.markdown import Cell, Table, plain
from rankloop.report.page import as_html
from rankloop.report.reproduction import Report, reproduction
from rankloop.report.scorecard import Judged, counted, counts, effect, judge, said
from rankloop.report.timings import projection
from rankloop.runs import Run
from rankloop.simulation import Result
from rankloop.simulation.panels import Point, plot_panels, plot_study
from rankloop.wording import duration

REAL = Source("the real <data> of MSLR", True)
STAND_IN = Source("a stand-in | for Yahoo", False)
AMOUNTS = {"smoke": Amount(1000, 3), "laptop": Amount(10_000, 10), "paper": Amount(10**8, 50)}


def result(end: float, *, runs: int = 3, seconds: float = 0.002, records: Sequence[str] = ("regret",)) -> Result:
    steps = np.array([1, 10, 100, 1000])
    share = np.array([0.01, 0.1, 0.5, 1.0])
    finished = {k: Run(dict.fromkeys(records, share * (end + k)), 0, False, seconds) for k in range(runs)}
    setting = {"policy": "P", "horizon": 1000, "parameters": {"alpha": 0.262144, "n_arms": 9, "c": None}}
    return Result(setting, steps, finished)


def outcome(
    name: str = "large",
    chapter: int = 2,
    panels: Sequence[str] = ("MSLR, <easy>", "Yahoo"),
    players: Sequence[str] = ("MergeDTS", "Self-Sparring"),
    values: Sequence[float | None] = (None, None),
    **more: object,
) -> Outcome:
    made = [
        Panel(panel, None, (REAL, STAND_IN)[k % 2], [Player(label, None) for label in players], value=value)
        for k, (panel, value) in enumerate(zip(panels, values, strict=True))
    ]
    experiment = Experiment(
        name, chapter, f"{chapter}.5, figure 1", f"The title & of {name}", "A text.", lambda *_: made, AMOUNTS, **more
    )
    results = {
        (panel, label): result(10.0 * (k + 1) * (j + 1), records=experiment.records or ("regret",))
        for j, panel in enumerate(panels)
        for k, label in enumerate(players)
    }
    return Outcome(experiment, "smoke", made, results, seconds=75.0)


def claim(name: str, experiment: str, finding: Finding, changed: str = "") -> Claim:
    return Claim(name, experiment, "2.5.1", f"Claim *{name}* is < true.", lambda _: finding, changed)


OUTCOMES = [
    outcome("drift", 4, log=False),
    outcome(),
    outcome("alpha", 2, ("α = 1", "α = 2"), ("MergeDTS",), (1.0, 2.0), parameter="α"),
    outcome("safety", 3, records=("regret", "violations", "ndcg")),
]
COMPARED = (
    Compared("A < B, first", "holds", 0.777, 0.0111, "above 0.5", ("MSLR, <easy>",)),
    Compared("A < B, second", "undecided", 0.888, 0.222, "above 0.6", ("Yahoo",), False, False, "333 more runs"),
)
CLAIMS = [
    claim("one", "large", Finding("holds", 0.5123, 0.021, "half the |regret|")),
    claim("two", "large", Finding("fails", -3.0, 0.5, "thrice it", COMPARED), "It was <two> before."),
    claim("three", "drift", Finding("undecided", 0.1, 0.2, "who knows", COMPARED[1:], "a day of 24 hours")),
    claim("four", "not run", Finding("holds", 1.0, 0.1, "never shown")),
]


@pytest.fixture(scope="module")
def report() -> Report:
    bounds = {"large": {("Yahoo", "MergeDTS"): np.array([30.0, 60.0, 90.0, 123456.0])}}
    return reproduction(OUTCOMES, CLAIMS, cores=2, footer="Made by a test.", bounds=bounds)


@pytest.fixture
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For those who look at words only: pictures take seconds."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def words_of_page(text: str) -> str:
    text = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<title>.*?</title>", "", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", text))


def words_of_markdown(text: str) -> str:
    text = re.sub(r"<[^>]*>|!\[.*?\]\(.*?\)", " ", text)
    return html.unescape(text.replace("**", "").replace("\\", ""))


def test_a_page_is_whole_in_itself(report: Report) -> None:
    page = Collector()
    page.feed(report.page)
    assert page.open == [], "every tag is closed"
    assert len(page.ids) == len(set(page.ids)), "no name is given twice"
    beside = {"scorecard.json", "results.parquet"}
    assert beside <= set(page.links)
    inside = [link for link in page.links if link not in beside]
    assert all(link.startswith("#") and link[1:] in page.ids for link in inside), "nothing comes from elsewhere"
    assert set(re.findall(r"url\(#([^)]+)\)", report.page)) <= set(page.ids)
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", report.page)
    assert "{{" not in report.page
    assert "#010203" not in report.page
    drawings = re.findall(r"<svg.*?</svg>", report.page, re.DOTALL)
    assert len(drawings) == len(report.pictures) == 1 + 1 + 2 + 3
    for drawing in drawings:
        ET.fromstring(drawing)


def test_the_scorecard_comes_first_and_tells_verdicts(report: Report) -> None:
    for text in (report.page, report.markdown):
        assert text.index("Scorecard") < text.index("✓ holds") < text.index("The policies and how they were set.")
    badge = '<span class="verdict holds">✓ holds'
    assert report.page.count(badge) == 3, "in the scorecard and with its experiment, and once of a comparison"
    assert "never shown" not in report.page + report.markdown
    assert [each.claim.name for each in report.judged] == ["one", "two", "three"]
    assert counts(report.judged) == {"holds": 1, "fails": 1, "undecided": 1}
    assert counted(report.judged) == "1 holds, 1 fails, 1 undecided"


def test_comparisons_are_folded_below_their_claim(report: Report) -> None:
    [details] = re.findall(r"<details[^>]*>\n<summary>Comparisons: 1 of 2 hold.*?</details>", report.page, re.DOTALL)
    assert "A &lt; B, first" in details
    assert "needs 333 more runs; stand-in, decides nothing" in details
    scorecard, _, large = report.markdown.partition('<a id="large">')
    assert "A &lt; B, first" not in scorecard
    assert "| two | ✓ holds | A &lt; B, first | 0.777 ± 0.0111, claimed above 0.5 |  |" in large


@pytest.mark.usefixtures("_without_pictures")
def test_the_page_says_what_decided_claims_rest_on_and_which_were_changed(report: Report) -> None:
    for text in (words_of_page(report.page), words_of_markdown(report.markdown)):
        assert "2 of 3 claims are decided." in text
        assert "? needs a day of 24 hours" in text
        assert "It was <two> before." in text
    stand_in = Finding("holds", 1.0, 0.1, "x", (COMPARED[1]._replace(decides=True),))
    made = reproduction(OUTCOMES, [claim("s", "large", stand_in)], cores=2)
    assert "1 of 1 claims are decided, 1 of them on stand-ins alone." in made.markdown


def test_the_page_and_the_markdown_say_the_same(report: Report) -> None:
    page, markdown = words_of_page(report.page), words_of_markdown(report.markdown)
    said = ["half the |regret|", "thrice it", "0.512 ± 0.021", "Claim *one* is < true.", "section 2.5, figure 1"]
    said += ["the real <data> of MSLR", "a stand-in | for Yahoo", "The title & of safety", "Made by a test."]
    said += [
        "1 min 15 s",
        "alpha=0.2621",
        "bound 123,456",
        "paper scale on 2 cores",
        "Thin lines, where they are in sight",
    ]
    said += ["MSLR, <easy>", "Self-Sparring", "1,000", "NDCG at the end of the runs"]
    for text in said:
        assert text in page, text
        assert text in markdown, text
    numbers = re.compile(r"\d+(?:[.,]\d+)*")
    assert set(numbers.findall(markdown)) - {"0"} == set(numbers.findall(page)) - {"0"}, "bars leave out zeros"
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", report.markdown):
        assert report.pictures[picture].startswith(b"\x89PNG")


def test_chapters_and_experiments_stand_in_order(report: Report) -> None:
    places = [report.markdown.index(f'<a id="{name}">') for name in ("scorecard", "experiments", "large", "alpha")]
    places += [report.markdown.index(f'<a id="{name}">') for name in ("safety", "drift")]
    assert places == sorted(places)


def test_the_same_outcomes_give_the_same_bytes(tmp_path: Path) -> None:
    folders = []
    for name in ("a", "b"):
        reproduction(OUTCOMES[1:2], CLAIMS, cores=2).write(tmp_path / name)
        folders.append(
            {path.name: path.read_bytes() for path in sorted((tmp_path / name).rglob("*")) if path.is_file()}
        )
    assert folders[0] == folders[1]
    assert set(folders[0]) == {"index.html", "report.md", "large-regret.png", "scorecard.json", "results.parquet"}


def test_a_test_that_breaks_leaves_the_claim_undecided() -> None:
    def breaks(_: Outcome) -> Finding:
        raise KeyError("no <such> panel")

    broken = Claim("broken", "large", "2.5", "It breaks.", breaks)
    [judged] = judge([broken], OUTCOMES)
    assert judged.broken
    assert judged.finding.verdict == "undecided"
    assert "no <such> panel" in judged.finding.text
    assert effect(judged.finding) == "–"
    unfinished = outcome()
    del unfinished.results["Yahoo", "MergeDTS"]
    [judged] = judge([broken], [unfinished])
    assert not judged.broken
    assert (judged.finding.verdict, judged.finding.text) == ("undecided", "runs are missing")


def test_failures_and_missing_runs_are_told() -> None:
    failed = outcome()
    failed.results["Yahoo", "MergeDTS"] = result(1.0, runs=0)
    failed.failures += [Failure("Yahoo", "MergeDTS", k, "ValueError: <bad>") for k in range(30)]
    made = reproduction([failed], [], cores=1)
    assert "MergeDTS in Yahoo, run 3: ValueError: &lt;bad&gt;" in made.page
    assert "and 10 more" in made.page
    assert "No claim bears on what was run." in made.page
    nothing = replace(failed, results={key: result(1.0, runs=0) for key in failed.results})
    assert "No run has finished" in reproduction([nothing], [], cores=1).markdown


def test_paper_scale_is_projected_from_the_time_a_step() -> None:
    one = outcome()
    # 2 µs per step, 2 panels with 2 players each, 50 runs of 10^8 steps
    assert projection(one) == (pytest.approx(4 * 50 * 1e8 * 2e-6), True)
    del one.results["Yahoo", "MergeDTS"]
    assert projection(one) == (pytest.approx(4 * 50 * 1e8 * 2e-6), True), "as fast as in the other panel"
    del one.results["MSLR, <easy>", "MergeDTS"]
    assert projection(one) == (pytest.approx(2 * 50 * 1e8 * 2e-6), False)
    many = outcome()
    many.experiment = replace(many.experiment, amounts={**AMOUNTS, "paper": Amount(1000, 2, 7)})
    assert projection(many).seconds == pytest.approx(4 * 2 * 7 * 1000 * 2e-6)


def test_running_times_stand_beside_those_of_the_thesis() -> None:
    timed = outcome("running-time", panels=("MSLR-Navigational", "Yahoo-Navigational"), records=())
    found = {(each.panel, each.player): each for each in timings.running_times(timed)}
    assert len(found) == 4
    assert found["Yahoo-Navigational", "Self-Sparring"].thesis == pytest.approx(0.90 * 86_400)
    assert found["Yahoo-Navigational", "Self-Sparring"].ours == pytest.approx(200.0)
    [table] = running_times_table(timed)
    assert "3 min 20 s" in str(table)
    assert "thesis 22 h, 389×" in str(table)
    assert running_times_table(replace(timed, experiment=outcome().experiment)) == []
    assert duration(found["Yahoo-Navigational", "Self-Sparring"].thesis) == "22 h"


def test_the_best_of_a_row_stands_out() -> None:
    table = reached(outcome("x", records=("regret", "ndcg")), "regret", {})
    assert [[cell.strong for cell in row] for row in table.rows] == [[False, True, False]] * 2
    table = reached(outcome("x", records=("regret", "ndcg")), "ndcg", {})
    assert [[cell.strong for cell in row] for row in table.rows] == [[False, False, True]] * 2


def test_who_played_for_longer_is_not_set_beside_the_others_as_best() -> None:
    one = outcome("x")
    one.results["Yahoo", "MergeDTS"].steps = np.array([1, 10, 100, 500])
    [_, yahoo] = reached(one, "regret", {}).rows
    assert [cell.strong for cell in yahoo] == [False, False, False]
    assert "(after 500 steps)" in yahoo[1].quiet


def test_the_scorecard_as_data(report: Report, tmp_path: Path) -> None:
    report.write(tmp_path)
    found = json.loads((tmp_path / "scorecard.json").read_text())
    assert found["counts"] == {"holds": 1, "fails": 1, "undecided": 1}
    one, two, three = found["claims"]
    assert (one["name"], one["scale"], one["effect"], one["comparisons"]) == ("one", "smoke", 0.5123, [])
    assert two["changed_after_results_were_seen"] == "It was <two> before."
    assert two["comparisons"][1] == {
        "comparison": "A < B, second",
        "verdict": "undecided",
        "effect": 0.888,
        "standard_error": 0.222,
        "claimed": "above 0.6",
        "panels": ["Yahoo"],
        "real_data": False,
        "decides": False,
        "waits_for": "333 more runs",
    }
    assert three["waits_for"] == "a day of 24 hours"
    nothing = Judged(CLAIMS[0], 2, Finding("undecided", float("nan"), float("nan"), "no test"))
    assert json.loads(scorecard([nothing]))["claims"][0]["effect"] is None, "JSON has no other word for it"


@pytest.mark.parametrize("missing", [False, True])
def test_all_results_as_one_table(missing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing:
        monkeypatch.setattr(data, "find_spec", lambda _: None)
    many = outcome("many", panels=("CM",), players=("A",), values=(None,), records=("regret", "ndcg"))
    many.results["CM", "A"] = result(5.0, runs=6, records=("regret", "ndcg"))
    many.results["CM", "A"].setting["queries"] = ["q1", "q2"]
    path = data.write_results([outcome(), many], tmp_path)
    if missing:
        assert path.name == "all-results.csv"
        head, *lines = csv.reader(path.read_text().splitlines())
        rows = [(*line[:3], int(line[3]), int(line[4]), line[5], float(line[6])) for line in lines]
    else:
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        head, rows = table.column_names, list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert head == ["experiment", "problem", "policy", "run", "step", "measure", "value"]
    assert len(rows) == 4 * 3 * (4 + 3) + 6 * (2 * 4 + 3), "curves, runs, checkpoints and what is known at the end"
    assert len(set(rows)) == len({row[:6] for row in rows}) == len(rows), "a row is named by its first columns"
    assert ("large", "Yahoo", "MergeDTS", 2, 100, "regret", 0.5 * 22.0) in rows
    assert ("large", "Yahoo", "MergeDTS", 0, 1000, "seconds", 0.002) in rows
    assert ("many", "CM: q2", "A", 1, 1000, "ndcg", 8.0) in rows, "unit 3 is the second run of the second query"
    assert ("many", "CM: q1", "A", 0, 1000, "failed", 0.0) in rows


def test_panels_share_looks_and_a_legend() -> None:
    panels = {
        "one": {"A": result(10.0), "B": result(20.0)},
        "two": {"B": result(5.0)},
        "empty": {"A": result(1.0, runs=0)},
    }
    bounds = {("two", "B"): np.array([1.0, 5.0, 10.0, 20.0])}
    figure = plot_panels(panels, bounds=bounds)
    figure.savefig(io.BytesIO(), format="png")
    one, two = figure.axes
    assert one.lines[1].get_color() == two.lines[0].get_color() == two.lines[1].get_color()
    assert two.lines[1].get_linewidth() < two.lines[0].get_linewidth()
    assert two.lines[1].get_ydata()[-1] == 20.0
    assert two.get_ylim()[1] >= 20.0
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["A", "B"]
    with pytest.raises(ValueError, match="no finished run"):
        plot_panels({"empty": panels["empty"]})


def test_bounds_far_above_do_not_press_the_lines_down() -> None:
    for log in (True, False):
        bounds = {("one", "A"): np.full(4, 1e9)}
        with_bound = plot_panels({"one": {"A": result(10.0)}}, bounds=bounds, log=log).axes[0]
        without = plot_panels({"one": {"A": result(10.0)}}, log=log).axes[0]
        assert with_bound.get_ylim() == without.get_ylim()


def test_a_study_has_its_parameter_on_the_axis() -> None:
    points = [Point(0.5**k, 10.0 * k, 1.0) for k in range(1, 5)]
    axes = plot_study({"all": {"A": points}}, parameter="χ").axes[0]
    assert axes.get_xlabel() == "χ"
    assert axes.get_xscale() == "log"
    assert axes.lines[0].get_xdata().tolist() == sorted(point.value for point in points)
    figure = plot_study({"CM": {"A": points}, "PBM": {"A": points, "B": points}}, parameter="χ")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["CM", "PBM"]
    even = plot_study({"all": {"A": [Point(v, 1.0, 0.1) for v in (1.0, 2.0, 3.0)]}}, parameter="d").axes[0]
    assert even.get_xscale() == "linear"


def test_studies_of_one_player_compare_its_values_in_one_panel() -> None:
    names = [f"{model}, |V| = {v}" for model in ("CM", "PBM") for v in (1, 2)]
    study = outcome("v0", 3, names, ("BubbleRank",), (1.0, 2.0, 1.0, 2.0), parameter="|V|")
    by_value, over_time = (picture for picture, _ in pictures(study, {}))
    assert "against |V|" in by_value.alt
    assert over_time.alt == "Regret over time in CM, PBM"


def test_markdown_shows_text_as_it_is() -> None:
    for text in ("a|b *c* _d_ <e> [f](g) `h` \\", "&amp; is & written &#38; \\*", "# no heading", "![x](y) <b>z</b>"):
        assert words_of_page(as_html(plain(text))).strip() == text
        table = as_html(str(Table(["x"], [[Cell(text, text, strong=True)]])))
        assert words_of_page(table).count(text) == 2, "in a table, too"


def test_undecided_claims_say_what_they_need(report: Report) -> None:
    assert "? needs a day of 24 hours" in words_of_page(report.page)
    assert "undecided" not in words_of_page(report.page.partition('id="large"')[2].partition('id="alpha"')[0]).replace(
        "1 undecided", ""
    )
    assert said("undecided", "the real data; more runs") == "? needs real data"
    assert said("undecided", "an effect further from its bound: more than") == "? too near its bound"


@pytest.mark.usefixtures("_without_pictures")
def test_a_long_report_is_folded_and_has_contents(report: Report) -> None:
    for name in ("scorecard", "large", "alpha", "drift"):
        assert f'<a href="#{name}">' in report.page.partition("</nav>")[0]
    many = reproduction([outcome(f"e{k}") for k in range(7)], [], cores=1)
    assert many.page.count("<summary>Pictures and numbers</summary>") == 7
    assert "<summary>Pictures and numbers</summary>" not in report.page, "few experiments are shown at once"


def test_a_report_links_to_the_pages_beside_it() -> None:
    made = reproduction(OUTCOMES[:1], [], cores=1, beside={"../index.html": "the demo"})
    assert '<a href="../index.html">../index.html</a>, the demo' in made.page


@pytest.mark.usefixtures("_without_pictures")
def test_without_matplotlib_a_report_has_no_pictures_and_says_so() -> None:
    made = reproduction(OUTCOMES, CLAIMS, cores=1)
    assert "<svg" not in made.page
    assert made.pictures == {}
    assert "plots need matplotlib: pip install 'rankloop[plots]'" in words_of_page(made.page)
