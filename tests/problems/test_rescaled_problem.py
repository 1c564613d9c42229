"""Problems in other units: every number is another, what is feasible and what is best is not."""

from __future__ import annotations

import pickle
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.bench.plan.further import FURTHER
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.problem import Problem
from meco.errors import InvalidInput, UnknownName
from meco.problems.rescaled_problem import LARGEST, draw_factors, rescale_problem
from meco.problems.suite import CEC_NAMES, get_problem

NAMES = (*CEC_NAMES, "RC20", "UAV-01", "ring", "G-ring-curved-0003")


def both(name):
    """A problem, the same in other units, and the factors between them."""
    ours, other = get_problem(name), get_problem(f"{name}-units")
    return ours, other, draw_factors(other.name, ours.n_ineq, ours.n_eq)


def judged(problem, values):
    """Which of these values [n] are those of feasible points."""
    return Evaluation.of(*(v[None] for v in values), problem.ineq_tol, problem.eq_tol).feasible[0]


@pytest.mark.parametrize("name", NAMES)
def test_values_are_the_factors_times_the_original(name):
    ours, other, factors = both(name)
    x = np.random.default_rng(1).uniform(ours.lower, ours.upper, (2, 5, ours.dim))
    for points in (x, x[1], x[1, 3]):  # runs in lockstep, a population, one point
        for value, factor, scaled in zip(ours.raw(points), factors, other.raw(points)):
            assert_array_equal(scaled, value * factor)
    assert (other.name, other.dim, other.n_ineq, other.n_eq) == (f"{name}-units", ours.dim, ours.n_ineq, ours.n_eq)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_points_are_feasible_and_the_known_ones_stay_known(name):
    ours, other, (f, _, _) = both(name)
    x = np.random.default_rng(2).uniform(ours.lower, ours.upper, (200, ours.dim))
    if ours.known_x is not None:
        x = np.concatenate([ours.known_x[None], ours.known_x + 1e-6 * x])  # where constraints are close to their limits
        assert_array_equal(other.known_x, ours.known_x)
    assert_array_equal(judged(other, other.raw(x)), judged(ours, ours.raw(x)))
    assert other.best_known == (None if ours.best_known is None else ours.best_known * f)


def test_a_point_at_its_tolerance_is_feasible_and_the_next_number_is_not():
    limits = np.array([[0.0, 1e-4], [0.0, np.nextafter(1e-4, 1.0)], [1e-300, 1e-4], [-1.0, -1e-4]])
    plain = Problem("two", [0.0], [1.0], 1, 1, lambda x: (limits[:, 0], limits[:, :1], limits[:, 1:]))
    x = np.zeros((4, 1))
    assert_array_equal(judged(plain, plain.raw(x)), [True, False, False, True])
    for exponent in range(-LARGEST, LARGEST + 1):
        other = rescale_problem(plain, 2.0, np.array([2.0**-exponent]), np.array([2.0**exponent]))
        assert_array_equal(judged(other, other.raw(x)), [True, False, False, True])


def test_factors_belong_to_the_name_differ_between_constraints_and_span_eight_decades():
    f, g, h = draw_factors("C05-units", 3, 4)
    again = draw_factors("C05-units", 3, 4)
    assert f == again[0]
    assert_array_equal(np.concatenate([g, h]), np.concatenate(again[1:]))
    assert draw_factors("C06-units", 3, 4)[0] != f
    many = np.log2(np.concatenate(draw_factors("many", 1000, 1000)[1:]))
    assert (many.min(), many.max()) == (-LARGEST, LARGEST)
    assert_array_equal(many, np.round(many))


@pytest.mark.parametrize("method", ["TR"])
def test_a_search_that_has_no_units_evaluates_the_very_same_points(method):
    def visited(problem):
        asked = []
        seen = replace(problem, formula=lambda x: asked.append(np.array(x)) or problem.formula(x))
        meco.solve(method, seen, budget=30, seeds=[42])
        return np.concatenate(asked, axis=1)

    for name in ("C06", "C09", "C24"):
        assert_array_equal(visited(get_problem(f"{name}-units", 4)), visited(get_problem(name, 4)))


def test_runs_in_lockstep_are_judged_by_the_tolerances_of_their_own_problem():
    names, seeds = ("C03-units", "C06-units", "C01", "C06-units"), [1, 2, 3, 4]
    problems = [get_problem(name, 4) for name in names]
    together = meco.solve("SHADE-FR", problems, budget=120, seeds=seeds)
    for problem, seed, found in zip(problems, seeds, together):
        alone = meco.solve("SHADE-FR", problem, budget=120, seeds=[seed])[0]
        assert_array_equal(found.x, alone.x)
        assert found.feasible == alone.feasible
    allowed = Evaluator.on(problems, 10, runs=4).source.tolerances()[1][:, 0, :]
    assert_array_equal(allowed[1], problems[1].eq_tol)
    assert_array_equal(allowed[0], [*problems[0].eq_tol, 0.0, 0.0, 0.0, 0.0, 0.0])


def test_names_are_found_as_those_of_the_original_are():
    assert get_problem("c05-UNITS", 12).name == "C05-units"
    assert get_problem("C05-units", 12, instance=7).dim == 12
    for wrong in ("C99-units", "-units", "C05-units-units"):
        with pytest.raises(UnknownName):
            get_problem(wrong)
    with pytest.raises(InvalidInput, match="RC20-units has 2 variables"):
        get_problem("RC20-units", 3)


def test_a_problem_in_other_units_goes_to_other_processes_and_libraries():
    ours = get_problem("C06-units", 4)
    x = np.random.default_rng(3).uniform(ours.lower, ours.upper, (3, 4))
    for back, there in zip(pickle.loads(pickle.dumps(ours)).raw(x), ours.raw(array_api_strict.asarray(x))):
        assert_array_equal(back, np.asarray(there))


def test_tolerances_of_a_problem_are_one_number_or_one_for_each_constraint():
    ours = get_problem("C06", 4)
    assert replace(ours, eq_tol=[1, 2, 3, 4, 5, 6]).strictest == (0.0, 1.0)
    with pytest.raises(InvalidInput, match="C06: eq_tol must be a number, or 6 of them"):
        replace(ours, eq_tol=[1.0, 2.0])


def test_the_experiment_is_that_of_the_same_budget_in_other_units():
    scales, plain = FURTHER["scales"], FURTHER["budgets-50"]
    cases = [case._replace(problem=case.problem.removesuffix("-units")) for case in scales.cases()]
    assert cases == plain.cases()
    assert (scales.contenders, scales.runs, scales.first_seed) == (plain.contenders, plain.runs, plain.first_seed)
