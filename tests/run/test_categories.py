"""Categories: one of several values, ordered or not, by name at every door, and learnt by the models."""

import json

import numpy as np
import pytest

from interruption import kill_run
from meco import Checkpoint, Optimizer, Variable, Workers, minimize
from meco.cli import main
from meco.core.categories import Categories
from meco.core.engine import Task
from meco.core.streams import Streams
from meco.tr.categories import CategoryMoves
from meco.variables import UnknownCategory, Variables

PRICE = {"steel": 3.0, "brass": 2.0, "oak": 0.5, "glass": 4.0}
LIMIT = {"steel": 2.0, "brass": 1.0, "oak": 0.2, "glass": 1.5}
BOUNDS = {
    "metal": list(PRICE),
    "size": Variable(categories=[8, 10, 12, 16], ordered=True),
    "width": (0.0, 3.0, "mm"),
    "count": Variable(1, 6, integer=True),
}
BEST = 0.0 + 2.0 + 0.04  # brass, 12, count 4, width 1.0 where 1.2 would be best


def fun(d):
    assert isinstance(d["metal"], str)
    assert d["size"] in (8, 10, 12, 16)
    f = (d["width"] - 1.2) ** 2 + abs(d["size"] - 12) / 4 + PRICE[d["metal"]] + (d["count"] - 4) ** 2
    return f, {"load": d["width"] - LIMIT[d["metal"]], "no oak": float(d["metal"] == "oak") - 0.5}


# -- variables ---------------------------------------------------------------------------------------


def test_points_hold_places_and_names_go_both_ways():
    variables = Variables.read(BOUNDS)
    point = {"metal": "oak", "size": 16, "width": 0.5, "count": 2}
    x = variables.as_array(point)
    np.testing.assert_array_equal(x, [2.0, 3.0, 0.5, 2.0])
    assert variables.as_dict(x) == point
    assert variables.as_dict(np.array([x, x]))["metal"].tolist() == ["oak", "oak"]
    with pytest.raises(UnknownCategory, match="no category of variable 'metal' named 'oaks'; did you mean 'oak'"):
        variables.as_array(point | {"metal": "oaks"})


def test_a_dict_may_describe_a_variable_as_json_does():
    (one,) = Variables.read([{"categories": ["a", "b"], "ordered": True}]).each
    assert one == Variable(categories=["a", "b"], ordered=True)


# -- searches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["TR"])
def test_the_model_methods_find_the_best_combination(method):
    result = minimize(fun, BOUNDS, budget=90, seed=1, method=method)
    assert result.design["metal"] == "brass"
    assert result.fun == pytest.approx(BEST, abs=1e-3)


@pytest.mark.parametrize("method", ["SHADE-FR", "MA-ES", "SciPy-DE"])
def test_other_methods_search_them_as_whole_numbers(method):
    assert minimize(fun, BOUNDS, budget=400, seed=1, method=method).fun < BEST + 1.2


@pytest.mark.parametrize("workers", [Workers(2, batch=4), Workers(2, asynchronous=True)])
def test_workers_search_them_together(workers):
    result = minimize(fun, BOUNDS, budget=120, seed=1, workers=workers)
    assert result.fun == pytest.approx(BEST, abs=0.05)


def test_categories_alone_are_searched():
    value = {(a, b): i * j + abs(i - j) for i, a in enumerate("uvwxy") for j, b in enumerate("pqrst")}
    result = minimize(lambda d: value[d["a"], d["b"]], {"a": list("uvwxy"), "b": list("pqrst")}, budget=30, seed=1)
    assert result.fun == 0


def test_cheap_constraints_may_forbid_a_category():
    seen = []

    def watched(d):
        seen.append(d["metal"])
        return fun(d)

    minimize(watched, BOUNDS, budget=40, seed=1, cheap=lambda d: float(d["metal"] == "glass") - 0.5)
    assert "glass" not in seen


# -- what is learnt -----------------------------------------------------------------------------------


class Archive:
    """Points of a unit cube and their values, as the models read them."""

    partial = False

    def __init__(self, x, y):
        self.x, self.y, self.failed = x[None], y[None], np.zeros((1, len(x)), dtype=bool)


def moves(counts, ordered, dim):
    columns = np.arange(len(counts))
    box = np.zeros((1, 1, dim))
    task = Task(dim, 100, Streams([0]), box, box + 1.0, lambda: (0, 0),
                categories=Categories(columns, np.array(counts), np.array(ordered)))  # fmt: skip
    return CategoryMoves(task, None)


def test_categories_that_act_alike_are_learnt_to_be_alike():
    draw = np.random.default_rng(0)
    place, z = draw.integers(0, 4, 60), draw.random(60)
    x = np.stack([place / 3.0, z], axis=1)
    y = (np.array([0.0, 0.1, 5.0, 5.1])[place] + z)[:, None]
    (learnt,) = moves([4], [False], 2).learn_likeness(Archive(x, y))
    assert learnt[0, 1] > 0.8
    assert learnt[2, 3] > 0.8
    assert learnt[0, 2] < 0.5
    assert np.linalg.eigvalsh(learnt).min() > -1e-9  # a covariance


def test_before_there_are_answers_only_ordered_ones_have_neighbours():
    plain, ordered = moves([4, 4], [False, True], 2).learn_likeness(Archive(np.zeros((1, 2)), np.zeros((1, 1))))
    assert plain[0, 1] == plain[0, 3]
    assert ordered[0, 1] > ordered[0, 3]


# -- doors -------------------------------------------------------------------------------------------


def test_names_are_shown_in_result_table_and_page(tmp_path):
    result = minimize(fun, BOUNDS, budget=60, seed=1)
    assert "metal: brass" in repr(result)
    assert result.summary()["design"]["metal"] == "brass"
    assert "brass" in result.to_csv()
    page = result.report(tmp_path / "page.html").read_text()
    assert "one of steel, brass, oak, glass" in page


def test_x0_and_known_points_are_given_by_name():
    start = {"metal": "glass", "size": 8, "width": 0.1, "count": 1}
    result = minimize(fun, BOUNDS, budget=40, seed=1, x0=start)
    assert result.run.variables.as_dict(result.evaluations.x[0]) == start
    with pytest.raises(UnknownCategory):
        minimize(fun, BOUNDS, budget=40, x0=start | {"metal": "lead"})


def test_ask_and_tell_and_a_saved_state_are_the_same_search():
    search = Optimizer(BOUNDS, 2, budget=30, seed=1)
    while not search.done:
        x = search.ask()
        values = [fun(search.variables.as_dict(row)) for row in x]
        search.tell(
            [search.variables.as_dict(row) for row in x], [f for f, _ in values], [[*g.values()] for _, g in values]
        )
        search = Optimizer.from_state(search.state())
    expected = minimize(fun, BOUNDS, budget=30, seed=1)
    np.testing.assert_array_equal(search.result.evaluations.x, expected.evaluations.x)


def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    expected = minimize(fun, BOUNDS, budget=36, seed=1)
    kill_run(lambda fun: minimize(fun, BOUNDS, budget=36, seed=1, checkpoint=tmp_path / "run"), fun, 30)
    result = minimize(fun, BOUNDS, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    np.testing.assert_array_equal(result.evaluations.x, expected.evaluations.x)


def test_the_command_line_takes_categories_in_json(tmp_path, monkeypatch, capsys):
    (tmp_path / "shop.py").write_text("def shop(d):\n    return {'a': 3, 'b': 1}[d['kind']] + (d['w'] - 0.3) ** 2\n")
    bounds = json.dumps({"kind": ["a", "b"], "w": [0, 1], "n": {"categories": [1, 2, 4], "ordered": True}})
    monkeypatch.chdir(tmp_path)
    options = ["--quiet", "--checkpoint", "run", "--x0", json.dumps({"kind": "a", "w": 0.9, "n": 4})]
    assert main(["solve", "shop.py:shop", "--bounds", bounds, "--budget", "25", "--seed", "1", *options]) == 0
    assert "kind  b" in capsys.readouterr().out
    assert main(["export", "run"]) == 0
    assert ",b," in capsys.readouterr().out
