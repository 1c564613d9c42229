"""What a search has found so far: the best points under both metrics, and a row per generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, known_all, namespace, to_numpy
from meco.core.evaluation import Evaluation
from meco.core.growing_rows import GrowingRows
from meco.core.incumbent import Incumbent, IncumbentPoint, to_numpy_point
from meco.core.metrics import feasibility_first, objective_plus_violation
from meco.core.rule import Population

STACKED_TOGETHER = 512  # generations that are recorded before their rows are stacked, which takes less memory


class BestPoints(NamedTuple):
    """The best point of each run, in NumPy, under four views."""

    feasible: IncumbentPoint  # feasibility first, over all evaluated points
    score: IncumbentPoint  # least f + nu, over all evaluated points
    snapshot: IncumbentPoint  # feasibility first, over survivors so far
    final: IncumbentPoint  # least f + nu of the last population


class History:
    """Incumbents and trace of B runs."""

    remembers = ("feasible_best", "score_best")

    def __init__(self) -> None:
        """Nothing found, and no generation recorded yet."""
        self.feasible_best = Incumbent(feasibility_first)
        self.score_best = Incumbent(objective_plus_violation)
        self.snapshot_best = Incumbent(feasibility_first)
        self.last_population: Population | None = None
        self.notes: list[str] = []  # for the result
        self._rows: list[dict[str, Array]] = []  # of generations that are not stacked yet
        self._stacked: dict[str, GrowingRows] | None = None

    def update_best(self, x: Array, ev: Evaluation) -> None:
        """Let evaluated points x [B, n, D] of the box compete for the best under both metrics."""
        self.feasible_best.update(x, ev)
        self.score_best.update(x, ev)

    @property
    def empty(self) -> bool:
        """Whether no generation was recorded."""
        return not self._rows and self._stacked is None

    def record_generation(
        self, nfev: np.ndarray, population: Population | None, extras: Mapping[str, Array] = {}
    ) -> None:
        """Add a row to the trace: nfev [B], incumbents, the share of feasible survivors and extras [B, ...] by name."""
        feasible, score = self.feasible_best.point, self.score_best.point
        assert feasible is not None
        assert score is not None
        row = {"nfev": nfev, "f": feasible.f[:, 0], "nu": feasible.nu[:, 0], "feasible": feasible.feasible[:, 0]}
        row["score"] = score.key.minor[:, 0]
        if population is not None:
            if not self._survivors_cannot_improve():
                self.snapshot_best.update(population.x, population.ev)  # unit coordinates, mapped at the end
            self.last_population = population  # of this generation, until the next one is recorded
            row["feasible_share"] = population.ev.feasible_share
        row |= extras
        self._rows.append(row)
        if len(self._rows) >= STACKED_TOGETHER:
            self.collect_trace()

    def _survivors_cannot_improve(self) -> bool:
        """Whether the best survivor of each run already is the best point evaluated.

        False on a device, where asking waits.
        """
        survivor, point = self.snapshot_best.point, self.feasible_best.point
        assert point is not None
        if survivor is None:
            return False
        same = survivor.key.minor == point.key.minor
        return known_all(same) and known_all(survivor.key.major == point.key.major)

    def best_points(self, to_box: Callable[[Array], Array]) -> BestPoints:
        """The best points of each run; to_box maps survivors, kept as unit coordinates [B, n, D], to the box.

        Without recorded populations, snapshot and final are those over all evaluated points.
        """
        feasible, score = self.feasible_best.point_in_numpy(), self.score_best.point_in_numpy()
        snapshot = feasible
        if self.snapshot_best.point is not None:
            survivor = self.snapshot_best.point
            snapshot = to_numpy_point(survivor._replace(x=to_box(survivor.x)))
        final = score
        if self.last_population is not None:
            last = Incumbent(objective_plus_violation)
            last.update(to_box(self.last_population.x), self.last_population.ev)
            final = last.point_in_numpy()
        return BestPoints(feasible, score, snapshot, final)

    def collect_trace(self) -> dict[str, np.ndarray]:
        """The rows so far by name, [G, B, ...] each; names that some generation lacks are left out.

        Rows recorded since the last time are stacked now, for good.
        """
        if self._rows:
            columns = self._rows[-1] if self._stacked is None else self._stacked
            names = [k for k in columns if all(k in row for row in self._rows)]
            more = {k: _stack_on_host([row[k] for row in self._rows]) for k in names}
            if self._stacked is None:
                self._stacked = {k: GrowingRows(*v.shape[1:], dtype=v.dtype) for k, v in more.items()}
            self._stacked = {k: self._stacked[k] for k in names}
            for k, values in more.items():
                self._stacked[k].extend(values)
            self._rows.clear()
        return {k: grown.all for k, grown in (self._stacked or {}).items()}  # none of a search that was begun anew

    def replace_trace(self, trace: Mapping[str, np.ndarray]) -> None:
        """Put [G, B, ...] by name in the place of what was recorded so far; populations and incumbents stay."""
        self._rows.clear()
        self._stacked = {k: GrowingRows(*v.shape[1:], dtype=v.dtype) for k, v in trace.items()}
        for k, values in trace.items():
            self._stacked[k].extend(values)


def _stack_on_host(values: Sequence[Array]) -> np.ndarray:
    """Arrays of equal shape, at least one, as one in host memory [n, ...], in one transfer."""
    if len(values) == 1:  # asked after every generation: no stacking
        return to_numpy(values[0])[None]
    if isinstance(values[0], np.ndarray):
        return np.array(values)  # in a third of the time that stacking takes
    return to_numpy(namespace(values[0]).stack(values))
