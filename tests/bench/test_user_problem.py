"""Plain functions in a file as problems."""

import re

import numpy as np
import pytest

from meco import Variable, minimize, solve
from meco.bench.plan.user_problem import load_user_problem
from meco.errors import InvalidInput
from meco.files.modules import load_file
from meco.methods import DEFAULT
from meco.run.function_problem import as_problem

MINE = '''
bounds = [(-5, 5)] * 2

def bowl(x):
    """A bowl with a wall."""
    if x[1] > 4:
        raise RuntimeError("no mesh")
    return float(x @ x), {"wall": 1.0 - x[0]}, {"level": x[1] - 0.5}

def hopeless(x):
    return float(x @ x), [1.0 + x[0] ** 2]

def broken(x):
    return x.nothing

number = 3
'''


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


def test_a_plain_function_is_a_problem(mine):
    problem = load_user_problem(str(mine), "bowl")
    assert (problem.dim, problem.n_ineq, problem.n_eq) == (2, 1, 1)
    assert problem.constraint_names == ("wall", "level")
    assert problem.title == "A bowl with a wall."
    f, g, h = problem.raw(np.array([[[1.0, 0.5], [0.0, 4.5]]]))
    np.testing.assert_array_equal(f, [[1.25, np.nan]])
    np.testing.assert_array_equal(g, [[[0.0], [np.nan]]])
    np.testing.assert_array_equal(h, [[[0.0], [np.nan]]])


def test_named_constraints_may_come_in_any_order():
    def fun(x):
        named = {"a": x[0], "b": x[1]}
        return 0.0, named if x[0] > 0.5 else dict(reversed(named.items()))

    g = as_problem("fun", fun, [(0, 1)] * 2).raw(np.array([[0.9, 0.1], [0.2, 0.3]]))[1]
    order = [1, 0] if as_problem("fun", fun, [(0, 1)] * 2).constraint_names == ("b", "a") else [0, 1]
    np.testing.assert_array_equal(g[:, order], [[0.9, 0.1], [0.2, 0.3]])


def test_an_answer_with_other_constraints_has_failed():
    problem = as_problem("fun", lambda x: (0.0, [x[0]] if x[0] < 0.8 else []), [(0, 1)])
    assert np.isnan(problem.raw(np.array([[0.9]]))[0]).all()


TYPED = """
from meco import Variable

bounds = {
    "metal": ["steel", "brass", "zinc"],
    "teeth": Variable(8, 40, integer=True),
    "load": Variable(1e-3, 10.0, "kN", log=True),
}

def gear(d):
    price = {"steel": 2.0, "brass": 1.0, "zinc": 3.0}[d["metal"]]
    return price + (d["teeth"] / 13.4 - 1) ** 2 + (d["load"] - 0.1) ** 2, {"wear": 12 - d["teeth"]}

def cheap(d):
    return 0.2 - d["load"]
"""


@pytest.fixture
def typed(tmp_path):
    """A problem of named variables of every kind, as `meco bench` reads it, and its bounds."""
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    problem = load_user_problem(str(file), "gear")
    return problem, load_file(file)


@pytest.mark.parametrize("method", [DEFAULT, "SHADE-FR"])
def test_a_file_with_integers_logarithms_and_categories_is_searched_as_minimize_searches_it(typed, method):
    problem, module = typed
    ours = solve(method, problem, 60, seeds=[3, 4])[1]
    same = {"noise": False, "seed": 4, "budget": 60, "constraints": module.cheap, "method": method}
    alone = minimize(module.gear, module.bounds, **same)
    np.testing.assert_array_equal(ours.x, alone.x)
    assert ours.fun == alone.fun
    assert ours.x[1] == round(ours.x[1])


def test_a_file_with_named_variables_is_called_by_name_and_with_its_cheap_constraints(typed):
    problem, _ = typed
    assert problem.variables == ("metal", "teeth", "load [kN]")
    f, g, _ = problem.raw(np.array([1.0, 13.0, 0.1]))
    assert f == pytest.approx(1.0 + (13 / 13.4 - 1) ** 2)
    np.testing.assert_allclose(g, [-1.0, 0.1])
    assert problem.constraint_names == ("wear", "cheap")


def test_problems_with_a_logarithm_each_keep_their_own_in_one_call_of_solve():
    near, far = (as_problem(k, lambda x: float(x @ x), [Variable(low, 1.0, log=True)] * 2) for k, low in
                 (("near", 0.1), ("far", 1e-6)))  # fmt: skip
    results = solve("SHADE-FR", [near, far, near], 120, seeds=[1, 2, 1])
    np.testing.assert_array_equal(results[0].x, results[2].x)
    np.testing.assert_array_equal(results[1].x, solve("SHADE-FR", far, 120, seeds=[2])[0].x)


def test_integers_of_bounds_and_of_integrality_are_joined():
    problem = as_problem("fun", lambda x: float(x @ x), [Variable(0, 9, integer=True), (0, 9), (0, 9)], [0, 1, 0])
    np.testing.assert_array_equal(problem.integrality, [True, True, False])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "broken gave no usable answer at 20 points between its bounds; the last: AttributeError"),
        ("number", "has no meco.Problem or function called 'number'; it has bowl, hopeless, broken"),
    ],
)
def test_what_cannot_be_compared_is_refused(mine, name, said):
    with pytest.raises(InvalidInput, match=re.escape(said)):
        load_user_problem(str(mine), name)


def test_bounds_are_asked_for(tmp_path):
    (tmp_path / "bare.py").write_text("def f(x):\n    return 0.0\n")
    with pytest.raises(InvalidInput, match=re.escape("bounds = [(low, high), ...]")):
        load_user_problem(str(tmp_path / "bare.py"), "f")
