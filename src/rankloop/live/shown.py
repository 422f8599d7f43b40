"""What is handed out: lists and duels, each with the id that its events carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Shown:
    """A list to show.

    Parameters
    ----------
    id
        Id of the impression, which its events carry; empty if production's list was answered in an emergency.
    items
        What to show, from the top.
    loop
        Name of the loop.
    key
        Key that the list is for.
    arm
        Who decided: the policy, or production for the holdout, for users outside of its traffic, while the loop is off,
        in shadow mode, or as a fallback.
    reason
        What went wrong, in a fallback.
    """

    id: str
    items: list[str]
    loop: str
    key: str
    arm: str
    reason: str = ""
    following: Callable[[], Shown] | None = field(default=None, repr=False, compare=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def fallback(self) -> bool:
        """Whether something failed, so that production's list was answered."""
        return self.arm == "fallback"

    def next_page(self) -> Shown:
        """The next page of an interleaved list: it continues the same draft, under the same id."""
        if self.following is None:
            raise ValueError("only interleaved lists have further pages: rank gives one whole list")
        return self.following()


@dataclass(frozen=True, slots=True)
class LiveDuel:
    """Two rankers to run for a user, whose lists `interleave` makes one of."""

    id: str
    rankers: tuple[str, str]
    loop: str
