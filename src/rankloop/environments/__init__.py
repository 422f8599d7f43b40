"""Environments: what responds to a policy in simulation."""

from rankloop.environments.cascade_model import CascadeModel
from rankloop.environments.click_environment import ClickEnvironment
from rankloop.environments.click_problems import click_problems
from rankloop.environments.dependent_click_model import DependentClickModel
from rankloop.environments.drifting_cascade import DriftingCascade
from rankloop.environments.drifting_dependent_click_model import DriftingDependentClickModel
from rankloop.environments.drifting_position_based_model import DriftingPositionBasedModel
from rankloop.environments.hybrid_cascade import HybridCascade, HybridClippingWarning
from rankloop.environments.hybrid_users import hybrid_problems
from rankloop.environments.position_based_model import PositionBasedModel
from rankloop.environments.preference_matrix import PreferenceMatrix
from rankloop.environments.problems import ClickProblem, HybridProblem

__all__ = [
    "CascadeModel",
    "ClickEnvironment",
    "ClickProblem",
    "DependentClickModel",
    "DriftingCascade",
    "DriftingDependentClickModel",
    "DriftingPositionBasedModel",
    "HybridCascade",
    "HybridClippingWarning",
    "HybridProblem",
    "PositionBasedModel",
    "PreferenceMatrix",
    "click_problems",
    "hybrid_problems",
]
