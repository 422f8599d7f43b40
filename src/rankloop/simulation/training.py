"""A policy after some time with simulated users, to be looked at or put to use."""

from __future__ import annotations

from typing import Any

from rankloop.kernels import stream
from rankloop.simulation.jobs import simulations
from rankloop.simulation.lists import ListSimulation, Session
from rankloop.simulation.simulation import Slices


def train(policy: Any, environment: Any, *, horizon: int, seed: int = 0) -> Any:
    """A fresh copy of a click policy that has shown so many lists to simulated users and learned from their clicks.

    It is the policy that the first run of `simulate` with that seed ends with.

    >>> import rankloop as rl
    >>> policy = rl.train(rl.CascadeUCB1(3, 1), rl.CascadeModel([0.1, 0.9, 0.2]), horizon=2000)
    >>> policy.best
    [1]
    """
    [simulation] = simulations(policy, environment, None, None)
    if not isinstance(simulation, ListSimulation):
        raise ValueError("train is for policies that show lists")
    trained = simulation.fresh_policy(0, seed)
    session = Session(trained, simulation.environment, None, None, stream(seed, 0, 1))
    slices = Slices(lambda _: None)
    done = 0
    while done < horizon:
        done += slices.run(session.show_lists, horizon - done)[0]
    return trained
