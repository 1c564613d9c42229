"""Sums whose bits do not depend on company, and formulas that compile or stay as they are."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.arrays import add_to_diagonal, ordered_sum, rows, running_sums, safe_divisor, solve

torch = pytest.importorskip("torch", reason="TORCH MISSING: torch runs NOT tested")
import array_api_compat.torch as torch_xp  # noqa: E402

MIXED = ("C01", "C05", "C06", "C08", "C13", "C18", "C22", "C28")  # scans, maps, one to six constraints
NUMBERS = np.random.default_rng(3).normal(size=(4, 5, 7)) * 10.0 ** np.arange(7)
LIBRARIES = pytest.mark.parametrize("xp", [strict, torch_xp], ids=["strict", "torch"])


@LIBRARIES
def test_an_ordered_sum_has_numpys_bits_and_does_not_see_zeros(xp):
    ours = ordered_sum(NUMBERS)
    assert_array_equal(np.asarray(ordered_sum(xp.asarray(NUMBERS))), ours)
    gaps = np.zeros((4, 5, 9))
    gaps[..., [0, 2, 3, 4, 6, 7, 8]] = NUMBERS
    assert_array_equal(np.asarray(ordered_sum(xp.asarray(gaps))), ours)
    wide = np.concatenate([NUMBERS, np.zeros((4, 5, 100))], axis=-1)
    assert_array_equal(np.asarray(ordered_sum(xp.asarray(wide))), ours)


@LIBRARIES
@pytest.mark.parametrize("width", [1, 2, 7])
def test_running_sums_are_cumulative_and_know_their_own_row_only(xp, width):
    x = NUMBERS[..., :width]
    found = np.asarray(running_sums(xp.asarray(x)))
    assert_allclose(found, np.cumsum(x, axis=-1), rtol=1e-12)
    assert_array_equal(np.asarray(running_sums(xp.asarray(x[2:3, 1:2]))), found[2:3, 1:2])


@pytest.mark.parametrize("method", ["SHADE", "MA-ES", "MeCO"])
def test_a_run_on_torch_does_not_notice_its_neighbours(method):
    problems = [meco.get_problem(name, 10) for name in MIXED]
    together = meco.solve(method, problems, budget=150, seeds=range(len(MIXED)), xp=torch_xp)
    for seed, (problem, run) in enumerate(zip(problems, together)):
        alone = meco.solve(method, problem, budget=150, seeds=[seed], xp=torch_xp)[0]
        assert_array_equal(run.x, alone.x, err_msg=problem.name)
        assert run.score == alone.score


def test_nothing_is_divided_by_zero_where_the_least_numbers_are_taken_for_it():
    if not torch.set_flush_denormal(True):
        pytest.skip("FLUSHING MISSING: this processor keeps the least numbers")
    try:
        assert_array_equal(np.zeros(2) / safe_divisor(np.array([0.0, 2.0])), [0.0, 0.0])
    finally:
        torch.set_flush_denormal(False)


def test_a_singular_system_still_raises_and_nan_still_passes():
    matrix = np.stack([np.eye(3), np.zeros((3, 3))])
    with np.errstate(all="ignore"):
        with pytest.raises(np.linalg.LinAlgError):
            solve(matrix, np.ones((2, 3, 1)))
        assert np.isnan(solve(np.eye(3)[None], np.full((1, 3, 1), np.nan))).all()


@LIBRARIES
def test_values_reach_the_diagonal_alone(xp):
    matrix, values = NUMBERS[:, :, :5], NUMBERS[:, 0, :5]
    expected = matrix + values[..., None] * np.eye(5)
    assert_array_equal(add_to_diagonal(matrix, values), expected)
    assert_array_equal(np.asarray(add_to_diagonal(xp.asarray(matrix), xp.asarray(values))), expected)
    assert add_to_diagonal(kept := matrix.copy(), values, overwrite=True) is kept


def test_rows_in_use_of_a_larger_array_are_picked_run_by_run():
    index = np.array([[2, 0], [1, 1], [0, 3], [3, 2]])
    assert_array_equal(rows(NUMBERS[:, :4], index), np.stack([x[i] for x, i in zip(NUMBERS, index)]))
