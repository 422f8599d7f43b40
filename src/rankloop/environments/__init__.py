"""What answers a policy in simulation."""

from rankloop.environments.preference_matrix import PreferenceMatrix

__all__ = ["PreferenceMatrix"]
