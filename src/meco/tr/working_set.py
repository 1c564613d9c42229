"""Very many constraints: the search sees a working set of them, and the worst of the rest as one constraint more.

Beyond MOST_WATCHED constraints models, program, multipliers and merit are of 4 D + 20 constraints at most. Of the
inequalities those are in the working set W that are violated or nearest to it, all equalities, and

    rest(x) = max_{i not in W} (g_i(x) - tolerance_i) / s_i,    s_i: what g_i changes by among the first points  (1)

stands for all others, so that what is outside is never forgotten: rest > 0 at a point that has been evaluated is a
violation like any other. Its worst constraints then take the places of those in W that are farthest from being
violated at the centre and have no multiplier. Their values at the points so far are known, models of them are new.

All values are kept of the points of the archive, which is as long as MOST_NUMBERS of them allow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from meco.core.arrays import Array
from meco.core.evaluation import Evaluation
from meco.tr.archive import PointArchive, values_of
from meco.tr.critical import max_critical
from meco.tr.region import Region

if TYPE_CHECKING:
    from meco.tr.tr_state import TrState

MOST_WATCHED = 1000  # constraints of which every one is modelled
LEAST_WORKING = 20  # inequalities of a working set, however many equalities there are
MOST_EXCHANGED = 0.25  # of a working set after one iteration
MOST_NUMBERS = 20_000_000  # values that are kept: 160 MB


class WorkingSet:
    """Which K inequalities the searches of B runs see, index [B, K], and all values of the archive's points.

    scale [B, p] is s of eq. (1); values [B, capacity, 1 + C] has the rows of the archive, f first. NumPy only.
    """

    remembers = ("index", "scale", "values")

    def __init__(self, dim: int, ev: Evaluation, tolerance: Array, capacity: int) -> None:
        """Choose the working set by the first answers ev [B, n], with tolerances [B or 1, C] of all constraints.

        capacity is how many points the archive may hold. K is 4 D + 19 less the equalities, at least LEAST_WORKING.
        Failed answers tell nothing.
        """
        runs, count, self.n_ineq = ev.g.shape
        size = max(LEAST_WORKING, max_critical(dim) - 1 - ev.h.shape[-1])
        self.tolerance = np.broadcast_to(tolerance, (runs, tolerance.shape[1]))  # [B, C]
        first = values_of(ev)
        self.values = np.zeros((runs, capacity, first.shape[-1]))  # memory is taken as rows are filled
        self.values[:, :count] = first
        g = np.where(ev.failed[..., None], np.nan, first[..., 1 : 1 + self.n_ineq])
        spread = np.nan_to_num(np.nanmax(g, axis=1) - np.nanmin(g, axis=1))
        self.scale = np.where(spread > 0.0, spread, np.maximum(np.nan_to_num(np.nanmax(np.abs(g), axis=1)), 1.0))
        near = np.nan_to_num(np.nanmax(self._closeness(g), axis=1), nan=-np.inf)  # at the worst of the first points
        self.index = np.sort(np.argpartition(-near, size, axis=-1)[:, :size], axis=-1)

    @staticmethod
    def capacity(constraints: int, least: int, most: int) -> int:
        """How many points an archive keeps: as MOST_NUMBERS allow, but between least and most, and most wins."""
        return min(most, max(least, MOST_NUMBERS // (1 + constraints)))

    def _closeness(self, g: Array) -> Array:
        """(g_i - tolerance_i) / s_i of each inequality: g [B, n, p] -> [B, n, p]."""
        return (g - self.tolerance[:, None, : self.n_ineq]) / self.scale[:, None, :]

    def reduce(self, ev: Evaluation) -> Evaluation:
        """The evaluation as the search sees it: g [B, n, K + 1] of the working set and the rest, and no gaps."""
        g = np.concatenate([np.take_along_axis(ev.g, self.index[:, None, :], axis=-1), self._rest(ev.g)], axis=-1)
        return replace(ev, g=g, partial=None)

    @property
    def tolerance_seen(self) -> Array:
        """Tolerances of the constraints that the search sees, [B, K + 1 + q]; 0 for the rest: eq. (1) has them."""
        part, h = np.take_along_axis(self.tolerance, self.index, axis=-1), self.tolerance[:, self.n_ineq :]
        return np.concatenate([part, np.zeros((len(part), 1)), h], axis=-1)

    def deviations_seen(self, told: Array) -> Array:
        """Standard deviations of f and all constraints [1, 1 + C] as the search sees them, [B, 1 + K + 1 + q].

        The rest has the largest of what is outside, in its units.
        """
        each = np.broadcast_to(told, (len(self.index), told.shape[1]))
        f, g, h = np.split(each, (1, 1 + self.n_ineq), axis=-1)
        outside = g / self.scale
        np.put_along_axis(outside, self.index, 0.0, axis=-1)
        most = np.max(outside, axis=-1, keepdims=True)
        return np.concatenate([f, np.take_along_axis(g, self.index, axis=-1), most, h], axis=-1)

    def _rest(self, g: Array) -> Array:
        """Eq. (1) of values g [B, n, p]: [B, n, 1]."""
        close = self._closeness(g)
        np.put_along_axis(close, self.index[:, None, :], -np.inf, axis=-1)
        return np.max(close, axis=-1, keepdims=True)

    def keep(self, ev: Evaluation, archive: PointArchive, centre: Array) -> None:
        """Remember all values of points that are added to the archive next, in the rows they will have.

        ev [B, k] has all constraints; centres [B, D] are those that archive.add() will be given.
        """
        rows = rows_to_fill(archive, centre, ev.f.shape[1])
        np.put_along_axis(self.values, rows[..., None], values_of(ev), axis=1)

    def exchange(self, state: TrState, ev: Evaluation) -> None:
        """Take the worst constraints that the new points violate into the working set, and change the state to match.

        At most MOST_EXCHANGED of its places change, and none with a multiplier. ev has all constraints; failed answers
        do not count.
        """
        size = self.index.shape[1]
        g = np.where(ev.failed[..., None], -np.inf, ev.g)
        close = np.max(self._closeness(g), axis=1)
        np.put_along_axis(close, self.index, -np.inf, axis=-1)
        most = max(1, int(MOST_EXCHANGED * size))
        new = np.argpartition(-close, most, axis=-1)[:, :most]
        new = np.take_along_axis(new, np.argsort(-np.take_along_axis(close, new, axis=-1), axis=-1), axis=-1)
        wanted = np.take_along_axis(close, new, axis=-1) > 0.0  # [B, most]
        if not wanted.any():
            return
        changed = np.zeros((len(new), size), dtype=bool)
        for b in np.flatnonzero(wanted.any(axis=-1)):
            slots = self._least_needed(state, int(b))[: int(wanted[b].sum())]
            self.index[b, slots] = new[b, : len(slots)]
            changed[b, slots] = True
        self._renew(state, changed)

    def _least_needed(self, state: TrState, b: int) -> np.ndarray:
        """Places [n] of the working set of run b without a multiplier, by closeness at the centre, least first."""
        size, region = self.index.shape[1], state.region
        row = int(np.argmin(np.sum((state.archive.x[b] - region.centre[b]) ** 2, axis=-1)))
        g = self.values[b, row, 1 + self.index[b]] - self.tolerance[b, self.index[b]]
        close = g / self.scale[b, self.index[b]]
        order = np.argsort(close, kind="stable")
        return order[(region.multipliers[b, :size] == 0.0)[order]]

    def _renew(self, state: TrState, changed: Array) -> None:
        """Change the state where places [B, K] of working sets have new constraints.

        The archive gets their values; models, multipliers, weights, errors, roughness and noise of these and of the
        rest begin anew.
        """
        archive, some = state.archive, changed.any(axis=-1, keepdims=True)
        n = archive.count
        full = self.values[:, :n]
        y = np.concatenate([full[..., :1], *self._seen(full)], axis=-1)
        archive.replace_values(np.where(archive.failed[..., None], 0.0, y))
        none = np.zeros((len(changed), full.shape[-1] - 1 - self.n_ineq), dtype=bool)
        region = forget_columns(state.region, np.concatenate([changed, some, none], axis=-1))
        weights = region.weights._replace(tolerance=self.tolerance_seen)
        state.region = region._replace(weights=weights)
        gone = np.concatenate([some & False, changed, some, none], axis=-1)
        state.rough = state.rough._replace(eta=np.where(gone, 0.0, state.rough.eta))
        state.noise = state.noise._replace(deviation=np.where(gone, 0.0, state.noise.deviation))

    def _seen(self, full: Array) -> list[Array]:
        """What the search sees of all values [B, n, 1 + C]: working set [B, n, K], rest [B, n, 1], h [B, n, q]."""
        g, h = full[..., 1 : 1 + self.n_ineq], full[..., 1 + self.n_ineq :]
        return [np.take_along_axis(g, self.index[:, None, :], axis=-1), self._rest(g), h]


def forget_columns(region: Region, gone: Array) -> Region:
    """The region with nothing known of the constraints where gone [B, C] holds: models 0, errors inf, weights 0."""
    kept = np.concatenate([np.ones((len(gone), 1)), np.where(gone, 0.0, 1.0)], axis=-1)
    weights = region.weights
    return region._replace(
        models=region.models.multiplied(kept),
        multipliers=np.where(gone, 0.0, region.multipliers),
        error=np.where(gone, np.inf, region.error),
        weights=weights._replace(w=np.where(gone, 0.0, weights.w), floor=np.where(gone, 0.0, weights.floor)),
    )


def rows_to_fill(archive: PointArchive, centre: Array, count: int) -> Array:
    """The rows [B, count] that archive.add() will put so many points into, around centres [B, D]."""
    if archive.has_room(count):
        return np.broadcast_to(np.arange(archive.count, archive.count + count), (len(centre), count))
    return archive.farthest_rows(centre, count)
