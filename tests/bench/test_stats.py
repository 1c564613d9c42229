"""Statistics against hand-worked values and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.bench.plan import printed
from meco.bench.report import stats
from meco.bench.report.stats import Feasibility

scipy_stats = pytest.importorskip("scipy.stats")


def test_equal_values_share_the_mean_of_their_ranks():
    assert_array_equal(stats.rank_first_axis(np.array([3.0, 1.0, 3.0, 2.0])), [3.5, 1.0, 3.5, 2.0])


def test_ranks_agree_with_scipy_column_by_column():
    values = np.random.default_rng(1).integers(0, 6, size=(9, 40)).astype(float)
    assert_array_equal(stats.rank_first_axis(values), scipy_stats.rankdata(values, axis=0))


def test_a_missing_value_has_no_rank_and_moves_no_other():
    assert_array_equal(stats.rank_first_axis(np.array([2.0, np.nan, 1.0])), [2.0, np.nan, 1.0])


def test_means_and_extremes_skip_what_is_missing_and_are_nan_where_nothing_is():
    values = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [np.inf, 2.0, np.nan]])
    assert_array_equal(stats.nan_mean(values, 1), [2.0, np.nan, np.inf])
    assert_array_equal(stats.nan_min(values, 1), [1.0, np.nan, 2.0])
    assert_array_equal(stats.nan_max(values, 1), [3.0, np.nan, np.inf])
    assert stats.nan_min(values) == 1.0


def test_the_printed_average_ranks_follow_from_the_printed_means_within_a_tenth():
    cells, known = printed.read_cells("table1"), printed.read_average_ranks("table1")
    problems = sorted({problem for problem, _ in cells})
    means = np.array([[cells[p, m].mean for p in problems] for m in known])
    assert means.shape == (12, 28)
    assert_allclose(stats.rank_first_axis(means).mean(axis=1), list(known.values()), atol=0.1)


def test_the_printed_engineering_ranks_follow_exactly_from_the_printed_cells():
    cells, known = printed.read_cells("realworld"), printed.read_average_ranks("realworld")
    table = []
    for problem in printed.read_engineering_problems():
        row = [cells[problem, m] for m in known]
        none = float("nan")
        table.append(
            stats.feasibility_ranks(
                [
                    Feasibility(float(c.mean is not None), none if c.mean is None else c.mean, none, c.violation)
                    for c in row
                ]
            )
        )
    assert_array_equal(np.mean(table, axis=0), list(known.values()))


def test_feasibility_first_prefers_the_higher_rate_then_smaller_f_then_smaller_violation():
    none = float("nan")
    cells = [
        Feasibility(0.5, 1.0, 0, 3),
        Feasibility(1.0, 9.0, 0, none),
        Feasibility(0, none, none, 2),
        Feasibility(0, none, none, 1),
    ]
    assert_array_equal(stats.feasibility_ranks(cells), [2, 1, 4, 3])


def test_positions_order_runs_feasible_by_f_then_infeasible_by_violation():
    feasible = np.array([[True, False], [True, False]])
    f = np.array([[5.0, -9.0], [4.0, 0.0]])
    nu = np.array([[0.0, 2.0], [0.0, 1.0]])
    assert_array_equal(stats.feasibility_order(feasible, f, nu), [[1, 3], [0, 2]])


def test_friedman_agrees_with_scipy_also_with_ties():
    values = np.random.default_rng(2).integers(0, 5, size=(6, 20)).astype(float)
    ours, theirs = stats.friedman_test(stats.rank_first_axis(values)), scipy_stats.friedmanchisquare(*values)
    assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_uses_the_published_nemenyi_values(methods, q):
    expected = q * np.sqrt(methods * (methods + 1) / (6 * 30))
    assert_allclose(stats.critical_difference(methods, 30), expected, rtol=5e-4)


def test_cliques_are_the_widest_groups_within_the_difference():
    assert stats.find_cliques(np.array([1.0, 1.5, 2.4, 4.0]), 1.0) == [(0, 1), (1, 2)]
    assert stats.find_cliques(np.array([1.0, 3.0]), 1.0) == []


def test_holm_steps_down_and_never_falls():
    assert_allclose(stats.holm_correction(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    assert_array_equal(stats.holm_correction(np.array([0.5, np.nan, 0.9])), [1.0, np.nan, 1.0])


def test_wilcoxon_is_scipys_and_one_for_equal_samples():
    a, b = np.random.default_rng(3).normal(size=(2, 15))
    assert stats.wilcoxon_p(a, b) == scipy_stats.wilcoxon(a, b).pvalue
    assert stats.wilcoxon_p(a, a) == 1.0


def test_wins_ties_and_losses_follow_the_rank_sum_test():
    low, high = np.arange(10.0), np.arange(10.0) + 100
    mine = np.stack([low, high, low])
    other = np.stack([high, low, low])
    assert stats.win_tie_loss(mine, other) == (1, 1, 1)


def test_pooled_ranks_run_from_zero_for_the_best_to_one_for_the_worst():
    values = np.array([[[1.0, 2.0]], [[3.0, 4.0]]])  # two methods, one problem, two runs
    assert_allclose(stats.pooled_ranks(values)[:, 0], [1 / 6, 5 / 6])
    missing = np.array([[[1.0, np.nan]], [[3.0, 4.0]]])
    assert_allclose(stats.pooled_ranks(missing)[:, 0], [0.0, 0.75])


def test_places_of_two_methods_are_ranked_among_these_two_only():
    mine = np.array([[1.0, 2.0], [1.0, 3.0], [5.0, 6.0]])
    other = np.array([[3.0, 4.0], [2.0, 4.0], [1.0, 2.0]])
    expected = scipy_stats.wilcoxon([1 / 6, 1 / 3, 5 / 6], [5 / 6, 2 / 3, 1 / 6]).pvalue
    assert_allclose(stats.compare_ranks(mine, other).p, expected)
    assert stats.compare_ranks(mine[:2], other[:2]).ahead
    assert not stats.compare_ranks(mine[2:], other[2:]).ahead


def test_the_uav_score_is_one_at_the_best_and_zero_at_the_worst_of_each_mission():
    score = np.array([[[10.0, 20.0], [7.0, 7.0]], [[30.0, np.inf], [7.0, np.nan]]])  # [M, P, R]
    expected = np.array([[[1.0, 0.5], [1.0, 1.0]], [[0.0, 0.0], [1.0, np.nan]]])
    assert_array_equal(stats.normalised_performance(score), expected)


def test_the_bootstrap_interval_holds_the_mean_and_shrinks_with_more_values():
    rng = np.random.default_rng(4)
    few, many = rng.normal(size=10), rng.normal(size=1000)
    low, high = stats.bootstrap_interval(few)
    assert low < few.mean() < high
    assert np.diff(stats.bootstrap_interval(many)) < high - low
    assert stats.bootstrap_interval(np.full(5, 2.0)) == (2.0, 2.0)


def test_the_ecdf_counts_targets_reached_by_each_time():
    gap = np.array([[[[1.0, 0.1, 0.001]]], [[[np.nan, 1.0, 1.0]]]])  # [M, P, R, T]
    reached = stats.ecdf(gap, np.array([1.0, 0.1, 0.01]))
    assert_allclose(reached, [[1 / 3, 2 / 3, 1.0], [0.0, 1 / 3, 1 / 3]])


def test_on_a_single_problem_p_is_that_of_the_test_which_counts_the_win():
    pytest.importorskip("scipy")
    mine, other = np.arange(10.0)[None], 20.0 + np.arange(10.0)[None]
    assert stats.win_tie_loss(mine, other) == (1, 0, 0)
    found = stats.compare_ranks(mine, other)
    assert found.ahead
    assert found.p < 0.001
    assert stats.compare_ranks(mine, mine).p == 1.0


def test_means_that_differ_by_rounding_alone_tie():
    runs = np.array([0.1, 0.2, 0.3, 1e-5, 7.7])
    one, other = sum(runs) / 5, sum(runs[::-1]) / 5
    assert one != other
    assert_array_equal(stats.rank_first_axis(stats.round_digits(np.array([one, other, 2.0]))), [1.5, 1.5, 3.0])
    kept = np.array([0.0, -1.25e-300, 3e300, np.nan, np.inf, 1.00000000001])
    assert_array_equal(stats.round_digits(kept), kept)
    cells = [stats.Feasibility(1.0, mean, 0.0, np.nan) for mean in (one, other, 2.0)]
    assert_array_equal(stats.feasibility_ranks(cells), [1.5, 1.5, 3.0])
