"""What a run found, under both metrics: the only home of metrics, and of the best so far under each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, GrowingRows, blank, fused, namespace, rows, surely, to_numpy
from meco.core.evaluation import Best, Evaluation, Evaluations
from meco.core.rule import Key, best, not_worse

LOOKING = Lock()  # held while columns are made, or answers begin to wait for them


def feasibility_first(ev: Evaluation) -> Key:
    """Feasible before infeasible, feasible by f, infeasible by nu: the answer users get."""
    # any feasible point ranks before any violation, also when nu > 0 within the tolerance
    key = Key(namespace(ev.f).where(ev.feasible, -1.0, ev.nu), ev.f)
    return key if ev.intact else key.last_where(ev.failed)


def objective_plus_violation(ev: Evaluation) -> Key:
    """f + nu, the number of the paper's CEC2017 tables."""
    sum_ = ev.f + ev.nu
    key = Key(blank(sum_), sum_)
    return key if ev.intact else key.last_where(ev.failed)


class Held(NamedTuple):
    """One candidate per run: key and numbers [B, 1], x [B, 1, D]."""

    key: Key
    x: Array
    f: Array
    nu: Array
    feasible: Array


class Incumbent:
    """The best candidate of each run under one metric; the earlier of equals stays."""

    remembers = ("held",)

    def __init__(self, metric: Callable[[Evaluation], Key]) -> None:
        self.metric = metric
        self.held: Held | None = None

    def challenge(self, x: Array, ev: Evaluation) -> None:
        """Take the best of these candidates where it beats what is held."""
        ev.nu  # noqa: B018 - made and kept here, since a compiled formula keeps nothing
        if self.held is not None:
            self.held = _best_of(self.metric, self.held, x, ev)
            return
        key = self.metric(ev)
        self.held = _gather(key, x, ev, best(key))

    def host(self) -> Held:
        """What is held, in NumPy."""
        assert self.held is not None
        return self.hosted(self.held)

    @staticmethod
    def hosted(held: Held) -> Held:
        """The same candidates in NumPy."""
        return Held(Key(*(to_numpy(v) for v in held.key)), *(to_numpy(v) for v in held[1:]))


@fused
def _best_of(metric: Callable[[Evaluation], Key], held: Held, x: Array, ev: Evaluation) -> Held:
    """The best of these candidates, or what is held where that is not worse."""
    key = metric(ev)
    i = best(key)
    if isinstance(i, np.ndarray) and i.size == 1:  # the single user's case, on plain numbers
        return held if not_worse(_number(held.key), _number(key, i.item())) else _gather(key, x, ev, i)
    found = _gather(key, x, ev, i)
    lost = not_worse(held.key, found.key)
    return held if surely(lost) else _better(~lost, found, held)


def _number(key: Key, at: int = 0) -> Key:
    return Key(key.major.item(at), key.minor.item(at))


def _gather(key: Key, x: Array, ev: Evaluation, i: Array) -> Held:
    """Candidate i [B] of each run."""
    if isinstance(i, np.ndarray) and i.size == 1:
        one = slice(at := i.item(), at + 1)
        major, minor, *rest = [a[:, one].copy() for a in (*key, x, ev.f, ev.nu, ev.feasible)]
    else:
        major, minor, *rest = [rows(a, i[:, None]) for a in (*key, x, ev.f, ev.nu, ev.feasible)]
    return Held(Key(major, minor), *rest)


def _better(won: Array, found: Held, held: Held) -> Held:
    xp = namespace(found.f)
    key = Key(*(xp.where(won, a, b) for a, b in zip(found.key, held.key)))
    numbers = (xp.where(won, a, b) for a, b in zip(found[2:], held[2:]))
    return Held(key, xp.where(won[..., None], found.x, held.x), *numbers)


@dataclass(frozen=True, eq=False)
class RunResult:
    """The best points of one run.

    Over all evaluated points: x, f, nu, feasible (feasibility first) and x_score, score
    (least f + nu). Over surviving populations, as the paper's own figures are: snapshot_*
    (feasibility first, best so far) and final_* (least f + nu, last population).
    """

    x: np.ndarray
    f: float
    nu: float
    feasible: bool
    x_score: np.ndarray
    score: float
    snapshot_x: np.ndarray
    snapshot_f: float
    snapshot_nu: float
    snapshot_feasible: bool
    final_x: np.ndarray
    final_score: float
    nfev: int
    seed: int
    method: str = ""
    problem: str = ""
    nfail: int = 0
    notes: tuple[str, ...] = ()
    trace: Mapping[str, np.ndarray] = field(default_factory=dict)  # a row per generation

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else f"infeasible, nu={self.nu:.6g}"
        return (
            f"RunResult({self.method} on {self.problem}, seed {self.seed}: f={self.f:.6g} ({state}), "
            f"score={self.score:.6g}, nfev={self.nfev})"
        )


@dataclass(frozen=True, eq=False)
class RunResults(Sequence[RunResult]):
    """The records of runs in lockstep, each made when it is looked at: thousands of runs cost nothing before."""

    method: str
    seeds: Sequence[int]
    problems: Sequence[str]
    found: Held
    score: Held
    snapshot: Held
    final: Held
    nfev: np.ndarray
    nfail: np.ndarray
    notes: tuple[str, ...]
    trace: Mapping[str, np.ndarray]  # [generations, B, ...] each

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, run: Any) -> Any:
        if isinstance(run, slice):
            return [self[b] for b in range(*run.indices(len(self)))]
        b = range(len(self))[run]
        found, score, snapshot, final = self.found, self.score, self.snapshot, self.final
        return RunResult(
            x=found.x[b, 0],
            f=float(found.f[b, 0]),
            nu=float(found.nu[b, 0]),
            feasible=bool(found.feasible[b, 0]),
            x_score=score.x[b, 0],
            score=float(score.key.minor[b, 0]),
            snapshot_x=snapshot.x[b, 0],
            snapshot_f=float(snapshot.f[b, 0]),
            snapshot_nu=float(snapshot.nu[b, 0]),
            snapshot_feasible=bool(snapshot.feasible[b, 0]),
            final_x=final.x[b, 0],
            final_score=float(final.key.minor[b, 0]),
            nfev=int(self.nfev[b]),
            seed=int(self.seeds[b]),
            method=self.method,
            problem=self.problems[b],
            nfail=int(self.nfail[b]),
            notes=self.notes,
            trace={k: v[:, b] for k, v in self.trace.items()},
        )


class EvaluationTable:
    """Evaluations so far, known ones first, then by number or as they came; of each the columns are made once.

    Once the best has every g <= 0 only a feasible answer of lesser f can beat it: answers are then asked for that
    alone, and wait for their columns until somebody looks at one. That may be in another thread of the user's.
    """

    def __init__(
        self, dim: int, counts: tuple[int, int], known: Any, ineq_tol: Any, eq_tol: Any, as_told: bool = False
    ) -> None:
        self.counts, self.tolerances, self.as_told = counts, (ineq_tol, eq_tol), as_told
        self.given = self.count = 0  # rows that were known beforehand, and all rows
        self.leader, self._strict = -1, False  # the best row, and whether it has every g <= 0
        self.best: Best | None = None
        self._waiting: list[Any] = []  # answers without columns
        self._x, self._f = GrowingRows(dim), GrowingRows()
        self._g, self._h = GrowingRows(counts[0]), GrowingRows(counts[1])
        self._flags = GrowingRows(3, dtype=bool)  # failed, feasible, given
        self._codes = GrowingRows(2, dtype=np.int64)  # attempt, fault
        if known is not None and len(known.f):
            x, f, g, h = known
            self.given = self.count = len(f)
            self._add(x, f, g, h, np.zeros((len(f), 2), dtype=np.int64), given=True)
            self._compete(0)

    def update(self, entries: dict[int, Any]) -> Evaluations:
        """The columns with everything that was entered since; a batch that is under way may have gaps."""
        made = self.count - self.given
        if self.as_told:
            return self._taken([entries[n] for n in newest(entries, len(entries) - made)])
        fresh = []
        while made in entries:
            fresh.append(entries[made])
            made += 1
        columns = self._taken(fresh)
        if len(entries) == made:
            return columns
        return self._with([entries[n] for n in sorted(n for n in entries if n >= made)])

    def _with(self, late: list[Any]) -> Evaluations:
        """The columns with calls beyond a gap, which are not kept: what fills the gap comes before them."""
        other = EvaluationTable(self._x.all.shape[1], self.counts, None, *self.tolerances)
        self._columns(self.count)
        for mine, theirs in zip(self._parts(), other._parts()):
            theirs.extend(mine.all)
        other.count, other.leader, other.best, other._strict = self.count, self.leader, self.best, self._strict
        return other._taken(late)

    def _parts(self) -> tuple[GrowingRows, ...]:
        return self._x, self._f, self._g, self._h, self._flags, self._codes

    def _taken(self, entries: Sequence[Any]) -> Evaluations:
        """The columns with these answers too, the best of which stands against the best before."""
        first, self.count = self.count, self.count + len(entries)
        with LOOKING:
            self._waiting += entries
        if self.best is not None and self._strict:
            less = [i for i, e in enumerate(entries) if e.f < self.best.f and e.good]
            g, h = (
                stacked(c, n) for c, n in zip(([entries[i].g for i in less], [entries[i].h for i in less]), self.counts)
            )
            kept = (g <= 0.0).all(axis=1) & (np.abs(h) <= self.tolerances[1]).all(axis=1)
            for i in np.flatnonzero(kept).tolist() if less else ():
                e = entries[less[i]]
                if e.f < self.best.f:
                    self.leader, self.best = first + less[i], Best(e.x, e.f, e.g, e.h, True, True)
        elif entries:
            self._columns(self.count)
            self._compete(first)
        return Evaluations.later(partial(self._columns, self.count), self.leader, self.best)

    def _columns(self, count: int) -> tuple[np.ndarray, ...]:
        """The first so many rows of each column."""
        with LOOKING:
            waiting, self._waiting = self._waiting, []
            self._extend(waiting)
            *values, flags, codes = (part.all[:count] for part in self._parts())
        return (*values, *flags.T, *codes.T)

    def _extend(self, entries: Sequence[Any]) -> None:
        if entries:
            g, h = (stacked(c, n) for c, n in zip(zip(*((e.g, e.h) for e in entries)), self.counts))
            codes = np.zeros((len(entries), 2), dtype=np.int64)
            for i, entry in enumerate(entries):
                if entry.attempt or entry.fault:  # seldom
                    codes[i] = entry.attempt, entry.fault
            x = stacked([e.x for e in entries], entries[0].x.size)
            self._add(x, np.array([e.f for e in entries]), g, h, codes, given=False)

    def _add(self, x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray, codes: np.ndarray, given: bool) -> None:
        ev = Evaluation.of(f[None], g[None], h[None], *self.tolerances)
        unusable = codes[:, 1] != 0
        flags = [ev.failed[0] | unusable, ev.feasible[0] & ~unusable, np.full(len(f), given)]
        for kept, more in zip(self._parts(), (x, f, g, h, np.stack(flags, axis=1), codes)):
            kept.extend(more)

    def _compete(self, first: int) -> None:
        """Let the rows from the first on stand against the best before; points with every g <= 0 come before others."""
        rivals = np.arange(first, self.count)
        if self.leader >= 0:
            rivals = np.concatenate([[self.leader], rivals])
        f, g, h = (part.all[rivals][None] for part in (self._f, self._g, self._h))
        strict = Evaluation.of(f, g, h, 0.0, self.tolerances[1])
        self._strict = bool(strict.feasible.any())
        ev = strict if self._strict else Evaluation.of(f, g, h, *self.tolerances)
        self.leader = at = int(rivals[int(best(feasibility_first(ev))[0])])
        failed, feasible, _ = self._flags.all[at].tolist()
        self.best = Best(
            self._x.all[at], float(self._f.all[at]), self._g.all[at], self._h.all[at], feasible, not failed
        )


def newest(entries: dict[int, Any], count: int) -> list[int]:
    """The numbers that were entered last, in the order in which they were."""
    return [*islice(reversed(entries), count)][::-1]


def stacked(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    """Rows [n, width]; one of another width is nan."""
    if not width:
        return np.empty((len(rows), 0))
    blank = np.full(width, np.nan)
    whole = bytearray().join([(r if r.size == width else blank).tobytes() for r in rows])  # quicker than np.array
    return np.frombuffer(whole).reshape(len(rows), width)
