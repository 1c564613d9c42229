"""From a request to a search: the evaluator that knows what is known, the engine, and the loop that joins them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from meco.core.box import Box
from meco.core.capabilities import LinearRows, find_capability
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.metrics import feasibility_first
from meco.core.rule import order
from meco.core.streams import Streams
from meco.methods import build_engine
from meco.run.function_source import AnsweredConstraints, FunctionSource, PointCaller, make_box
from meco.run.known_points import KnownPoints
from meco.run.log.evaluation_log import EvaluationLog, PriorEvaluations
from meco.run.request import Request


def make_search(
    request: Request, log: EvaluationLog, call: PointCaller, further_known: PriorEvaluations | None = None
) -> Loop:
    """The engine, evaluator and loop of a request; the same request gives the same search.

    Its starting points are x0, then known points from best to worst; further_known are known like those of the request.
    """
    box, known, constraints = _make_search_box(request), KnownPoints(), AnsweredConstraints(request, log)
    starting_points = [] if request.x0 is None else list(box.pin(request.x0))
    for points in (k for k in (request.known, further_known) if k is not None):
        unit, ev = box.pin(points.x), points.to_evaluation(*request.resolve_tolerances(log))
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
        constraints.counts,
        x0=np.array(distinct) if distinct else None,
        ineq_tol=ineq_tol,
        eq_tol=eq_tol,
        integer=box.integer,
        lengths=None if request.x0 is None and box.range is None else box.typical_lengths(distinct[0]),
        tolerances=constraints.tolerances,
        range=box.range,
        categories=box.categories,
        noisy=request.noise is not False if request.noise is not None else None,
        noise=constraints.noise,
    )
    engine = build_engine(request.method, _add_known_limits(task, request, log, box), **request.options)
    rows = find_capability(engine, LinearRows)
    source = FunctionSource(request, log, call, box, (lambda unit: unit) if rows is None else rows.inside)
    evaluator = Evaluator(source, task.budget, known)
    for points in (k for k in (request.known, further_known) if k is not None and len(k.f)):
        evaluator.history.update_best(points.x[None], points.to_evaluation(*constraints.tolerances()))
    return Loop(engine, evaluator)


def _make_search_box(request: Request) -> Box:
    """The box of a search; where there are cheap constraints, one that no call leaves."""
    if request.cheap is None:
        return make_box(request)
    from meco.run.cheap_constraints import add_cheap_repair

    return add_cheap_repair(make_box(request), request.cheap.inside)


def _add_known_limits(task: Task, request: Request, log: EvaluationLog, box: Box) -> Task:
    """The task with what is known of its constraints beforehand; itself where nothing is."""
    if request.cheap is not None:
        from meco.run.cheap_constraints import make_cheap_limits

        task = replace(task, cheap=make_cheap_limits(request, log))
    if not (request.linear_rows or request.keep_feasible or any(each.hard for each in request.separate)):
        return task
    from meco.run.hard_constraints import make_known_limits

    return replace(task, limits=make_known_limits(request, log, box.origin, box.lengths))
