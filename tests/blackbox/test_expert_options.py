"""What experts ask for: a converged stop, multipliers, linear rows, scales, constraints never violated, noise."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.blackbox.repeats import means, settled
from meco.engines.model.trust_region import TrustRegion
from meco.errors import InvalidInput

BOX = [(-2.0, 2.0)] * 3
TRIANGLE = np.array([[1.0, 2.0], [1.0, -2.0], [-1.0, -2.0]])
SIDES = np.array([6.0, 2.0, -2.0])


def bowl(x):
    return float(x @ x), [1.0 - x[0]]


def noted(fun):
    seen = []

    def call(x):
        seen.append(x)
        return fun(x)

    call.seen = seen
    return call


# -- stopping -----------------------------------------------------------------------------------


def test_a_converged_search_stops_at_a_feasible_point_and_says_so():
    result = meco.minimize(bowl, BOX, stop="converged", seed=1)
    assert result.stop_reason == "converged"
    assert "has converged at a feasible point" in result.message
    assert result.nfev < 150
    assert_allclose(result.fun, 1.0, atol=1e-6)


def test_a_region_that_converges_where_constraints_are_violated_does_not_stop():
    result = meco.minimize(lambda x: (float(x @ x), [1.0 + x[0] ** 2]), BOX, stop="converged", budget=120, seed=1)
    assert (result.stop_reason, result.nfev) == ("budget", 120)


def test_only_methods_that_can_tell_stop_when_converged():
    with pytest.raises(InvalidInput, match="TR, TR-ES or MeCO-TR; SHADE cannot"):
        meco.minimize(bowl, BOX, stop="converged", method="SHADE")


# -- multipliers --------------------------------------------------------------------------------


def test_multipliers_are_those_of_the_optimum_in_the_users_units():
    """min (x - 3)^2 with 1000 (x - 1) <= 0: lambda is 4 / 1000; a constraint far from active has none."""

    def fun(x):
        return {
            "f": (x[0] - 3.0) ** 2 + x[1] ** 2,
            "g": {"wall": 1e3 * (x[0] - 1.0), "far": x[1] - 50.0},
            "h": {"tie": x[1] - 1.0},
        }

    result = meco.minimize(fun, [(-5, 5)] * 2, budget=100, seed=1, eq_tol=1e-6)
    assert_allclose(result.multipliers["wall"], 4e-3, rtol=1e-2)
    assert_allclose(result.multipliers["tie"], -2.0, rtol=1e-2)
    assert result.multipliers["far"] == 0.0
    assert json.dumps(result.summary()["multipliers"])


def test_methods_without_models_have_no_multipliers_and_neither_has_a_run_under_way():
    assert meco.minimize(bowl, BOX, method="SHADE", budget=60, seed=1).multipliers is None
    told = []
    meco.minimize(bowl, BOX, budget=20, seed=1, callback=lambda result: told.append(result.multipliers))
    assert set(told) == {None}


# -- linear constraints -------------------------------------------------------------------------


def target(x):
    return float((x[0] - 4.0) ** 2 + (x[1] - 2.0) ** 2)


def test_linear_constraints_are_the_models_of_the_search(monkeypatch):
    gradients = []
    place = TrustRegion._place
    monkeypatch.setattr(
        TrustRegion, "_place", lambda self, view: (gradients.append(self.region.models), place(self, view))[1]
    )
    result = meco.minimize(target, [(0, 5)] * 2, meco.LinearConstraint(TRIANGLE, ub=SIDES), budget=40, seed=1)
    assert result.feasible
    for models in gradients:
        assert_array_equal(models.gradient[0, 1:], 5.0 * TRIANGLE)
        assert_array_equal(models.hessian[0, 1:], 0.0)


def test_scipys_object_and_ours_make_the_same_search():
    optimize = pytest.importorskip("scipy.optimize")
    runs = [
        meco.minimize(target, [(0, 5)] * 2, kind(TRIANGLE, -np.inf, SIDES), budget=40, seed=1)
        for kind in (optimize.LinearConstraint, meco.LinearConstraint)
    ]
    assert_array_equal(runs[0].evaluations.x, runs[1].evaluations.x)
    assert list(runs[0].constr) == [f"constraints[0] g{i}" for i in (1, 2, 3)]


def test_rows_with_two_sides_equalities_and_other_constraints_between_find_their_places():
    both = meco.LinearConstraint([[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]], lb=[0.5, 0.25], ub=[1.5, 0.25])
    result = meco.minimize(
        lambda x: {"f": float(x @ x), "g": {"own": x[0] ** 2 - 3.0}}, BOX, [lambda x: x[2] ** 2 - 2.0, both],
        budget=80, seed=1,
    )  # fmt: skip
    assert result.feasible
    x = result.x
    expected = [x[0] ** 2 - 3, x[2] ** 2 - 2, x[0] + x[1] - 1.5, 0.5 - x[0] - x[1], x[1] - x[2] - 0.25]
    assert_allclose([c["value"] for c in result.constr.values()], expected, atol=1e-12)
    assert_allclose(result.fun, 0.125, atol=1e-3)  # (1/4, 1/4, 0)


# -- a logarithmic scale ------------------------------------------------------------------------


def test_a_logarithmic_variable_is_searched_by_its_exponent():
    def fun(x):
        return (np.log10(x[0]) + 4.0) ** 2 + (x[1] - 0.5) ** 2

    result = meco.minimize(fun, [(1e-8, 1.0), (0.0, 1.0)], log=[True, False], budget=60, seed=1)
    assert_allclose(result.x, [1e-4, 0.5], rtol=1e-3)
    assert_allclose(result.evaluations.x[0], [1e-4, 0.5])  # the middle of both scales
    assert result.evaluations.x.min() >= 0.0
    assert result.evaluations.x[:, 0].min() >= 1e-8


def test_starting_points_on_a_logarithmic_scale_are_evaluated_exactly():
    x0 = [[0.3, 0.1], [7e-7, 0.2]]
    result = meco.minimize(lambda x: float(x @ x), [(1e-8, 1.0), (0.0, 1.0)], log=[1, 0], x0=x0, budget=30, seed=1)
    assert_array_equal(result.evaluations.x[:2], x0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"log": [True, False]}, "bounds of variable 0 must be above 0"),
        ({"log": [True]}, "2 values True"),
        ({"log": ["x0"]}, "2 values True"),
        ({"bounds": [(1, 9), (1, 9)], "log": True, "integrality": [True, False]}, "variable 0 is a whole number"),
    ],
)
def test_impossible_scales_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        meco.minimize(bowl, **{"bounds": [(0, 1), (1, 9)], **options})


def test_an_optimizer_keeps_its_scales_in_its_state():
    search = meco.Optimizer([(1e-6, 1.0)] * 2, budget=30, log=True, seed=1)
    x = search.ask()
    search.tell(x, x.sum(axis=1))
    again = meco.Optimizer.from_state(search.state())
    assert_array_equal(again.ask(), search.ask())


# -- constraints that are never violated --------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_no_point_outside_linear_constraints_is_evaluated_where_that_is_forbidden(seed, batch):
    fun = noted(target)
    limits = meco.LinearConstraint(TRIANGLE, ub=SIDES, keep_feasible=True)
    result = meco.minimize(fun, [(0, 5)] * 2, limits, budget=60, batch=batch, seed=seed)
    assert np.max(np.array(fun.seen) @ TRIANGLE.T - SIDES) <= 1e-9
    assert_allclose(result.fun, 0.8, atol=5e-3)  # the distance of (4, 2) from x + 2 y = 6


def test_linear_equalities_hold_at_every_evaluation():
    fun = noted(lambda x: float(x @ x))
    tie = meco.LinearConstraint([[1.0, -1.0, 0.0]], 0.5, 0.5, keep_feasible=True)
    result = meco.minimize(fun, BOX, tie, budget=60, seed=1)
    assert np.max(np.abs(np.array(fun.seen) @ [1.0, -1.0, 0.0] - 0.5)) <= 1e-9
    assert_allclose(result.fun, 0.125, atol=1e-5)


def test_whole_numbers_stay_inside_linear_constraints_too():
    fun = noted(target)
    limits = meco.LinearConstraint(TRIANGLE, ub=SIDES, keep_feasible=True)
    meco.minimize(fun, [(0, 5)] * 2, limits, integrality=[True, False], budget=40, seed=1)
    assert np.max(np.array(fun.seen) @ TRIANGLE.T - SIDES) <= 1e-9


def test_a_search_that_looks_for_a_first_answer_stays_inside():
    fun = noted(lambda x: target(x) if x[1] < 1.0 else None)
    limits = meco.LinearConstraint(TRIANGLE, ub=SIDES, keep_feasible=True)
    meco.minimize(fun, [(0, 5)] * 2, limits, budget=40, seed=1)
    assert np.max(np.array(fun.seen) @ TRIANGLE.T - SIDES) <= 1e-9


def disc(x):
    return {"f": float(-x[0] - x[1]), "g": {"disc": float(x @ x - 1.0), "soft": x[0] - 0.9}}


@pytest.mark.parametrize("seed", range(3))
def test_models_keep_a_search_inside_a_constraint_almost_always(seed):
    """Of 100 evaluations around an optimum on the border a few cross it, by little."""
    fun = noted(disc)
    result = meco.minimize(fun, [(-2, 2)] * 2, x0=[0.0, 0.0], keep_feasible=["disc"], budget=100, seed=seed)
    over = np.sum(np.array(fun.seen) ** 2, axis=1) - 1.0
    free = noted(disc)
    meco.minimize(free, [(-2, 2)] * 2, x0=[0.0, 0.0], budget=100, seed=seed)
    assert_allclose(result.fun, -np.sqrt(2.0), atol=1e-3)
    assert (over > 0).sum() <= 10
    assert over.max() < 0.01
    assert np.max(np.sum(np.array(free.seen) ** 2, axis=1) - 1.0) > 0.1  # which is not so without it


def test_what_must_be_kept_is_known_by_scipys_constraints_too():
    fun = noted(lambda x: float(-x[0] - x[1]))
    ring = SimpleNamespace(fun=lambda x: x @ x, lb=-np.inf, ub=1.0, keep_feasible=True)
    result = meco.minimize(fun, [(-2, 2)] * 2, ring, x0=[0.0, 0.0], budget=80, seed=1)
    assert list(result.constr) == ["constraints[0] g1"]
    assert np.max(np.sum(np.array(fun.seen) ** 2, axis=1)) < 1.05


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"keep_feasible": True}, "give x0="),
        ({"keep_feasible": "disc", "x0": [0, 0]}, "a list of names"),
        ({"keep_feasible": ["disk"], "x0": [0, 0]}, "did you mean 'disc'"),
        ({"keep_feasible": ["disc"], "x0": [0, 0], "method": "SHADE"}, "a method with models"),
        ({"constraints": meco.LinearConstraint([[1, 0]], ub=[0], keep_feasible=True), "x0": [1, 0]}, "violates"),
        ({"constraints": [meco.LinearConstraint([[1, 1]], 3, 3, True), meco.LinearConstraint([[1, -1]], 2, 2, True)]},
         "no common point"),
    ],
)  # fmt: skip
def test_impossible_promises_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        meco.minimize(disc, [(-2, 2)] * 2, budget=20, seed=1, **options)


def test_an_equality_that_is_not_linear_cannot_be_promised():
    with pytest.raises(InvalidInput, match="tie is an equality"):
        meco.minimize(
            lambda x: {"f": float(x @ x), "h": {"tie": x[0] * x[1]}}, [(-2, 2)] * 2, x0=[0, 0], keep_feasible=["tie"],
            budget=20,
        )  # fmt: skip


# -- noise --------------------------------------------------------------------------------------


def noisy(seed):
    rng = np.random.default_rng(seed)
    return lambda x: (float(x @ x) + 0.1 * rng.normal(), [1.0 - x[0] + 0.01 * rng.normal()])


def test_the_best_point_of_a_noisy_function_is_called_again_within_the_budget():
    fun = noted(noisy(0))
    result = meco.minimize(fun, BOX, budget=100, repeats=20, seed=1)
    assert len(fun.seen) == result.nfev == 100
    again = result.repeated
    same = [i for i, x in enumerate(result.evaluations.x) if np.array_equal(x, result.x)]
    f = result.evaluations.f[same]
    assert again["calls"] == len(same) >= 4
    assert_allclose([result.fun, again["mean"], again["spread"]], [f.mean(), f.mean(), f.std(ddof=1)])
    assert_allclose(result.constr["g1"]["value"], result.evaluations.g[same].mean())
    assert f"the mean of {len(same)} calls" in result.message


def test_a_mean_lies_nearer_to_the_truth_than_the_least_of_many_values():
    def bias(**options):
        runs = [meco.minimize(noisy(s), BOX, budget=100, seed=s, ineq_tol=0.05, **options) for s in range(6)]
        return np.mean([r.fun - r.x @ r.x for r in runs])

    assert bias() < -0.12
    assert abs(bias(repeats=20)) < 0.06


def test_repeats_are_refused_where_the_budget_has_no_room():
    with pytest.raises(InvalidInput, match="less than half of the budget"):
        meco.minimize(bowl, BOX, budget=20, repeats=10)


def test_a_run_with_repeats_resumes_with_what_it_recorded(tmp_path):
    whole = meco.minimize(noisy(0), BOX, budget=60, repeats=10, seed=1, checkpoint=tmp_path / "run")
    again = meco.minimize(noisy(1), BOX, budget=60, seed=1, checkpoint=tmp_path / "run", resume=True)
    assert_array_equal(again.evaluations.f, whole.evaluations.f)
    assert again.repeated["calls"] == whole.repeated["calls"]


def test_means_and_spreads_of_repeated_points():
    every = SimpleNamespace(
        x=np.array([[0.0], [1.0], [0.0], [2.0]]), f=np.array([1.0, 2.0, 3.0, 0.0]), g=np.zeros((4, 0)),
        h=np.zeros((4, 0)), failed=np.array([False, False, False, True]),
    )  # fmt: skip
    found = means(every)
    assert_array_equal(found.calls, [2, 1])
    assert_array_equal(found.mean[0], [2.0, 2.0])
    assert_allclose(found.spread[0], [np.sqrt(2.0), 0.0])
    assert settled(every, (0.0, 0.0)).x == [0.0]


def test_the_printed_result_tells_how_often_the_search_began():
    result = meco.minimize(bowl, BOX, budget=150, seed=1)
    assert f"starts: {result.starts}" in repr(result)
    assert result.starts == result.trace["starts"][-1] + 1


def test_the_command_line_knows_these_options_and_resumes_with_them(tmp_path, monkeypatch):
    from meco.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "disc.py").write_text(
        'def disc(x):\n    return {"f": -x[0] - x[1], "g": {"disc": float(x @ x) - 1.0}}\n', encoding="utf-8"
    )
    asked = "solve disc.py:disc --bounds 0.01,2 0.01,2 --x0 0.1,0.1 --log 0,1 --keep disc --repeats 5 --budget 40"
    assert main([*asked.split(), "--seed", "1", "--checkpoint", "run", "--quiet"]) == 0
    inputs = json.loads((tmp_path / "run" / "run.json").read_text())["inputs"]
    assert (inputs["log"], inputs["keep_feasible"], inputs["repeats"]) == ([True, True], ["disc"], 5)
    assert main(["resume", "run", "--stop", "converged", "--quiet"]) == 0


def test_a_search_that_ends_early_still_calls_its_best_point_again():
    result = meco.minimize(noisy(0), BOX, budget=200, repeats=8, target=3.0, seed=1)
    assert result.stop_reason == "target"
    assert result.repeated["calls"] >= 4
    assert result.nfev < 150
