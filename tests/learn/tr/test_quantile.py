"""The quantile of a result among references: cases worked by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.learn.tr.quantile import Outcomes, quantile


def results(*pairs):
    """(f, nu) each; nu 0 is feasible."""
    f, nu = np.array(pairs, dtype=float).T
    return Outcomes(f, nu, nu == 0.0)


REFERENCES = results((1.0, 0), (2.0, 0), (3.0, 0), (0.0, 5.0))  # three feasible ones, span 2; the last is infeasible


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ((2.5, 0), 2 / 4),  # better than 3 and than the infeasible one
        ((2.0, 0), (2 + 0.5) / 4),  # a tie counts half
        ((2.0 + 1e-6, 0), 2.5 / 4),  # and so does a difference below a millionth of the span
        ((2.0 + 1e-5, 0), 2 / 4),
        ((9.0, 0), 1 / 4),  # the worst feasible result beats an infeasible one
        ((-9.0, 1.0), 1 / 4),  # less violation is better, whatever f
        ((-9.0, 6.0), 0.0),
        ((1.0 - 2e-3, 0), 1.0 + 0.5 * (1 - 3 / 6)),  # ahead by a thousandth of the span
        ((1.0 - 2.0, 0), 1.5),  # by the whole span
        ((-1e9, 0), 1.5),
    ],
)
def test_the_quantile_among_four_references(run, expected):
    assert_allclose(quantile(Outcomes(*(part[0] for part in results(run))), REFERENCES), expected, rtol=1e-4)


def test_beyond_the_best_reference_the_quantile_starts_where_ties_end():
    just = quantile(Outcomes(np.array(1.0 - 2.1e-6), np.array(0.0), np.array(True)), REFERENCES)
    assert 1.0 < just < 1.01


def test_the_first_feasible_point_earns_all_there_is():
    none = results((0.0, 1.0), (0.0, 2.0))
    assert quantile(Outcomes(np.array(7.0), np.array(0.0), np.array(True)), none) == 1.5
    assert_allclose(
        quantile(Outcomes(np.array(7.0), np.array(0.5), np.array(False)), none), 1 + 0.5 * (1 + np.log10(0.5) / 6)
    )


def test_a_run_that_failed_throughout_is_last_and_ties_with_its_like():
    lost = Outcomes(np.array(np.nan), np.array(np.nan), np.array(False))
    assert quantile(lost, REFERENCES) == 0.0
    both = Outcomes(np.array([1.0, np.nan]), np.array([0.0, np.nan]), np.array([True, False]))
    assert quantile(lost, both) == 0.25


def test_many_runs_and_moments_at_once_equal_one_at_a_time():
    rng = np.random.default_rng(1)
    references = Outcomes(rng.normal(size=(3, 10, 7)), rng.uniform(size=(3, 10, 7)), rng.random((3, 10, 7)) < 0.6)
    runs = Outcomes(rng.normal(size=(3, 10)), rng.uniform(size=(3, 10)), rng.random((3, 10)) < 0.6)
    together = quantile(runs, references)
    assert_array_equal(
        together[1, 4],
        quantile(Outcomes(*(part[1, 4] for part in runs)), Outcomes(*(part[1, 4] for part in references))),
    )
