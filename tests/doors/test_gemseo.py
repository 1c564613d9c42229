"""GEMSEO's door with the real package: the same search, its Sellar problem, whole numbers, failures."""

import math

import numpy as np
import pytest

from doors import one_problem

gemseo = pytest.importorskip("gemseo")

from gemseo.algos.design_space import DesignSpace  # noqa: E402
from gemseo.algos.optimization_problem import OptimizationProblem  # noqa: E402
from gemseo.core.mdo_functions.mdo_function import MDOFunction  # noqa: E402

from meco.adapters.gemseo import MecoLibrary  # noqa: E402


def beam_problem(weight=lambda x: one_problem.weight(*x)):
    space = DesignSpace()
    for name, (low, high) in one_problem.BOUNDS.items():
        space.add_variable(name, lower_bound=low, upper_bound=high, value=1.0)
    problem = OptimizationProblem(space)
    problem.objective = MDOFunction(lambda x: np.atleast_1d(weight(x)), "weight")
    limits = MDOFunction(lambda x: one_problem.limits(*x), "limits", f_type="ineq")
    problem.add_constraint(limits, constraint_type="ineq")
    return problem


def solved(problem, evaluations=60, **given):
    library = MecoLibrary()
    result = library.execute(problem, max_iter=evaluations, **{"seed": 7, "enable_progress_bar": False} | given)
    return library, result


def test_it_is_the_search_of_minimize():
    problem = beam_problem()
    _, result = solved(problem)
    seen = np.array(problem.database.get_x_vect_history())
    np.testing.assert_array_equal(seen, one_problem.points_of_minimize(x0=np.ones(3)))
    assert result.is_feasible
    assert result.f_opt == pytest.approx(one_problem.weight(*result.x_opt))


def test_it_is_listed_by_its_entry_point():
    from importlib.metadata import entry_points

    if not entry_points(group="gemseo_plugins", name="meco"):
        pytest.skip("meco is on the path here, not installed")
    assert "MECO" in gemseo.get_available_opt_algorithms()


@pytest.mark.parametrize("failure", [RuntimeError("the mesh could not be made"), None])
def test_a_design_that_fails_does_not_end_the_run(failure):
    def weight(x):
        if one_problem.fails(*x):
            if failure is not None:
                raise failure
            return math.nan
        return one_problem.weight(*x)

    library, _ = solved(beam_problem(weight), 150)
    assert library.found.feasible
    assert library.found.evaluations.failed.any()
    assert library.found.fun < 0.0495


def test_the_sellar_problem_in_a_formulation():
    from gemseo.problems.mdo.sellar.sellar_1 import Sellar1
    from gemseo.problems.mdo.sellar.sellar_2 import Sellar2
    from gemseo.problems.mdo.sellar.sellar_design_space import SellarDesignSpace
    from gemseo.problems.mdo.sellar.sellar_system import SellarSystem

    scenario = gemseo.create_scenario(
        [Sellar1(), Sellar2(), SellarSystem()],
        "obj",
        SellarDesignSpace(),
        formulation_name="MDF",
    )
    scenario.add_constraint("c_1", constraint_type="ineq")
    scenario.add_constraint("c_2", constraint_type="ineq")
    problem = scenario.formulation.optimization_problem
    _, result = solved(problem, 150)
    assert result.is_feasible
    assert result.f_opt == pytest.approx(3.18339, abs=5e-3)


def test_whole_numbers_are_whole():
    space = DesignSpace()
    space.add_variable("teeth", type_="integer", lower_bound=8, upper_bound=40, value=12)
    problem = OptimizationProblem(space)
    problem.objective = MDOFunction(lambda x: np.atleast_1d((x[0] - 23.4) ** 2), "miss")
    _, result = solved(problem, 25)
    assert result.x_opt[0] == 23


def test_its_own_criteria_end_the_run():
    problem = beam_problem()
    solved(problem, 200, ftol_abs=1.0, stop_crit_n_x=5)
    assert len(problem.database) < 50


def parabola(value, failures):
    """A minimum at (2, 1) with no active constraint; the first calls return this value."""
    calls = []

    def height(x):
        calls.append(x)
        return np.atleast_1d(value if len(calls) <= failures else (x[0] - 2) ** 2 + (x[1] - 1) ** 2)

    space = DesignSpace()
    for name in "xy":
        space.add_variable(name, lower_bound=-3.0, upper_bound=3.0, value=0.0)
    problem = OptimizationProblem(space)
    problem.objective = MDOFunction(height, "height")
    problem.add_constraint(MDOFunction(lambda x: np.atleast_1d(-1.0), "limit"), constraint_type="ineq")
    return problem


@pytest.mark.parametrize("value", [math.nan, -math.inf, math.inf])
def test_a_value_that_is_not_finite_never_wins(value):
    problem = parabola(value, failures=5)
    library, result = solved(problem)
    np.testing.assert_allclose(result.x_opt, [2.0, 1.0], atol=1e-3)
    assert math.isfinite(problem.optimum.objective)
    assert library.found.nfev == 60


@pytest.mark.parametrize("value", [math.nan, -math.inf, math.inf])
def test_no_answer_is_given_where_no_value_is_finite(value):
    _, result = solved(parabola(value, failures=10**6))
    assert (result.x_opt, result.f_opt, result.is_feasible) == (None, None, False)
