"""Runs in lockstep, on other array libraries and under other numbers of threads are the runs they are alone."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import visited

import meco
from array_libraries import every_library
from meco.testing import RecordingProblem

PROBLEMS = {
    "corner": meco.get_problem("corner", 4),
    "holes": RecordingProblem(3, "mixed", holes=0.3).problem,  # some runs fail where others do not
    "impossible": meco.get_problem("impossible", 2),  # converges, so it starts again
}


CASES = [*((name, 1) for name in PROBLEMS), ("holes", 4)]


@pytest.mark.parametrize(
    ("method", "name", "batch"),
    [
        *(("TR-ES", *case) for case in CASES),  # which has all of TR
        *(pytest.param("TR", *case, marks=pytest.mark.slow) for case in CASES),
    ],
)
def test_row_b_of_a_batch_is_run_b_alone_to_the_last_bit(method, name, batch):
    problem, budget = PROBLEMS[name], 110 if name == "impossible" else 30
    together, engine = visited(method, problem, budget, seeds=[3, 4], batch=batch)
    for b in range(2):
        alone, _ = visited(method, problem, budget, seeds=[3 + b], batch=batch)
        assert_array_equal(alone[0], together[b])
    if name == "impossible":
        assert np.all(engine.region.restart_index > 0)


@pytest.mark.parametrize("share", [0.5, pytest.param(1.0, marks=pytest.mark.slow)])
def test_rows_stay_apart_when_offspring_come_at_random(share):
    together, _ = visited("TR-ES", PROBLEMS["holes"], 35, seeds=[3, 4], share=share)
    for b in range(2):
        assert_array_equal(visited("TR-ES", PROBLEMS["holes"], 35, seeds=[3 + b], share=share)[0][0], together[b])


def test_rows_stay_apart_when_the_archive_is_full(monkeypatch):
    monkeypatch.setattr("meco.tr.tr_state.ARCHIVE_CAPACITY", 30)
    together, engine = visited("TR", PROBLEMS["corner"], 60, seeds=[3, 4])
    assert engine.archive.count == 30
    for b in range(2):
        assert_array_equal(visited("TR", PROBLEMS["corner"], 60, seeds=[3 + b])[0][0], together[b])


def whole_numbers(dim):
    """A toy with half of its variables whole numbers, for any array library."""
    problem = meco.get_problem("tilted", dim)
    facts = {name: getattr(problem, name) for name in ("lower", "upper", "n_ineq", "n_eq", "formula")}
    return meco.Problem("half whole", **facts, integrality=np.arange(dim) < dim // 2)


@every_library
@pytest.mark.parametrize(
    ("method", "dim", "steps"),
    [("TR-ES", 2, 1), *(pytest.param(method, 4, 6, marks=pytest.mark.slow) for method in ("TR-ES", "TR"))],
)  # the first steps of TR-ES are those of TR
def test_the_first_steps_are_numpys_on_other_libraries(method, dim, steps, xp, monkeypatch):
    if dim == 2:
        monkeypatch.setattr("meco.tr.program.DEVICE_SOLVES", 8)  # enough for two variables
    problem = meco.get_problem("corner", dim)
    budget = 2 * dim + 1 + steps  # so many before the models
    ours, theirs = (visited(method, problem, budget, seeds=[1, 2], xp=library)[0] for library in (np, xp))
    assert_allclose(theirs, ours, atol=1e-9)


@pytest.mark.slow  # half a minute of the strict library; the first steps are compared in every run
@every_library
@pytest.mark.parametrize(
    "case",
    [
        (meco.get_problem("impossible", 2), {"batch": 3}),
        (whole_numbers(4), {}),
        (meco.get_problem("sphere", 2), {"share": 0.7}),
    ],
    ids=["restarts", "whole numbers", "offspring"],
)
def test_whole_searches_run_on_other_libraries(case, xp):
    problem, options = case
    points, _ = visited("TR-ES", problem, 40, seeds=[1, 2], xp=xp, **options)
    assert np.isfinite(points).all()
    assert points.min() >= 0.0
    assert points.max() <= 1.0


SCRIPT = """
import hashlib, meco
from searches import visited
for method in ("TR", "TR-ES"):
    for name, dim in (("corner", 5), ("tilted", 15)):
        print(hashlib.sha256(visited(method, meco.get_problem(name, dim), 130, seeds=[1, 2])[0].tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_one_and_two_threads_of_the_linear_algebra_visit_the_same_points():
    found = []
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        environment["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), *sys.path])
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.split())
    assert found[0] == found[1]


@pytest.mark.parametrize("method", ["TR-ES", pytest.param("TR", marks=pytest.mark.slow)])
def test_runs_without_whole_numbers_do_not_notice_those_that_have_some(method):
    """Problems of one shape share a batch, whichever of their variables are whole numbers."""
    from meco.problems.generated import get

    names = ("G-bowl-linear-0001", "G-steps-outside-0002", "G-bowl-whole-0001")
    problems = [get(name, dim=3) for name in names]
    together, _ = visited(method, problems, 40, seeds=[5, 6, 7])
    for points, problem, seed in zip(together, problems, [5, 6, 7]):
        assert_array_equal(visited(method, problem, 40, seeds=[seed])[0][0], points)
