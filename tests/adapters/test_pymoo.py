"""pymoo's door: its problems, its minimize(), its counting and its feasibility, with our search."""

import numpy as np
import pytest

pytest.importorskip("pymoo")

from pymoo.core.population import Population
from pymoo.core.problem import ElementwiseProblem, Problem
from pymoo.core.variable import Binary, Choice, Integer, Real
from pymoo.optimize import minimize
from pymoo.problems.multi.zdt import ZDT1
from pymoo.problems.single.g import G3, G6, G24

import meco
from meco.adapters.pymoo import MeCO, from_pymoo
from meco.errors import InvalidInput
from meco.methods import DEFAULT


class Lattice(Problem):
    """Whole numbers nearest to (2.6, -1.3) with a sum of at least 2."""

    def __init__(self):
        super().__init__(n_var=2, n_obj=1, n_ieq_constr=1, xl=-9, xu=9, vtype=int)

    def _evaluate(self, x, out, *args, **kwargs):
        assert x.dtype.kind == "i"
        out["F"] = ((x - [2.6, -1.3]) ** 2).sum(axis=1)
        out["G"] = 2 - x.sum(axis=1)


class Mixed(ElementwiseProblem):
    """A real, an integer and a binary variable, by name."""

    def __init__(self, **more):
        numbers = {"r": Real(bounds=(-2, 2)), "n": Integer(bounds=(0, 8)), "on": Binary()}
        super().__init__(vars=numbers | more, n_obj=1, n_ieq_constr=1)

    def _evaluate(self, x, out, *args, **kwargs):
        assert isinstance(x["n"], int)
        assert isinstance(x["on"], bool)
        out["F"] = (x["r"] - 0.5) ** 2 + (x["n"] - 5) ** 2 + (0 if x["on"] else 3)
        out["G"] = x["n"] - 4


def test_minimize_reaches_the_known_optimum_within_the_evaluations():
    found = minimize(G24(), MeCO(), ("n_eval", 150), seed=1)
    assert found.algorithm.evaluator.n_eval == 150
    assert found.F[0] == pytest.approx(-5.508, abs=1e-3)
    assert found.CV[0] == 0.0


def test_a_run_that_ends_before_its_termination_says_so():
    with pytest.warns(UserWarning, match=r"ends after 100 evaluations, 50 for each variable, .*MeCO\(budget=1000\)"):
        assert minimize(G6(), MeCO(), ("n_gen", 400), seed=1).algorithm.evaluator.n_eval == 100


@pytest.mark.filterwarnings("error:the run ends after")
@pytest.mark.parametrize(
    ("budget", "termination"), [(None, [("n_eval", 30)]), (30, [("n_gen", 400)]), (None, [("n_gen", 9)]), (30, [])]
)
def test_a_run_that_ends_as_it_was_told_says_nothing(budget, termination):
    assert minimize(G6(), MeCO(budget=budget), *termination, seed=1).algorithm.evaluator.n_eval <= 30


def test_the_same_seed_gives_the_same_answer():
    first, again, other = (minimize(G6(), MeCO(), ("n_eval", 30), seed=s).algorithm.search for s in (1, 1, 2))
    np.testing.assert_array_equal(first.result.evaluations.x, again.result.evaluations.x)
    assert not np.array_equal(first.result.evaluations.x, other.result.evaluations.x)


def test_feasible_means_what_pymoo_means():
    found = minimize(G3(n_var=3), MeCO(), ("n_eval", 80), seed=1)
    assert abs(found.H[0]) <= 1e-4
    assert found.algorithm.search.result.feasible


def test_whole_numbers_arrive_as_such():
    found = minimize(Lattice(), MeCO(), ("n_eval", 60), seed=1)
    np.testing.assert_array_equal(found.X, [3, -1])


def test_mixed_variables_go_by_name():
    found = minimize(Mixed(), MeCO("SHADE-FR", pop_size=20), ("n_eval", 600), seed=1)
    assert (found.X["n"], found.X["on"]) == (4, True)
    assert found.X["r"] == pytest.approx(0.5, abs=0.05)


def test_a_choice_is_a_category():
    found = minimize(Mixed(colour=Choice(options=["red", "blue", 3])), MeCO(), ("n_eval", 40), seed=1)
    assert found.X["colour"] in ("red", "blue", 3)
    assert len({individual.X["colour"] for individual in found.algorithm.pop}) >= 1


def test_several_objectives_are_refused():
    with pytest.raises(InvalidInput, match="ZDT1 has 2 objectives"):
        minimize(ZDT1(), MeCO(), ("n_eval", 10))
    with pytest.raises(InvalidInput, match="ZDT1 has 2 objectives"):
        from_pymoo(ZDT1())


def test_the_run_ends_with_the_budget_where_the_termination_would_go_on():
    found = minimize(G24(), MeCO("SHADE", budget=100), ("n_gen", 1000), seed=1)
    assert found.algorithm.evaluator.n_eval == 100


def test_points_to_try_first_and_points_already_evaluated():
    given = np.array([[2.0, 3.0], [1.0, 1.0]])
    found = minimize(G24(), MeCO(sampling=given), ("n_eval", 20), seed=1)
    np.testing.assert_array_equal(found.algorithm.search.result.evaluations.x[:2], given)
    known = Population.new(X=given)
    found.algorithm.evaluator.eval(G24(), known)
    found = minimize(G24(), MeCO(sampling=known), ("n_eval", 20), seed=1)
    every = found.algorithm.search.result.evaluations
    assert every.known[:2].all()
    assert found.algorithm.evaluator.n_eval == 20 == len(every) - 2


def test_ask_and_tell_by_hand():
    problem, algorithm = G24(), MeCO()
    algorithm.setup(problem, termination=("n_eval", 150), seed=1)
    while algorithm.has_next():
        asked = algorithm.ask()
        algorithm.evaluator.eval(problem, asked)
        algorithm.tell(infills=asked)
    assert algorithm.result().F[0] < -5.0


def test_solve_takes_a_problem_of_pymoo():
    runs = meco.solve(DEFAULT, G24(), budget=150, seeds=[1, 2])
    assert all(run.feasible and run.f == pytest.approx(-5.508, abs=0.01) for run in runs)


def test_the_algorithm_and_solve_are_the_same_search():
    found = minimize(G6(), MeCO(), ("n_eval", 40), seed=3)
    np.testing.assert_array_equal(found.X, meco.solve(DEFAULT, G6(), budget=40, seeds=[2, 3])[1].x)


def test_a_converted_problem_gives_pymoos_values_for_any_leading_shape():
    theirs, ours = G6(), from_pymoo(G6())
    assert (ours.name, ours.n_ineq, ours.n_eq) == ("G6", 2, 0)
    assert ours.best_known == pytest.approx(-6961.81388)
    x = np.random.default_rng(1).uniform(theirs.xl, theirs.xu, (3, 4, 2))
    f, g, h = ours.raw(x)
    assert (f.shape, g.shape, h.shape) == ((3, 4), (3, 4, 2), (3, 4, 0))
    np.testing.assert_allclose(g[2, 1], theirs.evaluate(x[2, 1], return_as_dictionary=True)["G"])
    assert from_pymoo(Lattice()).integrality.all()


class Unbounded(ElementwiseProblem):
    """The circle beyond a line, with no bounds at all."""

    def __init__(self):
        super().__init__(n_var=2, n_obj=1, n_ieq_constr=1)

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"], out["G"] = x @ x, [1.0 - x.sum()]


def test_a_problem_without_bounds_begins_at_its_sampling():
    found = minimize(Unbounded(), MeCO(sampling=np.array([[30.0, -40.0]])), ("n_eval", 80), seed=1)
    assert found.F[0] < 0.5 + 1e-4
    with pytest.raises(InvalidInput, match="give x0="):
        minimize(Unbounded(), MeCO(), ("n_eval", 80), seed=1)
    with pytest.raises(InvalidInput, match="Unbounded has no finite bounds: set its xl and xu"):
        from_pymoo(Unbounded())


def test_a_history_can_be_saved():
    from pymoo.optimize import minimize
    from pymoo.problems import get_problem

    result = minimize(get_problem("g6"), MeCO(), ("n_eval", 40), seed=1, save_history=True)
    assert len(result.history) > 1
    assert result.history[-1].pop.get("F").size
