"""Failures of one run change nothing in another beside it, and an archive that is full knows which points are new."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.core.evaluation import Evaluation
from meco.core.problem import Problem
from meco.tr import begin, tr_state
from meco.tr.archive import PointArchive


def failing_beyond(limit):
    """A bowl that fails where x0 - x1 is above a limit: the smaller, the sooner."""

    def values(x):
        f = ((x - np.array([0.9, 0.3, 0.5])) ** 2).sum(axis=-1)
        bad = x[..., 0] - x[..., 1] > limit
        none = np.zeros((*x.shape[:-1], 0))
        return np.where(bad, np.nan, f), (0.2 - x[..., :1]), none

    return Problem(f"beyond {limit}", np.zeros(3), np.ones(3), 1, 0, values)


def test_a_run_does_not_notice_that_another_one_failed_first():
    problems = [failing_beyond(0.5), failing_beyond(0.35)]
    together = meco.solve("TR", problems, budget=28, seeds=[1, 2])
    for alone, problem, seed in zip(together, problems, [1, 2]):
        again = meco.solve("TR", problem, budget=28, seeds=[seed])[0]
        assert_array_equal(alone.x, again.x)
        assert_array_equal(alone.trace["f"], again.trace["f"])


def test_the_newest_points_of_a_full_archive_are_those_that_came_last():
    rng = np.random.default_rng(1)

    def told(count):
        x = rng.random((2, count, 3))
        f = x.sum(axis=-1)
        return x, Evaluation.of(f, x[..., :1], x[..., :0])

    x, ev = told(5)
    archive = PointArchive(x, ev, np.zeros(2, dtype=np.int64), capacity=6)
    for _ in range(4):
        x, ev = told(2)
        archive.add(x, ev, np.zeros(2, dtype=np.int64), np.full((2, 3), 0.5))
    for run in range(2):
        kept = archive.x[run, archive.newest(2)[run]]
        assert_array_equal(np.sort(kept, axis=0), np.sort(x[run], axis=0))


@pytest.mark.slow
def test_failures_in_a_row_end_when_the_archive_is_full(monkeypatch):
    for module in (tr_state, begin):
        if hasattr(module, "ARCHIVE_CAPACITY"):
            monkeypatch.setattr(module, "ARCHIVE_CAPACITY", 100)
    result = meco.minimize(
        lambda x: np.nan if x[0] - x[1] > 0.35 else float(((x - 0.8) ** 2).sum()), [(0, 1)] * 3, budget=260, seed=1
    )
    failed = np.asarray(result.evaluations.failed)
    longest = max(len(part) for part in "".join("x" if f else " " for f in failed).split(" "))
    assert longest < 10
