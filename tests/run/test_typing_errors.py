"""A function that always fails for one reason is mistaken, and ends the run; failures that differ do not."""

from __future__ import annotations

import pytest

import meco
from meco.run.answer import EvaluationFailed

BOX = [(-5.0, 5.0)] * 3


def test_a_typing_error_ends_the_run_and_is_shown():
    calls = []

    def mistaken(x):
        calls.append(x)
        return x @ x + undefined  # noqa: F821

    with pytest.raises(EvaluationFailed, match=r"NameError: .*test_typing_errors.py, line"):
        meco.minimize(mistaken, BOX, budget=500, seed=1)
    assert len(calls) == 1


def test_a_typing_error_is_found_in_worker_processes_too():
    with pytest.raises(EvaluationFailed, match="NameError"):
        meco.minimize(lambda x: undefined, BOX, budget=500, seed=1, workers=2)  # noqa: F821


def test_whoever_asks_for_penalties_gets_them():
    def broken(x):
        raise RuntimeError("licence expired")

    result = meco.minimize(broken, BOX, budget=30, seed=1, on_error="penalize")
    assert (result.status, result.run.nfail) == (2, 30)


def test_failures_that_differ_are_failures_of_designs():
    def moody(x):
        raise RuntimeError(f"no convergence at {x[0]}")

    assert meco.minimize(moody, BOX, budget=19, seed=1).run.nfail == 19
