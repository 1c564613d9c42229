"""The loop: ask, evaluate, tell; it does what an engine offers, and nobody else tells an engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.core.capabilities import FreePoints, OwnLoop, Remarks, Selection
from meco.core.engine import Engine, Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.rule import Population
from meco.core.streams import Streams

SOURCES = Path(meco.__file__).parent
NO_ENGINES = {  # whose tell is another one
    "super()",  # of an engine, told by the one that derives from it
    "self.loop",
    "self", "search", "self.search",  # an Optimizer
    "self.es", "self.study", "self.algorithm",  # other libraries
    "file",
}  # fmt: skip


class Pairs(Engine):
    """Two random points at a time; it offers what it is given."""

    def __init__(self, task, *offers):
        self.task, self.offers, self.told = task, offers, []

    def ask(self):
        return self.task.rng.uniform(2, self.task.dim)

    def tell(self, x, ev):
        self.told.append((x, ev))
        self.population, self.generation = Population(x, ev), self.generation + 1

    def trace(self):
        return {"told": np.full(self.task.rng.runs, len(self.told))}

    def capabilities(self):
        return self.offers


def pairs(*offers, budget=10, runs=2, **how):
    evaluator = Evaluator.on(meco.get_problem("tilted"), budget, runs)
    return Loop(Pairs(Task.of(evaluator, Streams(range(runs))), *offers), evaluator, **how)


def test_a_run_spends_the_budget_and_notes_every_iteration():
    loop = pairs(budget=5)
    loop.run()
    assert_array_equal(loop.evaluator.nfev, [5, 5])
    trace = loop.evaluator.history.collect_trace()
    assert_array_equal(trace["nfev"][:, 0], [2, 4, 5])
    assert_array_equal(trace["told"][:, 0], [1, 2, 3])
    _, last = loop.engine.told[-1]
    assert_array_equal(last.failed, [[False, True]] * 2)  # cut by the budget


def test_a_run_ends_when_stop_says_so():
    loop = pairs()
    loop.run(lambda: loop.engine.generation == 3)
    assert_array_equal(loop.evaluator.nfev, [6, 6])


def test_who_evaluates_elsewhere_makes_the_same_search():
    whole, halves, elsewhere = pairs(), pairs(), pairs()
    whole.run()
    while not halves.evaluator.is_spent:
        halves.evaluate_and_tell(halves.ask())
    while not elsewhere.evaluator.is_spent:
        x = elsewhere.ask()
        elsewhere.tell(x, elsewhere.evaluator.evaluate(x))
        elsewhere.record_generation()
    for loop in (halves, elsewhere):
        for name, rows in whole.evaluator.history.collect_trace().items():
            assert_array_equal(loop.evaluator.history.collect_trace()[name], rows)


def test_a_search_that_nobody_traces_notes_nothing():
    loop = pairs(traced=False)
    loop.run()
    assert loop.evaluator.history.empty


def test_free_points_are_told_and_not_counted():
    loop = pairs(FreePoints(lambda: loop.engine.generation % 2 == 1))
    loop.run()
    assert_array_equal(loop.evaluator.nfev, [10, 10])
    assert loop.engine.generation == 9  # five counted, four between them
    assert not any(ev.failed.any() for _, ev in loop.engine.told)
    counted = np.concatenate([ev.f + ev.nu for _, ev in loop.engine.told[::2]], axis=1)
    assert_array_equal([r.score for r in loop.evaluator.results("", [0, 1])], counted.min(axis=1))  # free ones never


def test_candidates_that_a_run_does_not_want_are_neither_evaluated_nor_counted():
    wanted = np.array([[True, False], [True, True]])
    loop = pairs(Selection(lambda: wanted if loop.engine.generation == 0 else None))
    loop.step()
    assert_array_equal(loop.evaluator.nfev, [1, 2])
    assert_array_equal(loop.engine.told[0][1].failed, ~wanted)
    loop.run()
    assert_array_equal(loop.evaluator.nfev, [10, 10])


def test_a_library_with_a_loop_of_its_own_is_never_asked():
    def drive(evaluator, stop):
        for _ in range(3):
            evaluator.evaluate(np.full((2, 1, evaluator.box.dim), 0.5))
            if stop is not None and stop():
                return

    loop = pairs(OwnLoop(drive))
    loop.run()
    assert_array_equal(loop.evaluator.nfev, [3, 3])
    loop = pairs(OwnLoop(drive))
    loop.run(lambda: True)
    assert_array_equal(loop.evaluator.nfev, [1, 1])
    assert loop.engine.told == []


def test_remarks_end_in_the_notes_of_the_result():
    loop = pairs(Remarks(lambda: [f"{loop.engine.generation} generations"]))
    loop.run()
    assert loop.evaluator.results("", [0, 1])[0].run.notes == ("5 generations",)


def test_a_budget_below_the_first_candidates_is_said_once():
    loop = pairs(budget=1)
    loop.ask()
    loop.run()
    assert [note.partition(":")[0] for note in loop.evaluator.history.notes] == [
        "the budget of 1 is below the population of 2"
    ]


class Careless(Pairs):
    """A plug-in that proposes no numbers, and points outside the cube."""

    def ask(self):
        x = super().ask()
        x[:, 0, 0], x[:, 1, 0], x[:, 1, 1] = np.nan, 7.0, -np.inf
        return x


@pytest.mark.parametrize(
    "run", [lambda loop: loop.run(), lambda loop: loop.evaluate_and_tell(loop.ask())], ids=["run", "ask"]
)
def test_an_engine_that_proposes_no_numbers_still_evaluates_numbers_inside_the_bounds(run):
    asked = []

    def formula(x):
        asked.append(x.copy())
        return x.sum(axis=-1), [], []

    problem = meco.Problem("asked", [-3.0, 1.0], [4.0, 2.0], 0, 0, formula)
    evaluator = Evaluator.on(problem, 10, 2)
    engine = Careless(Task.of(evaluator, Streams(range(2))))
    run(Loop(engine, evaluator))
    points = np.concatenate(asked, axis=1)
    assert np.all((points >= problem.lower) & (points <= problem.upper))
    assert_array_equal(np.concatenate([x for x, _ in engine.told], axis=1)[:, :2, 0], [[0.5, 1.0]] * 2)  # as it is told


def test_a_plug_in_that_proposes_no_numbers_still_calls_the_function_with_numbers_inside_the_bounds():
    asked = []

    def fun(x):
        asked.append(x.copy())
        return float(x @ x)

    meco.minimize(fun, [(-3, 4), (1, 2)], method=Careless, budget=12, seed=1)
    points = np.array(asked)
    assert len(points) == 12
    assert np.all((points >= [-3, 1]) & (points <= [4, 2]))
