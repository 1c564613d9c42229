"""Engines that ask for whole generations, as a Search: points go out one by one, and are told once all are answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from meco.core.capabilities import (
    Convergence,
    Cooperation,
    Policed,
    Remarks,
    Selection,
    find_capability,
)
from meco.core.engine import Engine, Task
from meco.core.loop import Loop
from meco.core.streams import SCOUT_STREAM
from meco.run.answer import Answer
from meco.run.layout import Answers, PriorEvaluations
from meco.run.request import Request
from meco.run.search import Facts
from meco.run.source import Values, join_points, make_loop


class EngineSearch:
    """What searches around an engine of the unit cube share."""

    def __init__(self, request: Request, answers: Answers) -> None:
        """Nothing is built before the first ask, so that points may be known by then."""
        self.request, self.answers, self.budget = request, answers, request.budget
        self.iterations = 0
        self._before = answers.calls, answers.retries  # of another search
        self._loop: Loop | None = None
        self._known: list[PriorEvaluations] = []  # points of other searches that the engine has not learnt yet

    @property
    def loop(self) -> Loop:
        """Engine and evaluator, made when first needed."""
        if self._loop is None:
            known = join_points(self._known, self.request.dim, self.answers.counts) if self._known else None
            self._known = []
            self._loop = make_loop(self.request, self.answers, self._look_up, known, *self._before)
            if self.budget != self.request.budget:
                change_budget(self._loop, self.budget)
        return self._loop

    @property
    def started(self) -> bool:
        """Whether the engine has learnt from an answer."""
        return self._loop is not None and self._loop.engine.generation > 0

    def _look_up(self, x: np.ndarray) -> Values:
        """Values of the points that the engine is about to be told."""
        raise NotImplementedError

    def know(self, x: np.ndarray, answer: Answer) -> None:
        """Keep a point of another search for the next ask; without effect where the engine cannot learn from it."""
        f, g, h = self.answers.values([self.answers.align(answer)])
        self._known.append(PriorEvaluations(x[None], f, g, h))

    def diversify(self, u: float) -> None:
        """Differ, by u in [0, 1), from other searches of the same points, where the engine can."""
        cooperation = find_capability(self.loop.engine, Cooperation)
        if cooperation is not None and self.started:
            cooperation.diversify(np.array([u]))

    def _learn_known(self) -> None:
        """Let the engine learn from the points that know() kept."""
        cooperation = find_capability(self.loop.engine, Cooperation) if self._known and self.started else None
        if cooperation is not None:
            points = join_points(self._known, self.request.dim, self.answers.counts)
            ev = points.to_evaluation(*self.request.resolve_tolerances(self.answers))
            cooperation.learn(self.loop.evaluator.box.pin(points.x)[None], ev)
            self._known = []

    def set_budget(self, budget: int) -> None:
        """Plan with another number of calls."""
        self.budget = budget
        if self._loop is not None:
            change_budget(self._loop, budget)

    def facts(self) -> Facts:
        """What the engine and the history of its evaluator say."""
        if self._loop is None or not self.iterations:
            return Facts()
        engine, history = self._loop.engine, self._loop.evaluator.history
        convergence, remarks = find_capability(engine, Convergence), find_capability(engine, Remarks)
        policed = find_capability(engine, Policed)
        said = list(history.notes)
        said += [] if remarks is None else [each for each in remarks.said() if each not in said]
        held = history.score_best.point
        return Facts(
            converged=convergence is not None and bool(np.asarray(convergence.reached()).any()),
            iterations=self.iterations,
            trace={name: rows[:, 0] for name, rows in history.collect_trace().items()},
            remarks=said,
            score=float("nan") if held is None else float(held.key.minor[0, 0]),
            policy={} if policed is None else policed.policy,
        )

    def state(self) -> dict[str, float]:
        """Single numbers that the engine tells of itself now."""
        if self._loop is None or not self.iterations:
            return {}
        told = self._loop.engine.trace().items()
        return {name: float(np.asarray(value).item()) for name, value in told if np.size(value) == 1}


class Generations(EngineSearch):
    """A search that hands out an engine's generation point by point."""

    def __init__(self, request: Request, answers: Answers) -> None:
        super().__init__(request, answers)
        self._points = np.zeros((0, request.dim))  # of the generation that are called
        self._out = 0  # of them, how many were given out
        self._first = 0  # number of the first
        self._answers: dict[int, Answer] = {}  # by place in the generation
        self._called: np.ndarray = np.zeros(0, dtype=int)  # their places among the candidates
        self._scouts = 0  # how many of the last points are beside the generation
        self._asked: np.ndarray | None = None  # the last point
        self._told = True  # whether the engine knows the generation
        self._scouting = np.random.default_rng([request.seed, SCOUT_STREAM])

    def ask(self) -> np.ndarray | None:
        """The next point of the generation; None where it is all given out, or the budget is spent."""
        while self._out == len(self._points):
            if len(self._answers) < len(self._points) or not (self._scout() or self._next_generation()):
                return None
        self._out += 1
        self._asked = self._points[self._out - 1].copy()
        return self._asked

    def _next_generation(self) -> bool:
        """Ask the engine for candidates, some of which are to be called: whether there are any."""
        self._learn_known()
        evaluator = self.loop.evaluator
        if evaluator.budget != self.budget:
            change_budget(self.loop, self.budget)
        while evaluator.left > 0:
            self._first += len(self._points)
            self._unit = self.loop.ask()
            selection = find_capability(self.loop.engine, Selection)
            self._called = evaluator.list_calls(self._unit, None if selection is None else selection.wanted())
            self._points = evaluator.box.to_box(self._unit)[0][self._called]
            self._out, self._answers, self._scouts, self._told = 0, {}, 0, False
            if len(self._points):
                return True
            self._tell_engine()
        return False

    def _scout(self) -> bool:
        """Add random points where no answer was usable: an engine must know how many constraints there are."""
        if self.answers.layout is not None or not len(self._points) or self._told:
            return False
        count = len(self._points) - self._scouts
        size = min(self.request.options.get("batch", count), count, self.budget - self.answers.calls)
        if size <= 0:
            self._tell_engine()
            return False
        source: Any = self.loop.evaluator.source
        unit = self._scouting.random((size, self.request.dim))
        x = self.loop.evaluator.box.to_box(source.project(unit)[None])[0]
        self._points, self._scouts = np.concatenate([self._points, x]), self._scouts + size
        return True

    def set_budget(self, budget: int) -> None:
        """Plan with another number of calls from the next generation on."""
        self.budget = budget

    def note(self, number: int, x: np.ndarray) -> None:
        """Put x in the place of what was proposed under this number, where they differ."""
        if x is self._asked:
            return
        place = number - self._first
        if place < len(self._points) and not np.array_equal(self._points[place], x):
            self._points[place] = x
            if place < len(self._called):
                self._unit = np.array(self._unit)
                self._unit[0, self._called[place]] = self.loop.evaluator.box.pin(x[None])[0]

    def tell(self, number: int, x: np.ndarray, answer: Answer) -> None:
        """Keep an answer; with the last one of a generation the engine learns from all."""
        self._answers[number - self._first] = answer
        if (
            len(self._answers) == len(self._points)
            and self._out == len(self._points)
            and self.answers.layout is not None
        ):
            self._tell_engine()

    def _look_up(self, x: np.ndarray) -> Values:
        """Values of the called points of the generation."""
        return self.answers.values([self.answers.align(self._answers[k]) for k in range(len(self._called))])

    def _tell_engine(self) -> None:
        """Tell the engine its generation."""
        if self._scouts:
            places = range(len(self._called), len(self._points))
            f, g, h = self.answers.values([self.answers.align(self._answers[k]) for k in places])
            source: Any = self.loop.evaluator.source
            source.scouted = [(self._points[None, places[0] :], (f[None], g[None], h[None]))]
        self.answers.fix_equalities(len(self._called))
        self.loop.evaluate_and_tell(self._unit)
        self.iterations += 1
        self._told = True


def change_budget(loop: Loop, budget: int) -> None:
    """Let an engine and its evaluator go on with another budget."""
    loop.evaluator.budget = budget
    notes = loop.evaluator.history.notes
    notes[:] = [note for note in notes if "below the population" not in note]
    for engine in walk_engines(loop.engine):
        task = getattr(engine, "task", None)
        if isinstance(task, Task):
            object.__setattr__(task, "budget", budget)
        if hasattr(engine, "make_room"):
            engine.make_room(budget)


def walk_engines(engine: Engine) -> Iterator[Engine]:
    """An engine and the engines inside it."""
    yield engine
    for part in vars(engine).values():
        if isinstance(part, Engine):
            yield from walk_engines(part)
