"""What a result says of its separate starts: the best distinct minima, how many ended where, and what that means."""

import json
from types import SimpleNamespace

import numpy as np

import meco
from meco.run.minima import find_minima

BOX = [(-2.0, 2.0)] * 2


def two_wells(x):
    """Minima at x1 = 1 (f = 0.5) and x1 = -1 (f = 0)."""
    return float((x[0] ** 2 - 1) ** 2 + 0.25 * (x[0] + 1) + x[1] ** 2)


def test_minima_are_distinct_best_first_and_their_starts_add_up():
    result = meco.minimize(two_wells, BOX, budget=200, seed=3)
    assert (result.minima[0].x == result.x).all()
    assert result.minima[0].f == result.fun
    assert [m.f for m in result.minima] == sorted(m.f for m in result.minima)
    for one, other in zip(result.minima, result.minima[1:]):
        assert np.abs(one.x - other.x).max() > 0.04
    assert sum(m.starts for m in result.minima) in (result.run.starts, result.run.starts - 1)
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
    assert [m.starts for m in find_minima(request, every, trace)] == [2, 1]


def test_one_start_is_no_evidence():
    result = meco.minimize(lambda x: float(x @ x), BOX, method="SHADE", budget=60, seed=1)
    assert len(result.minima) == 1
    assert result.run.evidence.startswith("Only one start was finished")


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
