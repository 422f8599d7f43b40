"""From rankers, users and interleaving to the preference matrices of dueling bandits."""

from rankloop.preferences.matrix import MeasuredPreferences
from rankloop.preferences.measure import measure_preferences

__all__ = ["MeasuredPreferences", "measure_preferences"]
