"""A search that is asked for a point whenever a worker is free, and told of answers as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.core.capabilities import Asynchronous, find_capability
from meco.core.engine import Engine
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.memory import Record
from meco.errors import InvalidInput
from meco.methods import METHODS, methods_that_offer
from meco.run.engine_search import make_search
from meco.run.folder.search_state import restore_search
from meco.run.function_source import ValueLookup, Values
from meco.run.log.evaluation_log import Entry, EvaluationLog, PriorEvaluations
from meco.run.request import Request


def check_asynchronous(method: str) -> None:
    """InvalidInput unless the method can be asked for one point at a time."""
    if Asynchronous not in METHODS[method].offers:
        raise InvalidInput(
            f"asynchronous=True needs one of {methods_that_offer(Asynchronous)}; {method} proposes whole generations: "
            "leave it out"
        )


class AsyncSearch:
    """Points are numbered when proposed, and learnt from when answered.

    It begins (with what is known), or goes on from the record of a search that was told what the log holds.
    Optimizer uses this and GenerationSearch alike: propose, accept_answer, done, nit, loop and saved.
    """

    saved = (None, 0, 0)  # of an Optimizer: it is told again all that it was told

    def __init__(
        self,
        request: Request,
        log: EvaluationLog,
        known: PriorEvaluations | None = None,
        record: Record | None = None,
        nit: int = 0,
    ) -> None:
        """A new search that knows these points, or that of a record after nit answers; nothing is proposed yet."""
        self.request, self.log = request, log
        call = ValueLookup(self._look_up_values)
        self.loop = (
            make_search(request, log, call, known) if record is None else restore_search(request, log, record, call)
        )
        asynchronous = find_capability(self.loop.engine, Asynchronous)
        assert asynchronous is not None
        self.proposals: Any = asynchronous.start(request.options.get("batch", 1), self.loop.tell, lambda points: None)
        self.first_count = len(self.proposals.waiting)
        self.tickets: dict[int, Any] = {}  # what each outstanding number was proposed for
        self.early_answers: list[tuple[np.ndarray, int | None]] = []  # before the engine has begun; None: known
        self.free_numbers: deque[int] = deque()  # numbers that were planned once, and can be given again
        self.nit = nit
        self._numbers: list[int] = []  # answers that the next evaluation looks up, set by _evaluate_answers()

    @property
    def engine(self) -> Engine:
        """What searches."""
        return self.loop.engine

    @property
    def evaluator(self) -> Evaluator:
        """What evaluates its candidates."""
        return self.loop.evaluator

    def _look_up_values(self, x: np.ndarray) -> Values:
        """f, g and h in the log of the answers at hand, whose points x [n, D] are."""
        return self.log.values(self._numbers)

    @property
    def done(self) -> bool:
        """Whether the budget is spent and everything was answered."""
        return self.left <= 0 and not self.tickets

    @property
    def left(self) -> int:
        """Points that may still be proposed."""
        return self.evaluator.budget - self.log.planned + len(self.free_numbers)

    def propose(self) -> tuple[int, np.ndarray] | None:
        """Number and point [D] of the next call, which is then outstanding; None where the budget is spent."""
        while self.left > 0:
            if not self.proposals.begun and not self.proposals.waiting:
                self.begin_if_ready()
            ticket = self.proposals.ask()
            if not self._is_known(ticket.x):
                number = self._next_number()
                self.tickets[number] = ticket
                box = self.evaluator.box
                return number, box.to_box(box.keep_inside(ticket.x[None, None, :]))[0, 0]
            self._learn_from(ticket, None)
        return None

    def _next_number(self) -> int:
        """A number for the next call: one that was given back, else a new one, which counts as planned."""
        return self.free_numbers.popleft() if self.free_numbers else self.log.reserve_numbers(1)[0]

    def _is_known(self, x: np.ndarray) -> bool:
        """Whether a value of this point [D] is known beforehand, and is not that of a point learnt from already."""
        known: Any = self.evaluator.known
        learnt = [point for point, number in self.early_answers if number is None]
        points = np.stack([*learnt, x])
        return len(points) - 1 not in known.unknown(points[None])

    def accept_answer(self, number: int) -> None:
        """Learn from the answer of that number, which the log has; it is outstanding no longer."""
        self._learn_from(self.tickets.pop(number), number)

    def renumber_for_retry(self, number: int) -> int:
        """Another number for one more call of that number's point, which is then outstanding under it."""
        instead = self._next_number()
        self.tickets[instead] = self.tickets.pop(number)
        return instead

    def replay_answers(self, entries: Sequence[Entry]) -> None:
        """Learn from answers of an earlier session, in the order in which they came; the last may be repeated calls."""
        searched = self.evaluator.budget - len(self.log)
        for k, entry in enumerate(entries):
            self.log.add_recorded(entry)
            if k >= searched:
                continue
            x = self.evaluator.box.pin(entry.x[None])[0]
            while self._is_known(x):  # it was learnt from before the point was called
                self._learn_from(self.proposals.ticket(x), None)
            self._learn_from(self.proposals.ticket(x), entry.number)
        self.restore_numbering({*self.log.entries, *self.log.waiting})
        taken = {unit.tobytes() for unit, _ in self.early_answers}
        self.proposals.drop_waiting(taken)
        self.log.fix_constraints()

    def restore_numbering(self, taken: set[int]) -> None:
        """Count these numbers as planned, and give the gaps between them to the next points before new ones."""
        self.log.mark_planned_below(max(taken, default=-1) + 1)
        self.free_numbers = deque(n for n in range(self.log.planned) if n not in taken)

    def reuse_unanswered_numbers(self) -> None:
        """Give numbers again that were planned and not answered: a new search knows nothing of what was proposed."""
        self.free_numbers = deque(n for n in range(self.log.planned) if n not in self.log.entries)

    def mark_outstanding(self, number: int, unit: np.ndarray) -> None:
        """Count a point [D] as proposed under this number by an earlier session; call it after restore_numbering()."""
        self.tickets[number] = self.proposals.give_out(unit)

    def begin_if_ready(self) -> None:
        """Begin the models with all that was answered so far, if that is enough and the constraints are known."""
        good = sum(self._is_good(number) for _, number in self.early_answers)
        enough = min(self.request.dim + 2, self.first_count) if len(self.early_answers) < 2 * self.first_count else 1
        if good < enough:
            return
        self.log.fix_constraints()
        if self.log.constraints is not None:
            unit = np.stack([point for point, _ in self.early_answers])[None]
            self.loop.tell(unit, self._evaluate_answers(unit, [number for _, number in self.early_answers]))
            self.early_answers = []
            self._note_iteration()

    def _is_good(self, number: int | None) -> bool:
        """Whether the answer of that number is usable; that of a known point (None) is."""
        if number is None:
            return True
        entry = self.log.entries[number] if number in self.log.entries else self.log.waiting[number][0]
        return entry.good

    def _learn_from(self, ticket: Any, number: int | None) -> None:
        """Tell the engine of an answer, the log's by number or a known one (None); before it began, keep it."""
        self.proposals.withdraw(ticket)
        if not self.proposals.begun:
            self.early_answers.append((ticket.x, number))
            return
        unit = ticket.x[None, None, :]
        self.proposals.answer(ticket, unit, self._evaluate_answers(unit, [number]))
        self._note_iteration()

    def _evaluate_answers(self, unit: np.ndarray, numbers: list[int | None]) -> Evaluation:
        """The evaluation [1, n] of points unit [1, n, D]: the log's answers by number, or what was known beforehand.

        They are counted and compete for the best.
        """
        self._numbers = [number for number in numbers if number is not None]
        return self.evaluator.evaluate(unit)

    def _note_iteration(self) -> None:
        """Record where the search is, and count the answer that it learnt from."""
        self.loop.record_generation()
        self.nit += 1
