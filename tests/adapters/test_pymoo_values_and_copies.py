"""pymoo integration: terminations, values that are not finite, copies and pickles."""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("pymoo")

from pymoo.core.callback import Callback
from pymoo.core.problem import ElementwiseProblem
from pymoo.optimize import minimize
from pymoo.util.display.display import Display

from meco.adapters.pymoo import MeCO


class Valley(ElementwiseProblem):
    """Rosenbrock's function in ten variables below a plane."""

    def __init__(self):
        super().__init__(n_var=10, n_obj=1, n_ieq_constr=1, xl=-2.0, xu=2.0)

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        out["G"] = [x.sum() - 6]


class FailsFirst(ElementwiseProblem):
    """A sphere around (1, 1) whose first calls return the same value that is not finite."""

    def __init__(self, value, failures, constraint=-1.0):
        super().__init__(n_var=2, n_obj=1, n_ieq_constr=1, xl=-5.0, xu=5.0)
        self.value, self.failures, self.constraint, self.calls = value, failures, constraint, 0

    def _evaluate(self, x, out, *args, **kwargs):
        self.calls += 1
        failed = self.calls <= self.failures
        out["F"] = self.value if failed else ((x - 1) ** 2).sum()
        out["G"] = [self.constraint if failed else -1.0]


def test_without_a_termination_the_whole_budget_is_spent():
    found = minimize(Valley(), MeCO(), seed=1)
    assert found.algorithm.evaluator.n_eval == 50 * 10


@pytest.mark.filterwarnings("error")
def test_a_run_without_a_termination_gives_no_warning():
    minimize(FailsFirst(0.0, 0), MeCO(), seed=1)


@pytest.mark.parametrize(("batch", "points"), [(None, "one point"), (4, "4 points")])
def test_a_limit_on_generations_warns_before_the_first_evaluation(batch, points):
    problem, algorithm = FailsFirst(0.0, 0), MeCO(batch=batch)
    with pytest.warns(UserWarning, match=rf"{points} per generation.*\('n_eval', 100\)"):
        algorithm.setup(problem, termination=("n_gen", 40), seed=1)
    assert problem.calls == 0


@pytest.mark.filterwarnings("error")
def test_a_population_method_takes_a_limit_on_generations_without_a_warning():
    minimize(FailsFirst(0.0, 0), MeCO("SHADE", budget=500), ("n_gen", 3), seed=1)


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
def test_a_value_that_is_not_finite_never_wins(value):
    found = minimize(FailsFirst(value, failures=20), MeCO(), ("n_eval", 60), seed=1)
    np.testing.assert_allclose(found.X, [1.0, 1.0], atol=1e-3)
    assert found.F[0] < 1e-5


@pytest.mark.parametrize("constraint", [-1.0, 3.0, -np.inf])
@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
def test_no_answer_is_given_where_no_value_is_finite(value, constraint):
    found = minimize(FailsFirst(value, 10**6, constraint), MeCO(), ("n_eval", 30), seed=1)
    assert found.X is None
    assert found.F is None


def run_by_hand(algorithm, problem, until):
    while algorithm.has_next() and algorithm.evaluator.n_eval < until:
        asked = algorithm.ask()
        algorithm.evaluator.eval(problem, asked)
        algorithm.tell(infills=asked)
    return algorithm


def again_by_pickle(algorithm):
    return pickle.loads(pickle.dumps(algorithm))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, again_by_pickle])
@pytest.mark.parametrize("method", ["TR", "SHADE"])
def test_a_copy_continues_with_the_same_points(method, duplicate):
    problem = Valley()
    algorithm = MeCO(method)
    algorithm.setup(problem, termination=("n_eval", 120))  # the seed is drawn
    run_by_hand(algorithm, problem, 50)
    copied = duplicate(algorithm)
    found = [run_by_hand(each, problem, 1000).search.result for each in (algorithm, copied)]
    np.testing.assert_array_equal(found[0].evaluations.x, found[1].evaluations.x)
    assert len(found[0].evaluations.x) == 120


def test_a_copy_with_pending_points_takes_their_values():
    problem, algorithm = Valley(), MeCO()
    algorithm.setup(problem, termination=("n_eval", 60), seed=1)
    run_by_hand(algorithm, problem, 30)
    asked = algorithm.ask()
    copied = again_by_pickle(algorithm)
    algorithm.evaluator.eval(problem, asked)
    copied.tell(infills=asked)
    assert len(copied.search.result.evaluations.x) == 31


def test_every_step_of_a_history_can_continue():
    found = minimize(Valley(), MeCO(), ("n_eval", 40), seed=1, save_history=True)
    middle = found.history[len(found.history) // 2]
    middle.display, middle.callback = Display(), Callback()  # pymoo keeps histories without them
    middle.save_history = False
    run_by_hand(middle, Valley(), 1000)
    np.testing.assert_array_equal(middle.search.result.evaluations.x, found.algorithm.search.result.evaluations.x)
