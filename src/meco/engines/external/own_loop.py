"""Libraries that call the problem themselves: the evaluator as their callbacks, and the loop of their starts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.core.box import Box
from meco.core.capabilities import OwnLoop
from meco.core.engine import Engine, first_population
from meco.core.evaluation import Evaluation
from meco.core.evaluator import BudgetSpent, Evaluator
from meco.core.loop import note_small_budget
from meco.core.metrics import feasibility_first
from meco.core.rule import best
from meco.engines.external import FLAG_COLUMNS, FailureCeiling, pack_evaluation, unpack_evaluation
from meco.errors import InvalidInput

STOP_INTERVAL = 50  # evaluations between two questions whether to stop
TRACE_ROWS = 50  # of a run, at least: profiles of a report compare how soon methods are there


class StopRequested(Exception):
    """The caller's stop() said so."""


class EvaluatorCallbacks:
    """The evaluator as callbacks for a library: points come in one by one or in batches.

    Objective and constraints of a point are one evaluation however often and in whatever
    order they are asked for: COBYQA comes back to the constraints of old points.
    """

    def __init__(self, evaluator: Evaluator, stop: Callable[[], Any] | None) -> None:
        """Nothing is known or traced yet; stop() is asked now and then, None is never."""
        self.evaluator, self.stop = evaluator, stop
        self.known: dict[bytes, np.ndarray] = {}  # packed evaluations by the bytes of their point
        self.traced = self.asked = 0  # evaluations up to the last row of the trace, and to the last question

    def evaluate(self, x: np.ndarray) -> Evaluation:
        """Evaluation of unit-cube points [n, D]: remembered, or made if the budget allows.

        May add a row to the trace; BudgetSpent or StopRequested end the search.
        """
        keys = [row.tobytes() for row in np.ascontiguousarray(x)]
        new = [i for i, key in enumerate(keys) if key not in self.known]
        if new:
            self._trace_and_check_stop()
            ev = self.evaluator.evaluate(self.evaluator.box.keep_inside(x[new][None]))
            self.known.update(zip((keys[i] for i in new), pack_evaluation(ev)))
        n_ineq, n_eq = self.evaluator.source.counts()
        width = 1 + n_ineq + n_eq + FLAG_COLUMNS
        told = np.array([self.known[key] for key in keys]).reshape(len(keys), width)
        return unpack_evaluation(told, n_ineq)

    def share_values(self, known: np.ndarray, other: np.ndarray) -> None:
        """Give the point `other` [D] the values of the evaluated point `known` [D], its twin but for rounding."""
        self.known[np.ascontiguousarray(other).tobytes()] = self.known[np.ascontiguousarray(known).tobytes()]

    def _trace_and_check_stop(self) -> None:
        """Add a row to the trace when one is due, and raise StopRequested if stop(), asked now and then, says so."""
        spent = int(self.evaluator.nfev[0])
        if spent - self.traced >= min(STOP_INTERVAL, max(1, self.evaluator.budget // TRACE_ROWS)):
            self.add_trace_row()
        if spent - self.asked >= STOP_INTERVAL:
            self.asked = spent
            if self.stop is not None and self.stop():
                raise StopRequested

    def add_trace_row(self) -> None:
        """Add a row to the trace if something was evaluated since the last one."""
        if int(self.evaluator.nfev[0]) > self.traced:
            self.traced = int(self.evaluator.nfev[0])
            self.evaluator.history.record_generation(self.evaluator.nfev, None)


class OwnLoopEngine(Engine):
    """A library routine that calls the problem itself; started again when it ends early."""

    name = ""  # what error messages call the engine
    size: int  # points that a start looks at before anything else
    random: np.random.Generator
    starts: int  # of the routine so far

    def ask(self) -> Array:
        """Raises InvalidInput: the library calls the problem itself."""
        raise InvalidInput(
            f"{self.name} calls the problem itself and has no ask and tell; use minimize() or solve() with it"
        )

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Raises InvalidInput, as ask() does."""
        self.ask()

    def capabilities(self) -> tuple[Any, ...]:
        return (OwnLoop(self._run_to_end),)

    def _run_to_end(self, evaluator: Evaluator, stop: Callable[[], Any] | None = None) -> None:
        """Search, and search again from elsewhere, until the budget is spent or stop() says so."""
        note_small_budget(evaluator, self.size)
        callbacks = EvaluatorCallbacks(evaluator, stop)
        self.starts = 0
        try:
            while evaluator.left > 0:
                self._search_once(callbacks)
                self.starts += 1
        except (BudgetSpent, StopRequested):
            pass
        callbacks.add_trace_row()

    @abstractmethod
    def _search_once(self, callbacks: EvaluatorCallbacks) -> None:
        """One start of the library routine, which evaluates through callbacks.

        BudgetSpent and StopRequested pass through.
        """

    def _first_points(self, size: int) -> np.ndarray:
        """Uniform points [size, D] of the unit cube; at the first start given points take the first places. Draws."""
        if self.starts == 0:
            return first_population(self.task, size)[0]
        return self.random.random((size, self.task.dim))


class Ruler:
    """Coordinates of a run in which a library searches, x = origin + u length; u are those of the unit cube.

    In the box's own units x is what the function is called with, but for logarithmic variables, whose x is linear in
    the logarithm; in the unit cube x is u. Ends are infinite where the box has none.
    """

    def __init__(self, box: Box, *, own_units: bool) -> None:
        """Coordinates of the first run's box: its own units, or the unit cube."""
        dim = box.dim
        self.origin: np.ndarray = box.origin if own_units else np.zeros(dim)
        self.length: np.ndarray = box.lengths if own_units else np.ones(dim)
        walls = (np.zeros(dim), np.ones(dim)) if box.range is None else (box.range.low, box.range.high)
        plain = box.integer is None and box.scale is None and box.repair is None
        self._pinning = box if own_units and plain else None  # what takes points to the function bit for bit
        free = self.length > 0.0  # a fixed variable has length 0
        self.low, self.high = (
            self.origin + np.where(free, wall, 0.0) * np.where(free, self.length, 1.0) for wall in walls
        )

    def to_unit(self, x: np.ndarray) -> np.ndarray:
        """Points [n, D] in the unit cube; where x is what the function is called with, exactly these are pinned."""
        if self._pinning is not None:
            return self._pinning.pin(np.clip(x, self.low, self.high))
        return (x - self.origin) / np.where(self.length > 0.0, self.length, 1.0)

    def round_as_evaluated(self, x: np.ndarray) -> np.ndarray:
        """Points [n, D] as they are evaluated: the unit cube rounds their last bits where they are not pinned."""
        return x if self._pinning is not None else self.from_unit(self.to_unit(x))

    def from_unit(self, u: np.ndarray) -> np.ndarray:
        """Points [..., D] of the unit cube in these coordinates, inside the bounds."""
        return np.clip(self.origin + u * self.length, self.low, self.high)

    @property
    def narrowest(self) -> float:
        """The least distance between the bounds of a variable that is not fixed; inf where none has two."""
        width = self.high - self.low
        return float(np.min(width[width > 0.0], initial=np.inf))


class LocalSearch(OwnLoopEngine):
    """A local search of one point at a time, from the best given point, then from uniform ones of the unit cube."""

    size = 1  # but for given points, which are all looked at
    ruler: Ruler
    ceiling: FailureCeiling  # of the present start

    def _start_point(self, callbacks: EvaluatorCallbacks, *, own_units: bool) -> np.ndarray:
        """Evaluate the points that a start may begin at and give the best [D], in the ruler's coordinates.

        Sets a new ruler and ceiling; how many constraints there are is known from here on.
        """
        self.ruler, self.ceiling = Ruler(callbacks.evaluator.box, own_units=own_units), FailureCeiling()
        given = self.task.x0 if self.starts == 0 else None
        first = self._first_points(self.size) if given is None else np.asarray(given)
        chosen = first[int(best(feasibility_first(callbacks.evaluate(first)))[0])]
        start = self.ruler.from_unit(chosen)
        callbacks.share_values(chosen, self.ruler.to_unit(start[None])[0])
        return start

    def _values_at(self, callbacks: EvaluatorCallbacks, x: np.ndarray) -> np.ndarray:
        """f, g and h of points [n, D] in the ruler's coordinates: [n, 1 + p + q].

        A failed one is twice as bad as the worst of its start.
        """
        ev = callbacks.evaluate(self.ruler.to_unit(x))
        told = np.concatenate([ev.f[0][:, None], ev.g[0], ev.h[0]], axis=1)
        return self.ceiling.replace_failed(told, ev.failed[0])
