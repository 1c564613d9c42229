"""What a result says of its separate starts: the best distinct minima, how many ended where, and what that means."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import meco
from meco.answer.minima import TriedCombinations, count_combinations, describe_evidence, find_minima
from meco.result import Minimum
from meco.variables import Variables
from small_runs import noted

BOX = [(-2.0, 2.0)] * 2


def two_wells(x):
    """Minima at x1 = 1 (f = 0.5) and x1 = -1 (f = 0)."""
    return float((x[0] ** 2 - 1) ** 2 + 0.25 * (x[0] + 1) + x[1] ** 2)


BRACKET = {"w": (0.01, 0.5, "m"), "p": (1e6, 2e8, "Pa")}


def bracket(x):
    return x["w"] * 1e3 + x["p"] * 1e-6, {"stress": 1e6 / x["w"] - 2e7, "press": 5e7 - x["p"]}


def test_minima_are_distinct_best_first_and_their_starts_add_up():
    result = meco.minimize(two_wells, BOX, budget=200, seed=3)
    assert (result.minima[0].x == result.x).all()
    assert result.minima[0].f == result.fun
    assert [m.f for m in result.minima] == sorted(m.f for m in result.minima)
    for one, other in zip(result.minima, result.minima[1:]):
        assert np.abs(one.x - other.x).max() > 0.04
    assert sum(m.starts for m in result.minima) in (result.run.starts, result.run.starts - 1)
    assert all(type(m.starts) is int for m in result.minima)
    assert json.dumps(result.summary()["minima"])


def test_the_evidence_counts_the_starts_that_agree():
    result = meco.minimize(lambda x: float(x @ x), BOX, budget=200, seed=1)
    assert result.run.starts > 1
    assert result.run.evidence.startswith(
        f"All {sum(m.starts for m in result.minima)} finished starts ended at this minimum"
    )
    assert "no proof" in result.run.evidence
    assert result.run.evidence in repr(result)


def test_the_first_minimum_is_the_answer_also_where_points_within_the_tolerance_are_lower():
    result = meco.minimize(
        lambda x: (x["a"] ** 2 + x["b"], {"g": 1 - x["a"]}), {"a": (0, 3, "mm"), "b": (0, 1)}, budget=60, seed=1,
        x0=[[0.9995, 0.0]], tolerances=1e-3,
    )  # fmt: skip
    within = result.evaluations.feasible
    assert result.evaluations.f[within].min() < result.fun
    assert result.minima[0].f == result.fun


def test_a_start_that_the_budget_cut_off_is_no_minimum_of_its_own():
    """Three ends: of a start that ended, of one that ended elsewhere, and of one on its way when the run was over."""
    sides = SimpleNamespace(lower=np.zeros(1), upper=np.ones(1))
    request = SimpleNamespace(dim=1, range=None, variables=sides)
    n = 9
    every = SimpleNamespace(
        x=np.array([[0.1], [0.1], [0.1], [0.5], [0.5], [0.5], [0.9], [0.9], [0.9]]), f=np.arange(n, dtype=float),
        g=np.zeros((n, 0)), feasible=np.ones(n, dtype=bool), known=np.zeros(n, dtype=bool),
    )  # fmt: skip
    every = type("Rows", (SimpleNamespace,), {"__len__": lambda self: n})(**vars(every))
    trace = {"nfev": np.array([3, 6, 9]), "restarts": np.array([0, 1, 2])}
    assert [float(m.x[0]) for m in find_minima(request, every, trace)] == [0.1, 0.5]
    every.x[6:] = 0.1
    assert [m.starts for m in find_minima(request, every, trace)] == [1, 1]
    assert [m.starts for m in find_minima(request, every, trace, converged=True)] == [2, 1]
    every.x[6:], every.f[6:] = 0.9, -1.0  # the best so far, and not finished
    assert [float(m.x[0]) for m in find_minima(request, every, trace)] == [0.1, 0.5]
    assert [float(m.x[0]) for m in find_minima(request, every, trace, answer=np.array([0.9]))] == [0.9, 0.1, 0.5]


def test_one_start_is_no_evidence():
    result = meco.minimize(lambda x: float(x @ x), BOX, budget=600, stop="converged", seed=1)
    assert [m.starts for m in result.minima] == [1]
    assert result.run.evidence.startswith("Only one start was finished")


@pytest.mark.parametrize(("method", "budget"), [("SHADE", 60), ("TR", 7), ("TR", 12)])
def test_a_start_that_did_not_converge_was_not_finished(method, budget):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the small budget
        result = meco.minimize(bracket, BRACKET, method=method, budget=budget, seed=1)
    assert result.success
    assert result.minima == ()
    assert result.run.evidence.startswith("No start was finished: the search has not converged at this point")


def test_a_start_that_ctrl_c_ended_was_not_finished():
    def interrupted(x):
        if len(fun.seen) == 16:
            raise KeyboardInterrupt
        return two_wells(x)

    fun = noted(interrupted)
    result = meco.minimize(fun, BOX, budget=60, seed=3)
    assert (result.run.stop_reason, result.nfev, result.minima) == ("interrupt", 15, ())
    assert result.run.evidence.startswith("No start was finished")


def test_a_start_whose_end_is_stationary_was_finished_whatever_ended_the_run():
    first = (meco.minimize(bracket, BRACKET, budget=budget, seed=1) for budget in range(15, 40))
    result = next(r for r in first if r.run.starts > 1 or None not in r.multipliers.values())
    assert result.run.starts == 1  # the conditions of Karush, Kuhn and Tucker hold before the search begins again
    assert [m.starts for m in result.minima] == [1]
    assert result.run.evidence.startswith("Only one start was finished")


def test_an_answer_of_a_start_that_was_not_finished_is_not_called_a_minimum():
    ends = [Minimum(np.zeros(2), 1.5, 2), Minimum(np.ones(2), 2.5, 1)]
    said = describe_evidence(ends, 4, reached=False)
    assert said.startswith("The start that found this point was not finished")
    assert "3 finished starts ended at f = 1.5 or above" in said


def test_where_few_combinations_of_categories_were_tried_agreement_is_no_evidence():
    bounds = {k: list("abcdefgh") for k in ("first", "second", "third")} | {"size": (0.0, 1.0)}
    price = {letter: i for i, letter in enumerate("dbgahcfe")}

    def cost(v):
        return price[v["first"]] * price[v["second"]] + price[v["third"]] + v["size"] ** 2

    result = meco.minimize(cost, bounds, budget=120, seed=1)
    tried = len(np.unique(result.evaluations.x[:, :3], axis=0))
    assert f"{tried} of 512 combinations of categories were tried" in result.run.evidence
    assert "evidence that it is the best" not in result.run.evidence


@pytest.mark.parametrize(
    ("tried", "total", "said"),
    [
        (28, 300.0, "but only 28 of 300 combinations of integers were tried: a better one may exist."),
        (290, 300.0, "and 290 of 300 combinations of integers were tried, which is evidence that it is the best"),
        (60, 5764801.0, "but only 60 of 5,764,801 combinations"),
        (60, 1e12, "but only 60 of 1e+12 combinations"),
        (60, np.inf, "but only 60 of infinitely many combinations"),
    ],
)
def test_agreement_of_starts_is_evidence_where_most_combinations_were_tried(tried, total, said):
    ends = [Minimum(np.zeros(2), 1.0, 3)]
    assert said in describe_evidence(ends, 3, TriedCombinations("integers", tried, total))


def test_integers_and_categories_are_counted_by_their_combinations():
    bounds = [meco.Variable(0, 4, integer=True), meco.Variable(categories=[3, 5]), (0, 1)]
    every = SimpleNamespace(x=np.array([[0.0, 1.0, 0.2], [0.0, 1.0, 0.7], [3.0, 0.0, 0.2]]))
    found = count_combinations(Variables.read(bounds), every)
    assert found == ("categories and integers", 2, 10.0)
    assert count_combinations(Variables.read([(0, 1), meco.Variable(2, 2, integer=True), (0, 1)]), every) is None


def test_one_finished_start_of_several_is_called_so():
    ends = [Minimum(np.zeros(2), 1.0, 1)]
    assert describe_evidence(ends, 1).startswith("Only one start was finished, so")
    assert describe_evidence(ends, 2).startswith("Of 2 starts only one was finished, so")


def test_without_a_feasible_point_there_is_no_minimum():
    result = meco.minimize(lambda x: (float(x @ x), [1 + x[0] ** 2]), BOX, budget=40, seed=1)
    assert (result.minima, result.run.evidence) == ((), "")


def test_named_variables_are_printed_by_name_and_unit():
    bounds = {"width": (0.0, 2.0, "mm"), "height": (0.0, 2.0)}
    result = meco.minimize(lambda v: v["width"] + v["height"], bounds, budget=40, seed=1)
    assert "width [mm]: 0" in repr(result)
    assert "height: 0" in repr(result)


def test_a_design_has_plain_numbers():
    bounds = {"width": (0.0, 2.0), "teeth": meco.Variable(1, 5, integer=True)}
    result = meco.minimize(lambda v: v["width"] + v["teeth"], bounds, budget=30, seed=1)
    assert {name: type(value) for name, value in result.design.items()} == {"width": float, "teeth": int}
    assert result.to_csv().splitlines()[1].split(",")[1].isdigit()


def test_an_objective_without_a_minimum_is_remarked():
    bounds = [(-np.inf, np.inf), (0.0, 1.0)]
    falls = meco.minimize(lambda x: float(x[1] - x[0]), bounds, x0=[0.0, 0.5], budget=80, seed=1)
    assert "F falls as far as x1, which has no bound there, was followed: it may have no minimum." in falls.message
    far = meco.minimize(lambda x: float((x[0] - 3e4) ** 2 + x[1]), bounds, x0=[0.0, 0.5], budget=80, seed=1)
    assert "may have no minimum" not in far.message
