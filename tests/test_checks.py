"""Checks of arguments: what they take, and the sentence with which they refuse the rest."""

from datetime import timedelta

import pytest

from rankloop.checks import LONGEST_TIME, check_choice, check_known, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250 ms", 0.25), ("1s", 1), ("2 seconds", 2), ("30 min", 1800), ("1.5 hours", 5400), ("1 d", 86_400),
        ("2 weeks", 1_209_600), (90, 90), (0.5, 0.5), (timedelta(minutes=2), 120), (LONGEST_TIME, LONGEST_TIME),
    ],
)  # fmt: skip
def test_a_duration_is_read_as_people_write_it(text, seconds) -> None:
    assert parse_duration("window", text) == seconds


@pytest.mark.parametrize(
    "value", ["", "30", "min", "30 parsecs", "1.2.3 s", "-1 s", 0, -1, True, None, float("nan"), "101 years"]
)  # fmt: skip
def test_what_is_no_duration_is_refused_with_examples(value) -> None:
    with pytest.raises(ValueError, match=r'^window must be a length of time such as "30 min", .* not ') as refusal:
        parse_duration("window", value)
    assert str(refusal.value).endswith(repr(value))


def test_a_size_is_read_as_people_write_it() -> None:
    assert [parse_size("memory", text) for text in ("256 MB", "1.5gb", "10 kB", "7 b", 4096)] == [
        256_000_000, 1_500_000_000, 10_000, 7, 4096,
    ]  # fmt: skip
    for value in ("", "256", "1.2.3 MB", "0 MB", -1, True, None, float("inf")):
        with pytest.raises(ValueError, match=r'^memory must be a size such as "256 MB", not '):
            parse_size("memory", value)


@pytest.mark.parametrize("value", ["Linear", "", None, 3, ["linear"]])
def test_a_choice_is_one_of_the_words_and_no_other(value) -> None:
    words = {"logistic": 0, "linear": 1}
    assert check_choice("link", "linear", words) == "linear"
    with pytest.raises(ValueError, match=r"^link must be logistic or linear, not ") as refusal:
        check_choice("link", value, words)
    assert str(refusal.value).endswith(repr(value))


@pytest.mark.parametrize(
    ("value", "known", "hint"),
    [
        ("serach", ["home", "search"], "'serach': did you mean 'search'?"),
        ("zzz", ["home", "search"], "'zzz': there are home, search"),
        (["home"], ["home", "search"], "['home']: there are home, search"),
        ("home", [], "'home': there are none yet"),
    ],
)
def test_an_unknown_name_brings_the_nearest_or_all(value, known, hint) -> None:
    with pytest.raises(ValueError, match=r"^there is no loop ") as refusal:
        check_known("loop", value, known)
    assert str(refusal.value) == f"there is no loop {hint}"
