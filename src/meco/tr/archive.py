"""The points a region has seen, up to a fixed number: models are fitted to them and the centre is one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.arrays import Array, namespace
from meco.core.evaluation import Evaluation

LARGEST = 2000  # points kept, so that the cost of a step does not grow with the run
BLOCK = 128  # places that are made at a time, at least: on a device shapes should stay the same between steps


class SeenPoints:
    """Points x [B, n, D] in the unit cube, their values, and the start [B, n] of the search that made each.

    Runs in lockstep have seen equally many. Once all places are taken, the newest point takes
    the place of the one farthest from the centre. On a device n counts places: those yet to
    be taken hold failed points infinitely far away.
    """

    remembers = ("count", "_arrays")

    def __init__(self, x: Array, ev: Evaluation, start: Array, places: int) -> None:
        self.n_ineq = ev.g.shape[-1]
        self.places, self.count = places, x.shape[1]
        self.on_host = isinstance(x, np.ndarray)
        self._arrays = list(_columns(x, ev, start))
        self._next = namespace(x).full((1, 1), self.count, dtype=start.dtype, device=x.device)  # place to be taken
        self.make_room(places if self.on_host else 0)

    def make_room(self, count: int) -> None:
        """Places for count more points, as far as there may be any."""
        made = self._arrays[0].shape[1]
        if made < min(self.count + count, self.places):
            more = min(max(made, count, BLOCK), self.places - made)
            self._arrays = [_extended(part, more, value) for part, value in zip(self._arrays, (np.inf, 0.0, True, 0))]

    def add(self, x: Array, ev: Evaluation, start: Array, centre: Array) -> None:
        """Remember points x [B, k, D] made since start [B or B, k]; centre [B, D] decides who makes room."""
        new, count = _columns(x, ev, start), x.shape[1]
        self.make_room(count)
        if not self.has_room(count):
            self._put(new, self._farthest(centre, count))  # places that are not taken yet are infinitely far away
        elif self.on_host:
            for kept, part in zip(self._arrays, new):
                kept[:, self.count : self.count + count, ...] = part
        else:
            self._put(new, self._next + namespace(x).arange(count, dtype=self._next.dtype, device=x.device))
            self._next = self._next + count
        self.count_more(count)

    def count_more(self, count: int) -> None:
        """What the host knows of points that were added, by add() or by a device that repeats it."""
        self.count = min(self.count + count, self.places)

    def has_room(self, count: int) -> bool:
        """Whether count more points need nobody's place."""
        return self.count + count <= self.places

    def _farthest(self, centre: Array, count: int) -> Array:
        """Places [B, k] of the points farthest from the centre."""
        xp, apart = namespace(centre), self._arrays[0] - centre[:, None, :]
        return xp.argsort(xp.sum(apart * apart, axis=-1), axis=-1)[:, -count:]

    def _put(self, new: tuple[Any, ...], place: Array) -> None:
        """New points at places [B or 1, k]."""
        xp, first = namespace(place), self._arrays[0]
        numbers = xp.arange(first.shape[1], dtype=place.dtype, device=first.device)[None, :]
        for k in range(place.shape[1]):
            here = numbers == place[:, k : k + 1]
            self._arrays = [_put(here, part[:, k : k + 1, ...], kept) for kept, part in zip(self._arrays, new)]

    @property
    def x(self) -> Array:
        """The points, [B, n, D]."""
        return self._taken(0)

    @property
    def y(self) -> Array:
        """f, g and h of each point: [B, n, 1 + p + q], 0 where it failed."""
        return self._taken(1)

    @property
    def failed(self) -> Array:
        """Which of them failed, [B, n]."""
        return self._taken(2)

    @property
    def start(self) -> Array:
        """The start that each was made after, [B, n]."""
        return self._taken(3)

    def _taken(self, part: int) -> Array:
        kept = self._arrays[part]
        return kept[:, : self.count, ...] if self.on_host else kept

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
    each = start[:, None] if start.ndim == 1 else start
    return x, values_of(ev), ev.failed, namespace(x).broadcast_to(each, x.shape[:2])


def _extended(part: Array, places: int, value: float) -> Array:
    """part [B, n, ...] with more places at its end that hold a value."""
    xp, shape = namespace(part), (part.shape[0], places, *part.shape[2:])
    return xp.concat([part, xp.full(shape, value, dtype=part.dtype, device=part.device)], axis=1)


def _put(here: Array, new: Array, kept: Array) -> Array:
    wide = here if kept.ndim == 2 else here[..., None]
    return namespace(kept).where(wide, new, kept)
