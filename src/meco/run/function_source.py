"""A user's function as the evaluator sees it: a source of values whose constraints its first answers tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from meco.core.box import Box
from meco.core.categories import Categories
from meco.core.source import ExtraCalls
from meco.core.streams import SCOUT_STREAM
from meco.run.log.evaluation_log import EvaluationLog
from meco.run.request import Request
from meco.variables import Variables

if TYPE_CHECKING:
    from meco.core.log_scale import LogScale

Values = tuple[np.ndarray, np.ndarray, np.ndarray]  # f [n], g [n, p], h [n, q]


class PointCaller(Protocol):
    """Turns points [n, D] into values, and counts calls that were made again."""

    def __call__(self, points: np.ndarray) -> Values: ...

    def pop_retried(self) -> int:
        """Calls beyond the first of each point, since this was last asked."""
        ...


class ValueLookup:
    """Values that are looked up, where no function is called."""

    def __init__(self, values: Callable[[np.ndarray], Values]) -> None:
        self._values = values

    def __call__(self, points: np.ndarray) -> Values:
        return self._values(points)

    def pop_retried(self) -> int:
        """0: nothing is called, so nothing again."""
        return 0


def make_box(request: Request) -> Box:
    """The box of a request, arrays [1, 1, D], without pinned points."""
    lower, upper = request.variables.lower, request.variables.upper
    integer = None if request.integer is None else np.reshape(request.integer, (1, 1, -1))
    scale, categories = _make_log_scale(request), find_categories(request.variables)
    return Box(lower[None, None], upper[None, None], integer, scale, range=request.range, categories=categories)


def _make_log_scale(request: Request) -> LogScale | None:
    """What takes variables on a logarithmic scale to the box and back; None where there are none."""
    if request.logarithmic is None:
        return None
    from meco.core.log_scale import LogScale

    return LogScale(request.logarithmic, request.variables.lower, request.variables.upper)


def find_categories(variables: Variables) -> Categories | None:
    """The variables that are categories, as engines see them; None where there are none."""
    columns = np.flatnonzero(variables.categorical)
    if not columns.size:
        return None
    return Categories(columns, variables.upper[columns].astype(int) + 1, variables.column("ordered")[columns])


class AnsweredConstraints:
    """What the answers so far tell of the constraints."""

    def __init__(self, request: Request, log: EvaluationLog) -> None:
        self._request, self._log = request, log

    def counts(self) -> tuple[int, int]:
        """Numbers of inequalities and equalities, known from the first answers on."""
        assert self._log.constraints is not None or self._log.planned, "asked for counts before the first evaluation"
        return self._log.counts

    def tolerances(self) -> tuple[np.ndarray, np.ndarray]:
        """Of inequalities and equalities, as the user gave them: [1, 1, 1], or [1, 1, p] and [1, 1, q].

        By the constraints that the log knows; InvalidInput where names do not fit them.
        """
        ineq, eq = self._request.resolve_tolerances(self._log)
        return np.reshape(ineq, (1, 1, -1)), np.reshape(eq, (1, 1, -1))

    def noise(self) -> np.ndarray | None:
        """Standard deviations of f and of each constraint [1 + C]; None where nobody told them."""
        return self._request.resolve_noise(self._log)


class FunctionSource:
    """One run on a function. project moves points [n, D] of the unit cube to where hard constraints let them lie."""

    runs, xp, device, finite, partial = 1, np, None, False, True
    names = ("fun",)

    def __init__(
        self,
        request: Request,
        log: EvaluationLog,
        call: PointCaller,
        box: Box,
        project: Callable[[np.ndarray], np.ndarray] = lambda unit: unit,
    ) -> None:
        """Nothing is called yet; call takes points [n, D], project keeps scouted points inside hard constraints."""
        self.box, self.strictest = box, [request.strictest_tolerances]
        constraints = AnsweredConstraints(request, log)
        self.counts, self.tolerances = constraints.counts, constraints.tolerances
        self._request, self._log, self._call, self._project = request, log, call, project
        self._budget = request.budget
        self._scouting = np.random.default_rng([request.seed, SCOUT_STREAM])
        self._scouted: list[tuple[np.ndarray, Values]] = []

    def with_call(self, call: PointCaller) -> FunctionSource:
        """Another source of the same request and log, with another function behind it."""
        return FunctionSource(self._request, self._log, call, self.box, self._project)

    def values(self, x: np.ndarray) -> Values:
        """f [1, n], g [1, n, p] and h [1, n, q] of points x [1, n, D]: calls the function; nan where that fails.

        Scouts further points while no answer has told what the constraints are.
        """
        with np.errstate(all="ignore"):
            f, g, h = self._call(x[0])
        at_once = self._request.options.get("batch", len(f))  # one answer is enough
        if self._log.constraints is None and self._scout_answer(min(at_once, len(f))):
            g, h = (np.full((len(f), n), np.nan) for n in self._log.counts)
        return f[None], g[None], h[None]

    def worst(self) -> float:
        """The largest f of all answers so far, 0 where none has one."""
        every = self._log.entries.values()
        return max((e.f for e in every if e.good and np.isfinite(e.f)), default=0.0)

    def values_of(self, run: int, x: np.ndarray) -> Values:
        """values(x): there is one run."""
        return self.values(x)

    def true_values(self, x: np.ndarray) -> Values | None:
        """None: nobody knows what a function would say without chance."""
        return None

    def _scout_answer(self, size: int) -> bool:
        """Call random points, so many at a time, until one gives an answer: whether one did within the budget.

        An engine can only be told once it is known how many constraints there are.
        """
        log = self._log
        while log.constraints is None and log.planned < self._budget:
            unit = self._scouting.random((min(size, self._budget - log.planned), self.box.dim))
            x = self.box.to_box(self._project(unit)[None])
            with np.errstate(all="ignore"):
                f, g, h = self._call(x[0])
            self._scouted.append((x, (f[None], g[None], h[None])))
        return log.constraints is not None

    def pop_extra_calls(self) -> ExtraCalls | None:
        """Points that were scouted and calls that were made again, since this was last asked; None: none."""
        points, retried = self._scouted, self._call.pop_retried()
        if not points and not retried:
            return None
        self._scouted = []
        return ExtraCalls(retried + sum(x.shape[1] for x, _ in points), points)
