"""Constants and bounds of the thesis' theorems."""

from rankloop.theory.dueling import merge_constant

__all__ = ["merge_constant"]
