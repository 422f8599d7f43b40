"""Simulation: policies against environments, compiled and in parallel."""

from rankloop.simulation.difference import Difference, difference
from rankloop.simulation.result import Result, plot
from rankloop.simulation.simulate import simulate
from rankloop.simulation.training import train

__all__ = ["Difference", "Result", "difference", "plot", "simulate", "train"]
