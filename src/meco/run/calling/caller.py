"""Which calls a run makes: batches, in order of number, with second tries, until a stop.

The call itself is call.py; confirm() and as_problem() make calls of their own, outside any run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from meco.core.evaluator import BudgetSpent
from meco.core.signals import interrupt_signals, note_signals
from meco.errors import UnknownName
from meco.options import Stop
from meco.run.calling.answers import (
    FAULT_MESSAGES,
    Answer,
    EvaluationFailed,
    Fault,
)
from meco.run.calling.blas_threads import threads_of_caller
from meco.run.calling.call import Call
from meco.run.calling.first_answers import FirstAnswers
from meco.run.log.evaluation_log import NO_EVENTS, Entry, EvaluationLog, Events, fix_equalities, names_grow
from meco.run.scipy_compat import read_callback

if TYPE_CHECKING:
    from meco.variables import Variables

ON_ERROR = (None, "penalize", "retry", "raise")
WAIT_SECONDS = 0.2  # seconds of waiting after which signals and clocks are looked at
MAX_RETRIES = 2  # further calls that a failed point may get
STOP_MESSAGES = {
    "running": "the run goes on",
    "budget": "the budget is spent",
    "max_time": "max_time is over",
    "target": "the target was reached",
    "feasible": "a feasible point was found",
    "converged": "the search has converged at a feasible point",
    "callback": "the callback asked to stop",
    "interrupt": "the run was interrupted",
    "workers": "the workers are gone",
    "finished": "the method ended by itself",
    "error": "an error ended the run",
}


class StopRun(BudgetSpent):
    """Ends a run from inside an evaluation; engines let it pass as they do a spent budget."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or STOP_MESSAGES[reason])
        self.reason, self.detail = reason, detail


class Stopping:
    """The conditions that end one run before its budget is spent, and which of them fired."""

    def __init__(self, stop: Stop, callback: Callable[[Any], Any] | None = None) -> None:
        """The clock of stop.max_time starts now; InvalidInput for a callback that cannot be called."""
        self.deadline = None if stop.max_time is None else time.monotonic() + stop.max_time
        self.errstate = np.geterr()  # the caller's own, for the callback
        self.stop, self._closable, self.callback = stop, callback, read_callback(callback)
        self._interrupted: Callable[[], bool] = lambda: False  # whether a signal came
        self.reason: str | None = None
        self.detail = ""

    @contextmanager
    def listen_to_signals(self) -> Iterator[None]:
        """Inside the block Ctrl-C is noted, and acted on between two calls; a second one also ends the call at hand."""
        say = "meco: stopping after the evaluation that is under way; once more to abandon it"
        with note_signals(interrupt_signals(), say, pending=lambda: self.reason is None) as self._interrupted:
            yield

    @property
    def interrupted(self) -> bool:
        """Whether a signal came."""
        return self._interrupted()

    def raise_if_over(self) -> None:
        """Raise StopRun, with the reason noted, when the time is over or a signal came."""
        late = self.deadline is not None and time.monotonic() >= self.deadline
        if late or self.interrupted:
            self.note_reason("max_time" if late else "interrupt")
            raise StopRun(self.reason or "interrupt")

    def raise_if_late(self) -> None:
        """Raise StopRun when the time is over; a signal lets what is at hand be finished."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.raise_if_over()

    def raise_if_broken_off(self, answers: list[Answer]) -> None:
        """Raise StopRun when a signal came and one of these answers of a call failed or is not whole.

        A terminal sends Ctrl-C to the programs that a function started as well: that they died says nothing of the
        design, which a resumed run asks for again.
        """
        if self.interrupted and not all(a.fault is Fault.NONE and math.isfinite(a.f) for a in answers):
            self.raise_if_over()

    def longest_wait(self, until: float | None = None) -> float:
        """Seconds to wait at most before raise_if_over() is due again, or the moment `until` (monotonic) comes."""
        ends = [moment for moment in (self.deadline, until) if moment is not None]
        return max(0.0, min([WAIT_SECONDS, *(end - time.monotonic() for end in ends)]))

    def note_reason(self, reason: str, detail: str = "") -> None:
        """Remember why the run ends; the first reason stays."""
        if self.reason is None:
            self.reason, self.detail = reason, detail

    def close(self) -> None:
        """Call the callback's close(), where it has one: its line on a terminal."""
        getattr(self._closable, "close", lambda: None)()

    @property
    def watches_answers(self) -> bool:
        """Whether a single answer can end the run."""
        return self.stop.target is not None or self.stop.feasible

    def reason_to_stop(self, f: float, feasible: bool) -> str | None:
        """The condition by which an evaluation with this f ends the run, "target" or "feasible"; None: it goes on."""
        if not feasible:
            return None
        if self.stop.target is not None and f <= self.stop.target:
            return "target"
        return "feasible" if self.stop.feasible else None

    def check_answer(self, f: float, feasible: bool) -> bool:
        """Whether an evaluation with this f ends the run, or something before it did; the reason is noted."""
        reason = self.reason_to_stop(f, feasible)
        if reason is not None:
            self.note_reason(reason)
        return self.reason is not None

    def check_generation(self, result: Callable[[], Any], converged: Callable[[], Any] = lambda: None) -> bool:
        """Whether the clock, the search or the callback ends the run, whose reason is then noted.

        result() is called only where there is a callback.
        """
        with suppress(StopRun):
            self.raise_if_over()
        if self.stop.converged and np.all(converged()):
            self.note_reason("converged")
        if self.callback is not None and self.reason is None:
            found = result()
            try:
                with np.errstate(**self.errstate), threads_of_caller():
                    wish = self.callback(found)
                if isinstance(wish, (bool, np.bool_)) and wish:
                    self.note_reason("callback")
            except StopIteration:  # SciPy's way to say it
                self.note_reason("callback")
        return self.reason is not None


class CallJob(NamedTuple):
    """Points to evaluate in one call, and the number of the first: the arguments of Call, in its order."""

    number: int
    points: np.ndarray  # [m, D]


JobAnswers = tuple[int, list[Answer], float]  # index of the job, its answers, seconds


class Backend(Protocol):
    """Runs jobs and gives the answers as they come; chunks is how many jobs a vectorized batch becomes.

    A job is taken from an iterator when a worker is free to run it; streams says whether one at a time can be.
    """

    chunks: int
    streams: bool

    def run(self, jobs: Iterable[CallJob], stopping: Stopping) -> Iterator[JobAnswers]:
        """(index of job, answers, seconds) of each job as they come; StopRun where stopping says so."""
        ...

    def close(self) -> None:
        """End workers that were started for this run."""
        ...


class SerialBackend:
    """One call after the other, in this process."""

    chunks, streams = 1, True

    def __init__(self, call: Call) -> None:
        self.call = call

    def run(self, jobs: Iterable[CallJob], stopping: Stopping) -> Iterator[JobAnswers]:
        """(index of job, answers, seconds) of each job before the next is begun; StopRun where the run is over."""
        for index, job in enumerate(jobs):
            stopping.raise_if_over()
            answers, seconds = self.call(job.number, job.points)
            stopping.raise_if_broken_off(answers)
            yield index, answers, seconds

    def close(self) -> None:
        """Nothing was started."""


class Caller:
    """Turns points [n, D] into f [n], g [n, p], h [n, q]; a failed point holds nan.

    Which calls are made, in which order of numbers, depends on the points and the answers alone, never on the number of
    workers: a resumed run repeats them. AsyncSession uses enter_answer(), assess_next() and check_first_answers() by
    themselves.
    """

    def __init__(
        self,
        backend: Backend,
        log: EvaluationLog,
        stopping: Stopping,
        budget: int,
        on_error: str | None = None,
        tolerances: Callable[[], tuple[Any, Any]] = lambda: (0.0, 1e-4),
        vectorized: bool = False,
        events: Events = NO_EVENTS,
        calls_begun: int = 0,
        batch: int = 0,
        check_names: Callable[[], None] = lambda: None,
        variables: Variables | None = None,
    ) -> None:
        """Nothing is called yet. calls_begun and batch go on from an earlier session.

        UnknownName for another on_error.
        """
        self._first = FirstAnswers(log, variables, vectorized=vectorized)
        if not (on_error is None or isinstance(on_error, str)) or on_error not in ON_ERROR:
            raise UnknownName("on_error", on_error, ON_ERROR[1:])
        self.backend, self.log, self.stopping, self.budget = backend, log, stopping, budget
        self.on_error, self.tolerances, self.vectorized, self.events = on_error, tolerances, vectorized, events
        self.calls_begun = calls_begun  # calls; a resumed run is past the first ones
        self.batch = batch  # of the next calls
        self.check_names = check_names  # of constraints, once an answer has told them; it raises where they do not fit
        self._retried = 0  # calls beyond the first of each point that are not counted yet
        self.mismatch_reported = False  # whether a mismatch was reported
        self.strictly_feasible_seen = False  # whether a point with every g <= 0 was seen
        self.watched = 0  # every call below this number has been shown to the stopping conditions

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Call each point [n, D] once, and failed ones again where asked for while the budget lasts: f, g and h.

        What an interrupted run already knows is not called. StopRun ends it early; what came by then is in the log.
        """
        final: dict[int, int] = {}  # index of the point -> number of its last call
        todo, attempt = list(range(len(points))), 0
        while todo:
            numbers = self._plan_calls(len(todo), attempt)
            try:
                chunks = self._group_points(
                    [k for k, n in zip(todo, numbers) if not self.log.replay_answer(n, points[k])]
                )
                at = dict(zip(todo, numbers))
                jobs = [CallJob(at[ks[0]], points[ks]) for ks in chunks]  # copies: what others do to them stays theirs
                self._watch_until(numbers.stop)
                for index, answers, seconds in self.backend.run(jobs, self.stopping):
                    self.check_first_answers(self.calls_begun + index, answers)
                    for k, answer in zip(chunks[index], answers):
                        self.events.on_duration(at[k], seconds / len(answers))
                        self.enter_answer(at[k], attempt, points[k], answer)
                    self._watch_until(numbers.stop)
                self.calls_begun += len(jobs)
            except StopRun as stop:
                self.stopping.note_reason(stop.reason, stop.detail)
                raise
            finally:
                self.log.fix_constraints()
            self.report_mismatch()
            self._check_names_of(numbers)
            self._watch_until(numbers.stop)
            final |= at
            attempt += 1
            todo = self._points_to_retry(final, attempt)
        self.batch += 1
        if fix_equalities(self.log, len(points)):
            self.watched = 0  # only h = 0 counted until now
            self._watch_until(self.log.planned)
        self.log.check_constraints()
        self.report_mismatch()
        return self.log.values(final[k] for k in range(len(points)))

    def _plan_calls(self, count: int, attempt: int) -> range:
        """Numbers for the next `count` calls, counted as planned; those of later attempts (from 1) count as retries."""
        assert self.log.planned + count <= self.budget, "more calls than the budget allows"
        self._retried += count if attempt else 0
        return self.log.reserve_numbers(count)

    def _points_to_retry(self, final: dict[int, int], attempt: int) -> list[int]:
        """Indices of points whose last call, final[k], failed, and that get another one within the budget."""
        if self.on_error != "retry" or attempt > MAX_RETRIES:
            return []
        failed = [k for k in sorted(final) if not self.log.entries[final[k]].good]
        return failed[: self.budget - self.log.planned]

    def pop_retried(self) -> int:
        """Calls beyond the first of each point, since this was last asked."""
        count, self._retried = self._retried, 0
        return count

    def next_call_index(self) -> int:
        """The index, among all calls, of one that somebody else has made; counts it."""
        self.calls_begun += 1
        return self.calls_begun - 1

    def check_first_answers(self, call_index: int, answers: list[Answer]) -> None:
        """End a run whose first calls show a mistake in fun: it is no bad design that fails.

        One way to fail is one error from one line, or anything that cannot be read. Some mistakes one call shows.
        StopRun where a call could not be made.
        """
        if answers[0].fault is Fault.NOT_CALLED:
            detail = f"a call could not be made ({answers[0].reason}); a resumed run asks for its point again"
            raise StopRun("workers", detail)
        if self.on_error is None:
            self._first.check(call_index, answers)

    def _group_points(self, todo: list[int]) -> list[list[int]]:
        """Indices of points that share a call: one each, or all of them in as many calls as there are workers."""
        if not self.vectorized:
            return [[k] for k in todo]
        parts = np.array_split(np.array(todo, dtype=int), max(1, min(self.backend.chunks, len(todo))))
        return [part.tolist() for part in parts if part.size]

    def enter_answer(self, number: int, attempt: int, x: np.ndarray, answer: Answer) -> None:
        """Enter an answer to x [D] into the log; EvaluationFailed for a failed one where on_error is "raise"."""
        entry = Entry.of(number, self.batch, attempt, x, answer)
        if not entry.good and self.on_error == "raise":
            raise _make_failure(entry, answer.reason) from (None if answer.cause is None else answer.cause.error)
        self.log.add_answer(entry, answer.reason)
        self.report_mismatch()
        self._check_names_of([number])

    def _check_names_of(self, numbers: Iterable[int]) -> None:
        """Check names that the user gave once one of these answers is in the log, and so the constraints are known."""
        if any(n in self.log.entries and self.log.entries[n].good for n in numbers):
            self.check_names()

    def report_mismatch(self, *, over: bool = False) -> None:
        """Warn, once, that an answer has other constraints than most; EvaluationFailed where on_error is "raise".

        What most answers say is not known before the first ones were compared, or the run is over.
        """
        known = over or self.log.constraints_checked or self.on_error == "raise"
        if known and self.log.faults[Fault.MISMATCH] and not self.mismatch_reported and not names_grow(self.log):
            self.mismatch_reported = True
            odd = next(e for e in self.log.entries.values() if e.fault is Fault.MISMATCH)
            reason = self.log.first_reason.get(Fault.MISMATCH, "as before the interruption")
            if self.on_error == "raise":
                raise _make_failure(odd, reason)
            self.events.warn(f"evaluation {odd.number} counts as failed: {reason}")

    def _watch_until(self, until: int) -> None:
        """Show answers below this number to the stopping conditions in order, whichever finished first.

        StopRun if one ends it.
        """
        while self.stopping.watches_answers and self.watched < until and self.watched in self.log.entries:
            if self.stopping.check_answer(*self.assess_next(self.log.entries[self.watched])):
                raise StopRun(self.stopping.reason or "target")

    def assess_next(self, entry: Entry) -> tuple[float, bool]:
        """f of the next answer, which is then watched, and whether it counts as feasible.

        Once a point has every g <= 0, only such points count.
        """
        self.watched += 1
        ineq, eq = self.tolerances()
        self.strictly_feasible_seen = self.strictly_feasible_seen or entry.is_feasible(0.0, eq)
        return entry.f, entry.is_feasible(0.0 if self.strictly_feasible_seen else ineq, eq)

    def would_stop(self) -> bool:
        """Whether one of the answers in the log ends the run; they count as watched."""
        answers = (self.log.entries[n] for n in range(self.watched, len(self.log)))
        return self.stopping.watches_answers and any(
            self.stopping.reason_to_stop(*self.assess_next(entry)) for entry in answers
        )


def _make_failure(entry: Entry, reason: str) -> EvaluationFailed:
    """The error, for the caller to raise, of a failed call where on_error is "raise"."""
    point = np.array2string(entry.x, threshold=8)
    return EvaluationFailed(f"evaluation {entry.number} at x={point} {FAULT_MESSAGES[entry.fault]}: {reason}")
