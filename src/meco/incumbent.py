"""The best candidate so far of each run, under one metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from meco.arrays import Array, anywhere, everywhere, namespace, rows, to_numpy
from meco.problems.evaluation import Evaluation
from meco.rules.rule import Key, best, not_worse


class Held(NamedTuple):
    """One candidate per run: key and numbers [B, 1], x [B, 1, D]."""

    key: Key
    x: Array
    f: Array
    nu: Array
    feasible: Array


class Incumbent:
    """The best candidate of each run under one metric; the earlier of equals stays."""

    def __init__(self, metric: Callable[[Evaluation], Key]) -> None:
        self.metric = metric
        self.held: Held | None = None

    def challenge(self, x: Array, ev: Evaluation) -> None:
        """Take the best of these candidates where it beats what is held."""
        key = self.metric(ev)
        i = best(key)[:, None]
        found = Key(rows(key.major, i), rows(key.minor, i))
        if self.held is None:
            self.held = _gather(found, x, ev, i)
            return
        won = ~not_worse(self.held.key, found)
        if everywhere(won):
            self.held = _gather(found, x, ev, i)
        elif anywhere(won):  # where nothing improved, nothing is copied
            self.held = _better(won, _gather(found, x, ev, i), self.held)

    def host(self) -> Held:
        """What is held, in NumPy."""
        assert self.held is not None
        return self.hosted(self.held)

    @staticmethod
    def hosted(held: Held) -> Held:
        """The same candidates in NumPy."""
        return Held(Key(*(to_numpy(v) for v in held.key)), *(to_numpy(v) for v in held[1:]))


def _gather(key: Key, x: Array, ev: Evaluation, i: Array) -> Held:
    return Held(key, rows(x, i), rows(ev.f, i), rows(ev.nu, i), rows(ev.feasible, i))


def _better(won: Array, found: Held, held: Held) -> Held:
    xp = namespace(found.f)
    key = Key(*(xp.where(won, a, b) for a, b in zip(found.key, held.key)))
    numbers = (xp.where(won, a, b) for a, b in zip(found[2:], held[2:]))
    return Held(key, xp.where(won[..., None], found.x, held.x), *numbers)
