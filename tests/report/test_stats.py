"""Statistics against hand-worked values and SciPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats as scipy_stats

from meco.bench.plan import printed
from meco.report import stats


def cells(rows):
    """Cells of methods a, b, ... on one problem: (share of feasible runs, mean f, mean violation)."""
    frame = pd.DataFrame(rows, columns=["feasible_share", "mean_f", "mean_violation"])
    index = [["p"] * len(frame), [chr(97 + k) for k in range(len(frame))]]
    return frame.set_index(pd.MultiIndex.from_arrays(index, names=["problem", "label"]))


def test_means_and_least_values_skip_what_is_missing_and_are_nan_where_nothing_is():
    values = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [np.inf, 2.0, np.nan]])
    assert_array_equal(stats.nan_mean(values, 1), [2.0, np.nan, np.inf])
    assert_array_equal(stats.nan_min(values, 1), [1.0, np.nan, 2.0])


def test_the_printed_average_ranks_follow_from_the_printed_means_within_a_tenth():
    found, known = printed.read_cells("table1"), printed.read_average_ranks("table1")
    problems = sorted({problem for problem, _ in found})
    means = pd.DataFrame({method: [found[p, method].mean for p in problems] for method in known})
    assert means.shape == (28, 12)
    assert_allclose(means.rank(axis=1).mean(), list(known.values()), atol=0.1)


def test_the_printed_engineering_ranks_follow_exactly_from_the_printed_cells():
    found, known = printed.read_cells("realworld"), printed.read_average_ranks("realworld")
    none = float("nan")
    table = []
    for problem in printed.read_engineering_problems():
        row = [found[problem, method] for method in known]
        shown = [(float(c.mean is not None), none if c.mean is None else c.mean, c.violation or none) for c in row]
        table.append(stats.rank_cells(cells(shown)).iloc[0].to_numpy())
    assert_array_equal(np.mean(table, axis=0), list(known.values()))


def test_feasibility_first_prefers_the_higher_rate_then_smaller_f_then_smaller_violation():
    none = float("nan")
    found = stats.rank_cells(cells([(0.5, 1.0, 3.0), (1.0, 9.0, none), (0.0, none, 2.0), (0.0, none, 1.0)]))
    assert found.iloc[0].tolist() == [2, 1, 4, 3]


def test_means_that_differ_by_rounding_alone_tie():
    values = np.array([0.1, 0.2, 0.3, 1e-5, 7.7])
    one, other = sum(values) / 5, sum(values[::-1]) / 5
    assert one != other
    assert stats.round_digits(pd.Series([one, other, 2.0])).rank().tolist() == [1.5, 1.5, 3.0]
    kept = pd.Series([0.0, -1.25e-300, 3e300, np.nan, np.inf, 1.00000000001])
    assert_array_equal(stats.round_digits(kept), kept)
    assert stats.rank_cells(cells([(1.0, mean, np.nan) for mean in (one, other, 2.0)])).iloc[0].tolist() == [
        1.5,
        1.5,
        3,
    ]


def test_friedman_agrees_with_scipy_also_with_ties():
    values = np.random.default_rng(2).integers(0, 5, size=(20, 6)).astype(float)
    ranks = pd.DataFrame(values).rank(axis=1)
    assert_allclose(stats.friedman_p(ranks), scipy_stats.friedmanchisquare(*values.T).pvalue, rtol=1e-12)


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_uses_the_published_nemenyi_values(methods, q):
    expected = q * np.sqrt(methods * (methods + 1) / (6 * 30))
    assert_allclose(stats.critical_difference(methods, 30), expected, rtol=5e-4)


def test_holm_steps_down_and_never_falls():
    assert_allclose(stats.holm(pd.Series([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    assert_array_equal(stats.holm(pd.Series([0.5, np.nan, 0.9])), [1.0, np.nan, 1.0])


def test_wins_ties_and_losses_follow_the_rank_sum_test():
    low, high = np.arange(10.0), np.arange(10.0) + 100
    order = np.stack([[low, high, low], [high, low, low]])
    found = stats.compare(order, ["a", "b"], "a").loc["b"]
    assert (found.wins, found.ties, found.losses) == (1, 1, 1)


def test_pooled_places_run_from_zero_for_the_best_to_one_for_the_worst():
    values = np.array([[[1.0, 2.0]], [[3.0, 4.0]]])  # two methods, one problem, two runs
    assert_allclose(stats.pooled_places(values)[:, 0], [1 / 6, 5 / 6])
    missing = np.array([[[1.0, np.nan]], [[3.0, 4.0]]])
    assert_allclose(stats.pooled_places(missing)[:, 0], [0.0, 0.75])


def test_two_methods_are_compared_by_their_places_among_these_two_only():
    mine = np.array([[1.0, 2.0], [1.0, 3.0], [5.0, 6.0]])
    other = np.array([[3.0, 4.0], [2.0, 4.0], [1.0, 2.0]])
    expected = scipy_stats.wilcoxon([1 / 6, 1 / 3, 5 / 6], [5 / 6, 2 / 3, 1 / 6]).pvalue
    assert_allclose(stats.compare(np.stack([mine, other]), ["a", "b"], "a").p, expected)
    assert stats.compare(np.stack([mine[:2], other[:2]]), ["a", "b"], "a").ahead["b"]
    assert not stats.compare(np.stack([mine[2:], other[2:]]), ["a", "b"], "a").ahead["b"]


def test_on_a_single_problem_p_is_that_of_the_test_which_counts_the_win():
    order = np.stack([np.arange(10.0)[None], 20.0 + np.arange(10.0)[None]])
    found = stats.compare(order, ["a", "b"], "a").loc["b"]
    assert (found.wins, found.ties, found.losses) == (1, 0, 0)
    assert found.ahead
    assert found.p < 0.001


def test_the_bootstrap_interval_holds_the_mean_and_shrinks_with_more_values():
    rng = np.random.default_rng(4)
    few, many = rng.normal(size=10), rng.normal(size=1000)
    low, high = stats.bootstrap_interval(few)
    assert low < few.mean() < high
    assert np.diff(stats.bootstrap_interval(many)) < high - low
    assert stats.bootstrap_interval(np.full(5, 2.0)) == (2.0, 2.0)
