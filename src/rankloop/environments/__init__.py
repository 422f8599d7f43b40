"""What answers a policy in simulation."""

from rankloop.environments.drifting_cascade import DriftingCascade
from rankloop.environments.preference_matrix import PreferenceMatrix

__all__ = ["DriftingCascade", "PreferenceMatrix"]
