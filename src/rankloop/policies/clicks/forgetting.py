"""How fast to forget: from the policy's own parameter, from the horizon and breakpoints, or by doubling."""

from __future__ import annotations

from typing import Any

from rankloop.checks import check_whole


def check_schedule(name: str, given: Any, horizon: Any, breakpoints: Any) -> tuple[int | None, int | None]:
    """The horizon and the number of breakpoints, where they are what sets the parameter `name`."""
    if given is not None and horizon is not None:
        raise ValueError(f"give {name} or the horizon that sets it, not both ({name}={given!r}, horizon={horizon!r})")
    if breakpoints is not None and horizon is None:
        raise ValueError(f"breakpoints={breakpoints!r} needs the horizon too: together they set {name}")
    if horizon is None:
        return None, None
    horizon = check_whole("horizon", horizon, 1)
    if breakpoints is None:
        return horizon, None
    breakpoints = check_whole("breakpoints", breakpoints, 1)
    if breakpoints > horizon:
        raise ValueError(f"breakpoints = {breakpoints} is more than the {horizon} lists of the horizon")
    return horizon, breakpoints
