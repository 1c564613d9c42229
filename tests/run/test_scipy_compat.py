"""What people bring from SciPy: keywords, seeds, callbacks; and what contradicts itself is refused."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco import Method, Tolerances, Workers
from meco.errors import InvalidInput, MecoError
from meco.methods import DEFAULT
from small_runs import BOX, named

QUICK = {"method": "SHADE-FR", "budget": 60, "seed": 1}


class Sum:
    """x0 + x1 + x2 between limits, as SciPy's LinearConstraint says it."""

    A = np.ones((1, 3))

    def __init__(self, lb, ub):
        self.lb, self.ub = lb, ub


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"tolerances": Tolerances(names=["a"]), "evaluated": ([[0.0] * 3], [1.0], [[1.0, 2.0]])},
            "1 names, but evaluated has 2",
        ),
        ({"tolerances": Tolerances(names=["a"], ineq={"b": 1.0})}, "no constraint"),
        ({"workers": Workers(batch=4)}, "SHADE-FR has no option 'batch'"),
        ({"method": Method(DEFAULT, batch=0)}, "batch must be at least 1"),
        ({"method": Method(DEFAULT, pop_size=9)}, f"{DEFAULT} has no option 'pop_size'"),
        ({"method": Method("TR-ES", batch=0)}, "batch must be at least 1"),
        ({"method": Method("TR-ES", pop_size=9)}, "TR-ES has no option 'pop_size'"),
        ({"seed": "one"}, "whole number or a NumPy generator"),
        ({"callback": lambda x, convergence: None}, r"got one that takes \(x, convergence\)"),
    ],
)
def test_contradictions_are_refused_before_the_first_call(change, words):
    calls = []
    with pytest.raises(InvalidInput, match=words):
        meco.minimize(lambda x: calls.append(x), **{"bounds": BOX, **QUICK, **change})
    assert calls == []


@pytest.mark.parametrize(
    ("keyword", "way_out"),
    [
        ("args", "functools.partial"),
        ("maxiter", "budget="),
        ("maxfev", "budget="),
        ("max_iter", "budget="),
        ("termination", "budget is spent"),
        ("storage", "checkpoint=folder"),
        ("polish", "there is no last step"),
        ("save_history", "result.evaluations"),
        ("rhobeg", "x0="),
        ("options", "keywords"),
        ("tol", "target="),
        ("popsize", "method=Method"),
        ("rng", "seed= takes"),
        ("integrality", "Variable"),
        ("disp", r"meco.Progress\(\)"),
        ("n_jobs", "workers="),
        ("direction", "return -f"),
    ],
)
def test_a_keyword_of_scipy_is_answered_with_what_does_its_work(keyword, way_out):
    with pytest.raises(TypeError, match=f"minimize has no keyword '{keyword}': .*{way_out}"):
        meco.minimize(named, BOX, **{keyword: 3})


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState, np.random.SeedSequence])
def test_seeds_come_from_generators_too(source):
    one = meco.minimize(named, BOX, **{**QUICK, "seed": source(4)})
    same = meco.minimize(named, BOX, seed=source(4), method="SHADE-FR", budget=60)
    assert_array_equal(one.evaluations.x, same.evaluations.x)
    assert_array_equal(one.x, meco.minimize(named, BOX, **{**QUICK, "seed": one.run.seed}).x)
    assert meco.Optimizer(BOX, seed=source(4)).request.seed == one.run.seed


def test_callbacks_are_called_as_scipy_calls_them():
    seen = []

    def by_keyword(*, intermediate_result):
        seen.append(intermediate_result.fun)

    meco.minimize(named, BOX, callback=by_keyword, **QUICK)
    meco.minimize(named, BOX, callback=lambda result, also=1: seen.append(result.x), **QUICK)
    meco.minimize(named, BOX, callback=partial(lambda a, result: seen.append(result.x), 1), **QUICK)
    assert len(seen) == 6


def test_a_callback_of_xk_gets_the_point_as_scipys_does():
    seen = []

    def note(xk):
        seen.append(xk)

    meco.minimize(lambda x: float(x @ x), [(-1, 1)] * 2, budget=20, seed=1, callback=note)
    assert all(isinstance(x, np.ndarray) and x.shape == (2,) for x in seen)


@pytest.mark.parametrize("keyword", ["names", "x_names", "variable_names"])
def test_who_looks_for_names_of_variables_is_told_where_they_are(keyword):
    with pytest.raises(TypeError, match=r'bounds=\{"width": \(0, 2, "mm"\)'):
        meco.minimize(lambda x: float(x @ x), [(-1, 1)] * 2, **{keyword: ["a", "b"]})


def test_a_starting_point_in_the_place_of_the_bounds_is_told_where_it_belongs():
    fun = lambda x: float(x @ x)  # noqa: E731
    with pytest.raises(TypeError, match=r"minimize\(fun, bounds, ...\) got bounds twice.* points to begin at are x0="):
        meco.minimize(fun, np.zeros(3), bounds=BOX)
    with pytest.raises(InvalidInput, match="x0="):
        meco.minimize(fun, np.zeros(3))
    with pytest.raises(InvalidInput, match="got bounds twice"):
        meco.Optimizer(BOX, bounds=BOX)


@pytest.mark.parametrize(
    ("method", "said"),
    [("Nelder-Mead", "leave method= out"), ("L-BFGS-B", "leave method= out"), ("differential_evolution", "'SciPy-DE'")],
)
def test_a_method_of_scipys_own_is_told_what_to_do_without_it(method, said):
    with pytest.raises(MecoError, match=f"no method named '{method}', which is one of SciPy's: .*{said}"):
        meco.minimize(np.sum, BOX, method=method)


def test_one_limit_for_all_is_that_of_every_variable_of_the_starting_point():
    bounds = SimpleNamespace(lb=np.array([-5.0]), ub=np.array([5.0]))
    assert meco.minimize(np.sum, bounds, x0=[1.0, 2.0, 3.0], budget=12, seed=1).x.shape == (3,)
    assert meco.minimize(np.sum, bounds, x0=[1.0], budget=12, seed=1).x.shape == (1,)
    assert meco.minimize(np.sum, bounds, budget=12, seed=1).x.shape == (1,)


def test_limits_of_a_constraint_that_do_not_fit_each_other_are_refused():
    limited = SimpleNamespace(fun=lambda x: x, lb=[0.0, 0.0], ub=[1.0, 1.0, 1.0])
    with pytest.raises(InvalidInput, match=r"constraints\[0\]: lb has 2 limits and ub 3: give as many, or one for all"):
        meco.minimize(np.sum, BOX, limited)


def test_the_package_says_how_to_maximise_and_names_the_nearest():
    with pytest.raises(AttributeError, match=r"'maximize': f is minimised, so give minimize\(\) a function .* -f"):
        meco.maximize
    with pytest.raises(AttributeError, match="did you mean 'minimize'"):
        meco.minimise
    assert not hasattr(meco, "__wrapped__")
