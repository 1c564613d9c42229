"""A search that is asked for a point whenever somebody is free, and told of answers as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing, suppress

import numpy as np

from meco.blackbox.answers import Fault
from meco.blackbox.calls import RETRIES, Caller, CallJob, StopRun
from meco.blackbox.evaluation_log import Entry, EvaluationLog, Known, LayoutChanged
from meco.blackbox.request import Request
from meco.blackbox.result import MinimizeResult
from meco.blackbox.search_state import AnswerDigest, SearchState, brought_back, packed_search, tell_again
from meco.blackbox.session import Session, Values, WarmStartEvaluator, prepare
from meco.engines.engine import Engine
from meco.engines.memory import DoesNotFit
from meco.engines.model.free_running import FreeRunning, Ticket
from meco.errors import InvalidInput, MecoError
from meco.methods import METHODS
from meco.problems.evaluation import Evaluation
from meco.results import newest

RESUMED = (
    "the asynchronous run was resumed from every recorded answer, in the order recorded; it is not bit for bit what an "
    "uninterrupted run would have been"
)


def refuse_generations(method: str) -> None:
    """Say that a method cannot be asked for one point at a time, where it cannot."""
    if METHODS[method].family != "TR":
        raise InvalidInput(
            f"asynchronous=True needs TR, TR-ES or MeCO-TR; {method} proposes whole generations: leave it out"
        )


class FreeSearch:
    """Evaluator and engine of an asynchronous run: points are numbered when proposed, and learnt from when answered."""

    def __init__(
        self,
        request: Request,
        log: EvaluationLog,
        known: Known | None = None,
        stood: tuple[WarmStartEvaluator, Engine] | None = None,
    ) -> None:
        self.request, self.log = request, log
        self.evaluator, self.engine = stood or prepare(request, log, self._answers, known)
        self.evaluator.log, self.evaluator.call = log, self._answers
        self.running = FreeRunning(self.engine, request.options.get("batch", 1))
        self.first = len(self.running.waiting)
        self.tickets: dict[int, Ticket] = {}  # by number
        self.early: list[tuple[np.ndarray, int | None]] = []  # answered before the engine has begun; None: known
        self.free: deque[int] = deque()  # numbers that were planned once, and can be given again
        self.nit = 0
        self._numbers: list[int] = []

    def _answers(self, x: np.ndarray) -> Values:
        return self.log.values(self._numbers)

    @property
    def left(self) -> int:
        """Points that may still be proposed."""
        return self.evaluator.budget - self.log.planned + len(self.free)

    def propose(self) -> tuple[int, np.ndarray] | None:
        """Number and point [D] of the next call; None where the budget is spent."""
        while self.left > 0:
            if not self.running.begun and not self.running.waiting:
                self.begin()
            ticket = self.running.ask()
            if not self._known(ticket.x):
                number = self.free.popleft() if self.free else self.log.plan(1)[0]
                self.tickets[number] = ticket
                return number, self.evaluator.to_box(ticket.x[None, None, :])[0, 0]
            self._learn(ticket, None)
        return None

    def _known(self, x: np.ndarray) -> bool:
        """Whether a value of this point [D] is known beforehand, and is not that of a point learnt from already."""
        learnt = [point for point, number in self.early if number is None]
        return not len(self.evaluator.needed(np.stack([*learnt, x])[None]))

    def hear(self, number: int) -> None:
        """Learn from the answer of that number, which the log has."""
        self._learn(self.tickets.pop(number), number)

    def again(self, number: int) -> int:
        """Another number for one more call of that number's point."""
        instead = self.free.popleft() if self.free else self.log.plan(1)[0]
        self.tickets[instead] = self.tickets.pop(number)
        return instead

    def take(self, entries: list[Entry]) -> None:
        """Answers of an earlier session, in the order in which they came."""
        for entry in entries:
            self.log.take(entry, new=False)
            x = self.evaluator.place(entry.x[None])[0]
            while self._known(x):  # it was learnt from before the point was called
                self._learn(Ticket(x), None)
            self._learn(Ticket(x), entry.number)
        done = {*self.log.entries, *self.log.waiting}
        self.log.planned = max(done, default=-1) + 1
        self.free = deque(n for n in range(self.log.planned) if n not in done)
        taken = {unit.tobytes() for unit, _ in self.early}
        self.running.waiting = [t for t in self.running.waiting if (t.x + 0.0).tobytes() not in taken]
        self.log.settle()

    def begin(self) -> None:
        """Tell the engine what has been answered so far, if models can be made of it and the constraints are known."""
        good = sum(self._good(number) for _, number in self.early)
        enough = min(self.request.dim + 2, self.first) if len(self.early) < 2 * self.first else 1
        if good < enough:
            return
        self.log.settle()
        if self.log.layout is not None:
            unit = np.stack([point for point, _ in self.early])[None]
            self.running.begin(unit, self._evaluated(unit, [number for _, number in self.early]))
            self.early = []
            self._note()

    def _good(self, number: int | None) -> bool:
        """Whether an answer is usable; that of a known point is."""
        if number is None:
            return True
        entry = self.log.entries[number] if number in self.log.entries else self.log.waiting[number][0]
        return entry.good

    def _learn(self, ticket: Ticket, number: int | None) -> None:
        self.running.withdraw(ticket)
        if not self.running.begun:
            self.early.append((ticket.x, number))
            return
        unit = ticket.x[None, None, :]
        self.running.tell(ticket, unit, self._evaluated(unit, [number]))
        self._note()

    def _evaluated(self, unit: np.ndarray, numbers: list[int | None]) -> Evaluation:
        """Answers [1, n] of points: the log's by number, or what was known beforehand."""
        self._numbers = [number for number in numbers if number is not None]
        return self.evaluator.evaluate(unit)

    def _note(self) -> None:
        self.evaluator.note(self.engine.population, self.engine.trace())
        self.nit += 1


def stream(caller: Caller, search: FreeSearch) -> Generator[int, None, None]:
    """Have a point called whenever somebody is free; gives numbers as their answers come, failed ones after retries."""
    given: list[tuple[int, int, np.ndarray]] = []  # number, attempt and point of each call
    failed: deque[tuple[int, int, np.ndarray]] = deque()

    def jobs() -> Iterator[CallJob]:
        while (call := failed.popleft() if failed else _first(search.propose())) is not None:
            given.append(call)
            yield CallJob(call[0], call[2][None])

    try:
        for index, (answer,), seconds in caller.backend.run(jobs(), caller.stopping):
            number, attempt, x = given[index]
            caller.notice(caller.begun, answer)
            caller.begun += 1
            caller.clocked(number, seconds)
            caller.take(number, attempt, x, answer)
            caller.tick()
            if answer.fault is Fault.NONE or caller.on_error != "retry" or attempt == RETRIES or search.left < 1:
                yield number
                continue
            caller.charge(1)
            failed.append((search.again(number), attempt + 1, x))
    except StopRun as stop:
        caller.stopping.end(stop.reason, stop.detail)
        raise
    finally:
        caller.log.settle()


def _first(proposed: tuple[int, np.ndarray] | None) -> tuple[int, int, np.ndarray] | None:
    return None if proposed is None else (proposed[0], 0, proposed[1])


class FreeSession(Session):
    """A run whose workers are never waited for. What it does depends on who finishes first."""

    facts = {"asynchronous": True}  # noqa: RUF012

    stands: SearchState | None = None  # where an interrupted session noted that the search stood
    search: FreeSearch | None = None

    def _search(self) -> None:
        past, self.log.past = list(self.log.past.values()), {}
        search = self._resumed(past) if past else self._begun(None)
        while not self._known_enough():
            try:
                return self._follow(search)
            except LayoutChanged:
                self.anew = True
                search = self._begun(self.log.usable())
                search.free = deque(n for n in range(self.log.planned) if n not in self.log.entries)
                self.evaluator.charge(len(self.log))

    def _resumed(self, past: list[Entry]) -> FreeSearch:
        """A search that knows every recorded answer: from where it stood, or from all of them at once."""
        self.notes.append(RESUMED)
        covered = 0 if self.stands is None else self.stands.covered
        log = EvaluationLog(self.request.budget, self.log.total)
        if self.log.declared:
            log.declare(*self.log.counts)
        stood = None
        with suppress(LayoutChanged, DoesNotFit, MecoError):
            tell_again(log, past[:covered])
            told = {k: log.entries[entry.number] for k, entry in enumerate(past[:covered])}
            if self.stands is not None and AnswerDigest().of(told, len(told)) == self.stands.answers:
                stood = brought_back(self.request, log, self.stands.record)
        if stood is None or self.stands is None:
            search, covered = self._begun(None), 0
        else:
            self.log.adopt(log)
            search = self._begun(None, stood)
            search.nit = self.stands.generation
        search.take(past[covered:])
        self.nit = search.nit
        return search

    def stands_at(self, belongs: str) -> bytes | None:
        """Where the search stands, for the folder; nothing before its models have begun."""
        search, folder, log = self.search, self.folder, self.log
        if search is None or folder is None or self.anew or not log.reviewed or not search.running.begun:
            return None
        told = {k: log.entries[number] for k, number in enumerate(folder.order)}
        digest = AnswerDigest().of(told, len(told))
        return packed_search(self.evaluator, self.engine, self.nit, len(told), 0, belongs, digest)

    def _begun(self, known: Known | None, stood: tuple[WarmStartEvaluator, Engine] | None = None) -> FreeSearch:
        self.search = search = FreeSearch(self.request, self.log, known, stood)
        self.evaluator, self.engine = search.evaluator, search.engine
        self.caller.charge = self.evaluator.charge
        return search

    def _follow(self, search: FreeSearch) -> None:
        """Call points and learn from answers until the budget is spent, or something ends the run."""
        seen = 0  # answers that the stopping conditions were shown, as soon as they can be read
        with closing(stream(self.caller, search)) as numbers:
            for number in numbers:
                self.log.review()
                search.hear(number)
                self.nit = search.nit
                fresh = newest(self.log.entries, len(self.log) - seen) if self.stopping.watches_answers else []
                seen += len(fresh)
                if any(self.stopping.answered(*self.caller.shown(self.log.entries[n])) for n in fresh):
                    return
                if self._after_answer():
                    return

    def result(self) -> MinimizeResult:
        """The result so far. By number there would be gaps, around which every table is made anew: at the end alone."""
        self.log.as_told = self.stopping.reason is None
        return super().result()

    def _after_answer(self) -> bool:
        if self.folder is not None:
            if self.nit:
                self.folder.traced(len(self.log), self.engine.trace)
            self.folder.generation(self.state)
        if self.report is not None:
            self.report(self)
        return self.stopping.after_generation(self.result, self.engine.converged if self.nit else lambda: None)
