"""Engines that propose a point while answers are outstanding, as a Search that is told of answers as they come."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.capabilities import Asynchronous, find_capability
from meco.core.evaluation import Evaluation
from meco.errors import InvalidInput
from meco.methods import METHODS, methods_that_offer
from meco.run.answer import Answer
from meco.run.generations import EngineSearch
from meco.run.layout import Answers
from meco.run.request import Request
from meco.run.source import Values


def check_asynchronous(method: str) -> None:
    """InvalidInput unless the method can be asked for one point at a time."""
    if Asynchronous not in METHODS[method].offers:
        raise InvalidInput(
            f"asynchronous=True needs one of {methods_that_offer(Asynchronous)}; {method} proposes whole generations: "
            "leave it out"
        )


class AsyncEngine(EngineSearch):
    """Tickets of an engine: given out one by one, and answered in any order."""

    def __init__(self, request: Request, answers: Answers) -> None:
        super().__init__(request, answers)
        self._tickets: dict[int, Any] = {}  # by number
        self._asked: Any = None  # the ticket of the last ask, until it is noted
        self._early: list[tuple[np.ndarray, Answer | None]] = []  # answers before the models begin; None: known before
        self._proposals: Any = None
        self._told: list[Answer] = []  # answers that the next evaluation looks up

    @property
    def proposals(self) -> Any:
        """What the engine proposes."""
        if self._proposals is None:
            asynchronous = find_capability(self.loop.engine, Asynchronous)
            assert asynchronous is not None
            batch = self.request.options.get("batch", 1)
            self._proposals = asynchronous.start(batch, self.loop.tell)
            self._first_count = len(self._proposals.waiting)
        return self._proposals

    def ask(self) -> np.ndarray:
        """The next point; points that are known are learnt from on the way."""
        self._learn_known()
        while True:
            if not self.proposals.begun and not self.proposals.waiting:
                self._begin_if_ready()
            ticket = self.proposals.ask()
            if not self._is_known(ticket.x):
                self._asked = ticket
                box = self.loop.evaluator.box
                return box.to_box(box.keep_inside(ticket.x[None, None, :]))[0, 0]
            self._learn(ticket, None)

    def note(self, number: int, x: np.ndarray) -> None:
        """Keep the ticket of the last ask under its number."""
        box = self.loop.evaluator.box
        if not np.array_equal(box.to_box(box.keep_inside(self._asked.x[None, None, :]))[0, 0], x):
            self._asked.x = box.pin(x[None])[0]
        self._tickets[number] = self._asked

    def tell(self, number: int, x: np.ndarray, answer: Answer) -> None:
        """Learn from an answer, or keep it until the models begin."""
        self._learn(self._tickets.pop(number), answer)

    def _is_known(self, x: np.ndarray) -> bool:
        """Whether a value of this point [D] is known beforehand, and is not that of a point learnt from already."""
        known: Any = self.loop.evaluator.known
        learnt = [point for point, answer in self._early if answer is None]
        points = np.stack([*learnt, x])
        return len(points) - 1 not in known.unknown(points[None])

    def _begin_if_ready(self) -> None:
        """Begin the models with all answers so far, if they are enough and the constraints are known."""
        good = sum(answer is None or answer.good for _, answer in self._early)
        enough = min(self.request.dim + 2, self._first_count) if len(self._early) < 2 * self._first_count else 1
        if good < enough or self.answers.layout is None:
            return
        unit = np.stack([point for point, _ in self._early])[None]
        self.loop.tell(unit, self._evaluate(unit, [answer for _, answer in self._early]))
        self._early = []
        self._note_iteration()

    def _learn(self, ticket: Any, answer: Answer | None) -> None:
        """Tell the engine of an answer, None for a known point; before it began, keep it."""
        self.proposals.withdraw(ticket)
        if not self.proposals.begun:
            self._early.append((ticket.x, answer))
            return
        unit = ticket.x[None, None, :]
        self.proposals.answer(ticket, unit, self._evaluate(unit, [answer]))
        self._note_iteration()

    def _evaluate(self, unit: np.ndarray, answers: list[Answer | None]) -> Evaluation:
        """The evaluation [1, n] of points unit [1, n, D], which are counted and compete for the best."""
        self._told = [answer for answer in answers if answer is not None]
        return self.loop.evaluator.evaluate(unit)

    def _look_up(self, x: np.ndarray) -> Values:
        """Values of the answers at hand."""
        return self.answers.values([self.answers.align(answer) for answer in self._told])

    def _note_iteration(self) -> None:
        """Record where the search is."""
        self.loop.record_generation()
        self.iterations += 1
