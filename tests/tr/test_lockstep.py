"""Runs in lockstep and under other numbers of threads are the runs they are alone."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from searches import visited

import meco
from meco.testing import RecordingProblem

PROBLEMS = {
    "corner": meco.get_problem("corner", 4),
    "holes": RecordingProblem(3, "mixed", holes=0.3).problem,  # some runs fail where others do not
    "impossible": meco.get_problem("impossible", 2),  # converges, so it starts again
}


CASES = [*((name, 1) for name in PROBLEMS), ("holes", 4)]


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_row_b_of_a_batch_is_run_b_alone_to_the_last_bit(name, batch):
    problem, budget = PROBLEMS[name], 110 if name == "impossible" else 30
    together, engine = visited("TR", problem, budget, seeds=[3, 4], batch=batch)
    for b in range(2):
        alone, _ = visited("TR", problem, budget, seeds=[3 + b], batch=batch)
        assert_array_equal(alone[0], together[b])
    if name == "impossible":
        assert np.all(engine.region.restart_index > 0)


def test_rows_stay_apart_when_the_archive_is_full(monkeypatch):
    monkeypatch.setattr("meco.tr.tr_state.ARCHIVE_CAPACITY", 30)
    together, engine = visited("TR", PROBLEMS["corner"], 60, seeds=[3, 4])
    assert engine.archive.count == 30
    for b in range(2):
        assert_array_equal(visited("TR", PROBLEMS["corner"], 60, seeds=[3 + b])[0][0], together[b])


SCRIPT = """
import hashlib, meco
from searches import visited
for name, dim in (("corner", 5), ("tilted", 15)):
    print(hashlib.sha256(visited("TR", meco.get_problem(name, dim), 130, seeds=[1, 2])[0].tobytes()).hexdigest())
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


def test_runs_without_whole_numbers_do_not_notice_those_that_have_some():
    """Problems of one shape share a batch, whichever of their variables are whole numbers."""
    from meco.problems.generated import get

    names = ("G-bowl-linear-0001", "G-steps-outside-0002", "G-bowl-whole-0001")
    problems = [get(name, dim=3) for name in names]
    together, _ = visited("TR", problems, 40, seeds=[5, 6, 7])
    for points, problem, seed in zip(together, problems, [5, 6, 7]):
        assert_array_equal(visited("TR", problem, 40, seeds=[seed])[0][0], points)
