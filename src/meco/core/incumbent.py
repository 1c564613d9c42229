"""The best candidate so far of each run in lockstep, under a metric (metrics.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, fused, known_all, namespace, rows, to_numpy
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, best, not_worse


class IncumbentPoint(NamedTuple):
    """One candidate per run: key and numbers [B, 1], x [B, 1, D]."""

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

    def challenge(self, x: Array, ev: Evaluation) -> None:
        """Take the best of these candidates where it beats what is held."""
        ev.nu  # noqa: B018 - made and kept here, since a compiled formula keeps nothing
        if self.point is not None:
            self.point = _best_of(self.metric, self.point, x, ev)
            return
        key = self.metric(ev)
        self.point = _gather(key, x, ev, best(key))

    def host(self) -> IncumbentPoint:
        """What is held, in NumPy."""
        assert self.point is not None
        return self.to_host(self.point)

    @staticmethod
    def to_host(held: IncumbentPoint) -> IncumbentPoint:
        """The same candidates in NumPy."""
        return IncumbentPoint(Key(*(to_numpy(v) for v in held.key)), *(to_numpy(v) for v in held[1:]))


@fused
def _best_of(metric: Callable[[Evaluation], Key], held: IncumbentPoint, x: Array, ev: Evaluation) -> IncumbentPoint:
    """The best of these candidates, or what is held where that is not worse."""
    key = metric(ev)
    i = best(key)
    if isinstance(i, np.ndarray) and i.size == 1:  # the single user's case, on plain numbers
        return held if not_worse(_number(held.key), _number(key, i.item())) else _gather(key, x, ev, i)
    found = _gather(key, x, ev, i)
    lost = not_worse(held.key, found.key)
    return held if known_all(lost) else _better(~lost, found, held)


def _number(key: Key, at: int = 0) -> Key:
    return Key(key.major.item(at), key.minor.item(at))


def _gather(key: Key, x: Array, ev: Evaluation, i: Array) -> IncumbentPoint:
    """Candidate i [B] of each run."""
    if isinstance(i, np.ndarray) and i.size == 1:
        one = slice(at := i.item(), at + 1)
        major, minor, *rest = [a[:, one].copy() for a in (*key, x, ev.f, ev.nu, ev.feasible)]
    else:
        major, minor, *rest = [rows(a, i[:, None]) for a in (*key, x, ev.f, ev.nu, ev.feasible)]
    return IncumbentPoint(Key(major, minor), *rest)


def _better(won: Array, found: IncumbentPoint, held: IncumbentPoint) -> IncumbentPoint:
    xp = namespace(found.f)
    key = Key(*(xp.where(won, a, b) for a, b in zip(found.key, held.key)))
    numbers = (xp.where(won, a, b) for a, b in zip(found[2:], held[2:]))
    return IncumbentPoint(key, xp.where(won[..., None], found.x, held.x), *numbers)
