"""Profiles, expected running times and U-scores: their definitions on small numbers, and what a report shows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.report import profiles

NAN, INF = np.nan, np.inf


def test_a_gap_is_between_the_worst_and_the_best_feasible_value_of_any_run():
    f = np.array([[[[NAN, 11.0, 1.0]]], [[[NAN, NAN, 6.0]]]])  # two methods, one problem, one run
    nu = np.array([[[[2.0, 0.0, 0.0]]], [[[3.0, 1.0, 0.0]]]])
    assert_allclose(profiles.open_share(f, nu), [[[[INF, 1.0, 0.0]]], [[[INF, INF, 0.5]]]])


def test_a_gap_begins_at_the_merit_of_the_first_points_where_that_is_larger():
    f = np.array([[[[NAN, 1.0]]], [[[NAN, 1.1]]]])
    nu = np.array([[[[2.0, 0.0]]], [[[3.0, 0.0]]]])
    assert_allclose(profiles.open_share(f, nu, np.array([11.0]))[1, 0, 0], [INF, 0.01])
    assert_allclose(profiles.open_share(f, nu, np.array([0.5]))[1, 0, 0], [INF, 1.0])


def test_where_nobody_is_feasible_the_violation_counts():
    f = np.full((2, 1, 1, 2), NAN)
    nu = np.array([[[[4.0, 0.0]]], [[[4.0, 1.0]]]])
    assert_allclose(profiles.open_share(f, nu), [[[[1.0, 0.0]]], [[[1.0, 0.25]]]])


def test_a_run_that_is_missing_does_not_count():
    gap = np.array([[[[1.0, 0.05], [NAN, NAN]]]])
    hits = profiles.first_hits(gap, 0.1, np.array([[10.0, 20.0]]))
    assert_array_equal(hits, [[[20.0, NAN]]])
    assert_allclose(profiles.data_profile(hits, np.array([3.0]), np.array([4.9, 5.0])), [[0.0, 1.0]])


HITS = np.array([[[10.0, INF], [INF, INF]], [[20.0, 30.0], [INF, INF]]])  # [M, P, R]


def test_a_data_profile_counts_groups_of_one_evaluation_more_than_there_are_variables():
    dims = np.array([4.0, 9.0])
    assert_allclose(profiles.data_profile(HITS, dims, np.array([1.9, 2.0, 4.0, 6.0])),
                    [[0.0, 0.25, 0.25, 0.25], [0.0, 0.0, 0.25, 0.5]])  # fmt: skip


def test_a_performance_profile_compares_with_the_best_on_the_same_run():
    assert_allclose(profiles.performance_profile(HITS, np.array([1.0, 1.9, 2.0])), [[0.25] * 3, [0.25, 0.25, 0.5]])


def test_an_expected_running_time_charges_what_was_spent_in_vain():
    found = profiles.expected_running_time(HITS, np.array([100.0, 100.0]))
    assert_allclose(found, [[110.0, INF], [25.0, INF]])


def test_a_trial_that_reached_the_target_beats_one_that_did_not_and_a_slower_one():
    hits = np.array([[[10.0, INF]], [[20.0, INF]]])
    final = np.array([[[5.0, 3.0]], [[5.0, 4.0]]])
    assert_array_equal(profiles.trial_order(hits, final), [[[0, 2]], [[1, 3]]])


def test_u_scores_add_up_to_the_number_of_duels():
    order = np.random.default_rng(1).integers(0, 5, size=(3, 4, 6)).astype(float)
    scores = profiles.count_duels(order)
    assert scores.sum() == pytest.approx(3 * 4 * 6 * 6)  # three pairs of methods, four problems, 36 duels each
    scipy_stats = pytest.importorskip("scipy.stats")
    u = scipy_stats.mannwhitneyu(order[1, 0], order[0, 0]).statistic
    assert profiles.count_duels(order[:2])[0, 0] == pytest.approx(u)


def test_the_ecdf_counts_targets_reached_by_each_time():
    gap = np.array([[[[1.0, 0.1, 1e-4]]], [[[NAN, 1.0, 1.0]]]])  # [M, P, R, T]
    assert_allclose(profiles.ecdf(gap), [[1 / 41, 11 / 41, 1.0], [0.0, 1 / 41, 1 / 41]])
