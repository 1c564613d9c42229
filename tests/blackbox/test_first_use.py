"""What someone meets who knows nothing about us: the default, tolerances, typing errors, SciPy's habits, batches."""

from __future__ import annotations

import csv
import inspect
import io
import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.blackbox.answers import EvaluationFailed
from meco.cli import main
from meco.errors import InvalidInput
from meco.methods import DEFAULT

BOX = [(-5.0, 5.0)] * 3
QUICK = {"method": "SHADE-FR", "budget": 60, "seed": 1}


def named(x):
    return {"f": x @ x, "g": {"reach": 1.0 - x[0], "height": x[1] - 3.0}, "h": {"level": x[1] - x[2]}}


# -- the default --------------------------------------------------------------------------------------------------


def test_every_door_uses_the_same_default():
    for door in (meco.minimize, meco.Optimizer.__init__):
        assert inspect.signature(door).parameters["method"].default == DEFAULT
    assert meco.minimize(named, BOX, budget=40, seed=1).method == DEFAULT
    assert meco.Optimizer(BOX).request.method == DEFAULT


@pytest.mark.parametrize("seed", range(5))
def test_the_default_solves_the_problem_on_which_peers_were_better(seed):
    result = meco.minimize(lambda x: (x @ x, [1.0 - x[0]], [x[1] - x[2]]), BOX, budget=150, seed=seed)
    assert result.feasible
    assert_allclose(result.fun, 1.0, rtol=1e-4)


def test_the_default_does_not_depend_on_the_units_of_a_constraint():
    def scaled(factor):
        return meco.minimize(lambda x: (x @ x, [factor * (1.0 - x[0])]), BOX, budget=90, seed=1)

    kilo, plain = scaled(2.0**20), scaled(1.0)
    assert_allclose(kilo.fun, plain.fun, rtol=1e-6)


def test_a_resumed_run_keeps_the_method_and_tolerances_that_it_recorded(tmp_path):
    folder = tmp_path / "run"
    options = {"method": "SHADE-FR", "budget": 60, "seed": 3, "ineq_tol": 0.0, "eq_tol": [0.1], "on_error": "retry"}
    first = meco.minimize(named, BOX, checkpoint=folder, **options)
    again = meco.minimize(named, BOX, checkpoint=folder, resume=True)
    assert again.method == "SHADE-FR"
    assert_array_equal(again.evaluations.x, first.evaluations.x)


def test_too_few_evaluations_for_the_variables_are_mentioned():
    with pytest.warns(UserWarning, match="20 evaluations are few for 10 variables"):
        result = meco.minimize(lambda x: x @ x, [(-1, 1)] * 10, budget=20, seed=1)
    assert "few for 10 variables" in result.message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meco.minimize(lambda x: x @ x, [(-1, 1)] * 10, budget=31, seed=1)
        meco.minimize(lambda x: x @ x, [(-1, 1)] * 10, budget=20, seed=1, method="SHADE-FR")


def test_a_search_that_begins_again_says_how_often():
    def crossed(x):
        return np.sum(x * x - 3 * np.cos(2 * np.pi * x))

    result = meco.minimize(crossed, BOX[:2], budget=400, seed=1)
    assert result.starts == result.trace["starts"][-1] + 1 > 1
    assert meco.minimize(crossed, BOX[:2], **QUICK).starts == 1


# -- feasible means feasible --------------------------------------------------------------------------------------


def table(rows):
    """A function that gives these (f, g) one after the other."""
    left = iter(rows)

    def fun(x):
        f, g = next(left)
        return f, {"stress": g}

    return fun


def test_a_point_that_keeps_every_limit_goes_before_a_better_one_within_the_tolerance():
    result = meco.minimize(table([(1.0, 5e-9), (2.0, 0.0), (3.0, -1.0)]), [(0, 1)], **{**QUICK, "budget": 3})
    assert (result.fun, result.maxcv, result.status) == (2.0, 0.0, 0)
    assert "tolerance" not in result.message


def test_a_point_within_the_tolerance_is_the_answer_when_there_is_no_better():
    result = meco.minimize(table([(1.0, 5e-9), (0.5, 2e-8)]), [(0, 1)], **{**QUICK, "budget": 2})
    assert (result.fun, result.success) == (1.0, True)
    assert "stress is over by 5e-09, within the tolerance of 1e-08" in result.message
    assert "stress: 5e-09 over by 5e-09, within the tolerance of 1e-08" in repr(result)


def test_an_answer_of_cobyqa_is_feasible_as_scipy_says_it_is():
    pytest.importorskip("scipy")
    for seed in range(3):
        result = meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), BOX, method="COBYQA", budget=60, seed=seed)
        assert result.success, result.message
        assert_allclose(result.fun, 1.0, atol=1e-3)


def test_most_of_a_small_budget_of_cobyqa_is_for_its_search():
    pytest.importorskip("scipy")
    result = meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), BOX, method="COBYQA", budget=60, seed=1)
    near = np.linalg.norm(result.evaluations.x - [1.0, 0.0, 0.0], axis=1) < 0.1
    assert near.sum() > 10


@pytest.mark.parametrize(
    ("tolerances", "wanted"),
    [
        ({"eq_tol": 0.5, "ineq_tol": 0.25}, [0.25, 0.25, 0.5]),
        ({"eq_tol": [0.5], "ineq_tol": [0.25, 0.125]}, [0.25, 0.125, 0.5]),
        ({"eq_tol": {"level": 0.5}, "ineq_tol": {"height": 0.125}}, [1e-8, 0.125, 0.5]),
        ({}, [1e-8, 1e-8, 1e-4]),
    ],
)
@pytest.mark.parametrize("method", ["SHADE-FR", DEFAULT, "TR-ES", "COLSHADE"])
def test_tolerances_are_numbers_lists_or_dicts_by_name(tolerances, wanted, method):
    result = meco.minimize(named, BOX, **{**QUICK, "method": method}, **tolerances)
    assert [c["tolerance"] for c in result.constr.values()] == wanted
    every = result.evaluations
    ok = (every.g <= wanted[:2]).all(axis=1) & (np.abs(every.h) <= wanted[2:]).all(axis=1)
    assert_array_equal(every.feasible, ok)


def test_tolerances_per_constraint_are_recorded_and_resumed(tmp_path):
    options = {"eq_tol": {"level": 0.5}, "ineq_tol": [0.25, 0.125], **QUICK}
    first = meco.minimize(named, BOX, checkpoint=tmp_path / "run", **options)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["inputs"]["eq_tol"] == {"level": 0.5}
    again = meco.minimize(named, BOX, checkpoint=tmp_path / "run", resume=True, **options)
    assert_array_equal(again.evaluations.feasible, first.evaluations.feasible)
    assert main(["export", str(tmp_path / "run"), "--output", str(tmp_path / "run.csv")]) == 0


def test_tolerances_per_constraint_survive_the_state_of_an_optimizer():
    search = meco.Optimizer(BOX, n_ineq=2, budget=40, seed=1, ineq_tol=[0.25, 0.5], constraint_names=["a", "b"])
    x = search.ask()
    search.tell(x, (x * x).sum(axis=1), g=np.full((len(x), 2), [0.2, 0.4]))
    again = meco.Optimizer.from_state(search.state())
    assert again.result.feasible
    assert again.request.ineq_tol == [0.25, 0.5]


@pytest.mark.parametrize(
    ("tolerances", "words"),
    [
        ({"ineq_tol": {"reech": 0.1}}, "did you mean 'reach'"),
        ({"ineq_tol": [0.1, 0.1, 0.1]}, "3 values, but the constraints are 2: reach, height"),
        ({"eq_tol": {"level": -1.0}}, r"eq_tol\['level'\] must be a finite number"),
        ({"eq_tol": "tight"}, "eq_tol must be a finite number"),
    ],
)
def test_a_tolerance_that_fits_no_constraint_is_refused(tolerances, words):
    with pytest.raises(InvalidInput, match=words):
        meco.minimize(named, BOX, **QUICK, **tolerances)


# -- mistakes -----------------------------------------------------------------------------------------------------


def test_a_typing_error_ends_the_run_and_is_shown():
    calls = []

    def mistaken(x):
        calls.append(x)
        return x @ x + undefined  # noqa: F821

    with pytest.raises(EvaluationFailed, match=r"first 10 calls .* NameError: .*test_first_use.py, line"):
        meco.minimize(mistaken, BOX, budget=500, seed=1)
    assert len(calls) == 10


def test_a_typing_error_is_found_in_worker_processes_too():
    with pytest.raises(EvaluationFailed, match="NameError"):
        meco.minimize(lambda x: undefined, BOX, budget=500, seed=1, workers=2)  # noqa: F821


def test_whoever_asks_for_penalties_gets_them():
    def broken(x):
        raise RuntimeError("licence expired")

    result = meco.minimize(broken, BOX, budget=30, seed=1, on_error="penalize")
    assert (result.status, result.nfail) == (2, 30)


def test_failures_that_differ_are_failures_of_designs():
    def moody(x):
        raise RuntimeError(f"no convergence at {x[0]}")

    assert meco.minimize(moody, BOX, budget=30, seed=1).nfail == 30


class Sum:
    """x0 + x1 + x2 between limits, as SciPy's LinearConstraint says it."""

    A = np.ones((1, 3))

    def __init__(self, lb, ub):
        self.lb, self.ub = lb, ub


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"constraints": Sum(16.0, np.inf)}, "between -15 and 15 within the bounds"),
        ({"constraint_names": ["a", "a"]}, "'a' twice"),
        ({"constraint_names": ["a"], "evaluated": ([[0.0] * 3], [1.0], [[1.0, 2.0]])}, "1 names, but evaluated has 2"),
        ({"constraint_names": ["a"], "ineq_tol": {"b": 1.0}}, "no constraint"),
        ({"batch": 4}, "SHADE-FR has no option 'batch'"),
        ({"method": DEFAULT, "batch": 0}, "batch must be at least 1"),
        ({"method": DEFAULT, "pop_size": 9}, f"{DEFAULT} has no option 'pop_size'"),
        ({"method": "TR-ES", "batch": 0}, "batch must be at least 1"),
        ({"method": "TR-ES", "pop_size": 9}, "TR-ES has no option 'pop_size'"),
        ({"seed": "one"}, "whole number or a NumPy generator"),
        ({"rng": 3}, "give one of them"),
        ({"callback": lambda x, convergence: None}, r"got one that takes \(x, convergence\)"),
    ],
)
def test_contradictions_are_refused_before_the_first_call(change, words):
    calls = []
    with pytest.raises(InvalidInput, match=words):
        meco.minimize(lambda x: calls.append(x), **{"bounds": BOX, **QUICK, **change})
    assert calls == []


# -- SciPy's habits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keyword", "way_out"),
    [
        ("args", "functools.partial"),
        ("maxiter", "budget="),
        ("maxfev", "budget="),
        ("options", "keywords"),
        ("tol", "target="),
        ("popsize", "pop_size="),
    ],
)
def test_a_keyword_of_scipy_is_answered_with_what_does_its_work(keyword, way_out):
    with pytest.raises(TypeError, match=f"minimize has no keyword '{keyword}': .*{way_out}"):
        meco.minimize(named, BOX, **{keyword: 3})


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState, np.random.SeedSequence])
def test_seeds_come_from_generators_too(source):
    one = meco.minimize(named, BOX, **{**QUICK, "seed": source(4)})
    same = meco.minimize(named, BOX, rng=source(4), method="SHADE-FR", budget=60)
    assert_array_equal(one.evaluations.x, same.evaluations.x)
    assert_array_equal(one.x, meco.minimize(named, BOX, **{**QUICK, "seed": one.seed}).x)
    assert meco.Optimizer(BOX, rng=source(4)).request.seed == one.seed


def test_callbacks_are_called_as_scipy_calls_them():
    seen = []

    def by_keyword(*, intermediate_result):
        seen.append(intermediate_result.fun)

    meco.minimize(named, BOX, callback=by_keyword, **QUICK)
    meco.minimize(named, BOX, callback=lambda result, also=1: seen.append(result.x), **QUICK)
    meco.minimize(named, BOX, callback=partial(lambda a, result: seen.append(result.x), 1), **QUICK)
    assert len(seen) == 6


# -- batches ------------------------------------------------------------------------------------------------------


def test_the_batch_follows_the_workers_and_decides_the_points(tmp_path):
    three = meco.minimize(named, BOX, budget=60, seed=1, workers=3, checkpoint=tmp_path / "run")
    alone = meco.minimize(named, BOX, budget=60, seed=1, batch=3)
    assert_array_equal(three.evaluations.x, alone.evaluations.x)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["inputs"]["options"]["batch"] == 3
    again = meco.minimize(named, BOX, budget=60, seed=1, workers=1, checkpoint=tmp_path / "run", resume=True)
    assert_array_equal(again.evaluations.x, three.evaluations.x)


def test_an_executor_or_a_map_gets_eight_points_at_once():
    with ThreadPoolExecutor(2) as pool:
        found = [meco.minimize(named, BOX, budget=60, seed=1, workers=w) for w in (pool, pool.map)]
    eight = meco.minimize(named, BOX, budget=60, seed=1, batch=8)
    for result in found:
        assert_array_equal(result.evaluations.x, eight.evaluations.x)


def test_methods_with_a_population_do_not_depend_on_workers():
    one, two = (meco.minimize(named, BOX, workers=n, **QUICK) for n in (1, 2))
    assert_array_equal(one.evaluations.x, two.evaluations.x)


@pytest.mark.parametrize("batch", [1, 2, 4, 8])
def test_batches_leave_a_minimum_of_f_that_violates_the_constraints(batch):
    """The search starts in the middle of the box, where f is least and has no slope."""
    result = meco.minimize(lambda x: (x @ x, [1 - x[0]], [x[1] + x[2] - 1]), BOX, budget=160, batch=batch, seed=1)
    assert result.feasible
    assert_allclose(result.fun, 1.5, rtol=1e-3)


# -- what one takes away ------------------------------------------------------------------------------------------


def test_every_evaluation_is_a_row_of_a_table(tmp_path):
    result = meco.minimize(named, BOX, **QUICK)
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert list(rows[0]) == ["x1", "x2", "x3", "f", "reach", "height", "level", "feasible", "failed", "given"]
    assert_array_equal([float(row["f"]) for row in rows], result.evaluations.f)
    assert_array_equal([row["feasible"] == "1" for row in rows], result.evaluations.feasible)
    assert result.to_csv(tmp_path / "run.csv") is None
    assert (tmp_path / "run.csv").read_text() == result.to_csv()


def test_a_data_frame_needs_pandas_alone(monkeypatch):
    result = meco.minimize(named, BOX, **QUICK)
    made = SimpleNamespace(DataFrame=dict)
    monkeypatch.setitem(sys.modules, "pandas", made)
    assert_array_equal(result.to_frame()["f"], result.evaluations.f)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_frame()


def test_the_picture_shows_constraints_theta_and_share():
    figure = meco.minimize(named, BOX, budget=60, seed=1).plot()
    words = {key.label for panel in figure.panels for key in panel.legend}
    assert {"reach", "level", "θ, violation that a step may leave", "share of offspring"} <= words
