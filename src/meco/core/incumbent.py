"""The best candidate so far of each run in lockstep, under a metric (metrics.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, known_all, namespace, rows, to_numpy
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, best, not_worse


class IncumbentPoint(NamedTuple):
    """One candidate per run: key and numbers [B, 1], x [B, 1, D]. Saved searches hold these names (memory.py)."""

    key: Key
    x: Array
    f: Array
    nu: Array
    feasible: Array


class Incumbent:
    """The best candidate of each run under one metric; the earlier of equals stays."""

    remembers = ("point",)

    def __init__(self, metric: Callable[[Evaluation], Key]) -> None:
        self.metric = metric
        self.point: IncumbentPoint | None = None

    def update(self, x: Array, ev: Evaluation) -> None:
        """Let candidates x [B, n, D] compete: the best of them replaces the point of each run that it beats."""
        ev.nu  # noqa: B018 - made and kept here, since a compiled formula keeps nothing
        if self.point is not None:
            self.point = _keep_better(self.metric, self.point, x, ev)
            return
        key = self.metric(ev)
        self.point = _candidates_at(key, x, ev, best(key))

    def point_in_numpy(self) -> IncumbentPoint:
        """The best candidates so far, in NumPy; an update() must have been made."""
        assert self.point is not None
        return to_numpy_point(self.point)


def to_numpy_point(point: IncumbentPoint) -> IncumbentPoint:
    """The same candidates as NumPy arrays in host memory; waits for a device."""
    major, minor = to_numpy(point.key.major), to_numpy(point.key.minor)
    x, f, nu, feasible = (to_numpy(v) for v in (point.x, point.f, point.nu, point.feasible))
    return IncumbentPoint(Key(major, minor), x, f, nu, feasible)


def _keep_better(metric: Callable[[Evaluation], Key], held: IncumbentPoint, x: Array, ev: Evaluation) -> IncumbentPoint:
    """The best of candidates x [B, n, D] in each run, or the held point where that one is not worse."""
    key = metric(ev)
    i = best(key)
    if isinstance(i, np.ndarray) and i.size == 1:  # the single user's case, on plain numbers
        return held if not_worse(_plain_key(held.key), _plain_key(key, i.item())) else _candidates_at(key, x, ev, i)
    found = _candidates_at(key, x, ev, i)
    lost = not_worse(held.key, found.key)
    return held if known_all(lost) else _merge_points(~lost, found, held)


def _plain_key(key: Key, at: int = 0) -> Key:
    """The key of candidate number `at` of a single run, as two plain numbers."""
    return Key(key.major.item(at), key.minor.item(at))


def _candidates_at(key: Key, x: Array, ev: Evaluation, i: Array) -> IncumbentPoint:
    """Candidate i [B] of each run, copied out of key [B, n], x [B, n, D] and ev."""
    if isinstance(i, np.ndarray) and i.size == 1:
        one = slice(at := i.item(), at + 1)
        chosen = [a[:, one].copy() for a in (key.major, key.minor, x, ev.f, ev.nu, ev.feasible)]
    else:
        chosen = [rows(a, i[:, None]) for a in (key.major, key.minor, x, ev.f, ev.nu, ev.feasible)]
    major, minor, x, f, nu, feasible = chosen
    return IncumbentPoint(Key(major, minor), x, f, nu, feasible)


def _merge_points(won: Array, found: IncumbentPoint, held: IncumbentPoint) -> IncumbentPoint:
    """The found points where they won [B, 1], the held ones elsewhere."""
    xp = namespace(found.f)
    key = Key(xp.where(won, found.key.major, held.key.major), xp.where(won, found.key.minor, held.key.minor))
    return IncumbentPoint(
        key=key,
        x=xp.where(won[..., None], found.x, held.x),
        f=xp.where(won, found.f, held.f),
        nu=xp.where(won, found.nu, held.nu),
        feasible=xp.where(won, found.feasible, held.feasible),
    )
