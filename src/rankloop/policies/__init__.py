"""Policies: algorithms that choose what to show next, and learn from the feedback.

One policy, one module; one line in the `__init__` of its package makes it a name of `rankloop.policies` and `rankloop`.
"""

from typing import TYPE_CHECKING

from rankloop.policies import clicks, dueling, features
from rankloop.policies.base import Policy as Policy
from rankloop.policies.base import load_policy as load_policy

if TYPE_CHECKING:
    from rankloop.policies.clicks import *
    from rankloop.policies.dueling import *
    from rankloop.policies.features import *
else:
    _named = {
        name: value
        for kind in (clicks, dueling, features)
        for name, value in vars(kind).items()
        if isinstance(value, type)
    }
    globals().update(_named)
    __all__ = ["Policy", "load_policy", *_named]
