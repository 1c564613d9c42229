"""The evaluator of the front door: points given by the user stay exact, and known values cost nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.arrays import Array, rows
from meco.blackbox.evaluation_log import Known
from meco.evaluator import Evaluator
from meco.problems.evaluation import Evaluation, absent, concat
from meco.problems.problem import Problem


class ExactEvaluator(Evaluator):
    """One run on one problem.

    Mapping a point into the unit cube and back can move its last bit, so points given in
    the box are remembered with their unit coordinates. A known point is answered once without
    being called or counted; asked for again, it is a point like any other, so a run that
    only proposes known points ends too.
    """

    def __init__(self, problem: Problem, budget: int) -> None:
        super().__init__(problem, budget)
        self._exact: dict[bytes, np.ndarray] = {}
        self._known: dict[bytes, list[tuple[Any, ...]]] = {}

    def place(self, x: np.ndarray) -> np.ndarray:
        """Unit coordinates [n, D] that will be evaluated as exactly these points [n, D]."""
        unit = self.to_unit(x) + 0.0
        for row, point in zip(unit, x):
            self._exact[row.tobytes()] = point
        return unit

    def know(self, known: Known, unit: np.ndarray | None = None) -> np.ndarray:
        """Answer these points without a call, and let them compete for the best; their unit coordinates.

        unit is given for points that came from the unit cube, and need no exact copy.
        """
        unit = self.place(known.x) if unit is None else unit
        if len(unit) == 0:
            return unit
        for i, row in enumerate(unit):
            self._known.setdefault(row.tobytes(), []).append((known.f[i], known.g[i], known.h[i]))
        ev = known.evaluation(self.problems[0].ineq_tol, self.problems[0].eq_tol)
        self.feasible_best.challenge(known.x[None], ev)
        self.score_best.challenge(known.x[None], ev)
        return unit

    def charge(self, count: int) -> None:
        """Count calls that were made beside the candidates asked for."""
        self.nfev = self.nfev + count
        self._most = int(self.nfev.max())

    def to_box(self, unit: Array) -> Array:
        """Unit-cube coordinates [1, n, D] as the points that are evaluated."""
        x = super().to_box(unit)
        if self._exact:
            found = [(i, self._exact[key]) for i, key in enumerate(_keys(unit)) if key in self._exact]
            if found:
                x = x.copy()
                for i, point in found:
                    x[0, i] = point
        return x

    def needed(self, unit: Array) -> np.ndarray:
        """Which of these candidates [1, n, D] would be called: not known, and within the budget; [m]."""
        left = {key: len(values) for key, values in self._known.items()}
        free = []
        for key in _keys(unit):
            free.append(left.get(key, 0) > 0)
            left[key] = left.get(key, 0) - 1
        return np.flatnonzero(~np.array(free, dtype=bool))[: self.left]

    def evaluate(self, unit: Array, wanted: np.ndarray | None = None) -> Evaluation:
        """Known candidates from memory, the others in index order while the budget lasts."""
        free: dict[int, tuple[Any, ...]] = {}
        if self._known:
            for i, key in enumerate(_keys(unit)):
                if key in self._known and (wanted is None or wanted[0, i]):
                    free[i] = self._known[key].pop(0)
                    if not self._known[key]:
                        del self._known[key]
        if not free:
            return super().evaluate(unit, wanted)
        count = unit.shape[1]
        rest = [i for i in range(count) if i not in free and (wanted is None or wanted[0, i])]
        f, g, h = (np.stack(column)[None] for column in zip(*free.values()))
        parts = [self._finish(f, g, h)]
        if rest and self.left > 0:
            parts.append(super().evaluate(unit[:, rest, :]))
        full = concat([*parts, absent(parts[0], 1)])
        place = np.full(count, full.f.shape[1] - 1)
        made = [*free, *(rest if len(parts) > 1 else [])]
        place[made] = np.arange(len(made))
        return full.map(lambda a: rows(a, place[None]))


def _keys(unit: np.ndarray) -> list[bytes]:
    """What identifies each candidate of the one run."""
    return [row.tobytes() for row in np.ascontiguousarray(unit[0] + 0.0)]
