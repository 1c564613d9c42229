"""The evaluated points of a search, up to a fixed number: models are fitted to them, and the centre is one of them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from meco.core.arrays import Array, all_columns, bounded, largest, least, maybe_any, namespace
from meco.core.evaluation import Evaluation

ARCHIVE_BLOCK = 128  # rows that are made at a time, at least
X, Y, FAILED, RESTART, NUMBER = range(5)  # positions in PointArchive._arrays; saved searches hold them
SAME_POINT = 1e-6  # of the cube, within which a point was evaluated before
SAME_POINT_RADII = 0.05  # of a region, along every variable, within which a point is as good as evaluated
EXACT_REACH = 1e-8  # of the cube: a reach of which SAME_POINT_RADII hold nothing but the very point
LARGEST_VALUE = 1e100  # beyond which values are as bad: what models make of them must not overflow
EMPTY_ROW = (np.inf, 0.0, True, 0, -1)  # what a row that is not filled yet holds, by position


class EvaluatedPoints(Protocol):
    """What a fit needs of points: x [B, n, D] in the cube, values y [B, n, F], and which failed [B, n]."""

    @property
    def x(self) -> Array:
        """The points."""
        ...

    @property
    def y(self) -> Array:
        """f, g and h of each."""
        ...

    @property
    def failed(self) -> Array:
        """Which of them tell nothing."""
        ...


class PointArchive:
    """Points x [B, n, D] in the unit cube, their values, the restart [B, n] that each belongs to, and its number.

    Runs in lockstep have equally many. Once all rows are filled, the newest point replaces the one farthest from
    the centre.
    """

    remembers = ("count", "_arrays")
    grows = ("_arrays",)  # a larger budget has more rows

    def __init__(self, x: Array, ev: Evaluation, restart_index: Array, capacity: int) -> None:
        """Keep the first points x [B, n, D] of restarts [B], and at most `capacity` points later.

        Their values are in ev [B, n]. All rows are made now.
        """
        self.n_ineq = ev.g.shape[-1]
        self.capacity, self.count = capacity, x.shape[1]
        self.partial = False  # whether some values are known of a point, and others not
        self._arrays = [*_point_columns(x, ev, restart_index), _number_points(restart_index, x.shape[1], 0)]
        self.reserve(capacity)

    def reserve(self, count: int) -> None:
        """Make empty rows, so that count more points fit, as far as the capacity allows; filled rows stay."""
        made = self._arrays[X].shape[1]
        if made < min(self.count + count, self.capacity):
            more = min(max(made, count, ARCHIVE_BLOCK), self.capacity - made)
            self._arrays = [_extend(part, more, value) for part, value in zip(self._arrays, EMPTY_ROW)]

    def add(self, x: Array, ev: Evaluation, restart_index: Array, centre: Array) -> None:
        """Remember points x [B, k, D], failed ones too, of restarts [B or B, k], around centres [B, D].

        Where the rows are full, the k points farthest from the centre give way. Values are bounded by LARGEST_VALUE,
        and 0 where a point failed.
        """
        count = x.shape[1]
        first = largest(self._arrays[NUMBER]) + 1
        new = (*_point_columns(x, ev, restart_index), _number_points(restart_index, count, first))
        self.reserve(count)
        if not self.has_room(count):
            self._put_rows(
                new, self.farthest_rows(centre, count)
            )  # rows that are not filled yet are infinitely far away
        else:
            for kept, part in zip(self._arrays, new):
                kept[:, self.count : self.count + count, ...] = part
            self.partial = self.partial or ev.partial is not None
        self.count = min(self.count + count, self.capacity)

    def has_room(self, count: int) -> bool:
        """Whether count more points replace none."""
        return self.count + count <= self.capacity

    def farthest_rows(self, centre: Array, count: int) -> Array:
        """Rows [B, count] of the points farthest from centres [B, D]; rows not filled are farthest."""
        xp, apart = namespace(centre), self._arrays[X] - centre[:, None, :]
        return xp.argsort(xp.sum(apart * apart, axis=-1), axis=-1)[:, -count:]

    def replace_values(self, y: Array) -> None:
        """Put other values y [B, n, 1 + p + q] in the place of those of all points."""
        self._arrays[Y][:, : self.count] = y

    def _put_rows(self, new: tuple[Any, ...], row: Array) -> None:
        """Put new points, [B, k, ...] of each array, into rows [B or 1, k]; the arrays are replaced, not written to."""
        xp, first = namespace(row), self._arrays[X]
        numbers = xp.arange(first.shape[1], dtype=row.dtype, device=first.device)[None, :]
        for k in range(row.shape[1]):
            here = numbers == row[:, k : k + 1]
            self._arrays = [_put_where(here, part[:, k : k + 1, ...], kept) for kept, part in zip(self._arrays, new)]

    @property
    def x(self) -> Array:
        """The points, [B, n, D]."""
        return self._rows_in_use(X)

    @property
    def _arrays(self) -> list[Array]:
        """X, Y, FAILED, RESTART and NUMBER."""
        return self._parts

    @_arrays.setter
    def _arrays(self, parts: list[Array]) -> None:
        self._parts = parts
        self.partial = bool(np.isnan(parts[Y]).any())

    @property
    def y(self) -> Array:
        """f, g and h of each point: [B, n, 1 + p + q], 0 where it failed; missing ones as fill_gaps() has them."""
        y = self._rows_in_use(Y)
        return fill_gaps(y) if self.partial else y

    @property
    def missing(self) -> Array:
        """Which values are not known, [B, n, 1 + p + q].

        All of a failed point, unless some of it was told.
        """
        y, xp = self._rows_in_use(Y), namespace(self.x)
        told = xp.any(xp.isnan(y), axis=-1, keepdims=True)  # of a failed point something is known
        return xp.isnan(y) | (self.failed[..., None] & ~told)

    @property
    def failed(self) -> Array:
        """Which of them failed, [B, n]."""
        return self._rows_in_use(FAILED)

    @property
    def restart_index(self) -> Array:
        """The restart that each belongs to, [B, n]."""
        return self._rows_in_use(RESTART)

    def _rows_in_use(self, part: int) -> Array:
        """The filled rows of one of the arrays."""
        return self._arrays[part][:, : self.count, ...]

    @property
    def some_failed(self) -> bool:
        """Whether any point has failed."""
        return maybe_any(self.failed)

    def failed_rate(self) -> Array:
        """(failed + 1/2) / (points + 1) of each run [B]: never 0 or 1; rows that are not filled do not count."""
        xp, there = namespace(self.x), namespace(self.x).isfinite(self.x[..., 0])
        failed = xp.sum(xp.astype(self.failed & there, self.x.dtype), axis=-1)
        return (failed + 0.5) / (xp.sum(xp.astype(there, self.x.dtype), axis=-1) + 1.0)

    @property
    def has_failures(self) -> Array:
        """Runs of which some point failed: [B]."""
        xp = namespace(self.x)
        return xp.any(self.failed & xp.isfinite(self.x[..., 0]), axis=-1)

    def newest(self, count: int) -> Array:
        """Which rows hold the newest `count` points: [B, n]."""
        number = self._rows_in_use(NUMBER)
        return number > namespace(number).max(number, axis=-1, keepdims=True) - count

    def evaluation(self) -> Evaluation:
        """The values as a rule reads them."""
        return as_evaluation(self.y, self.n_ineq, self.failed)


def as_evaluation(y: Array, n_ineq: int, failed: Array) -> Evaluation:
    """Values y [B, n, 1 + p + q] as an evaluation for a rule; which of them are feasible is not decided here."""
    return Evaluation(y[..., 0], y[..., 1 : 1 + n_ineq], y[..., 1 + n_ineq :], failed, ~failed)


def values_of(ev: Evaluation) -> Array:
    """f, g and h side by side [B, n, 1 + p + q], bounded by LARGEST_VALUE; 0 where a candidate failed."""
    xp = namespace(ev.f)
    y = bounded(xp.concat([ev.f[..., None], ev.g, ev.h], axis=-1), -LARGEST_VALUE, LARGEST_VALUE)
    return y if ev.intact else xp.where(ev.failed[..., None], 0.0, y)


def is_near_evaluated(archive: PointArchive, x: Array, reach: Array) -> Array:
    """Whether some evaluated point, failed or not, lies within SAME_POINT_RADII of reach [B, D] along every variable.

    Of points x [B, D]: [B].
    """
    return distances_to_nearest(archive, x[:, None, :], reach)[:, 0] < SAME_POINT_RADII


def distances_to_nearest(archive: PointArchive, x: Array, reach: Array) -> Array:
    """Least distances of points x [B, k, D] to evaluated ones, along the variable in which they are farthest: [B, k].

    In units of reach [B, D], which is above 0.
    """
    xp = namespace(x)
    each = [xp.abs(archive.x - x[:, k, None, :]) / reach[:, None, :] for k in range(x.shape[1])]
    return xp.concat([least(largest(apart, keepdims=False)) for apart in each], axis=1)


def is_stale(archive: PointArchive, x: Array, reach: Array, idle: Array, exact: Array) -> Array:
    """Which of points x [B, D] are not worth evaluating: idle ones near an evaluated one, exact ones at one: [B].

    idle and exact [B] say which are asked about. Near is within SAME_POINT_RADII of reach [B, D].
    """
    if maybe_any(idle):
        idle = idle & is_near_evaluated(archive, x, reach)
    return idle | (exact & is_evaluated(archive, x))


def are_repeated(archive: PointArchive, x: Array) -> Array:
    """Whether the very points x [B, k, D] have been evaluated, whether they failed or not: [B, k]."""
    return distances_to_nearest(archive, x, namespace(x).zeros_like(x[:, 0, :]) + EXACT_REACH) < SAME_POINT_RADII


def is_repeated(archive: PointArchive, x: Array) -> Array:
    """Whether the very points x [B, D] have been evaluated, whether they failed or not: [B]."""
    return are_repeated(archive, x[:, None, :])[:, 0]


def is_evaluated(archive: PointArchive, x: Array) -> Array:
    """Whether points x [B, D] were evaluated, to the last bit, whether they failed or not: [B]."""
    run, row = (archive.x[..., 0] == x[:, :1]).nonzero()  # few points have the very same first variable
    found = np.zeros(len(x), dtype=bool)
    if run.size:
        found[run[all_columns(archive.x[run, row] == x[run])]] = True
    return found


def _number_points(restart_index: Array, count: int, first: Array | int) -> Array:
    """Numbers of count points in the order in which they come, from first [B, 1] on: [B, count]."""
    xp = namespace(restart_index)
    numbers = xp.arange(count, dtype=xp.int64, device=restart_index.device)[None, :] + first
    return _each_of(numbers, (restart_index.shape[0], count))


def _point_columns(x: Array, ev: Evaluation, restart_index: Array) -> tuple[Any, ...]:
    """X [B, k, D], Y [B, k, 1 + p + q], FAILED and RESTART [B, k] of points, as the archive keeps them.

    restart_index is [B] or [B, k]. Y is 0 where a point failed, and nan for what is missing of a partial answer.
    """
    each = restart_index[:, None] if restart_index.ndim == 1 else restart_index
    y = values_of(ev) if ev.partial is None else keep_gaps(ev)
    return x, y, ev.failed, _each_of(each, x.shape[:2])


def _each_of(numbers: Array, shape: tuple[int, ...]) -> Array:
    """Numbers [B or 1, k or 1] as [B, k], the shape; themselves where they have it, which saves the time of asking."""
    return numbers if numbers.shape == shape else namespace(numbers).broadcast_to(numbers, shape)


def keep_gaps(ev: Evaluation) -> np.ndarray:
    """f, g and h side by side [B, n, 1 + p + q], nan for what is not known of a point; 0 where nothing is known.

    Of an evaluation with partial answers, in NumPy; values are bounded by LARGEST_VALUE.
    """
    assert ev.partial is not None
    y = np.clip(ev.partial, -LARGEST_VALUE, LARGEST_VALUE)
    return np.where(np.all(np.isnan(y), axis=-1, keepdims=True), 0.0, y)


def fill_gaps(y: np.ndarray) -> np.ndarray:
    """Values y [B, n, 1 + p + q] without nan: the largest known f of the run in the place of a missing one, else 0.

    Where no f is known it is 0. The array itself is not changed.
    """
    f = y[..., :1]
    worst = np.max(np.where(np.isnan(f), -np.inf, f), axis=1, keepdims=True)
    worst = np.where(np.isfinite(worst), worst, 0.0)
    return np.concatenate([np.where(np.isnan(f), worst, f), np.nan_to_num(y[..., 1:], nan=0.0)], axis=-1)


def _extend(part: Array, count: int, value: float) -> Array:
    """part [B, n, ...] with `count` more rows at its end, all of them filled with a value: [B, n + count, ...]."""
    xp, shape = namespace(part), (part.shape[0], count, *part.shape[2:])
    return xp.concat([part, xp.full(shape, value, dtype=part.dtype, device=part.device)], axis=1)


def _put_where(here: Array, new: Array, kept: Array) -> Array:
    """Rows new [B, 1, ...] in the place of those of kept [B, n, ...] where here [B, n] holds."""
    wide = here if kept.ndim == 2 else here[..., None]
    return namespace(kept).where(wide, new, kept)
