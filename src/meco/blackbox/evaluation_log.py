"""Every call of a run, in memory: the one record that results, replays and the log on disk are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from meco.blackbox.answers import NOTHING, Answer, Fault
from meco.errors import InvalidInput
from meco.problems.evaluation import Evaluation


class Entry(NamedTuple):
    """One call: its number, the batch and attempt it belongs to, the point and the values."""

    number: int
    batch: int
    attempt: int
    fault: Fault
    x: np.ndarray  # [D]
    f: float
    g: np.ndarray = NOTHING  # [p]; [0] where the call failed before p was known
    h: np.ndarray = NOTHING


@dataclass(frozen=True, eq=False)
class Evaluations:
    """All evaluations as columns, in the order of the calls: x [n, D], f [n], g [n, p], h [n, q].

    failed marks calls without a usable answer; feasible those within the tolerances; given those
    that were known beforehand and cost nothing; attempt counts repeated calls of a point.
    """

    x: np.ndarray
    f: np.ndarray
    g: np.ndarray
    h: np.ndarray
    failed: np.ndarray
    feasible: np.ndarray
    given: np.ndarray
    attempt: np.ndarray
    fault: np.ndarray

    def __len__(self) -> int:
        return len(self.f)

    def evaluation(self, ineq_tol: float = 0.0, eq_tol: float = 1e-4) -> Evaluation:
        """The same values as the search sees them: [1, n], ..."""
        return Evaluation.of(self.f[None], self.g[None], self.h[None], ineq_tol, eq_tol)


class Known(NamedTuple):
    """Points whose values were known beforehand, as columns."""

    x: np.ndarray  # [n, D]
    f: np.ndarray  # [n]
    g: np.ndarray  # [n, p]
    h: np.ndarray  # [n, q]

    def evaluation(self, ineq_tol: float, eq_tol: float) -> Evaluation:
        """The same values as the search sees them: [1, n], ..."""
        return Evaluation.of(self.f[None], self.g[None], self.h[None], ineq_tol, eq_tol)


class Ledger:
    """Calls by number. Numbers are given out when calls are planned, so they do not depend on who finishes first.

    past holds what an interrupted run had already been told; it is given back instead of calling.
    keep is called with every new entry and, where it failed, the reason.
    """

    def __init__(self, total: int | None = None, keep: Callable[[Entry, str], None] | None = None) -> None:
        self.total = total  # constraints in all, where that was declared
        self.counts: tuple[int, int] | None = None  # inequalities, equalities
        self.g_names: tuple[str, ...] = ()
        self.h_names: tuple[str, ...] = ()
        self.named = False  # whether a well-formed answer has said what its constraints are called
        self.keep = keep
        self.on_shape: Callable[[Ledger], None] | None = None  # told when counts or names become known
        self.past: dict[int, Entry] = {}
        self.entries: dict[int, Entry] = {}
        self.planned = 0
        self.faults: Counter[Fault] = Counter()
        self.first_reason: dict[Fault, str] = {}

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def caught_up(self) -> bool:
        """Whether everything of an interrupted run has been given back."""
        return not self.past

    def plan(self, count: int) -> range:
        """Numbers for the next calls."""
        self.planned += count
        return range(self.planned - count, self.planned)

    def replay(self, number: int, x: np.ndarray) -> Entry | None:
        """What the interrupted run was told under this number, or None if that is not known."""
        entry = self.past.pop(number, None)
        if entry is None:
            return None
        if entry.x.tobytes() != x.tobytes():
            raise InvalidInput(
                f"the run's log does not fit: evaluation {number} was made at another point than this search asks for "
                "(other inputs, or another version of a library); start a new run with evaluated=<the run's folder>"
            )
        self._enter(entry)
        return entry

    def fits(self, answer: Answer) -> bool:
        """Whether an answer can decide the number of constraints."""
        return answer.fault is Fault.NONE and self.total in (None, answer.g.size + answer.h.size)

    def decide(self, answer: Answer) -> None:
        """The first well-formed answer says how many constraints there are."""
        self.declare(answer.g.size, answer.h.size)
        self.name(answer.g_names, answer.h_names)

    def declare(self, n_ineq: int, n_eq: int) -> None:
        """Set the number of constraints; their names are still to come."""
        self.counts = (n_ineq, n_eq)
        self.g_names, self.h_names = ("",) * n_ineq, ("",) * n_eq

    def name(self, g_names: tuple[str, ...], h_names: tuple[str, ...]) -> None:
        """Set the names of the constraints, "" where there is none."""
        self.g_names, self.h_names, self.named = g_names or self.g_names, h_names or self.h_names, True
        if self.on_shape is not None:
            self.on_shape(self)

    def record(self, number: int, batch: int, attempt: int, x: np.ndarray, answer: Answer) -> Entry:
        """Enter a new, matched answer."""
        if answer.fault is not Fault.NONE:
            self.first_reason.setdefault(answer.fault, answer.reason)
        entry = Entry(number, batch, attempt, answer.fault, x, answer.f, answer.g, answer.h)
        self._enter(entry)
        if self.keep is not None:
            self.keep(entry, answer.reason)
        return entry

    def _enter(self, entry: Entry) -> None:
        self.entries[entry.number] = entry
        if entry.fault is not Fault.NONE:
            self.faults[entry.fault] += 1

    def matched(self, answer: Answer) -> Answer:
        """The answer with constraints in the agreed order, or marked as one that does not match."""
        if answer.fault is not Fault.NONE:
            return answer if self._sized(answer) else answer._replace(f=np.nan, g=NOTHING, h=NOTHING)
        if self.counts is None:
            return _mismatch(f"it gave {answer.g.size + answer.h.size} constraints instead of {self.total}")
        if not self._sized(answer):
            p, q = self.counts
            return _mismatch(
                f"it gave {answer.g.size} inequalities and {answer.h.size} equalities instead of {p} and {q}"
            )
        if not self.named:
            self.name(answer.g_names, answer.h_names)
        if answer.g_names == self.g_names and answer.h_names == self.h_names:
            return answer
        try:
            g, h = (
                _reordered(answer.g, answer.g_names, self.g_names),
                _reordered(answer.h, answer.h_names, self.h_names),
            )
        except KeyError as missing:
            return _mismatch(f"it gave no constraint named {missing}")
        return answer._replace(g=g, h=h)

    def _sized(self, answer: Answer) -> bool:
        return self.counts == (answer.g.size, answer.h.size)

    def values(self, entries: Sequence[Entry]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f [n], g [n, p], h [n, q] as the search sees them: nan where a call failed."""
        p, q = self.counts or (0, 0)
        good = [e.fault is Fault.NONE for e in entries]
        f = np.array([e.f if ok else np.nan for e, ok in zip(entries, good)], dtype=np.float64)
        g = _stack([e.g if ok else NOTHING for e, ok in zip(entries, good)], p)
        h = _stack([e.h if ok else NOTHING for e, ok in zip(entries, good)], q)
        return f, g, h

    def names(self, given: Iterable[str] = ()) -> tuple[str, ...]:
        """A name for each constraint, inequalities first."""
        p, q = self.counts or (0, 0)
        given = tuple(given)
        if len(given) == p + q and given:
            return given
        return (
            *(name or f"g{i}" for i, name in enumerate(self.g_names, 1)),
            *(name or f"h{i}" for i, name in enumerate(self.h_names, 1)),
        )

    def columns(self, dim: int, known: Known | None, ineq_tol: float, eq_tol: float) -> Evaluations:
        """Everything as columns: first what was known beforehand, then the calls by number."""
        p, q = self.counts or (0, 0)
        made = [self.entries[n] for n in sorted(self.entries)]
        x = np.array([e.x for e in made]).reshape(-1, dim)
        f = np.array([e.f for e in made], dtype=np.float64)
        g = _stack([e.g for e in made], p)
        h = _stack([e.h for e in made], q)
        fault = np.array([e.fault for e in made], dtype=np.int64)
        attempt = np.array([e.attempt for e in made], dtype=np.int64)
        before = 0 if known is None else len(known.f)
        if known is not None:
            x, f = np.concatenate([known.x, x]), np.concatenate([known.f, f])
            g, h = np.concatenate([known.g, g]), np.concatenate([known.h, h])
        ev = Evaluation.of(f[None], g[None], h[None], ineq_tol, eq_tol)
        unusable = np.concatenate([np.zeros(before, dtype=bool), fault != Fault.NONE])
        pad = np.zeros(before, dtype=np.int64)
        return Evaluations(
            x, f, g, h, ev.failed[0] | unusable, ev.feasible[0] & ~unusable,
            given=np.arange(len(f)) < before,
            attempt=np.concatenate([pad, attempt]), fault=np.concatenate([pad, fault]),
        )  # fmt: skip


def _stack(rows: list[Any], width: int) -> np.ndarray:
    blank = np.full(width, np.nan)
    return np.array([r if r.size == width else blank for r in rows]).reshape(len(rows), width)


def _mismatch(reason: str) -> Answer:
    return Answer(np.nan, fault=Fault.MISMATCH, reason=reason)


def _reordered(values: np.ndarray, names: tuple[str, ...], wanted: tuple[str, ...]) -> np.ndarray:
    """Values in the agreed order of names; unnamed ones keep their places."""
    if names == wanted or not any(names) or not any(wanted):
        return values
    place = {name: i for i, name in enumerate(names) if name}
    return np.array([values[place[name]] if name else values[i] for i, name in enumerate(wanted)])
