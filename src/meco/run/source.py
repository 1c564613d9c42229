"""The answers of a run as the source of an Evaluator's values, for engines that search in the unit cube."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from meco.core.box import Box
from meco.core.capabilities import LinearRows, find_capability
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.metrics import feasibility_first
from meco.core.rule import order
from meco.core.source import ExtraCalls
from meco.core.streams import Streams
from meco.methods import build_engine
from meco.run.known_points import KnownPoints
from meco.run.layout import Answers, PriorEvaluations
from meco.run.request import Request
from meco.space import make_box

Values = tuple[np.ndarray, np.ndarray, np.ndarray]  # f [n], g [n, p], h [n, q]


class AnswerSource:
    """Values of one run's points: what `look_up` says of points x [n, D] in the box."""

    runs, xp, device, finite = 1, np, None, False
    names = ("fun",)

    def __init__(
        self, request: Request, answers: Answers, box: Box, look_up: Callable[[np.ndarray], Values], retries: int = 0
    ) -> None:
        """`retries` further calls of failed points were made before."""
        self.box, self.strictest = box, [request.strictest_tolerances]
        self._request, self._answers, self._look_up = request, answers, look_up
        known = request.known
        self._known_partial = known is not None and any(np.isnan(part).any() for part in known[1:])
        self._last_tolerances: Any = (None, None, None)  # limits, and what is made of them
        self._counted_retries = retries
        self.count_retries: Callable[[], int] = lambda: answers.retries
        self.project: Callable[[np.ndarray], np.ndarray] = lambda unit: unit
        self.scouted: list[tuple[np.ndarray, Values]] = []  # points called beside those that the engine asked for

    @property
    def partial(self) -> bool:
        """Whether an answer may tell some values and not others."""
        return self._answers.partial or self._known_partial

    def counts(self) -> tuple[int, int]:
        """Numbers of inequalities and equalities."""
        return self._answers.counts

    def tolerances(self) -> tuple[np.ndarray, np.ndarray]:
        """Of inequalities and equalities: [1, 1, 1], or [1, 1, p] and [1, 1, q]."""
        ineq, eq = self._request.resolve_tolerances(self._answers)
        if not (self._last_tolerances[0] is ineq and self._last_tolerances[1] is eq):
            self._last_tolerances = ineq, eq, (np.reshape(ineq, (1, 1, -1)), np.reshape(eq, (1, 1, -1)))
        return self._last_tolerances[2]

    def noise(self) -> np.ndarray | None:
        """Standard deviations of f and of each constraint [1 + C]; None where they are not known."""
        return self._request.resolve_noise(self._answers)

    def worst(self) -> float:
        """The largest f of all answers so far; 0 without any."""
        return self._answers.worst()

    def values(self, x: np.ndarray) -> Values:
        """f [1, n], g [1, n, p] and h [1, n, q] of points x [1, n, D]; nan where a call failed."""
        f, g, h = self._look_up(x[0])
        return f[None], g[None], h[None]

    def values_of(self, run: int, x: np.ndarray) -> Values:
        """values(x): there is one run."""
        return self.values(x)

    def true_values(self, x: np.ndarray) -> Values | None:
        """None: what a function would give without chance is not known."""
        return None

    def pop_extra_calls(self) -> ExtraCalls | None:
        """Repeated and scouting calls since the last time; None without any."""
        retried = self.count_retries() - self._counted_retries
        points, self.scouted = self.scouted, []
        if not points and not retried:
            return None
        self._counted_retries += retried
        return ExtraCalls(retried + sum(x.shape[1] for x, _ in points), points)


def make_loop(
    request: Request,
    answers: Answers,
    look_up: Callable[[np.ndarray], Values],
    further: PriorEvaluations | None = None,
    calls: int = 0,
    retries: int = 0,
) -> Loop:
    """Engine, evaluator and loop of a request; its starting points are x0, then known points from best to worst.

    So many calls, and retries among them, were made before.
    """
    box, known = _make_search_box(request), KnownPoints()
    source = AnswerSource(request, answers, box, look_up, retries)
    starting_points = [] if request.x0 is None else list(box.pin(request.x0))
    prior = [points for points in (request.known, further) if points is not None and len(points.f)]
    for points in prior:
        unit, ev = box.pin(points.x), points.to_evaluation(*request.resolve_tolerances(answers))
        known.add(unit, points)
        starting_points += [unit[i] for i in order(feasibility_first(ev))[0] if not ev.failed[0, i]]
    distinct = list({row.tobytes(): row for row in starting_points}.values())
    ineq_tol, eq_tol = request.strictest_tolerances
    task = Task(
        request.dim,
        request.budget,
        Streams([request.seed]),
        box.lower,
        box.upper,
        source.counts,
        x0=np.array(distinct) if distinct else None,
        ineq_tol=ineq_tol,
        eq_tol=eq_tol,
        integer=box.integer,
        lengths=None if request.x0 is None and box.range is None else box.typical_lengths(distinct[0]),
        tolerances=source.tolerances,
        range=box.range,
        categories=box.categories,
        noisy=request.noise is not False if request.noise is not None else None,
        noise=source.noise,
    )
    engine = build_engine(request.method, _add_known_limits(task, request, answers, box), **request.options)
    rows = find_capability(engine, LinearRows)
    if rows is not None:
        source.project = rows.inside
    evaluator = Evaluator(source, task.budget, known)
    for points in prior:
        evaluator.history.update_best(points.x[None], points.to_evaluation(*source.tolerances()))
    evaluator.count_evaluations(calls)
    return Loop(engine, evaluator)


def _make_search_box(request: Request) -> Box:
    """The box of a search: with cheap constraints, one that repairs points that violate them."""
    if request.cheap is None:
        return make_box(request)
    from meco.run.cheap import add_cheap_repair

    return add_cheap_repair(make_box(request), request.cheap.inside)


def _add_known_limits(task: Task, request: Request, answers: Answers, box: Box) -> Task:
    """The task with what is known of its constraints beforehand."""
    if request.cheap is not None:
        from meco.run.cheap import make_cheap_limits

        task = replace(task, cheap=make_cheap_limits(request, answers))
    if not (request.linear_rows or request.keep_feasible or any(each.hard for each in request.separate)):
        return task
    from meco.run.hard_constraints import make_known_limits

    return replace(task, limits=make_known_limits(request, answers, box.origin, box.lengths))


def join_points(points: Sequence[PriorEvaluations], dim: int, counts: tuple[int, int]) -> PriorEvaluations:
    """Known points as one table."""
    blank = PriorEvaluations(np.zeros((0, dim)), np.zeros(0), np.zeros((0, counts[0])), np.zeros((0, counts[1])))
    return PriorEvaluations(*(np.concatenate(parts) for parts in zip(blank, *points)))
