"""The points a region has seen, up to a fixed number: models are fitted to them and the centre is one of them."""

from __future__ import annotations

from typing import Any

from meco.arrays import Array, namespace
from meco.problems.evaluation import Evaluation

LARGEST = 2000  # points kept, so that the cost of a step does not grow with the run


class SeenPoints:
    """Points x [B, n, D] in the unit cube, their values, and the start [B, n] of the search that made each.

    Runs in lockstep have seen equally many. Once all places are taken, the newest point takes
    the place of the one farthest from the centre.
    """

    remembers = ("count", "_arrays")

    def __init__(self, x: Array, ev: Evaluation, start: Array, places: int) -> None:
        xp, count = namespace(x), x.shape[1]
        self.n_ineq = ev.g.shape[-1]
        new = _columns(x, ev, start)
        self.count = count
        self._arrays = [xp.concat([part, _room(part, places - count)], axis=1) for part in new]

    def add(self, x: Array, ev: Evaluation, start: Array, centre: Array) -> None:
        """Remember points x [B, k, D] made since start [B]; centre [B, D] decides who makes room."""
        new, count = _columns(x, ev, start), x.shape[1]
        if self.count + count <= self._arrays[0].shape[1]:
            for kept, part in zip(self._arrays, new):
                kept[:, self.count : self.count + count, ...] = part
            self.count += count
            return
        xp = namespace(x)
        apart = self._arrays[0] - centre[:, None, :]
        place = xp.argsort(xp.sum(apart * apart, axis=-1), axis=-1)[:, -count:]  # [B, k]
        numbers = xp.arange(self._arrays[0].shape[1], dtype=place.dtype, device=x.device)
        for k in range(count):
            here = numbers[None, :] == place[:, k : k + 1]
            self._arrays = [_put(here, part[:, k : k + 1, ...], kept) for kept, part in zip(self._arrays, new)]

    @property
    def x(self) -> Array:
        """The points, [B, n, D]."""
        return self._arrays[0][:, : self.count, :]

    @property
    def y(self) -> Array:
        """f, g and h of each point: [B, n, 1 + p + q], 0 where it failed."""
        return self._arrays[1][:, : self.count, :]

    @property
    def failed(self) -> Array:
        """Which of them failed, [B, n]."""
        return self._arrays[2][:, : self.count]

    @property
    def start(self) -> Array:
        """The start that each was made after, [B, n]."""
        return self._arrays[3][:, : self.count]

    def evaluation(self) -> Evaluation:
        """The values as a rule reads them."""
        return as_evaluation(self.y, self.n_ineq, self.failed)


def as_evaluation(y: Array, n_ineq: int, failed: Array) -> Evaluation:
    """Values y [B, n, 1 + p + q] as an evaluation for a rule; which of them are feasible is not decided here."""
    return Evaluation(y[..., 0], y[..., 1 : 1 + n_ineq], y[..., 1 + n_ineq :], failed, ~failed)


def values_of(ev: Evaluation) -> Array:
    """f, g and h side by side: [B, n, 1 + p + q], 0 where a candidate failed."""
    xp = namespace(ev.f)
    y = xp.concat([ev.f[..., None], ev.g, ev.h], axis=-1)
    return y if ev.intact else xp.where(ev.failed[..., None], 0.0, y)


def _columns(x: Array, ev: Evaluation, start: Array) -> tuple[Any, ...]:
    return x, values_of(ev), ev.failed, namespace(x).broadcast_to(start[:, None], x.shape[:2])


def _room(like: Array, places: int) -> Array:
    """Places yet to be taken."""
    shape = (like.shape[0], places, *like.shape[2:])
    return namespace(like).zeros(shape, dtype=like.dtype, device=like.device)


def _put(here: Array, new: Array, kept: Array) -> Array:
    wide = here if kept.ndim == 2 else here[..., None]
    return namespace(kept).where(wide, new, kept)
