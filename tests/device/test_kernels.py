"""Kernels compute what the functions of NumPy say that define them.

They need Triton and a CUDA device, or Triton's interpreter, which is slow: TRITON_INTERPRET=1 python -m pytest here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.arrays import to_numpy
from meco.device.kernels import MOST_VARIABLES, can_launch, has_kernels, using_kernels
from meco.tr import archive as archive_file
from meco.tr.archive import distances_to_nearest, is_stale
from meco.tr.curvature import MAX_CURVATURE, SCHEDULE, convexify_by_products
from meco.tr.elastic_program import Rows
from meco.tr.program import KERNEL_ROWS, kernel_constants, limit_of_kernel, solve_program
from meco.tr.quadratic import (
    LIKELY_SHARE,
    Fit,
    Quadratic,
    add_ridge,
    covariance,
    fit_weights,
    update_models,
    variance,
)
from meco.tr.roughness import ROUGH_LEVELS

sys.path.insert(0, str(Path(__file__).parents[1] / "tr"))
from reference_program import objective, random_programs, residual

torch = pytest.importorskip("torch", reason="TORCH MISSING: kernels NOT tested")
pytest.importorskip("triton", reason="TRITON MISSING: kernels NOT tested")
ON_CUDA, INTERPRETED = torch.cuda.is_available(), os.environ.get("TRITON_INTERPRET") == "1"
if not (ON_CUDA or INTERPRETED):
    pytest.skip("CUDA MISSING and TRITON_INTERPRET is not 1: kernels NOT tested", allow_module_level=True)
DEVICE = "cuda" if ON_CUDA and not INTERPRETED else "cpu"
RUNS = 100 if DEVICE == "cuda" else 6  # a run takes the interpreter half a second
SIZES = [(1, 1), (2, 3), (5, 5), (7, 20), (10, 7), (16, 3)]
LARGE = [(10, 60), (MOST_VARIABLES, KERNEL_ROWS), *([(30, 7), (20, 64), (32, 32)] if DEVICE == "cuda" else [])]


def moved(array):
    """The same numbers on the device."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(DEVICE)


def solved_by_kernel(program, duals=None, limit=None):
    """s, duals and the count of systems of programs in NumPy, from the kernel; its limit is that of a search."""
    from meco.device.program_kernel import solve_program_in_one_kernel

    hessian, slope, rows, low, high = program
    duals = 0.0 * rows.value if duals is None else duals
    found = solve_program_in_one_kernel(
        *map(moved, (hessian, slope)),
        tuple(map(moved, rows)),
        *map(moved, (low, high, duals)),
        limit_of_kernel(*rows.matrix.shape[1:]) if limit is None else limit,
        kernel_constants(),
    )
    return tuple(map(to_numpy, found))


def assert_programs_agree(program, duals=None, within=1e-7, share=1.0):
    """At least this share is solved, optimal as near as NumPy's answers are and no worse: s, duals and NumPy's s."""
    known, _ = solve_program(*program, 0.0 * program[2].value if duals is None else duals)
    s, dual, solves = solved_by_kernel(program, duals)
    assert np.all((s >= program[3]) & (s <= program[4]))  # the box is kept to the last bit, solved or not
    done = solves > 0
    assert np.mean(done) >= share
    hessian, slope, rows, low, high = program
    rows = Rows(*(part[done] for part in rows))
    hessian, slope, low, high, s, dual, known = (part[done] for part in (hessian, slope, low, high, s, dual, known))
    assert np.max(residual(hessian, slope, rows, low, high, s, dual)) < within
    assert_allclose(objective(hessian, slope, rows, s), objective(hessian, slope, rows, known), rtol=1e-6, atol=1e-6)
    return s, dual, known


@pytest.mark.parametrize(("dim", "count"), SIZES + LARGE)
def test_the_kernel_solves_programs_as_numpy_does(dim, count):
    """Rows that have to be broken, equalities, bounds that hold steps back, limits that are infinite.

    A few programs with more rows than variables may end unsolved (test_program.py counts them in NumPy).
    """
    runs = 1 if INTERPRETED and (dim, count) in LARGE else RUNS  # a large one takes the interpreter half a minute
    program = random_programs(np.random.default_rng(dim), runs, dim, count)
    program[2].high[0, -1] = np.inf
    s, _, known = assert_programs_agree(program, share=0.95 if count > dim else 1.0)
    assert_allclose(s, known, atol=1e-6)  # strictly convex: there is one answer


@pytest.mark.parametrize(("dim", "count"), [(3, 4), (10, 7)])
def test_programs_with_rows_twice_rows_of_nothing_and_hardly_any_curvature(dim, count):
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(1), RUNS, dim, count)
    matrix = rows.matrix.copy()
    matrix[:, 1], matrix[::2, 2] = matrix[:, 0], 0.0
    hessian[::2] = 0.0
    assert_programs_agree((hessian, slope, rows._replace(matrix=matrix), low, high))


def test_programs_start_from_the_duals_of_similar_ones():
    program = random_programs(np.random.default_rng(2), RUNS, 5, 6)
    _, dual, fresh = solved_by_kernel(program)
    _, again, solves = solved_by_kernel(program, dual)
    assert_allclose(again, dual, atol=1e-6)
    assert np.sum(solves) < np.sum(fresh)
    assert_programs_agree(program, dual)


def test_a_box_without_room_leaves_no_step_and_no_rows_need_no_duals():
    program = random_programs(np.random.default_rng(3), 3, 3, 2)
    s, dual, _ = solved_by_kernel((*program[:3], np.zeros((3, 3)), np.zeros((3, 3))))
    assert_array_equal(s, np.zeros((3, 3)))
    assert np.isfinite(dual).all()
    none = np.zeros((3, 0))
    rows = Rows(np.zeros((3, 0, 3)), none, none, none, none)
    s, dual, _ = assert_programs_agree((program[0], program[1], rows, *program[3:]))
    assert dual.shape == (3, 0)


def test_after_its_limit_a_run_keeps_what_it_has_come_to():
    program = random_programs(np.random.default_rng(4), 6, 5, 5)
    _, _, solves = solved_by_kernel(program, limit=2)
    assert np.all(np.abs(solves) <= 2)
    assert np.any(solves == -2)


@pytest.mark.parametrize("dim", [1, 2, 5, 10, 16, 17, MOST_VARIABLES])
def test_the_kernel_makes_curvature_convex_as_products_do(dim):
    from meco.device.curvature_kernel import convexify_in_one_kernel

    rng = np.random.default_rng(dim)
    h = rng.normal(size=(RUNS, dim, dim)) * 10.0 ** rng.uniform(-3.0, 9.0, (RUNS, 1, 1))
    h[0] = 0.0
    known = convexify_by_products(0.5 * (h + h.swapaxes(1, 2)))
    made = to_numpy(convexify_in_one_kernel(moved(h), SCHEDULE, MAX_CURVATURE))
    size = np.maximum(np.abs(known).max(axis=(1, 2), keepdims=True), 1.0)
    assert_allclose(made / size, known / size, atol=1e-13)


def random_fit(rng, count, dim, functions, smooth, runs=RUNS):
    """Points u, values y, what previous models say of them, and eta of each function; some points coincide."""
    u = rng.normal(size=(runs, count, dim)) / np.sqrt(dim)
    u[:, 0] = 0.0
    u[:, -1] = u[:, 1]
    bent = (u * u) @ rng.normal(size=(runs, dim, functions))
    y = u @ rng.normal(size=(runs, dim, functions)) + bent
    p = y * rng.normal(size=(runs, 1, functions)) + 0.1 * bent
    p[..., 1] = 0.0  # nothing was known
    eta = np.full((runs, functions), smooth)
    eta[:, 1], eta[0, 0], eta[-1, -1] = ROUGH_LEVELS[1], ROUGH_LEVELS[2], ROUGH_LEVELS[0]
    return u, y, p, eta


@pytest.mark.parametrize(
    ("count", "dim", "functions"),
    [(5, 1, 2), (13, 2, 3), (32, 5, 8), (43, 10, 7), (43, 10, 19), (109, MOST_VARIABLES, 7)],
)
@pytest.mark.parametrize("smooth", [1e-9, 1e-12])
def test_the_kernel_fits_as_numpy_does(count, dim, functions, smooth):
    """Weights amplify rounding by the condition of K; what they make of the points does not."""
    from meco.device.fit_kernel import fit_weights_in_one_kernel, variance_in_one_kernel

    rng, runs = np.random.default_rng(count), 2 if INTERPRETED and count > 100 else RUNS
    u, y, p, eta = random_fit(rng, count, dim, functions, smooth, runs)
    tau, least = np.array([100.0]), np.array([smooth])
    known = fit_weights(u, y, p, tau, [least, *ROUGH_LEVELS], eta)
    made = fit_weights_in_one_kernel(
        *map(moved, (u, y, p, tau, least)), ROUGH_LEVELS, moved(eta), LIKELY_SHARE
    )  # fmt: skip
    w, kept = to_numpy(made[0]), to_numpy(made[1])
    assert_allclose(kept, known.kept, atol=1e-7)
    base = covariance(u, u, tau)
    ridge = (eta * (1.0 + tau[:, None]))[:, None, :]
    met = base @ w + ridge * w + kept[:, None, :] * p
    assert_allclose(met, y, atol=1e-11 * np.abs(y).max())
    assert_allclose(base @ w, base @ known.w, atol=1e-7 * np.abs(y).max())
    v = rng.normal(size=(runs, 21, dim))
    found = to_numpy(variance_in_one_kernel(*map(moved, (u, v, tau)), made[2]))
    expected = variance(known, v)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(base).max())


def test_tau_and_the_smooth_level_may_be_columns_of_a_table_or_one_number_for_all_runs():
    from meco.device.fit_kernel import fit_weights_in_one_kernel, variance_in_one_kernel

    rng = np.random.default_rng(7)
    u, y, p, eta = random_fit(rng, 13, 2, 3, 1e-9)
    table = np.stack([rng.uniform(50.0, 150.0, RUNS), rng.uniform(1e-9, 2e-9, RUNS)], axis=1)
    v, (u, y, p, eta, table) = moved(rng.normal(size=(RUNS, 5, 2))), map(moved, (u, y, p, eta, table))
    one = table[:1, 0].expand(RUNS), table[:1, 1].expand(RUNS)
    for tau, smooth in [(table[:, 0], table[:, 1]), one, (table[:1, 0].float(), table[:1, 1])]:
        for part, known in zip(
            fit_weights_in_one_kernel(u, y, p, tau, smooth, ROUGH_LEVELS, eta, LIKELY_SHARE),
            fit_weights_in_one_kernel(u, y, p, tau.double().clone(), smooth.clone(), ROUGH_LEVELS, eta, LIKELY_SHARE),
        ):
            assert_array_equal(to_numpy(part), to_numpy(known))
        factors = fit_weights_in_one_kernel(u, y, p, tau, smooth, ROUGH_LEVELS, eta, LIKELY_SHARE)[2]
        same = tau.double().contiguous()
        assert_array_equal(
            to_numpy(variance_in_one_kernel(u, v, tau, factors)), to_numpy(variance_in_one_kernel(u, v, same, factors))
        )


def test_a_small_kernel_tells_whether_any_can_be_started():
    from meco.device.tiles import launch_small_product

    assert_array_equal(to_numpy(launch_small_product(DEVICE)), 4.0 * np.eye(16))
    assert can_launch(DEVICE)


def test_kernels_are_for_float64_on_a_cuda_device_and_can_be_turned_off():
    assert not has_kernels(np.zeros(2))
    assert not has_kernels(torch.zeros(2, dtype=torch.float64))
    if not ON_CUDA:
        return
    x = torch.zeros(2, dtype=torch.float64, device="cuda")
    assert has_kernels(x)
    assert not has_kernels(x.float())
    with using_kernels(on=False):
        assert not has_kernels(x)


@pytest.mark.parametrize(
    ("dim", "count"), [(1, 5), (2, 150), (3, 300), (10, 33), (10, 257), (17, 70), (30, 130), (MOST_VARIABLES, 100)]
)
def test_the_kernels_measure_distances_to_evaluated_points_as_numpy_does(dim, count):
    """Rows that are not filled yet are infinitely far away."""
    from meco.device.archive_kernel import distances_in_one_kernel, square_distances_in_one_kernel

    rng = np.random.default_rng(dim)
    x, points = rng.uniform(size=(RUNS, count, dim)), rng.uniform(size=(RUNS, 4, dim))
    x[:, -(count // 2) :], points[:, 1] = np.inf, x[:, 0]
    width, centre = rng.uniform(0.1, 2.0, (RUNS, dim)), points[:, 0]
    found = to_numpy(square_distances_in_one_kernel(*map(moved, (x, centre, width))))
    assert_allclose(found, np.sum(((x - centre[:, None]) / width[:, None]) ** 2, axis=-1), rtol=1e-14)
    archive = SimpleNamespace(x=x)
    found = to_numpy(distances_in_one_kernel(*map(moved, (x, points, width))))
    assert_allclose(found, distances_to_nearest(archive, points, width), rtol=1e-14)
    assert_array_equal(found[:, 1], 0.0)


def test_one_distance_tells_which_points_are_stale(monkeypatch):
    """Points at an evaluated one, a bit beside one, near one, and far from all."""
    monkeypatch.setattr(archive_file, "has_kernels", lambda x: not isinstance(x, np.ndarray))
    x = np.tile(np.random.default_rng(1).uniform(0.1, 0.9, (1, 30, 3)), (4, 1, 1))
    points, reach = x[:, 7] + np.array([0.0, 2e-16, 1e-3, 0.5])[:, None], np.full((4, 3), 0.1)
    every, none = np.ones(4, dtype=bool), np.zeros(4, dtype=bool)
    for idle, exact in ((every, none), (none, every), (every, every), (none, none)):
        found = is_stale(SimpleNamespace(x=moved(x)), *map(moved, (points, reach, idle, exact)))
        known = is_stale(SimpleNamespace(x=x), points, reach, idle, exact)
        assert_array_equal(to_numpy(found), known)
        assert_array_equal(known, [idle[0] | exact[0], idle[0], idle[0], False])


@pytest.mark.parametrize(("count", "dim", "functions"), [(5, 1, 2), (32, 5, 8), (43, 10, 7), (109, MOST_VARIABLES, 3)])
def test_the_kernels_make_models_of_a_fit_as_numpy_does(count, dim, functions):
    from meco.device.model_kernel import changes_in_one_kernel, update_in_one_kernel

    rng = np.random.default_rng(count)
    u, y, p, _ = random_fit(rng, count, dim, functions, 1e-9)
    prior = Quadratic(rng.normal(size=(RUNS, functions, dim)), rng.normal(size=(RUNS, functions, dim, dim)))
    assert_allclose(to_numpy(changes_in_one_kernel(*map(moved, (*prior, u)))), prior.changes(u), rtol=1e-12, atol=1e-12)
    for tau in (np.array([100.0]), rng.uniform(50.0, 150.0, RUNS)):
        fit = Fit(u, y, None, p, rng.uniform(size=(RUNS, functions)), tau)
        made = update_in_one_kernel(*map(moved, (*prior, u, fit.w, fit.kept, tau)))
        for part, known in zip(made, update_models(prior, fit)):
            assert_allclose(to_numpy(part), known, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("count", "dim"), [(5, 1), (32, 5), (43, 10), (103, 30)])
def test_the_kernels_leave_one_out_as_numpy_does(count, dim):
    from meco.device.fit_kernel import fit_weights_in_one_kernel, inverse_diagonal_in_one_kernel

    runs, rng = 2 if INTERPRETED and count > 50 else RUNS, np.random.default_rng(count)
    u, y, _, eta = random_fit(rng, count, dim, 3, 1e-9, runs)
    tau, level = np.array([100.0]), np.array([1e-4])
    known = add_ridge(covariance(u, u, tau), level, tau)
    w, _, factors = fit_weights_in_one_kernel(*map(moved, (u, y, 0.0 * y, tau, level)), (), moved(eta), LIKELY_SHARE)
    expected = known.inverse_times(y)
    assert_allclose(to_numpy(w), expected, atol=1e-9 * np.abs(expected).max())
    assert_allclose(to_numpy(inverse_diagonal_in_one_kernel(factors, count)), known.inverse_diagonal, rtol=1e-9)
