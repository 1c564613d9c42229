"""The single-run search as an engine of runs in lockstep: one search for each run."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from meco.core.capabilities import Batching, Convergence, Cooperation, InfiniteBounds, LinearRows
from meco.core.engine import Engine
from meco.core.engine import Task as LockstepTask
from meco.core.evaluation import Evaluation, side_by_side
from meco.errors import InvalidInput
from meco.tr_single.answers import Answers
from meco.tr_single.extensions.compose import make_search
from meco.tr_single.extensions.keep_feasible import KeepFeasible
from meco.tr_single.options import Options
from meco.tr_single.task import IntegerTask, Task


class TrustRegionEngine(Engine):
    """Asks the searches of all runs in turn; every search proposes as many points as the others."""

    def __init__(self, task: LockstepTask, batch: int = 1, **options: Any) -> None:
        """InvalidInput for a batch below 1, an option that does not exist or is out of its range."""
        if int(batch) < 1:
            raise InvalidInput(f"TR needs batch >= 1; got batch={batch}")
        unknown = options.keys() - {each.name for each in fields(Options)}
        if unknown:
            raise InvalidInput(f"TR has no option {min(unknown)!r}")
        try:
            chosen = Options(**options)
        except ValueError as error:
            raise InvalidInput(f"TR: {error}") from None
        self.task, self.batch = task, min(int(batch), task.budget)
        self.searches = [
            make_search(task_of_run(task, run, self.batch), task.rng.generator(run), chosen)
            for run in range(task.rng.runs)
        ]

    def ask(self) -> np.ndarray:
        """Candidates [B, n, D]."""
        return np.array([search.ask() for search in self.searches])

    def tell(self, x: np.ndarray, ev: Evaluation) -> None:
        """Learn the evaluation of the candidates [B, n, D] asked for last."""
        for search, points, answers in zip(self.searches, x, answers_of(ev)):
            search.tell(points, answers)
        self.generation += 1

    def trace(self) -> dict[str, Any]:
        """Radius, kind of the last point and restarts [B]."""
        regions = [search.region for search in self.searches]
        return {
            "delta": np.array([each.radius for each in regions]),
            "source": np.array([each.next.value for each in regions]),
            "restarts": np.array([each.restart for each in regions]),
        }

    def capabilities(self) -> tuple[Any, ...]:
        """What else this engine can do."""
        return (
            Convergence(lambda: np.array([search.converged for search in self.searches])),
            LinearRows(self._keep_rows),
            InfiniteBounds(),
            Batching(),
            Cooperation(self._learn_foreign_points, self._diversify),
        )

    def _keep_rows(self, x: np.ndarray) -> np.ndarray:
        """Points [n, D] moved into the hard rows."""
        for each in self.searches[0].extensions:
            if isinstance(each, KeepFeasible):
                x = each.project(x)
        return x

    def _learn_foreign_points(self, x: np.ndarray, ev: Evaluation) -> None:
        """Add points [B, k, D] of other searches to the archives."""
        for search, points, answers in zip(self.searches, x, answers_of(ev)):
            search.know(points, answers)

    def _diversify(self, u: np.ndarray) -> None:
        """Multiply each radius by 0.01^u, u [B] in [0, 1): equal models make equal steps."""
        for search, exponent in zip(self.searches, u):
            search.region.radius *= 0.01 ** float(exponent)


MOST_VARIABLES, MOST_CONSTRAINTS = 50, 1000


def supports(task: LockstepTask, n_constraints: int = 0) -> bool:
    """Whether this engine has all features that a task needs; others need the engine in tr/.

    Those are noise that was declared, categories, and many variables or constraints. Asynchronous workers are not part
    of a task.
    """
    few = task.dim <= MOST_VARIABLES and n_constraints <= MOST_CONSTRAINTS
    return few and task.categories is None and task.noisy is not True


def answers_of(ev: Evaluation) -> list[Answers]:
    """The answers of each run of an evaluation [B, n]."""
    y = side_by_side(ev)
    missing = np.isnan(y) | (ev.failed[..., None] & (ev.partial is None))
    return [Answers(*each, ev.g.shape[-1]) for each in zip(np.where(missing, 0.0, y), missing, ev.failed)]


def task_of_run(task: LockstepTask, run: int, batch: int) -> Task:
    """The task of one run among those of a lockstep task."""

    def tolerances(n_ineq: int, n_eq: int) -> np.ndarray:
        """Tolerances [C] of this run."""
        pair = (task.ineq_tol, task.eq_tol) if task.tolerances is None else task.tolerances()
        return np.concatenate([np.broadcast_to(own(each), (n,)) for each, n in zip(pair, (n_ineq, n_eq))])

    def own(values: Any) -> np.ndarray:
        """The row of this run: [B or 1, 1, D] -> [D]; a number is that of all runs."""
        return np.asarray(values if np.ndim(values) == 0 else values[min(run, len(values) - 1), 0])

    integers = None
    if task.integer is not None and own(task.integer).any():
        lower, upper = own(task.lower), own(task.upper)
        origin, length = (lower, upper - lower) if task.range is None else (task.range.origin, task.range.length)
        integers = IntegerTask(own(task.integer), origin, length, np.ceil(lower), np.floor(upper))
    low, high = task.walls
    return Task(
        dim=task.dim, budget=task.budget, batch=batch, low=low, high=high,
        x0=None if task.x0 is None else np.asarray(task.x0), lengths=task.lengths, tolerances=tolerances,
        integers=integers, limits=task.limits, cheap=task.cheap,
    )  # fmt: skip
