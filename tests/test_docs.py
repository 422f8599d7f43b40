"""The pages and the README: their examples run, their commands exist, their links lead somewhere.

A page is read from the top, in one namespace and one folder. How a block is marked says what is done with it:

    ```python                    run; with >>> as a doctest; `# prints X` at the end of a line must be printed, in order
    ```python title="name.py"    written to that file, so that later blocks can import it; tests in it are run
    ```text after such a block   must be what the block printed
    ```console                   lines after `$ ` are run, and must print what follows them
    <!-- run with: OPTIONS -->   the commands of the next block are run, with these options added
    anything else                each line that begins with `rankloop` must be a command with options that exist, in
                                 the READMEs of examples and in what the demo prints as well

Notebooks are run cell by cell, and must print what they show.
"""

from __future__ import annotations

import contextlib
import doctest
import html
import importlib.util
import io
import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main
from shared_data import ROOT
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app
from rankloop.demo.running import Demo, look_again, report
from rankloop.experiments import load_player
from rankloop.experiments.catalogue import EXPERIMENTS
from rankloop.policies import Policy

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "src" / "rankloop" / "examples").rglob("README.md"))
BASES = {"ClickPolicy", "DuelingPolicy", "FeaturePolicy"}
POLICIES = [name for name in rl.__all__ if name in Policy.known and name not in BASES]

pytestmark = pytest.mark.skipif(not PAGES[1:], reason="the pages are not part of this distribution")


class Block(NamedTuple):
    """A block of code in a page."""

    line: int
    language: str
    title: str
    text: str
    options: str | None
    """Those of the marker before it."""


def blocks(page: Path) -> Iterator[Block]:
    """The fenced and the indented blocks of a page."""
    options: str | None = None
    lines = page.read_text().splitlines()
    number = 0
    while number < len(lines):
        if fence := re.match(r"^```(\w*)(?: title=\"(.+)\")?$", lines[number]):
            end = lines.index("```", number + 1)
            text = "\n".join(lines[number + 1 : end])
            yield Block(number + 1, fence[1], fence[2] or "", text, options)
            options = None
            number = end
        elif lines[number].startswith("    rankloop "):
            yield Block(number, "", "", lines[number].strip(), None)
        elif marker := re.match(r"^<!-- run with: (.*) -->$", lines[number]):
            options = marker[1]
        number += 1


def commands(page: Path) -> Iterator[tuple[int, str]]:
    """Every command in the blocks and sentences of a page, with its line; `rankloop NAME` alone is one."""
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fenced ^= line.startswith("```")
        if (fenced and re.match(r"(\$ )?rankloop ", line)) or line.startswith("    rankloop "):
            yield number, line.strip().removeprefix("$ ")
    prose = re.sub(r"^```.*?^```$", lambda code: "\n" * code[0].count("\n"), page.read_text(), flags=re.M | re.S)
    for span in re.finditer(r"`(rankloop [a-z][^`]*)`", prose):
        yield prose[: span.start()].count("\n") + 1, " ".join(span[1].split())


def words(command: str) -> list[str]:
    return shlex.split(command, comments=True)[1:]


def run(command: str, extra: str = "") -> str:
    result = CliRunner().invoke(app, [*words(command), *shlex.split(extra)])
    assert result.exit_code == 0, f"{command} {extra}\n{result.output}"
    return result.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(Policy, "known", dict(Policy.known))  # to forget the pages' own policies afterwards
    modules = set(sys.modules)
    namespace: dict[str, Any] = {"__name__": "page"}
    printed: str | None = None
    try:
        for block in blocks(page):
            place = f"{page.name}, line {block.line}"
            if block.language == "python":
                printed = run_python(block, namespace, page)
                continue
            if block.language == "text":
                assert printed is not None, f"{place}: a text block stands below the code that prints it"
                assert printed.rstrip() == block.text.rstrip(), f"{place}: not what is printed"
            elif block.language == "console":
                run_console(block, place)
            elif block.options is not None:
                for line in block.text.splitlines():
                    run(line, block.options)
            printed = None
        for _, command in commands(page):
            for path in re.findall(r"--with (\S+)", command):
                if ":" in path and not path.isupper():
                    load_player(path)
    finally:
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
                del sys.modules[name]


@pytest.mark.parametrize("notebook", sorted((ROOT / "docs").glob("*.ipynb")), ids=lambda notebook: notebook.stem)
def test_notebooks_print_what_they_show(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "notebook"}
    cells = json.loads(notebook.read_text())["cells"]
    for number, cell in enumerate(cells):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                assert (notebook.parent / target).exists(), f"cell {number}: {target}"
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(text, f"{notebook.name}, cell {number}", "exec", dont_inherit=True), namespace)
        shown = "".join(line for each in cell["outputs"] if each["output_type"] == "stream" for line in each["text"])
        assert output.getvalue() == shown, f"{notebook.name}, cell {number}: not what is printed"
    assert sum(cell["cell_type"] == "code" for cell in cells) > 2


def run_python(block: Block, namespace: dict[str, Any], page: Path) -> str:
    """Run a block; what it prints."""
    place = f"{page.name}, line {block.line}"
    if block.title:
        Path(block.title).write_text(block.text + "\n")
        if block.title.startswith("test_"):
            found: dict[str, Any] = {"__name__": Path(block.title).stem}
            exec(compile(block.text, block.title, "exec"), found)
            for name, value in found.items():
                if name.startswith("test_"):
                    value()
        return ""
    if block.text.startswith(">>>"):
        example = doctest.DocTestParser().get_doctest(block.text, namespace, place, str(page), block.line)
        told = io.StringIO()
        failed, _ = doctest.DocTestRunner(verbose=False).run(example, out=told.write, clear_globs=False)
        assert not failed, told.getvalue()
        namespace.update(example.globs)
        return ""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        # Future statements of this file are not the block's; empty lines make tracebacks name the page's lines.
        exec(compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True), namespace)
    rest = output.getvalue()
    for promised in re.findall(r"# prints (.+)$", block.text, flags=re.M):
        assert promised in rest, f"{place}: {promised!r} is not in {rest!r}"
        rest = rest.partition(promised)[2]
    return output.getvalue()


def run_console(block: Block, place: str) -> None:
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        assert run(command).rstrip() == expected.rstrip(), f"{place}: not what {command} prints"


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The commands that do something, with the words that lead to them."""
    if hasattr(command, "commands"):
        for name, child in command.commands.items():
            yield from leaves(child, (*path, name))
    else:
        yield path, command


def check_commands(found: Iterable[tuple[str, str]]) -> int:
    """Let each command be parsed, and do nothing; the number of commands. Each comes with its place."""
    parser = typer.main.get_command(app)
    groups = [name for name, child in parser.commands.items() if hasattr(child, "commands")]
    for _, leaf in leaves(parser):
        leaf.callback = lambda **_: None
    checked = 0
    for checked, (place, command) in enumerate(found, 1):  # noqa: B007
        arguments = words(command)
        if len(arguments) == 1 or (len(arguments) == 2 and arguments[1] == "…"):  # the name of a command in a sentence
            assert arguments[0] in parser.commands, f"{place}: no command {arguments[0]}"
            continue
        if arguments[0] in groups and len(arguments) == 2:
            assert arguments[1] in parser.commands[arguments[0]].commands, f"{place}: {command}"
            continue
        with pytest.raises(SystemExit) as end, contextlib.redirect_stderr(io.StringIO()) as told:
            parser.main(arguments)
        assert end.value.code == 0, f"{place}: {command}: {told.getvalue()}"
        if arguments[0] == "reproduce":
            known = {experiment.name for experiment in EXPERIMENTS}
            named = set(takewhile(lambda word: not word.startswith("--"), arguments[1:]))
            assert named <= known, f"{place}: no experiments {named - known}"
    return checked


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_commands_exist(page: Path) -> None:
    check_commands((f"{page.name}, line {number}", command) for number, command in commands(page))


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_programs_of_examples_exist(page: Path) -> None:
    for module, rest in re.findall(r"python -m (rankloop\.examples\.\w+)(?: ([^`\n]*))?", page.read_text()):
        program = importlib.import_module(f"{module}.__main__")
        program.options().parse_args(shlex.split(rest, comments=True))


def test_commands_that_the_demo_prints_exist(tmp_path: Path) -> None:
    """Those on the terminal and in the report, with a store whose name has to be quoted."""
    demo = Demo([], tmp_path / "my demo's" / "live.db", 0, [])
    page = report(demo, tmp_path, "1.0", {})
    text = html.unescape(re.sub(r"<[^>]+>", "", page.read_text().partition("<body>")[2]))
    printed = [look_again(demo), *re.findall(r"rankloop (?:live|demo)\b[^\n]*", text)]
    found = [line[line.index("rankloop ") :].rstrip(".") for line in printed]
    assert check_commands(("the demo", command) for command in found) == 3
    assert words(found[0]) == ["live", "dashboard", "--store", str(demo.store)]


def test_every_command_is_documented() -> None:
    named = [" ".join(words(command)) + " " for page in PAGES[1:] for _, command in commands(page)]
    for path, _ in leaves(typer.main.get_command(app)):
        assert any(command.startswith(" ".join(path) + " ") for command in named), f"rankloop {' '.join(path)}"


@pytest.mark.parametrize("page", ["choosing-a-policy", "parameters-and-guarantees"])
def test_every_policy_is_named(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    for name in POLICIES:
        assert re.search(rf"\b{name}\b", text), f"{name} is not on the page {page}"


def test_every_policy_has_a_problem() -> None:
    problems = ("evaluate-rankers", "re-rank-safely", "follow-change", "relevance-and-diversity")
    text = "".join((ROOT / "docs" / f"{page}.md").read_text() for page in problems)
    assert len(POLICIES) > 20
    for name in POLICIES:
        assert f"`{name}`" in text, name


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^ +- .+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M)
    assert sorted(listed) == [page.name for page in PAGES[1:]]


def reference() -> Any:
    """The module that makes the reference."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "hooks" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as both the site and the repository's host name them, and its own."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+?)(?: \{: .*)?$", text, flags=re.M)
    named = {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}
    return named | set(re.findall(r'<a id="([^"]+)"></a>', text))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    made = reference()
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        if path.startswith("reference/"):
            text = made.room(*made.ROOMS[Path(path).stem])
        else:
            file = page.parent / path if path else page
            assert file.exists(), f"{page.name}: {target}"
            text = file.read_text() if anchor else ""
        assert not anchor or anchor in anchors(text), f"{page.name}: {target}"


def test_the_reference_names_what_is_public() -> None:
    made = reference()
    pages = {title: made.room(title, module) for title, module in made.ROOMS.values()}
    everything = "".join(pages.values())
    for name in rl.__all__:
        assert f"\n## {name} " in everything, name
    assert "| `batch_size` | Rankers in a batch" in pages["Policies"]
    assert ">>> policy.winner" in pages["Policies"]
    assert "| `update(duel, winner)` | Learn that" in pages["Policies"]
