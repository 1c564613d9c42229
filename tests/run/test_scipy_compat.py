"""What people bring from SciPy: keywords, seeds, callbacks; and what contradicts itself is refused."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco import Method, Tolerances, Workers
from meco.errors import InvalidInput
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
        ({"constraints": Sum(16.0, np.inf)}, "between -15 and 15 within the bounds"),
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
