"""Programs by their active set: what is found is optimal, what is not is left to others, and runs do not interfere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference_program import random_programs, residual

from meco.tr.active_set import find_active_sets
from meco.tr.elastic_program import make_program


def guessed(program):
    """The steps, the duals of the rows and whether they are found, from no step and duals of zero."""
    hessian, slope, rows, low, high = program
    none = np.zeros((len(slope), slope.shape[1] + rows.value.shape[1]))
    s, y, found = find_active_sets(make_program(hessian, slope, rows, low, high), 0.0 * slope, none)
    return s, y[:, slope.shape[1] :], found


@pytest.mark.parametrize(
    ("dim", "count", "share"), [(2, 1, 0.7), (5, 2, 0.6), (10, 0, 0.9), (10, 3, 0.6), (30, 2, 0.6)]
)
def test_what_is_found_is_optimal_and_most_is(dim, count, share):
    program = random_programs(np.random.default_rng(11), 60, dim, count)
    s, dual, found = guessed(program)
    assert np.max(residual(*program, s, dual)[found]) < 1e-8
    assert np.mean(found) > share


def test_more_active_rows_than_variables_end_the_guesses():
    program = random_programs(np.random.default_rng(12), 40, 2, 12)
    _, _, found = guessed(program)
    assert not found.all()


def test_runs_that_end_sooner_or_fail_change_nothing_in_others():
    program = random_programs(np.random.default_rng(13), 20, 6, 6)
    together = guessed(program)
    assert 0 < np.sum(together[2]) < 20  # both kinds are among them
    hessian, slope, rows, low, high = program
    for b in np.flatnonzero(together[2]):
        one = slice(b, b + 1)
        alone = guessed((hessian[one], slope[one], type(rows)(*(part[one] for part in rows)), low[one], high[one]))
        for part, whole in zip(alone, together):
            assert_array_equal(part[0], whole[b])


def test_the_answer_is_its_own_first_guess():
    """From the answer of a program no system is solved: warm starts cost a check."""
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(14), 10, 4, 2)
    program = make_program(hessian, slope, rows, low, high)
    s, y, found = find_active_sets(program, 0.0 * slope, np.zeros((10, 6)))
    again = find_active_sets(program, s, y)
    assert_array_equal(again[2][found], True)
    assert_array_equal(again[0][found], s[found])


def test_active_rows_are_met_to_rounding():
    """A row that is off by 1e-10 is not kept: a search that may not leave it would never have its best point."""
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(15), 60, 5, 2)
    s, dual, found = guessed((hessian, slope, rows, low, high))
    z = rows.value + (rows.matrix @ s[..., None])[..., 0]
    active = (np.abs(dual) > 1e-6) & (np.abs(dual) < 0.999 * rows.price) & found[:, None]
    off = np.minimum(np.abs(z - rows.low), np.abs(z - rows.high))
    assert active.any()
    assert np.max(off[active]) <= 2e-13
