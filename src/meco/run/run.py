"""One run: ask the search, call the function, log what happened, tell the search.

The search depends on the logged events alone. To resume a run is to give a new search the same events; calls that were
asked for and never answered are then made again under their numbers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from meco.core.evaluator import BudgetSpent
from meco.errors import log_event
from meco.run.answer import FAULT_MESSAGES, Answer, EvaluationFailed, Fault
from meco.run.layout import Answers, Entry
from meco.run.log import SLOW_SECONDS, Event, decode_answer, encode_answer
from meco.run.mistakes import FirstCalls
from meco.run.request import Request
from meco.run.search import Search
from meco.run.stop import Stopping, StopRun

if TYPE_CHECKING:
    from meco.run.workers import Pool

MAX_RETRIES = 2  # further calls that a failed point may get
STATE_SECONDS = 1.0  # between two `state` events
REPLAY_SECONDS = 2.0  # after which a replay shows how far it is


Told = tuple[int, Answer, float]  # number of a call, its answer, seconds


class Sink(Protocol):
    """Where events go."""

    def add(self, event: Event, *, sync: bool = False) -> None: ...


class Pending(NamedTuple):
    """A call without an answer."""

    search: Search  # that asked for it
    ask: int  # its number there
    x: np.ndarray
    attempt: int


class SearchChanged(BudgetSpent):
    """The run has another search now, which ends a library's loop."""


class Run:
    """A search, its answers, and the log that both follow from.

    ask() and record() are all that an Optimizer needs; drive() calls the function, in the workers, to the end.
    """

    def __init__(
        self,
        request: Request,
        make_search: Callable[[], Search],
        answers: Answers,
        log: Sink,
        *,
        on_error: str | None = None,
        asynchronous: bool = False,
        vectorized: bool = False,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """A new run; replay() brings it to where recorded events end."""
        self.request, self.make_search, self.answers, self.log = request, make_search, answers, log
        self.on_error, self.asynchronous, self.vectorized, self.warn = on_error, asynchronous, vectorized, warn
        self.budget = request.budget
        self.search = make_search()
        self.pending: dict[int, Pending] = {}
        self.retries: list[int] = []  # failed calls whose points are to be called again
        self.failed: dict[int, Pending] = {}  # what these were asked for
        self.diverged = 0  # replayed points that this machine would not have proposed
        self.seconds = 0.0  # of all calls
        self.mistakes = FirstCalls(request.dim, vectorized=vectorized, names=request.variables.names)
        self._asks = 0  # of the present search
        self._names_checked = self._mismatch_told = self._tolerances_logged = False
        self._best = float("inf")  # feasible f that the logger was told
        self._difference: float | None = None  # what the next ask is told of other searches

    # -- events ------------------------------------------------------------------------------------------

    def ask(self) -> int | None:
        """Ask for a point and log it: its number; None where the search has none now, or the budget is spent."""
        if self.answers.calls >= self.budget:
            return None
        if self._difference is not None:
            self.search.diversify(self._difference)  # type: ignore[attr-defined]
        x = self.search.ask()
        return None if x is None else self.give_out(x)

    def give_out(self, x: np.ndarray, retry_of: int | None = None) -> int:
        """Log a call of x [D], which is then pending: its number."""
        number, difference = self.answers.calls, self._difference
        event: Event = ["ask", number, x.tolist(), retry_of]
        self.log.add(event if difference is None else [*event, difference])
        self._see_ask(number, x, retry_of)
        return number

    def record(self, found: Sequence[Told]) -> None:
        """Log answers of pending calls, then let the search learn from them."""
        self.log_answers(found)
        self.learn(found)

    def log_answers(self, found: Sequence[Told]) -> None:
        """Log answers of pending calls. What cannot be written is in the result all the same."""
        try:
            for number, answer, seconds in found:
                event = ["tell", number, round(seconds, 6), *encode_answer(answer)]
                self.log.add(event, sync=seconds > SLOW_SECONDS)
                self.mistakes.see(answer)
        except BaseException:
            for number, answer, _ in found:
                call = self.pending.pop(number)
                self.answers.enter(number, call.attempt, call.x, answer)
            raise

    def learn(self, found: Sequence[Told]) -> None:
        """Let the search learn from logged answers."""
        for number, answer, seconds in found:
            self._see_answer(number, answer, seconds)
            self._note_answer(number)
        if self.answers.faults[Fault.MISMATCH] and not self._mismatch_told:
            self._note_mismatch()
        if self.answers.equalities.fixed is not None and not self._tolerances_logged:
            self._tolerances_logged = True
            self.log.add(["tolerances", self.answers.equalities.fixed.tolist()])

    def know(self, x: np.ndarray, answers: Sequence[Answer]) -> None:
        """Log points [n, D] that other searches evaluated, for the search to learn from."""
        for point, answer in zip(x, answers):
            self.log.add(["known", point.tolist(), answer.f, answer.g.tolist(), answer.h.tolist()])
            self.search.know(point, answer)

    def diversify(self, u: float) -> None:
        """Let the next asks differ, by u in [0, 1), from other searches of the same points."""
        self.log.add(["diversify", u])
        self._difference = u

    def set_budget(self, budget: int) -> None:
        """Go on with another budget."""
        if budget != self.budget:
            self.log.add(["budget", budget])
            self._see_budget(budget)

    def _see_ask(self, number: int, x: np.ndarray, retry_of: int | None) -> None:
        """Count a call; one more call of a failed point belongs to the ask of the first."""
        self.answers.calls = number + 1
        self._difference = None
        if retry_of is not None:
            self.retries.remove(retry_of)
            before = self.failed.pop(retry_of)
            self.pending[number] = before._replace(attempt=before.attempt + 1)
            self.answers.retries += 1
        else:
            self.pending[number] = Pending(self.search, self._asks, x, 0)
            self.search.note(self._asks, x)
            self._asks += 1
        if self.answers.calls >= self.budget:
            self._settle_retries()

    def _see_answer(self, number: int, answer: Answer, seconds: float) -> None:
        """Keep an answer, and tell the search unless the point is called again."""
        call = self.pending.pop(number)
        self.seconds += seconds
        changed = self.answers.enter(number, call.attempt, call.x, answer)
        if changed and getattr(self.search, "started", True):
            self._restart()
        good = self.answers.entries[number].good
        if not good and self.on_error == "retry" and call.attempt < MAX_RETRIES and self.answers.calls < self.budget:
            self.retries.append(number)
            self.failed[number] = call
        else:
            self._tell(number, call, known=changed)

    def _tell(self, number: int, call: Pending, *, known: bool = False) -> None:
        """Tell the search of a call's last answer; a search that did not ask for it knows it, if it is usable."""
        answer = self.answers.entries[number].answer
        if call.search is self.search:
            self.search.tell(call.ask, call.x, answer)
        elif answer.good and not known:
            self.search.know(call.x, answer)

    def _settle_retries(self) -> None:
        """Tell the search of failures that are not called again, for the budget is spent."""
        numbers, self.retries = sorted(self.retries), []
        for number in numbers:
            self._tell(number, self.failed.pop(number))

    def _restart(self) -> None:
        """Begin another search, which knows every usable answer: the function has other constraints than told."""
        self.search, self._asks = self.make_search(), 0
        if self.budget != self.request.budget:
            self.search.set_budget(self.budget)
        for entry in self.answers.entries.values():
            if entry.good:
                self.search.know(entry.x, entry.answer)

    def _see_budget(self, budget: int) -> None:
        """Plan with another budget."""
        self.budget = budget
        self.search.set_budget(budget)

    def _note_answer(self, number: int) -> None:
        """Check the names of a usable answer, and tell the logger of it or of a failure."""
        entry = self.answers.entries[number]
        if entry.good:
            self._check_names(entry)
            self._log_best(entry)
            return
        fault, reason = entry.answer.fault, entry.answer.reason
        log_event("debug", f"evaluation {number} failed: {reason}", number=number, fault=fault.name.lower())

    def _note_mismatch(self) -> None:
        """Tell the user of the first answer with other constraints; EvaluationFailed where on_error is "raise"."""
        odd = min(n for n, entry in self.answers.entries.items() if entry.answer.fault is Fault.MISMATCH)
        entry = self.answers.entries[odd]
        self._mismatch_told = True
        if self.on_error == "raise":
            raise make_failure(odd, entry.x, entry.answer)
        self.warn(f"evaluation {odd} counts as failed: {entry.answer.reason}")

    def _log_best(self, entry: Entry) -> None:
        """Tell the logger of a feasible answer that is better than those before."""
        if entry.answer.f < self._best:
            ineq, eq = self.request.resolve_tolerances(self.answers)
            if bool((entry.answer.g <= ineq).all() and (np.abs(entry.answer.h) <= eq).all()):
                self._best = entry.answer.f
                said = f"best feasible f = {self._best:.10g} after {len(self.answers)} evaluations"
                log_event("debug", said, nfev=len(self.answers), fun=self._best)

    def _check_names(self, entry: Entry) -> None:
        """InvalidInput where names that the user gave do not fit the constraints, once a whole answer tells these."""
        values = entry.answer.f, entry.answer.g, entry.answer.h
        if not self._names_checked and not any(np.isnan(part).any() for part in values):
            self._names_checked = True
            self.request.check_names(self.answers)

    # -- replay ------------------------------------------------------------------------------------------

    def replay(self, events: Iterable[Event], check: Callable[[], Any] = lambda: None) -> None:
        """Bring the run to where recorded events end, whatever the search would propose now.

        check() is called between events and may raise: every answer is kept by then, and the search is of no use.
        """
        events, begun, shown = list(events), time.monotonic(), 0.0
        for at, event in enumerate(events):
            try:
                check()
            except BaseException:
                for kind, *content in events[at:]:
                    self._keep(kind, content)
                raise
            if (now := time.monotonic()) - begun > REPLAY_SECONDS and now - shown > REPLAY_SECONDS:
                shown = now
                print(f"meco: replaying the log, {at} of {len(events)} events", file=sys.stderr, flush=True)
            self._see(event[0], event[1:])

    def _see(self, kind: str, content: list[Any]) -> None:
        """Let a recorded event happen again."""
        if kind == "ask":
            number, x, retry_of, *difference = content
            point = np.array(x, dtype=np.float64)
            if retry_of is None:
                if difference:
                    self.search.diversify(difference[0])  # type: ignore[attr-defined]
                mine = self.search.ask()
                self.diverged += mine is not None and not np.array_equal(mine, point)
            self._see_ask(number, point, retry_of)
        elif kind == "tell":
            answer = decode_answer(content[2:10])
            self.mistakes.see(answer)
            self._see_answer(content[0], answer, content[1])
        elif kind == "known":
            x, f, g, h = content
            answer = Answer(f, np.array(g, float), np.array(h, float), ("",) * len(g), ("",) * len(h))
            self.search.know(np.array(x, float), answer)
        elif kind == "budget":
            self._see_budget(content[0])
        elif kind == "diversify":
            self._difference = content[0]
        elif kind == "tolerances":
            self._tolerances_logged = True

    def _keep(self, kind: str, content: list[Any]) -> None:
        """Keep an answer of a recorded event, and tell no search."""
        if kind == "ask":
            before = None if content[2] is None else self.failed.get(content[2]) or self.pending.get(content[2])
            attempt = 0 if before is None else before.attempt + 1
            self.pending[content[0]] = Pending(self.search, -1, np.array(content[1], float), attempt)
            self.answers.calls = content[0] + 1
        elif kind == "tell":
            call = self.pending[content[0]]
            self.answers.enter(content[0], call.attempt, call.x, decode_answer(content[2:10]))


class Driver:
    """Drives a run: hands its points to workers and ends it when its budget is spent or something stops it."""

    def __init__(
        self, run: Run, workers: Pool, stopping: Stopping, result: Callable[[], Any], *, states: bool = False
    ) -> None:
        """result() is what the callback gets; states logs how the search is, now and then."""
        self.run, self.workers, self.stopping, self.result, self.states = run, workers, stopping, result, states
        self.jobs: dict[int, list[int]] = {}  # numbers of the points of each call, by the first
        self.waiting: list[int] = []  # recorded calls without an answer, which are made again
        self._watched = 0  # answers that the stop conditions have seen
        self._strictly_feasible = False  # whether one of them had every g <= 0
        self._judged_by: np.ndarray | None = None  # default tolerances of equalities
        self._iterations = 0
        self._best = float("inf")
        self._next_state = time.monotonic() + STATE_SECONDS

    @property
    def budget(self) -> int:
        """Calls in all."""
        return self.run.budget

    def drive(self) -> None:
        """Call the function until the budget is spent; StopRun where something else ends the run."""
        self._iterations = getattr(self.run.search, "iterations", 0)
        self._watch()
        self.waiting = sorted(self.run.pending)
        while True:
            if hasattr(self.run.search, "drive"):
                self._drive_library()
            elif not self._step():
                return

    def _drive_library(self) -> None:
        """Run a library's loop; once more where the run has another search by then."""
        search: Any = self.run.search
        search.drive(self)
        if search is self.run.search:
            raise StopRun("budget" if self.run.answers.calls >= self.budget else "finished")

    def evaluate(self, points: np.ndarray) -> list[int]:
        """Call points [n, D] that a library wants: the numbers of their asks; SearchChanged for another search."""
        search, run = self.run.search, self.run
        points = points[: run.budget - run.answers.calls]
        first, rest = run._asks, list(points)
        while rest or self.waiting or self.jobs or run.retries:
            self._call_waiting()
            if self.together and rest and not self.jobs:
                self._submit([run.give_out(x) for x in rest])
                rest = []
            while rest and self.workers.free > 0 and not self.stopping.interrupted:
                self._submit([run.give_out(rest.pop(0))])
            if not self.jobs:
                self.stopping.raise_if_over()
                self._call_again()
            self._collect()
            if run.search is not search:
                self._collect_all()
                raise SearchChanged
        return list(range(first, first + len(points)))

    def _collect_all(self) -> None:
        """Wait for every call that is under way."""
        while self.waiting or self.jobs or self.run.retries:
            self._call_waiting()
            if not self.jobs:
                self._call_again()
            self._collect()

    def _step(self) -> bool:
        """Hand out points while workers are free, then take answers; False where nothing is left."""
        self._fill()
        if not self.jobs:
            if self.stopping.interrupted:
                self.stopping.raise_if_over()
            return False
        self._collect()
        search = self.run.search
        iterations = getattr(search, "iterations", len(self.run.answers))
        if iterations != self._iterations and not self.stopping.every_call:
            self._iterations = iterations
            self._check_stop()
        return True

    def _check_stop(self) -> None:
        """StopRun where the clock, a signal, the search or the callback ends the run."""
        if self.stopping.check_generation(self.result, lambda: self.run.search.facts().converged):
            raise StopRun(self.stopping.reason or "finished", self.stopping.detail)

    def _fill(self) -> None:
        """Submit what workers are free for; failed points come again when nothing else is left, or at once."""
        if self.stopping.interrupted:
            return
        run = self.run
        self._call_waiting()
        if run.asynchronous:
            self._call_again()
        if self.together:
            numbers: list[int] = []
            while not self.jobs and (number := run.ask()) is not None:
                numbers.append(number)
            self._submit(numbers)
        else:
            while self.workers.free > 0 and (number := run.ask()) is not None:
                self._submit([number])
        if not self.jobs:
            self._call_again()

    @property
    def together(self) -> bool:
        """Whether points are called together, as rows of a vectorized function."""
        return self.run.vectorized and not self.run.asynchronous

    def _call_waiting(self) -> None:
        """Submit recorded calls without an answer while workers are free."""
        if self.together:
            numbers, self.waiting = self.waiting, []
            self._submit(numbers)
        while self.waiting and self.workers.free > 0:
            self._submit([self.waiting.pop(0)])

    def _call_again(self) -> None:
        """Submit further calls of failed points, in the order of their numbers."""
        run, numbers = self.run, []
        for failed in sorted(run.retries):
            if failed in run.failed and run.answers.calls < run.budget and (self.together or self.workers.free > 0):
                numbers.append(run.give_out(run.failed[failed].x, failed))
                if not self.together:
                    self._submit(numbers)
                    numbers = []
        self._submit(numbers)

    def _submit(self, numbers: Sequence[int]) -> None:
        """Hand pending calls to the workers: one each, or all points in as many calls as there are workers."""
        parts: list[list[int]] = [[number] for number in numbers]
        if self.together and len(numbers):
            count = max(1, min(self.workers.chunks, len(numbers)))
            parts = [part.tolist() for part in np.array_split(np.array(numbers, dtype=int), count) if part.size]
        for part in parts:
            self.jobs[part[0]] = part
            self.workers.submit(part[0], np.array([self.run.pending[number].x for number in part]))

    def _collect(self) -> None:
        """Take finished calls, log their answers, and tell the search; StopRun where one ends the run."""
        found: list[Told] = []
        lost = ""
        try:
            for job, answers, seconds in self.workers.collect(self.stopping):
                numbers = self.jobs.pop(job)
                if any(answer.fault is Fault.NOT_CALLED for answer in answers):
                    lost = next(answer.reason for answer in answers if answer.fault is Fault.NOT_CALLED)
                    continue
                self._check(numbers, answers)
                told = [(number, answer, seconds / len(answers)) for number, answer in zip(numbers, answers)]
                self.run.log_answers(told)
                found += told
        finally:
            self.run.learn(found)
        if lost:
            raise StopRun("workers", lost)
        self._watch()
        self._log_state()
        for _ in found if self.stopping.every_call else ():
            self._check_stop()

    def _check(self, numbers: Sequence[int], answers: Sequence[Answer]) -> None:
        """EvaluationFailed for a failed call where on_error is "raise", and for what is a mistake in the function."""
        for number, answer in zip(numbers, answers):
            if not answer.good and self.run.on_error == "raise":
                failure = make_failure(number, self.run.pending[number].x, answer)
                raise failure from (None if answer.cause is None else answer.cause.error)
        if self.run.on_error is None:
            self.run.mistakes.check(answers)

    def _watch(self) -> None:
        """Show answers to the stop conditions, in order of number unless asynchronous.

        StopRun where one ends the run.
        """
        if not self.stopping.watches_answers:
            return
        entries, fixed = self.run.answers.entries, self.run.answers.equalities.fixed
        if fixed is not self._judged_by:  # only h = 0 counted until now
            self._judged_by, self._watched, self._strictly_feasible = fixed, 0, False
        order = list(entries) if self.run.asynchronous else range(self.run.answers.calls)
        while self._watched < len(order) and order[self._watched] in entries:
            entry = entries[order[self._watched]]
            self._watched += 1
            if self.stopping.check_answer(entry.answer.f, self._is_feasible(entry)):
                raise StopRun(self.stopping.reason or "target")

    def _is_feasible(self, entry: Entry) -> bool:
        """Whether an answer is feasible; once one has every g <= 0, only such answers are."""
        ineq, eq = self.run.request.resolve_tolerances(self.run.answers, strict=True)
        kept = entry.good and bool((np.abs(entry.answer.h) <= eq).all())
        strictly = kept and bool((entry.answer.g <= 0.0).all())
        self._strictly_feasible = self._strictly_feasible or strictly
        return strictly or (kept and not self._strictly_feasible and bool((entry.answer.g <= ineq).all()))

    def after_iteration(self) -> bool:
        """Whether the clock, a signal, the search or the callback ends the run between two iterations of a library."""
        if self.stopping.every_call:
            return False
        return self.stopping.check_generation(self.result, lambda: self.run.search.facts().converged)

    def _log_state(self) -> None:
        """Log how the search is, once in a while."""
        if self.states and (now := time.monotonic()) >= self._next_state:
            self._next_state = now + STATE_SECONDS
            search: Any = self.run.search
            state = search.state() if hasattr(search, "state") else {}
            self.run.log.add(["state", self.run.answers.calls, state])


def make_failure(number: int, x: np.ndarray, answer: Answer) -> EvaluationFailed:
    """The error, to be raised, of a failed call where on_error is "raise"."""
    point = np.array2string(x, threshold=8)
    return EvaluationFailed(f"evaluation {number} at x={point} {FAULT_MESSAGES[answer.fault]}: {answer.reason}")
