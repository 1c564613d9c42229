"""When a run ends before its budget is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from meco.errors import InvalidInput, UnknownName
from meco.evaluator import BudgetSpent

REASONS = {
    "running": "the run goes on",
    "budget": "the budget is spent",
    "max_time": "max_time is over",
    "target": "the target was reached",
    "feasible": "a feasible point was found",
    "callback": "the callback asked to stop",
    "interrupt": "the run was interrupted",
    "workers": "the workers are gone",
    "finished": "the method ended by itself",
}


class StopRun(BudgetSpent):
    """Ends a run from inside an evaluation; engines let it pass as they do a spent budget."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or REASONS[reason])
        self.reason, self.detail = reason, detail


class Stopping:
    """The conditions of one run, and which of them fired."""

    def __init__(
        self,
        max_time: float | None = None,
        target: float | None = None,
        stop: str | None = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> None:
        if max_time is not None and not max_time >= 0:
            raise InvalidInput(f"max_time must be a number of seconds, 0 or more; got {max_time!r}")
        if target is not None and (not isinstance(target, (int, float)) or math.isnan(target)):
            raise InvalidInput(f"target must be a number; got {target!r}")
        if stop not in (None, "feasible"):
            raise UnknownName("stop condition", stop, ["feasible"])
        if callback is not None and not callable(callback):
            raise InvalidInput(f"callback must be a function of the intermediate result; got {callback!r}")
        self.deadline = None if max_time is None else time.monotonic() + max_time
        self.target, self.stop, self.callback = target, stop, callback
        self.reason: str | None = None
        self.detail = ""

    def end(self, reason: str, detail: str = "") -> None:
        """Remember why the run ends; the first reason stays."""
        if self.reason is None:
            self.reason, self.detail = reason, detail

    @property
    def watches_answers(self) -> bool:
        """Whether a single answer can end the run."""
        return self.target is not None or self.stop is not None

    def answered(self, f: float, feasible: bool) -> bool:
        """Whether this evaluation ends the run."""
        if feasible and self.target is not None and f <= self.target:
            self.end("target")
        elif feasible and self.stop == "feasible":
            self.end("feasible")
        return self.reason is not None

    def after_generation(self, result: Callable[[], Any]) -> bool:
        """Ask the clock and the callback; the result is made only for a callback."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.end("max_time")
        if self.callback is not None and self.reason is None:
            try:
                wish = self.callback(result())
                if isinstance(wish, (bool, np.bool_)) and wish:
                    self.end("callback")
            except StopIteration:  # SciPy's way to say it
                self.end("callback")
        return self.reason is not None
