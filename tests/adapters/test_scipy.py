"""SciPy's door: the constrained examples of its tutorial, and what it asks of a method."""

import numpy as np
import pytest

optimize = pytest.importorskip("scipy.optimize")

import meco  # noqa: E402
from meco.errors import InvalidInput  # noqa: E402


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def solved(fun, x0, **given):
    options = {"seed": 1} | given.pop("options", {"budget": 80})
    found = optimize.minimize(fun, x0, method=meco.scipy_method, options=options, **given)
    assert isinstance(found, optimize.OptimizeResult)
    assert found.success, found.message
    return found


def test_the_tutorials_rosenbrock_with_linear_and_nonlinear_constraints():
    linear = optimize.LinearConstraint([[1, 2], [2, 1]], [-np.inf, 1], [1, 1])
    curved = optimize.NonlinearConstraint(lambda x: [x[0] ** 2 + x[1], x[0] ** 2 - x[1]], -np.inf, 1)
    box = optimize.Bounds([0, -0.5], [1.0, 2.0])
    found = solved(rosenbrock, [0.5, 0], bounds=box, constraints=[linear, curved])
    np.testing.assert_allclose(found.x, [0.41494531, 0.17010937], atol=1e-3)


def test_the_same_with_dict_constraints():
    constraints = [
        {"type": "ineq", "fun": lambda x: np.array([1 - x[0] - 2 * x[1], 1 - x[0] ** 2 - x[1], 1 - x[0] ** 2 + x[1]])},
        {"type": "eq", "fun": lambda x: np.array([2 * x[0] + x[1] - 1])},
    ]
    found = solved(rosenbrock, [0.5, 0], bounds=[(0, 1), (-0.5, 2)], constraints=constraints)
    np.testing.assert_allclose(found.x, [0.41494531, 0.17010937], atol=1e-3)


def test_the_quadratic_of_minimize_with_its_half_planes():
    constraints = [
        {"type": "ineq", "fun": lambda x, a=a, b=b, c=c: a * x[0] + b * x[1] + c}
        for a, b, c in ((1, -2, 2), (-1, -2, 6), (-1, 2, 2))
    ]
    found = solved(lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2, (2, 0), bounds=[(0, 10)] * 2, constraints=constraints)
    np.testing.assert_allclose(found.x, [1.4, 1.7], atol=1e-3)


def test_the_linear_program():
    c, box = np.array([29.0, 45.0, 0.0, 0.0]), [(0, 100), (0, 6), (-100, 0.5), (-3, 100)]
    below, most = np.array([[1.0, -1.0, -3.0, 0.0], [-2.0, 3.0, 7.0, -3.0]]), np.array([5.0, -10.0])
    equal, value = np.array([[2.0, 8.0, 1.0, 0.0], [4.0, 4.0, 0.0, 1.0]]), np.array([60.0, 60.0])
    answer = optimize.linprog(c, below, most, equal, value, bounds=box)
    limits = [optimize.LinearConstraint(below, -np.inf, most), optimize.LinearConstraint(equal, value, value)]
    found = solved(lambda x: c @ x, np.zeros(4), bounds=box, constraints=limits, options={"budget": 60})
    np.testing.assert_allclose(found.x, answer.x, atol=1e-3)
    assert found.fun == pytest.approx(answer.fun, rel=1e-3)


def test_the_knapsack_with_parts_of_things():
    sizes, values = np.array([21, 11, 15, 9, 34, 25, 41, 52]), np.array([22, 12, 16, 10, 35, 26, 42, 53])
    room = optimize.LinearConstraint(sizes, 0, 100)
    found = solved(lambda x: -(values @ x), np.zeros(8), bounds=optimize.Bounds(0, 1), constraints=room)
    answer = optimize.milp(-values, constraints=room, bounds=optimize.Bounds(0, 1))
    assert found.fun == pytest.approx(answer.fun, rel=1e-3)


def test_the_knapsack_with_integer_things():
    sizes, values = np.array([21, 11, 15, 9, 34, 25, 41, 52]), np.array([22, 12, 16, 10, 35, 26, 42, 53])
    room = optimize.LinearConstraint(sizes, 0, 100)
    box = optimize.Bounds(0, 1)
    found = solved(
        lambda x: -(values @ x),
        np.zeros(8),
        bounds=box,
        constraints=room,
        options={"integrality": True, "budget": 200},
    )
    answer = optimize.milp(-values, constraints=room, bounds=box, integrality=np.ones(8))
    assert found.fun == answer.fun == -105.0


@pytest.mark.parametrize(
    "bounds", [None, [(0, None), (None, 9)], [(0, np.inf), (0, 1)], optimize.Bounds(), optimize.Bounds(0, [2, np.inf])]
)
def test_bounds_that_are_missing_are_not_needed(bounds):
    options = {"budget": 50, "method": "TR", "seed": 1}
    found = optimize.minimize(
        lambda x: ((x - 1) ** 2).sum(), [0, 0], method=meco.scipy_method, bounds=bounds, options=options
    )
    assert found.fun < 1e-6


def test_a_method_that_needs_a_box_asks_for_bounds():
    with pytest.raises(InvalidInput, match="give finite ones, or use one of TR, SLSQP"):
        optimize.minimize(rosenbrock, [0, 0], method=meco.scipy_method, options={"method": "SHADE"})


def test_a_wrong_number_of_bounds_is_named():
    with pytest.raises(InvalidInput, match="x0 has 3 variables, so bounds must be 3 pairs; got 2"):
        optimize.minimize(rosenbrock, [0, 0, 0], method=meco.scipy_method, bounds=[(0, 1)] * 2)


def test_arguments_start_and_number_of_calls():
    seen = []

    def shifted(x, a, b):
        seen.append(x.copy())
        return (x[0] - a) ** 2 + (x[1] - b) ** 2

    found = solved(shifted, [0.5, 9.0], args=(0.2, 0.3), bounds=[(0, 1)] * 2, options={"maxfev": 60})
    np.testing.assert_array_equal(seen[0], [0.5, 1.0])  # x0, moved into the box
    assert found.nfev == len(seen) == 60
    np.testing.assert_allclose(found.x, [0.2, 0.3], atol=1e-3)


def test_a_function_that_also_gives_its_gradient():
    found = solved(lambda x: (x @ x, 2 * x), [1.0, 1.0], jac=True, bounds=[(-2, 2)] * 2)
    np.testing.assert_allclose(found.x, 0.0, atol=1e-3)


def test_a_tolerance_that_does_nothing_says_so_and_names_those_that_do():
    with pytest.warns(UserWarning, match=r"tol=1e-08 does nothing: .*'budget'.*options=\{'tolerances': 1e-6\}"):
        solved(lambda x: float(x @ x), [1.0, 1.0], bounds=[(-2, 2)] * 2, tol=1e-8)
    disc = optimize.NonlinearConstraint(lambda x: x @ x, 1.0, 1.0)
    options = {"budget": 150, "tolerances": meco.Tolerances(eq=1e-8)}
    assert solved(lambda x: x[0], [1.0, 1.0], bounds=[(-2, 2)] * 2, constraints=disc, options=options).maxcv <= 1e-8


def test_a_callback_of_either_form_and_the_end_it_asks_for():
    points, results = [], []
    solved(lambda x: x @ x, [1.0], bounds=[(-2, 2)], callback=lambda xk: points.append(xk), options={"budget": 20})
    assert points
    assert all(p.shape == (1,) for p in points)

    def stop(intermediate_result):
        results.append(intermediate_result.fun)
        raise StopIteration

    found = solved(lambda x: x @ x, [1.0], bounds=[(-2, 2)], callback=stop)
    assert (len(results), found.meco.run.stop_reason) == (1, "callback")


def test_options_of_scipys_methods_are_taken_or_warned_of():
    def run(**options):
        return optimize.minimize(
            lambda x: float(x @ x), [0.5, 0.5], method=meco.scipy_method, bounds=[(-1, 1)] * 2, options=options
        )

    with pytest.warns(UserWarning, match="maxiter=12 is used as maxfev"):
        assert run(maxiter=12).nfev == 12
    assert run(maxiter=30, maxfev=10).nfev == 10
    with pytest.warns(UserWarning, match="ftol=1e-09 does nothing"):
        assert run(ftol=1e-9, budget=10).nfev == 10


@pytest.mark.parametrize("kind", ["eq", "ineq"])
def test_constraints_are_kept_as_closely_as_by_the_methods_of_scipy(kind):
    found = solved(
        lambda x: (x - 2) @ (x - 2), [1.0, 1.0], bounds=[(-2, 2)] * 2,
        constraints={"type": kind, "fun": lambda x: 1.0 - x @ x}, options={"budget": 100},
    )  # fmt: skip
    assert found.maxcv <= 1e-8
    assert found.meco.constraints["h1" if kind == "eq" else "g1"].tolerance == 1e-8
    assert found.fun == pytest.approx(2 * (2 - 0.5**0.5) ** 2, abs=1e-6)


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
def test_a_value_that_is_not_finite_never_wins(value):
    calls = []

    def fails_first(x):
        calls.append(x)
        return value if len(calls) <= 5 else float((x - 1) @ (x - 1))

    np.testing.assert_allclose(solved(fails_first, [0.0, 0.0], bounds=[(-3, 3)] * 2).x, 1.0, atol=1e-3)


def test_the_callback_is_called_once_per_evaluation():
    points = []
    options = {"budget": 20}
    found = solved(lambda x: float(x @ x), [1.0, 1.0], bounds=[(-2, 2)] * 2, callback=points.append, options=options)
    assert len(points) == found.nfev


def test_a_starting_point_outside_the_bounds_begins_at_them_and_says_so():
    with pytest.warns(UserWarning, match="x0 lies outside the bounds and begins at them: variable 1 is 9, now 1"):
        found = optimize.minimize(
            lambda x: float(x @ x), [0.5, 9.0], method=meco.scipy_method, bounds=[(-1, 1)] * 2,
            options={"budget": 15, "seed": 1},
        )  # fmt: skip
    assert found.meco.evaluations.x[0].tolist() == [0.5, 1.0]
