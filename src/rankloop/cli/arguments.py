"""What is typed, turned into what is meant, or refused."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.checks import check_choice
from rankloop.cli.errors import Refused, refusing
from rankloop.wording import nearest, suggestion

if TYPE_CHECKING:
    from rankloop.environments import PreferenceMatrix
    from rankloop.policies import ClickPolicy, DuelingPolicy, Policy
    from rankloop.policies.making import Maker

CHAPTER_2 = ("MergeDTS", "MergeRUCB", "DTS", "RMED1", "SelfSparring", "REX3")
"""The policies that the thesis compares in its chapter on live evaluation."""

FEATURES = {"relevance", "topics", "features"}
"""Parameters of policies that rank by features."""

THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
MOST_DIGITS = 100
"""Largest number of digits of a whole number, such as a seed."""

MOST_RANKERS = 5000
"""A matrix of more takes gigabytes in each run."""


def whole(option: str, text: str, least: int, most: int | None = None) -> int:
    """A whole number as people write it.

    >>> whole("--horizon", "1e6", 1), whole("--horizon", "1_000_000", 1), whole("--horizon", "1,000,000", 1)
    (1000000, 1000000, 1000000)
    """
    try:
        value = Decimal(_plain(text))
        if not value.is_finite() or value.adjusted() > MOST_DIGITS:
            raise InvalidOperation
    except InvalidOperation:
        raise Refused(f"{option} must be a whole number such as 1000 or 1e6, not {text!r}") from None
    if value != int(value) or value < least or (most is not None and value > most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise Refused(f"{option} must be a whole number {wanted}, not {text}")
    return int(value)


def whole_or_none(option: str, text: str | None, least: int) -> int | None:
    """The same of an option that may be left out."""
    return None if text is None else whole(option, text, least)


def choice(option: str, text: str, choices: Sequence[str]) -> str:
    """One of a few words, in small or capital letters."""
    meant = {word.casefold(): word for word in choices}
    with refusing():
        return check_choice(option, meant.get(text.casefold(), text), choices)


def number(option: str, text: str, least: float = -math.inf, most: float = math.inf) -> float:
    """A number as people write it, within bounds.

    >>> number("--traffic", "1e5"), number("--traffic", "100,000"), number("--gap", ".05", 0, 1)
    (100000.0, 100000.0, 0.05)
    """
    wanted = (
        "" if math.isinf(least) else f" of at least {least:g}" if math.isinf(most) else f" from {least:g} to {most:g}"
    )
    try:
        value = float(_plain(text))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or not least <= value <= most:
        raise Refused(f"{option} must be a number{wanted}, not {text!r}")
    return value


def _plain(text: str) -> str:
    """The text of a number without the commas of thousands; others are left for it to be refused."""
    return text.replace(",", "") if THOUSANDS.fullmatch(text.strip()) else text


def dueling_policies() -> dict[str, Callable[..., DuelingPolicy]]:
    """Every dueling policy there is, by name."""
    from rankloop.policies import DuelingPolicy

    return _policies(DuelingPolicy)


def click_policies() -> dict[str, Callable[..., ClickPolicy]]:
    """Every click policy there is, by name."""
    from rankloop.policies import ClickPolicy

    others = {*feature_policies(), "FeaturePolicy"}
    return {name: cls for name, cls in _policies(ClickPolicy).items() if name not in others}


def feature_policies() -> dict[str, Callable[..., ClickPolicy]]:
    """Every policy that ranks by features, by name."""
    from rankloop.policies import ClickPolicy, FeaturePolicy

    return {
        name: cls
        for name, cls in _policies(ClickPolicy).items()
        if cls is not FeaturePolicy and not FEATURES.isdisjoint(inspect.signature(cls).parameters)
    }


def _policies(base: type[Any]) -> dict[str, Any]:
    from rankloop.policies import Policy

    return {
        name: cls
        for name, cls in Policy.known.items()
        if issubclass(cls, base) and cls is not base and not inspect.isabstract(cls)
    }


def default_policies() -> list[str]:
    """The policies of the thesis' comparison that exist here."""
    known = dueling_policies()
    return [name for name in CHAPTER_2 if name in known]


def make_policies(text: str, n_arms: int) -> list[DuelingPolicy]:
    """The policies of a list such as `MergeDTS,MergeDTS(alpha=1.01,batch_size=4)`, each once."""
    from rankloop.policies.making import make_policy

    def make(cls: Callable[..., Any], parameters: dict[str, Any]) -> tuple[Policy, Any]:
        policy = make_policy(cls, {"n_arms": n_arms}, parameters)
        return policy, policy

    return _each_once(text, dueling_policies(), make, {"n_arms": "n_arms follows from the matrix: leave it out"})


def make_click_policies(text: str, first: Any, n_positions: int, horizon: int) -> list[Maker]:
    """What makes the policies of such a list for a query; `first` is one to try them on."""
    fixed = {
        "n_items": "n_items follows from the queries: leave it out",
        "initial": "initial is production's order of a query: leave it out",
    }
    return _makers(text, click_policies(), first, n_positions, horizon, fixed)


def make_feature_policies(text: str, first: Any, n_positions: int, horizon: int) -> list[Maker]:
    """What makes the policies of such a list for a user; `first` is one to try them on."""
    fixed = dict.fromkeys(FEATURES, "features follow from the ratings: leave them out")
    return _makers(text, feature_policies(), first, n_positions, horizon, fixed)


def _makers(
    text: str, known: dict[str, Any], first: Any, n_positions: int, horizon: int, fixed: dict[str, str]
) -> list[Maker]:
    from rankloop.policies.making import Maker

    def make(cls: Callable[..., Any], parameters: dict[str, Any]) -> tuple[Policy, Any]:
        maker = Maker(cls, parameters, n_positions, horizon)
        return maker(first), maker

    shown = "n_positions is the same for all policies: give --positions"
    return _each_once(text, known, make, {**fixed, "n_positions": shown})


def _each_once(
    text: str,
    known: dict[str, Any],
    make: Callable[[Callable[..., Any], dict[str, Any]], tuple[Policy, Any]],
    fixed: dict[str, str],
) -> list[Any]:
    """What `make` makes of each policy that is named; it gives the policy, to tell it from others, and the result."""
    if text.strip() == "all":
        text = ",".join(known)
    made: dict[str, Any] = {}
    for source, name, parameters in _parse(text):
        if name not in known:
            raise Refused(f"no policy {name!r}{suggestion(name, known)}")
        _check_names(name, parameters, known[name], fixed)
        with refusing(source):
            try:
                policy, result = make(known[name], parameters)
            except TypeError as error:  # a value of a type that the policy cannot even compare
                raise ValueError(f"a parameter has a value of a wrong kind ({error})") from None
        made.setdefault(repr(policy.parameters) + name, result)
    return list(made.values())


def _parse(text: str) -> list[tuple[str, str, dict[str, Any]]]:
    advice = "write names with commas between them and parameters in brackets: MergeDTS,MergeDTS(alpha=1.01)"
    try:
        parsed = ast.parse(f"[{text}\n]", mode="eval").body
    except (SyntaxError, ValueError):
        raise Refused(f"cannot read the policies {text!r}: {advice}") from None
    if not isinstance(parsed, ast.List) or not parsed.elts:
        raise Refused(f"no policies in {text!r}: {advice}")
    return [_parse_one(ast.get_source_segment(f"[{text}\n]", node) or "", node) for node in parsed.elts]


def _parse_one(source: str, node: ast.expr) -> tuple[str, str, dict[str, Any]]:
    if not isinstance(node, ast.Call):
        return source, source, {}
    name = ast.unparse(node.func)
    if node.args:
        raise Refused(f"{source}: parameters need their names, as in {name}(alpha=1.01)")
    parameters = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise Refused(f"{source}: parameters need their names, as in {name}(alpha=1.01)")
        if keyword.arg in parameters:
            raise Refused(f"{source}: {keyword.arg} is given twice")
        try:
            parameters[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            value = ast.unparse(keyword.value)
            advice = f"{keyword.arg} must be a plain value such as 4, 0.5 or None, not {value}"
            raise Refused(f"{source}: {advice}") from None
    return source, name, parameters


def _check_names(policy: str, given: dict[str, Any], cls: Callable[..., Any], fixed: dict[str, str]) -> None:
    fixed = {**fixed, "seed": "the seed is that of the command: give --seed"}
    for name in given:
        if name in fixed:
            raise Refused(f"{policy}: {fixed[name]}")
    options = [name for name in inspect.signature(cls).parameters if name not in fixed]
    for name in given:
        if name not in options:
            raise Refused(f"{policy} has no parameter {name!r}{suggestion(name, options)}")


def read_matrix(text: str) -> PreferenceMatrix:
    """A built-in problem by name, or the matrix in a file."""
    from rankloop.environments import PreferenceMatrix

    builtin = {"cycle": PreferenceMatrix.cycle, "cycle2": PreferenceMatrix.cycle2}
    if text in builtin:
        return builtin[text]()
    name, colon, number = text.partition(":")
    if name == "features" and not Path(text).exists():
        return PreferenceMatrix.like_features(_rankers(text, number) if colon else 136)
    if not Path(text).exists():
        raise Refused(_no_matrix(text, [*builtin, "features:136"]))
    if Path(text).is_dir():
        raise Refused(f"{text} is a folder: give the file of a matrix")
    with refusing():
        return PreferenceMatrix.read(text)


def _rankers(text: str, number: str) -> int:
    if not number.isdecimal() or not 2 <= int(number) <= MOST_RANKERS:
        raise Refused(f"{text}: write the number of rankers, 2 to {MOST_RANKERS}, after the colon, as in features:136")
    return int(number)


def _no_matrix(text: str, builtin: list[str]) -> str:
    path = Path(text)
    if path.suffix or len(path.parts) > 1:
        return no_file(text)
    near = nearest(text, builtin)
    advice = f"did you mean {near}?" if near else "give a file, or cycle, cycle2 or features:136"
    return f"no matrix {text!r}: {advice}"


def no_file(text: str) -> str:
    """A message that a file is missing, with the file that may be meant."""
    path = Path(text)
    files = [other for other in path.parent.iterdir() if other.is_file()] if path.parent.is_dir() else []
    beside = {other.stem: other.name for other in files}
    near = nearest(path.stem, beside)
    return f"there is no file {text}" + (f": did you mean {beside[near]}?" if near else "")
