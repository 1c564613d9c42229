"""Runs in lockstep, each on a problem of its own."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from recording_problem import recording

import meco
from meco.core.batching import ProblemBatch
from meco.errors import InvalidInput


def test_problems_in_lockstep_need_equal_dimension_and_number():
    a, b = meco.get_problem("tilted", 3), meco.get_problem("tilted", 4)
    with pytest.raises(InvalidInput, match=r"equal D; got \[3, 4\]"):
        meco.solve("SHADE", [a, b], seeds=[1, 2])
    with pytest.raises(InvalidInput, match="2 runs need one problem or 2 problems; got 3"):
        meco.solve("SHADE", [a, a, a], seeds=[1, 2])


def test_each_run_has_the_values_box_and_tolerances_of_its_own_problem():
    problems = [meco.get_problem(name, 10) for name in ("C01", "C06", "C01", "C20")]
    batch, unit = ProblemBatch(problems, 4), np.random.default_rng(1).random((4, 5, 10))
    x = batch.box.to_box(unit)
    together = batch.values(x)
    assert batch.counts() == (max(p.n_ineq for p in problems), max(p.n_eq for p in problems))
    for b, problem in enumerate(problems):
        alone = ProblemBatch(problem)
        assert_array_equal(alone.box.to_box(unit[b : b + 1])[0], x[b])
        for values, its in zip(together, alone.values(x[b : b + 1])):
            padded = np.zeros_like(values[b])
            padded[..., : its.shape[-1]] = its[0]  # columns of zeros, which no rule can see
            assert_array_equal(values[b], padded)
        for values, its in zip(together, batch.values_of(b, x[b : b + 1])):
            assert_array_equal(values[b], its[0])


def test_runs_that_share_a_problem_are_evaluated_in_one_call():
    problem, asked = recording()
    other, others = recording()
    batch = ProblemBatch([problem, other, problem], 3)
    batch.values(np.zeros((3, 4, 3)))
    assert [len(x) for x in asked] == [8]
    assert [len(x) for x in others] == [4]


def test_tolerances_differ_from_run_to_run():
    base, _ = recording()
    strict = replace(base, eq_tol=1e-6, ineq_tol=np.array([0.1, 0.2]))
    ineq, eq = ProblemBatch([base, strict], 2).tolerances()
    assert_array_equal(ineq[:, 0], [[base.ineq_tol] * 2, [0.1, 0.2]])
    assert_array_equal(eq[:, 0, 0], [base.eq_tol, 1e-6])
