"""What ends a run before its budget is spent: a clock, a target, the search, the callback, Ctrl-C and SIGTERM."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from meco.core.evaluator import BudgetSpent
from meco.core.signals import interrupt_signals, note_signals
from meco.options import Stop
from meco.run.answer import Answer, Fault
from meco.run.blas import threads_of_caller
from meco.run.scipy_compat import read_callback

WAIT_SECONDS = 0.2  # of waiting after which signals and clocks are looked at
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
        self.every_call = bool(getattr(callback, "every_call", False))  # the callback is for calls, not for generations
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

    def raise_if_broken_off(self, answers: Sequence[Answer]) -> None:
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
