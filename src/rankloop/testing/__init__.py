"""Checks that every policy passes, for this package's own policies and for anybody else's.

Each takes a function that makes the policy from a seed and raises AssertionError where the policy does not behave:

    from rankloop import testing

    def test_my_policy():
        testing.check_dueling_policy(lambda seed: MyPolicy(n_arms=5, seed=seed))
        testing.check_click_policy(lambda seed: MyOtherPolicy(n_items=7, n_positions=3, seed=seed))
"""

from rankloop.testing.any_policy import (
    N_THREADS,
    POLICY_CHECKS,
    MakePolicy,
    check_copies,
    check_loads_with_random_numbers_of_its_own,
    check_threads,
    check_warms_up,
)
from rankloop.testing.clicks import (
    CLICK_CHECKS,
    MakeClick,
    cascade_clicks,
    check_beats_random_lists,
    check_click_policy,
    check_click_policy_saves_and_loads,
    check_learns_from_untidy_clicks,
    check_learns_from_what_was_seen,
    check_lists_need_no_feedback,
    check_refuses_bad_clicks,
    check_same_seed_same_lists,
    easy_attraction,
)
from rankloop.testing.dueling import (
    DUELING_CHECKS,
    MakeDueling,
    check_beats_uniform_choice,
    check_choices_need_no_feedback,
    check_dueling_policy,
    check_duels_have_an_owner,
    check_learns_from_untidy_feedback,
    check_refuses_bad_input,
    check_same_seed_same_run,
    check_saves_and_loads,
    easy_problem,
)
from rankloop.testing.playing import assert_same_state, play_once

__all__ = [
    "CLICK_CHECKS",
    "DUELING_CHECKS",
    "N_THREADS",
    "POLICY_CHECKS",
    "MakeClick",
    "MakeDueling",
    "MakePolicy",
    "assert_same_state",
    "cascade_clicks",
    "check_beats_random_lists",
    "check_beats_uniform_choice",
    "check_choices_need_no_feedback",
    "check_click_policy",
    "check_click_policy_saves_and_loads",
    "check_copies",
    "check_dueling_policy",
    "check_duels_have_an_owner",
    "check_learns_from_untidy_clicks",
    "check_learns_from_untidy_feedback",
    "check_learns_from_what_was_seen",
    "check_lists_need_no_feedback",
    "check_loads_with_random_numbers_of_its_own",
    "check_refuses_bad_clicks",
    "check_refuses_bad_input",
    "check_same_seed_same_lists",
    "check_same_seed_same_run",
    "check_saves_and_loads",
    "check_threads",
    "check_warms_up",
    "easy_attraction",
    "easy_problem",
    "play_once",
]
