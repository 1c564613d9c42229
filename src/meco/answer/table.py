"""Evaluations of a run as columns, and the best of them, kept up as answers come."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation
from meco.core.growing_rows import GrowingRows
from meco.core.metrics import feasibility_first
from meco.core.partial_answers import known_violation
from meco.core.rule import best
from meco.evaluations import BestPoint, Evaluations
from meco.run.layout import Answers, Entry, PriorEvaluations


class Judgement(NamedTuple):
    """How evaluations are compared: tolerances, and those [q] of equalities that are known exactly, for the best."""

    ineq_tol: Any
    eq_tol: Any
    exact_eq: np.ndarray | None = None

    def equals(self, other: Judgement) -> bool:
        """Whether all tolerances are the same numbers."""
        return all(a is b or np.array_equal(a, b) for a, b in zip(self, other))


class Table:
    """Known points first, then calls by number, or as they came. Columns grow with the answers when they are read.

    Once the best has every g <= 0, only a feasible answer with a smaller f can beat it.
    """

    def __init__(self, answers: Answers, known: PriorEvaluations | None, dim: int) -> None:
        self.answers, self.known, self.dim = answers, known, dim
        self._version = answers.version
        self._judged: Judgement | None = None
        self._restart()

    def _restart(self) -> None:
        """Forget every row."""
        p, q = self.answers.counts
        self._blocks = [GrowingRows(self.dim), GrowingRows(), GrowingRows(p), GrowingRows(q)]
        self._codes = GrowingRows(2, dtype=np.int64)  # attempt and fault
        self._numbers: list[int] = []  # of the calls, in the order of their rows
        self._arrived: list[int] = []  # of all calls, as they came
        self._sorted: list[int] = []
        self._forget_best()

    def _forget_best(self) -> None:
        """Compare every row again."""
        self._compared = 0  # calls that were compared
        self.best: BestPoint | None = None
        self._place: tuple[int, int] = (1, 0)  # of the best: (0, row of the known points) or (1, number)
        self._strict = False  # whether it has every g <= 0

    @property
    def known_count(self) -> int:
        """Rows of points known beforehand."""
        return 0 if self.known is None else len(self.known.f)

    def evaluations(self, judgement: Judgement, *, by_arrival: bool = False) -> Evaluations:
        """Evaluations so far; columns are made when one is first read."""
        self._update(judgement)
        count = len(self.answers.entries)
        numbers = self._arrived if by_arrival else self._sorted
        leader = -1
        if self.best is not None:
            kind, number = self._place
            place = numbers.index(number) if by_arrival and kind else bisect_left(self._sorted, number)
            leader = number if kind == 0 else self.known_count + place
        make = partial(self._columns, count, judgement, self._version, None if by_arrival else list(self._sorted))
        return Evaluations.deferred(make, leader, self.best)

    def _update(self, judgement: Judgement) -> None:
        """Take in what came since the last time."""
        if (
            self._version != self.answers.version
            or self._blocks[2].all.shape[1] != self.answers.counts[0]
            or (self._blocks[3].all.shape[1] != self.answers.counts[1])
        ):
            self._version = self.answers.version
            self._restart()
        if self._judged is None or not judgement.equals(self._judged):
            self._forget_best()
            self._judged = judgement
        entries = self.answers.entries
        for number in _newest(entries, len(entries) - len(self._arrived)):
            self._arrived.append(number)
            insort(self._sorted, number)
        if self._compared == 0 and self.known is not None and self.known_count:
            self._compare_known(self.known)
        fresh = [entries[n] for n in self._arrived[self._compared :]]
        self._compared = len(self._arrived)
        if fresh:
            self._compare(fresh)

    def _compare_known(self, known: PriorEvaluations) -> None:
        """Let known points compete for the best."""
        places = [(0, i) for i in range(len(known.f))]
        self._choose(places, known.x, known.f, known.g, known.h)

    def _compare(self, entries: Sequence[Entry]) -> None:
        """Let new calls compete for the best."""
        if self._strict and self.best is not None:
            entries = [e for e in entries if e.good and self._may_lead(e)]
        if not entries:
            return
        entries = sorted(entries, key=lambda e: e.number)
        p, q = self.answers.counts
        f = np.array([e.answer.f for e in entries])
        g, h = (_stack([getattr(e.answer, k) for e in entries], n) for k, n in (("g", p), ("h", q)))
        self._choose([(1, e.number) for e in entries], np.array([e.x for e in entries]), f, g, h)

    def _may_lead(self, entry: Entry) -> bool:
        """Whether a call can be the best, whose f is known to be feasible."""
        assert self.best is not None
        return (entry.answer.f, (1, entry.number)) < (self.best.f, self._place)

    def _choose(
        self, places: list[tuple[int, int]], x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray
    ) -> None:
        """Compare rows with the best before. Of equal ones the first row is the best."""
        assert self._judged is not None
        ineq_tol, eq_tol, exact = self._judged
        strictest = eq_tol if exact is None else exact
        if self.best is not None:
            before = self.best
            places = [*places, self._place]
            x, f = np.concatenate([x, before.x[None]]), np.append(f, before.f if before.usable else np.nan)
            g, h = np.concatenate([g, before.g[None]]), np.concatenate([h, before.h[None]])
            order = sorted(range(len(places)), key=lambda i: places[i])
            places, x, f, g, h = [places[i] for i in order], x[order], f[order], g[order], h[order]
        values = f[None], g[None], h[None]
        ev = Evaluation.of(*values, 0.0, strictest)
        self._strict = bool(ev.feasible.any())
        if not self._strict and exact is not None:
            ev = Evaluation.of(*values, 0.0, eq_tol)
        if not ev.feasible.any():
            ev = Evaluation.of(*values, ineq_tol, eq_tol)
        chosen = int(best(feasibility_first(ev))[0])
        if ev.failed.all():  # of answers that are known in part, the one that violates least
            chosen = int(np.argmin(known_violation(g, h)))
        one = slice(chosen, chosen + 1)
        judged = Evaluation.of(f[None, one], g[None, one], h[None, one], ineq_tol, eq_tol)
        feasible, usable = bool(judged.feasible[0, 0]), not bool(judged.failed[0, 0])
        self.best = BestPoint(x[chosen], float(f[chosen]), g[chosen], h[chosen], feasible, usable)
        self._place = places[chosen]

    def _columns(
        self, count: int, judgement: Judgement, version: int, order: list[int] | None
    ) -> dict[str, np.ndarray]:
        """Columns of the first `count` answers, in the order of these numbers, or as they came."""
        if version == self.answers.version:
            self._grow()
            x, f, g, h, codes = (block.all[:count] for block in (*self._blocks, self._codes))
            numbers = self._numbers[:count]
        else:  # answers were arranged anew since
            x, f, g, h, codes = self._stack_entries(list(islice(self.answers.entries.values(), count)))
            numbers = list(islice(self.answers.entries, count))
        if order is not None and order != numbers:
            rows = np.argsort(numbers)
            x, f, g, h, codes = (part[rows] for part in (x, f, g, h, codes))
        known = np.zeros(len(f), dtype=bool)
        if self.known is not None and self.known_count:
            x, f = np.concatenate([self.known.x, x]), np.concatenate([self.known.f, f])
            g, h = np.concatenate([self.known.g, g]), np.concatenate([self.known.h, h])
            codes = np.concatenate([np.zeros((self.known_count, 2), dtype=np.int64), codes])
            known = np.arange(len(f)) < self.known_count
        ev = Evaluation.of(f[None], g[None], h[None], judgement.ineq_tol, judgement.eq_tol)
        attempt, fault = codes.T
        return {
            "x": x, "f": f, "g": g, "h": h, "failed": ev.failed[0] | (fault != 0),
            "feasible": ev.feasible[0] & (fault == 0), "known": known, "attempt": attempt, "fault": fault,
        }  # fmt: skip

    def _grow(self) -> None:
        """Add rows for the answers that came since the last time."""
        entries = self.answers.entries
        fresh = _newest(entries, len(entries) - len(self._numbers))
        if fresh:
            for block, rows in zip((*self._blocks, self._codes), self._stack_entries([entries[n] for n in fresh])):
                block.extend(rows)
            self._numbers += fresh

    def _stack_entries(self, entries: Sequence[Entry]) -> tuple[np.ndarray, ...]:
        """x, f, g, h and codes of calls."""
        p, q = self.answers.counts
        codes = np.array([(e.attempt, int(e.answer.fault)) for e in entries], dtype=np.int64).reshape(-1, 2)
        return (
            np.array([e.x for e in entries]).reshape(len(entries), self.dim),
            np.array([e.answer.f for e in entries]),
            _stack([e.answer.g for e in entries], p),
            _stack([e.answer.h for e in entries], q),
            codes,
        )


def _newest(entries: dict[int, Entry], count: int) -> list[int]:
    """The last so many numbers that were entered, in the order in which they were."""
    return [*islice(reversed(entries), count)][::-1]


def _stack(values: Sequence[np.ndarray], width: int) -> np.ndarray:
    """Rows [n, width], nan where there are no values."""
    blank = np.full(width, np.nan)
    rows = [v if v.size == width else blank for v in values]
    return np.array(rows).reshape(len(rows), width)
