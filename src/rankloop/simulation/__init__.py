"""Simulation: policies against environments, compiled and in parallel."""

from rankloop.simulation.result import Result, plot
from rankloop.simulation.simulate import simulate

__all__ = ["Result", "plot", "simulate"]
