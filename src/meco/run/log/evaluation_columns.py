"""The columns of Evaluations as blocks that grow: answers wait for their rows until a column is read."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from meco.core.evaluation import Evaluation
from meco.core.growing_rows import GrowingRows

COLUMNS_LOCK = Lock()  # held while columns are made, or answers begin to wait for them


class EvaluationColumns:
    """Rows of all columns, of which those of answers are made when one is read, in whichever thread of the user's."""

    def __init__(self, dim: int, counts: tuple[int, int], tolerances: tuple[Any, Any]) -> None:
        """No rows; of points [D], constraints [p] and [q], feasible within tolerances (ineq, eq)."""
        self.dim, self.counts, self.tolerances = dim, counts, tolerances
        self.count = 0  # rows, those that answers wait for too
        self.made = 0  # rows that are in all blocks: one that is broken off is made again
        self.waiting: list[Any] = []  # answers without rows: the last ones
        self._x, self._f = GrowingRows(dim), GrowingRows()
        self._g, self._h = GrowingRows(counts[0]), GrowingRows(counts[1])
        self._flags = GrowingRows(3, dtype=bool)  # failed, feasible, known
        self._codes = GrowingRows(2, dtype=np.int64)  # attempt, fault

    def _parts(self) -> tuple[GrowingRows, ...]:
        """The blocks that grow; _append_rows() gives them more rows in this order."""
        return self._x, self._f, self._g, self._h, self._flags, self._codes

    def copy(self) -> EvaluationColumns:
        """Another object with the same rows, all of them made."""
        other = EvaluationColumns(self.dim, self.counts, self.tolerances)
        with COLUMNS_LOCK:
            self._make_rows()
            for mine, theirs in zip(self._parts(), other._parts()):
                theirs.extend(mine.all)
        other.count = other.made = self.count
        return other

    def append(self, entries: Sequence[Any]) -> None:
        """Append answers, which wait for their rows."""
        self.count += len(entries)
        with COLUMNS_LOCK:
            self.waiting += entries

    def append_known(self, x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray) -> None:
        """Append points that were known beforehand; no answer may wait."""
        self.count += len(f)
        self._append_rows(x, f, g, h, np.zeros((len(f), 2), dtype=np.int64), known=True)

    def arrange(self, order: np.ndarray) -> None:
        """Put all rows in another order [n], also in columns that were read before."""
        self.make_rows()
        moved = np.flatnonzero(order != np.arange(len(order)))
        if moved.size:
            start = int(moved[0])
            arranged = [part.all[order[start:]] for part in self._parts()]
            for part, rows in zip(self._parts(), arranged):  # after all of them were made, as memory may end
                part.overwrite(start, rows)

    def make_rows(self) -> None:
        """Make the rows that answers wait for."""
        with COLUMNS_LOCK:
            self._make_rows()

    def columns(self, count: int) -> dict[str, np.ndarray]:
        """The first `count` rows of each column of Evaluations, [count, ...] by its name; makes those that wait."""
        with COLUMNS_LOCK:
            self._make_rows()
            x, f, g, h, flags, codes = (part.all[:count] for part in self._parts())
        failed, feasible, known = flags.T
        attempt, fault = codes.T
        return {
            "x": x, "f": f, "g": g, "h": h, "failed": failed, "feasible": feasible, "known": known,
            "attempt": attempt, "fault": fault,
        }  # fmt: skip

    def values(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Copies of x, f, g, h and of (failed, feasible, known) of these rows [n], which must have been made."""
        return tuple(part.all[rows] for part in self._parts()[:5])

    def _make_rows(self) -> None:
        """As make_rows(), where the lock is held. Broken off, as memory ends, it leaves answers waiting."""
        count = len(self.waiting)
        self._append_entries(self.waiting)
        del self.waiting[:count]

    def _append_entries(self, entries: Sequence[Any]) -> None:
        """Append a row to every column for each of these answers; nothing for none."""
        if entries:
            g, h = (stack_rows(c, n) for c, n in zip(zip(*((e.g, e.h) for e in entries)), self.counts))
            codes = np.zeros((len(entries), 2), dtype=np.int64)
            for i, entry in enumerate(entries):
                if entry.attempt or entry.fault:  # seldom
                    codes[i] = entry.attempt, entry.fault
            x = stack_rows([e.x for e in entries], entries[0].x.size)
            self._append_rows(x, np.array([e.f for e in entries]), g, h, codes, known=False)

    def _append_rows(
        self, x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray, codes: np.ndarray, *, known: bool
    ) -> None:
        """Append rows of values [n, ...] and codes [n, 2] (attempt, fault), with what the tolerances make of them."""
        ev = Evaluation.of(f[None], g[None], h[None], *self.tolerances)
        unusable = codes[:, 1] != 0
        flags = [ev.failed[0] | unusable, ev.feasible[0] & ~unusable, np.full(len(f), known)]
        for kept, more in zip(self._parts(), (x, f, g, h, np.stack(flags, axis=1), codes)):
            kept.put(self.made, more)
        self.made += len(f)


def stack_rows(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    """Rows of numbers as [n, width]; one of another width is nan, n and width may be 0."""
    if not width:
        return np.empty((len(rows), 0))
    blank = np.full(width, np.nan)
    joined = bytearray().join([(r if r.size == width else blank).tobytes() for r in rows])  # quicker than np.array
    return np.frombuffer(joined).reshape(len(rows), width)
