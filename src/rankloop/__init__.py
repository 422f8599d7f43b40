"""rankloop: optimise ranking systems online, as bandits.

    import rankloop as rl

Its names are those of `rankloop.policies`, `rankloop.environments`, `rankloop.simulation` and `rankloop.files`, the
two classes of live loops, and the two of clients of the service. They load when first used, so that `import rankloop`
is quick; the compiler comes with the first policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.version import __version__ as __version__

if TYPE_CHECKING:
    from rankloop.client import AsyncClient as AsyncClient
    from rankloop.client import Client as Client
    from rankloop.environments import *
    from rankloop.files import *
    from rankloop.live import AsyncLive as AsyncLive
    from rankloop.live import Live as Live
    from rankloop.policies import *
    from rankloop.simulation import *
else:
    from importlib import import_module
    from importlib.util import find_spec

    _ROOMS = ("rankloop.policies", "rankloop.environments", "rankloop.simulation", "rankloop.files")
    _HOMES = {
        "AsyncClient": "rankloop.client",
        "AsyncLive": "rankloop.live",
        "Client": "rankloop.client",
        "Live": "rankloop.live",
    }

    def __getattr__(name):
        if name == "__all__":
            return sorted({*_HOMES, *(each for room in _ROOMS for each in import_module(room).__all__)})
        homes = [_HOMES[name]] if name in _HOMES else _ROOMS
        if not name.startswith("_") and find_spec(f"rankloop.{name}") is None:  # a module is not looked for in rooms
            for home in map(import_module, homes):
                if name in home.__all__:
                    globals()[name] = getattr(home, name)
                    return globals()[name]
        raise AttributeError(f"module 'rankloop' has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})
