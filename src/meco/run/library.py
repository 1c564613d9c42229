"""Libraries that call the function themselves, such as SciPy's: their function is run.evaluate()."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from meco.core.capabilities import OwnLoop, find_capability
from meco.core.evaluator import BudgetSpent
from meco.core.streams import SCOUT_STREAM
from meco.run.answer import Answer
from meco.run.generations import EngineSearch
from meco.run.layout import Answers, Entry, PriorEvaluations
from meco.run.request import Request
from meco.run.source import Values


class Caller(Protocol):
    """What a library needs of a run."""

    budget: int

    def evaluate(self, points: np.ndarray) -> list[int]:
        """Call points [n, D], and wait for them and for those under way: the numbers of their asks."""
        ...

    def after_iteration(self) -> bool:
        """Whether the run is over."""
        ...


class LibrarySearch(EngineSearch):
    """A library's own loop. It is asked for nothing: drive() runs it, and gives it recorded answers first.

    Where a recorded point is not the one that the library wants, the rest of the record become known points.
    """

    started = True  # a library cannot be told of other constraints

    def __init__(self, request: Request, answers: Answers) -> None:
        super().__init__(request, answers)
        self._points: dict[int, np.ndarray] = {}  # noted and not yet given to the library, by number
        self._told: dict[int, Answer] = {}
        self._retries: dict[int, int] = {}  # made by the time of an answer, by its number
        self._counted = answers.retries
        self._run: Caller | None = None
        self._constraints_known = answers.layout is not None
        self._given = answers.visible = dict(answers.entries)
        self._worst = -np.inf  # the largest f that the library was given
        self._next = 0  # number of the next point that the library gets
        self._notes: list[str] = []
        self._scouting = np.random.default_rng([request.seed, SCOUT_STREAM])

    def ask(self) -> None:
        """None: the library asks when it runs."""

    def note(self, number: int, x: np.ndarray) -> None:
        """Keep a point."""
        self._points[number] = x

    def tell(self, number: int, x: np.ndarray, answer: Answer) -> None:
        """Keep an answer."""
        self._told[number] = answer
        self._retries[number] = self.answers.retries

    def drive(self, run: Caller) -> None:
        """Run the library until the budget is spent or the run is over."""
        self._run = run
        own = find_capability(self.loop.engine, OwnLoop)
        assert own is not None
        source: Any = self.loop.evaluator.source
        source.count_retries = lambda: self._counted
        source.worst = lambda: self._worst if np.isfinite(self._worst) else 0.0
        own.run(self.loop.evaluator, self._after_iteration)

    def _after_iteration(self) -> bool:
        """Count an iteration: whether the run is over."""
        assert self._run is not None
        self.iterations += 1
        return self._run.after_iteration()

    def _look_up(self, x: np.ndarray) -> Values:
        """Values of points x [n, D]. Calls random points until one gives a usable answer, if none did before."""
        found = self._find_answers(x)
        self.answers.fix_equalities(len(x))
        source: Any = self.loop.evaluator.source
        scouted = []
        while not self._constraints_known and (left := self._calls_left()) > 0:
            size = min(self.request.options.get("batch", len(x)), len(x), left)
            unit = self._scouting.random((size, self.request.dim))
            points = self.loop.evaluator.box.to_box(source.project(unit)[None])[0]
            scouted.append((points, self._find_answers(points)))
        for points, told in scouted:
            f, g, h = self._values(told)
            source.scouted.append((points[None], (f[None], g[None], h[None])))
        return self._values(found)

    def _calls_left(self) -> int:
        """Calls that may still be made, or are recorded."""
        assert self._run is not None
        return self._run.budget - self.answers.calls + len(self._points)

    def _values(self, answers: list[Answer]) -> Values:
        """f [n], g [n, p] and h [n, q] of answers."""
        return self.answers.values([self.answers.align(answer) for answer in answers])

    def _find_answers(self, x: np.ndarray) -> list[Answer]:
        """Answers of points x [n, D]: of calls that are recorded, or under way, then of new ones."""
        assert self._run is not None
        numbers: list[int] = []
        while len(numbers) < len(x) and self._next in self._points:
            if not np.array_equal(self._points[self._next], x[len(numbers)]):
                self._forget_record()
                break
            numbers.append(self._next)
            self._next += 1
        if len(numbers) < len(x) or not all(number in self._told for number in numbers):
            made = self._run.evaluate(x[len(numbers) :])
            self._next = made[-1] + 1 if made else self._next
            numbers += made
        if len(numbers) < len(x):
            raise BudgetSpent("recorded calls that the library did not want are part of the budget")
        return [self._take(number) for number in numbers]

    def _take(self, number: int) -> Answer:
        """The answer of a number, once."""
        self._counted = max(self._counted, self._retries.pop(number))
        answer = self._told.pop(number)
        entry = Entry(number, 0, self._points.pop(number), self.answers.align(answer))
        self._given[len(self._given)] = entry
        if answer.good:
            self._constraints_known = True
            self._worst = max(self._worst, answer.f if np.isfinite(answer.f) else self._worst)
        return answer

    def _forget_record(self) -> None:
        """Let the rest of the record be known points."""
        self._notes.append(
            f"from call {self._next + 1} on the library wants other points than those recorded, which are known to it"
        )
        known: Any = self.loop.evaluator.known
        box = self.loop.evaluator.box
        self.loop.evaluator.count_evaluations(len(self._points))
        for number, answer in sorted(self._told.items()):
            f, g, h = self._values([answer])
            points = PriorEvaluations(self._points[number][None], f, g, h)
            known.add(box.pin(points.x), points)
        self._told, self._points = {}, {}
