"""What a run may be told: every form that is meant, and a sentence with a way out for every other."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco import Checkpoint, Method, Stop, Tolerances, Variable, Variables, Workers
from meco.errors import InvalidInput, UnknownName
from meco.run.recorded import read_recorded

NAMED = {"width": (0.0, 2.0, "m"), "teeth": Variable(2, 9, integer=True)}


def gear(x):
    """A function of names: the integer is one, so that it can count things."""
    return x["width"] ** 2 + sum(1.0 for _ in range(x["teeth"])), {"reach": 1.0 - x["width"]}


def run(bounds=NAMED, fun=gear, **options):
    return meco.minimize(fun, bounds, **{"method": Method("SHADE-FR", pop_size=8), "budget": 40, "seed": 1} | options)


# -- bounds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [
        [(0, 1), (2, 3)],
        ([0, 1], [2, 3]),
        np.array([[0, 1], [2, 3]]),
        np.array([[0, 1], [2, 3]], dtype=np.int8),
        ((low, low + 1) for low in (0, 2)),
        (iter((low, low + 1)) for low in (np.int64(0), np.float32(2))),
        [(0, 1, "mm"), Variable(2, 3)],
        SimpleNamespace(lb=[0, 2], ub=[1, 3]),
        {"a": (0, 1), "b": np.array([2, 3])},
        Variables.of([0, 2], [1, 3]),
    ],
)
def test_bounds_are_understood_in_every_form_that_is_meant(bounds):
    found = Variables.read(bounds)
    assert_array_equal(found.lower, [0.0, 2.0])
    assert_array_equal(found.upper, [1.0, 3.0])


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ([[0, 0, 0], [1, 1, 1]], r"shape \(D, 2\); got shape \(2, 3\) \(is it transposed\?\)"),
        ((0, 1), r"one variable is \[\(low, high\)\]"),
        ([0.5, 0.5, 0.5], r"got shape \(3,\) \(a point to begin at is x0=\)"),
        ([0.5, 0.5], r"one variable is \[\(low, high\)\]; a point to begin at is x0="),
        ({"a": ("0.01", "0.5")}, r"'a': \('0.01', '0.5'\) has texts where numbers are wanted: write \(0.01, 0.5\)"),
        ([["1", "2"]], r"write \(1, 2\), or Variable\(categories=\['1', '2'\]\) if these are its categories"),
        ({"a": ("0.01", "0.5", "m")}, r"write \(0.01, 0.5, 'm'\)"),
        ({"a": (1, 5, "integer")}, r"the third is a unit, such as 'mm'; .* Variable\(1, 5, integer=True\)"),
        ({"a": (1, 5, int)}, r"Variable\(1, 5, integer=True\)"),
        ({"a": (1, 5, "log")}, r"Variable\(1, 5, log=True\)"),
        ({"a": [True, False]}, r"values to choose from are Variable\(categories=\[True, False\]\)"),
        ({"a": [1, 2, 5]}, r"values to choose from are Variable\(categories=\[1, 2, 5\]\)"),
        ({"a": ["xx", None]}, r"values to choose from are Variable\(categories=\['xx', 'none'\]\)"),
        ("01", "one .low, high. pair per variable; got '01'"),
        (["01", "23"], "variable 0 has '01'"),
        ({(0, 1)}, "a set has no order"),
        ({}, "names no variable"),
        ([], r"got shape \(0,\)"),
        (3, "got 3"),
        (np.array(3.0), "got array"),
        (None, r"without limits: \[\(None, None\)\] \* D, and x0= to begin at\); got None"),
        ([(0, np.nan)], "bounds of variable 0: high of a variable must be a number; got nan"),
        ([(0, "1")], "variable 0: high of a variable must be a number; got '1'"),
        ([(True, 1)], "low of a variable must be a number; got True"),
        ([(0, 1), (2, 1)], "bounds of variable 1: a variable needs low <= high; got 2.0 and 1.0"),
        ([(0, 1), (0, 1, 2)], "variable 1 has"),
        ([(0, 1), (0, 1, "m", "mm")], "variable 1 has"),
        ([(0, 1), {"lower": 0, "high": 1}], "variable 1 has"),
        ([(np.inf, np.inf)], "a variable needs low <= high; got inf and inf"),
        ([(-(10**400), -np.inf)], "a variable needs low <= high; got -inf and -inf"),
        ({"a": Variable(1, 2), "b": (1, -np.inf)}, "bounds of variable 'b': a variable needs low <= high"),
        ({3: (0, 1)}, "name of a variable must be a text; got 3"),
        ({"": (0, 1)}, "name of a variable must be a text; got ''"),
        (SimpleNamespace(lb=[0, 0], ub=[1, 1, 1]), "lb and ub of bounds must be numbers of equal count"),
        (SimpleNamespace(lb="low", ub=1), "lb and ub of bounds must be numbers"),
    ],
)
def test_bounds_that_are_none_are_refused_with_a_way_out(bounds, said):
    with pytest.raises(InvalidInput, match=said):
        Variables.read(bounds)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Variable(0, 3, categories=["a", "b"]), "a variable has categories, or low and high"),
        (lambda: Variable(categories="ab"), "categories must be a list of values"),
        (lambda: Variable(categories=["a"]), "two categories or more"),
        (lambda: Variable(categories=["a", "b", "a"]), "the category 'a' comes twice"),
        (lambda: Variable(categories=["a", ("b",)]), "a category must be a text, a number, True or False"),
        (lambda: Variable(0, 1, ordered=True), "ordered=True is for categories"),
        (lambda: Variable(1), "a variable needs low and high, or categories"),
        (lambda: Variable(0.2, 0.8, integer=True), "no whole number between 0.2 and 0.8"),
        (lambda: Variable(0, 1, integer="yes"), "integer of a variable must be True or False; got 'yes'"),
        (lambda: Variable(0, 1, unit=3), "unit of a variable must be a text"),
        (lambda: Variables(()), "one Variable or more"),
        (lambda: Variables(((0, 1),)), "one Variable or more"),
        (lambda: Variables((Variable(0, 1),) * 2, ("a", "a")), "two variables have the name 'a'"),
        (lambda: Variables((Variable(0, 1),) * 2, ("a",)), "2 variables need 2 names; got 1"),
        (lambda: Workers(ThreadPoolExecutor), "an executor that was made, not its class"),
        (lambda: Workers(2.5), "number of processes"),
        (lambda: Workers(True), "1 or more"),
        (lambda: Workers(batch=0), "batch must be at least 1"),
        (lambda: Workers(vectorized="no"), "vectorized must be True or False; got 'no'"),
        (lambda: Workers(timeout=0.0), "positive number of seconds"),
        (lambda: Stop(target="low"), "target must be a number"),
        (lambda: Stop(max_time=-1.0), "max_time"),
        (lambda: Stop(feasible="yes"), "stop: feasible must be True or False"),
        (lambda: Stop.read(True), 'stop must be "feasible", "converged", seconds or Stop'),
        (lambda: Checkpoint(""), "path of a folder; got ''"),
        (lambda: Checkpoint(3), "path of a folder; got 3"),
        (lambda: Checkpoint("run", resume="yes"), "checkpoint: resume must be True or False"),
        (lambda: Tolerances(names=["a", "a"]), "'a' twice"),
        (lambda: Tolerances(keep_feasible="disc"), "a list of names"),
        (lambda: Tolerances(eq=[1e-3, -1.0]), r"eq\[1\] must be a finite number, 0 or more"),
        (lambda: run(cheap=[1]), r"cheap: constraints\[0\] must be a NonlinearConstraint"),
        (lambda: run(noise=-0.1), "noise must be"),
        (lambda: run(noise={"f": "much"}), r"noise\['f'\] must be"),
    ],
)
def test_a_record_refuses_what_it_cannot_hold(make, said):
    with pytest.raises(InvalidInput, match=said):
        make()


def test_records_are_frozen_compared_and_sent():
    for record in (Variable(0, 1), Variables.read(NAMED), Tolerances(1e-3), Workers(2), Stop(60), Checkpoint("run")):
        again = pickle.loads(pickle.dumps(record))
        assert again == record
        with pytest.raises(AttributeError):
            record.low = 3
    method = pickle.loads(pickle.dumps(Method("SHADE", pop_size=9)))
    assert (method.name, method.options) == ("SHADE", {"pop_size": 9})


# -- names -------------------------------------------------------------------------------------------


def test_a_function_of_named_variables_gets_a_dict_with_integers_as_such():
    seen = []
    result = run(fun=lambda x: (seen.append(x), gear(x))[1])
    assert {tuple(x) for x in seen} == {("width", "teeth")}
    assert {type(x["teeth"]) for x in seen} == {int}
    plain = run([(0.0, 2.0), Variable(2, 9, integer=True)], lambda x: gear({"width": x[0], "teeth": int(x[1])}))
    assert_array_equal(result.evaluations.x, plain.evaluations.x)
    assert result.run.variables.names == ("width", "teeth")


def test_a_vectorized_function_of_named_variables_gets_columns():
    def rows(x):
        assert x["width"].shape == x["teeth"].shape
        return x["width"] ** 2 + x["teeth"], 1.0 - x["width"][:, None]

    assert_array_equal(run(fun=rows, workers=Workers(vectorized=True)).evaluations.x, run().evaluations.x)


@pytest.mark.parametrize("kind", [2, ThreadPoolExecutor, ProcessPoolExecutor])
def test_named_variables_travel_to_workers(kind):
    if isinstance(kind, int):
        found = run(workers=kind)
    else:
        with kind(2) as pool:
            found = run(workers=pool)
    assert_array_equal(found.evaluations.x, run().evaluations.x)


def test_a_program_gets_named_variables_as_json(tmp_path):
    script = tmp_path / "sim.py"
    script.write_text(
        "import json, sys\n"
        "x = json.load(open(sys.argv[1]))['x']\n"
        "assert isinstance(x['teeth'], int) and list(x) == ['width', 'teeth']\n"
        "json.dump({'f': x['width'] ** 2 + x['teeth'], 'g': {'reach': 1.0 - x['width']}}, open(sys.argv[2], 'w'))\n"
    )
    command = meco.Command(f"{sys.executable} {script} {{input}} {{output}}")
    found = run(fun=command, budget=12)
    assert (found.run.nfail, list(found.constraints)) == (0, ["reach"])
    assert_array_equal(found.evaluations.x, run(budget=12).evaluations.x)


@pytest.mark.parametrize(
    "x0",
    [
        {"width": 1.5, "teeth": 4},
        {"teeth": 4, "width": 1.5},
        [{"width": 1.5, "teeth": 4}, {"teeth": 3, "width": 0.5}],
        {"width": [1.5, 0.5], "teeth": [4, 3]},
        [1.5, 4],
    ],
)
def test_starting_points_are_given_by_name_or_in_order(x0):
    assert_array_equal(run(x0=x0).evaluations.x[0], [1.5, 4.0])


@pytest.mark.parametrize(
    ("x0", "said"),
    [
        ({"width": 1.5}, "needs every variable; 'teeth' is missing"),
        ({"width": 1.5, "teeths": 4}, "no variable named 'teeths'; did you mean 'teeth'"),
        ({"width": "wide", "teeth": 4}, "must be numbers"),
        ({"width": 1.5, "teeth": 4.5}, "whole number"),
        ({"width": 9.0, "teeth": 4}, "outside its bounds"),
    ],
)
def test_a_point_by_name_that_is_none_is_refused(x0, said):
    with pytest.raises(InvalidInput, match=said):
        run(x0=x0)


def test_a_point_by_name_needs_names():
    with pytest.raises(InvalidInput, match="variables with names: give bounds as a dict"):
        run([(0, 1)] * 2, lambda x: x @ x, x0={"x1": 0.5})


def test_known_points_are_given_by_name():
    points = [{"width": 1.5, "teeth": 4}, {"teeth": 3, "width": 1.25}]
    f, g = zip(*((gear(x)[0], [gear(x)[1]["reach"]]) for x in points))
    result = run(evaluated=(points, f, g))
    assert_array_equal(result.evaluations.x[:2], [[1.5, 4.0], [1.25, 3.0]])
    assert result.evaluations.known.sum() == 2


def test_a_folder_of_named_variables_is_resumed_and_known_under_the_same_names(tmp_path):
    whole = run(checkpoint=tmp_path / "run")
    again = run(checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert_array_equal(again.evaluations.x, whole.evaluations.x)
    other = {"teeth": NAMED["teeth"], "width": NAMED["width"]}
    with pytest.raises(InvalidInput, match="its variable"):
        run(other, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    with pytest.raises(InvalidInput, match="the same names, in the same order"):
        run(other, evaluated=tmp_path / "run")
    assert run(evaluated=tmp_path / "run", budget=10).evaluations.known.sum() == 40
    told = read_recorded(tmp_path / "run").inputs
    assert told["variables"][0] == {"low": 0.0, "high": 2.0, "unit": "m", "integer": False, "log": False}


def test_an_optimizer_asks_in_order_and_is_told_in_order_or_by_name():
    options = {"method": Method("SHADE-FR", pop_size=8), "budget": 40, "seed": 1}
    search = meco.Optimizer(NAMED, n_ineq=1, **options)
    while not search.done:
        points = search.ask()
        by_name = [search.variables.as_dict(x) for x in points]
        f, g = zip(*((gear(x)[0], [gear(x)[1]["reach"]]) for x in by_name))
        search.tell(by_name if search.nit % 2 else points, f, g)
    assert_array_equal(search.result.evaluations.x, run().evaluations.x)
    again = meco.Optimizer.from_state(search.state())
    assert again.variables == search.variables
    with pytest.raises(UnknownName, match="did you mean 'width'"):
        search.tell({"with": 1.0, "teeth": 3}, 1.0, 0.0)


@pytest.mark.parametrize(
    ("keyword", "said"),
    [
        ("step", "a grid is an integer variable"),
        ("choices", "categories="),
        ("type", "integer=True"),
        ("name", "keys of"),
    ],
)
def test_a_field_that_others_have_is_told_what_does_its_work(keyword, said):
    with pytest.raises(TypeError, match=f"Variable has no field '{keyword}': .*{said}"):
        meco.Variable(0, 1, **{keyword: 0.1})


def test_texts_that_are_no_range_are_categories():
    for given in (["1", "2", "3"], ["M8", "M10"], ["1", "two"]):
        assert Variables.read({"a": given}).each[0].categories == tuple(given)


@pytest.mark.parametrize(
    ("record", "keyword", "meant"),
    [
        (meco.Variable, {"low": 0, "high": 1, "intger": True}, "integer"),
        (meco.Stop, {"targt": 1.0}, "target"),
        (meco.Tolerances, {"ineqq": 1.0}, "ineq"),
        (meco.Workers, {"n": 2, "time_out": 1.0}, "timeout"),
        (meco.Checkpoint, {"folder": "run", "resum": True}, "resume"),
    ],
)
def test_a_misspelt_field_of_a_record_is_told_the_nearest(record, keyword, meant):
    with pytest.raises(TypeError, match=f"no field of {record.__name__} named '.*'; did you mean '{meant}'"):
        record(**keyword)
