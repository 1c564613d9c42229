"""The only place that has the user's function called: batches, in order, with second tries where asked for."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

import numpy as np

from meco.blackbox.answers import WORDS, Answer, EvaluationFailed, Fault
from meco.blackbox.evaluation_log import Entry, Ledger
from meco.blackbox.processes import Job
from meco.blackbox.stopping import Stopping, StopRun
from meco.blackbox.workers import Backend
from meco.errors import UnknownName

ON_ERROR = ("penalize", "retry", "raise")
RETRIES = 2  # further calls that a failed point may get


class Caller:
    """Turns points [n, D] into f [n], g [n, p], h [n, q]; a failed point holds nan.

    Which calls are made, in which order of numbers, depends on the points and the answers
    alone, never on the number of workers.
    """

    def __init__(
        self,
        backend: Backend,
        ledger: Ledger,
        stopping: Stopping,
        budget: int,
        on_error: str = "penalize",
        tolerances: tuple[float, float] = (0.0, 1e-4),
        vectorized: bool = False,
    ) -> None:
        if on_error not in ON_ERROR:
            raise UnknownName("on_error", on_error, ON_ERROR)
        self.backend, self.ledger, self.stopping, self.budget = backend, ledger, stopping, budget
        self.on_error, self.tolerances, self.vectorized = on_error, tolerances, vectorized
        self.charge: Callable[[int], None] = lambda count: None  # told of calls beyond the first of each point
        self.warn: Callable[[str], None] = lambda text: None
        self.clocked: Callable[[int, float], None] = lambda number, seconds: None  # told how long a call took
        self.tick: Callable[[], None] = lambda: None  # called whenever answers came in
        self.batch = 0
        self.watched = 0  # every call below this number has been shown to the stopping conditions

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Call each point once, and failed ones again where asked for while the budget lasts."""
        final = self._wave(points, attempt=0)
        if self.on_error == "retry":
            for attempt in range(1, RETRIES + 1):
                failed = [k for k, entry in enumerate(final) if entry.fault is not Fault.NONE]
                failed = failed[: self.budget - self.ledger.planned]
                if not failed:
                    break
                self.charge(len(failed))
                again = self._wave(points[failed], attempt)
                for k, entry in zip(failed, again):
                    final[k] = entry
        self.batch += 1
        return self.ledger.values(final)

    def _wave(self, points: np.ndarray, attempt: int) -> list[Entry]:
        """One call for each point, together; what an interrupted run already knows is not called."""
        assert self.ledger.planned + len(points) <= self.budget, "more calls than the budget allows"
        numbers = self.ledger.plan(len(points))
        wave = _Wave(self, numbers, points, attempt)
        for k, number in enumerate(numbers):
            entry = self.ledger.replay(number, points[k])
            if entry is not None:
                wave.entries[k] = entry
        todo = [k for k in range(len(points)) if k not in wave.entries]
        chunks = self._chunks(todo)
        jobs = [Job(numbers[ks[0]], points[ks[0] : ks[0] + 1] if len(ks) == 1 else points[ks]) for ks in chunks]
        self._watch(numbers)
        try:
            for index, answers, seconds in self.backend.run(jobs, self.stopping.deadline):
                for k, answer in zip(chunks[index], answers):
                    self.clocked(numbers[k], seconds / len(answers))
                    wave.arrive(k, answer)
                self._watch(numbers)
                self.tick()
        except StopRun as stop:
            self.stopping.end(stop.reason, stop.detail)
            raise
        finally:
            wave.settle_all()
        return [wave.entries[k] for k in range(len(points))]

    def _chunks(self, todo: list[int]) -> list[list[int]]:
        """Points that share a call: one each, or all of them in as many calls as there are workers."""
        if not self.vectorized:
            return [[k] for k in todo]
        parts = np.array_split(np.array(todo, dtype=int), max(1, min(self.backend.chunks, len(todo))))
        return [part.tolist() for part in parts if part.size]

    def _watch(self, numbers: range) -> None:
        """Show answers to the stopping conditions in order of number, whoever finished first."""
        if not self.stopping.watches_answers:
            return
        entries, (ineq_tol, eq_tol) = self.ledger.entries, self.tolerances
        while self.watched < numbers.stop and self.watched in entries:
            e = entries[self.watched]
            self.watched += 1
            feasible = e.fault is Fault.NONE and bool((e.g <= ineq_tol).all() and (np.abs(e.h) <= eq_tol).all())
            if self.stopping.answered(e.f, feasible):
                raise StopRun(self.stopping.reason or "target")

    def enter(self, number: int, attempt: int, x: np.ndarray, answer: Answer) -> Entry:
        """Record an answer; a failed one is raised or reported as asked."""
        answer = self.ledger.matched(answer)
        if answer.fault is not Fault.NONE and self.on_error == "raise":
            raise EvaluationFailed(
                f"evaluation {number} at x={np.array2string(x, threshold=8)} {WORDS[answer.fault]}: {answer.reason}"
            ) from _cause(answer)
        entry = self.ledger.record(number, self.batch, attempt, x, answer)
        if entry.fault is Fault.MISMATCH and self.ledger.faults[Fault.MISMATCH] == 1:
            self.warn(f"evaluation {number} counts as failed: {self.ledger.first_reason[Fault.MISMATCH]}")
        return entry


class _Wave:
    """Answers of calls made together. Until the number of constraints is known they wait for those before them."""

    def __init__(self, caller: Caller, numbers: range, points: np.ndarray, attempt: int) -> None:
        self.caller, self.numbers, self.points, self.attempt = caller, numbers, points, attempt
        self.entries: dict[int, Entry] = {}
        self.held: dict[int, Answer] = {}

    def arrive(self, k: int, answer: Answer) -> None:
        """Take in the answer of point k."""
        if answer.fault is not Fault.NONE and self.caller.on_error == "raise":
            self.caller.enter(self.numbers[k], self.attempt, self.points[k], answer)
        self.held[k] = answer
        if self.caller.ledger.counts is None:
            self._decide(range(len(self.numbers)))
        if self.caller.ledger.counts is not None:
            self._release()

    def settle_all(self) -> None:
        """Enter what is still held, at the end of the wave or when it is cut short."""
        if self.held and self.caller.ledger.counts is None:
            self._decide(sorted(self.held))
        self._release()

    def _decide(self, order: Sequence[int]) -> None:
        """Let the first well-formed answer decide; an answer that is still out comes before later ones."""
        ledger = self.caller.ledger
        for k in order:
            if k in self.entries:
                continue
            if k not in self.held:
                return
            if ledger.fits(self.held[k]):
                ledger.decide(self.held[k])
                return

    def _release(self) -> None:
        for k in sorted(self.held):
            self.entries[k] = self.caller.enter(self.numbers[k], self.attempt, self.points[k], self.held.pop(k))


def _cause(answer: Answer) -> BaseException | None:
    try:
        return pickle.loads(answer.error) if answer.error else None
    except Exception:
        return None
