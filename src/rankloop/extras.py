"""Libraries that only some parts of the package need; they are installed as its extras."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

PLOTS = "plots need matplotlib"
"""What is said where matplotlib is missing."""


class MissingExtra(ValueError, ImportError):
    """A library that this call needs is not installed; the message says how to install it."""


@contextmanager
def extra(name: str, need: str) -> Iterator[None]:
    """Import what an extra installs; where it is missing, one sentence says what is needed and how to get it.

    >>> with extra("plots", "plots need no_such_library"):
    ...     import no_such_library
    Traceback (most recent call last):
        ...
    rankloop.extras.MissingExtra: plots need no_such_library: pip install 'rankloop[plots]'
    """
    try:
        yield
    except ModuleNotFoundError:
        raise MissingExtra(how_to_install(name, need)) from None


def how_to_install(name: str, need: str) -> str:
    """The sentence that says what is needed and how to get it."""
    return f"{need}: pip install 'rankloop[{name}]'"


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None
