"""Evaluates every problem for every run and gathers by index, so that a recording fits any choice of problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from meco.core.arrays import Array
from meco.core.batching import ProblemBatch
from meco.core.problem import Problem
from meco.core.source import Beside, Values

LANES = 12  # formulas at a time; small kernels leave most of a device idle, but the gain levels off


class Lanes:
    """Streams of a CUDA device, on which independent work goes at the same time; elsewhere it goes one by one."""

    def __init__(self, device: str) -> None:
        cuda = torch.device(device).type == "cuda"
        self._device, self._streams = device, [torch.cuda.Stream(device) for _ in range(LANES)] if cuda else []

    @contextmanager
    def open(self) -> Iterator[Callable[[int], AbstractContextManager[Any]]]:
        """Inside the block, what is done `with lane(number)` does not wait for other lanes; all are done at its end."""
        if not self._streams:
            yield lambda number: nullcontext()
            return
        main = torch.cuda.current_stream(self._device)
        for stream in self._streams:
            stream.wait_stream(main)
        yield lambda number: torch.cuda.stream(self._streams[number % LANES])
        for stream in self._streams:
            main.wait_stream(stream)


class IndexedProblems:
    """A source that evaluates every problem for every run and gathers by index.

    The computation, and so a recording of it, is the same whichever problems are chosen, for as many times the
    arithmetic as there are problems: of use where runs are few and a device has plenty of it. choose() chooses them.
    """

    def __init__(self, problems: Sequence[Problem], runs: int, xp: Any, device: Any) -> None:
        every = ProblemBatch(problems, len(problems), xp, device)
        self.problems, self.runs, self.xp, self.device = every.problems, runs, xp, device
        self.names, self.strictest = every.names, every.strictest
        self.finite, self.recordable, self.counts = every.finite, every.recordable, every.counts
        self._of_each, self._tolerances_of_each = every.box, every.tolerances()
        columns, rows = value_columns([(p.n_ineq, p.n_eq) for p in problems]), np.arange(runs)[:, None]
        self._columns, self._rows = (xp.asarray(index, device=device) for index in (columns, rows))
        self._lanes = Lanes(device)
        self.box, self._tolerances = self._of_each, self._tolerances_of_each

    def choose(self, which: Array) -> None:
        """Give runs [B] the problems with these numbers."""
        xp = self.xp

        def take(each: Array) -> Array:
            return xp.take(each, which, axis=0) if each.shape[0] > 1 else each

        self.box = self._of_each.transform(take)
        ineq, eq = self._tolerances_of_each
        self._tolerances = take(ineq), take(eq)
        self._mine = self.runs * xp.take(self._columns, which, axis=0) + self._rows  # among all values of all runs

    def tolerances(self) -> tuple[Array, Array]:
        """Of the chosen problems."""
        return self._tolerances

    def values(self, x: Array) -> Values:
        """f [B, N], g [B, N, p] and h [B, N, q] of every run's chosen problem."""
        xp, (runs, count, _) = self.xp, x.shape
        values = [xp.zeros_like(x[..., 0])]  # what a problem with fewer constraints has in the others' places
        with self._lanes.open() as lane:
            for number, problem in enumerate(self.problems):
                with lane(number):
                    f, g, h = problem.formula(x)
                    values += [f, *_each(g), *_each(h)]
        every = xp.reshape(xp.stack(values), (-1, count))
        mine = xp.reshape(xp.take(every, xp.reshape(self._mine, (-1,)), axis=0), (runs, -1, count))
        n_ineq, _ = self.counts()
        f, g, h = mine[:, 0, :], mine[:, 1 : 1 + n_ineq, :], mine[:, 1 + n_ineq :, :]
        return f, xp.matrix_transpose(g), xp.matrix_transpose(h)

    def values_of(self, run: int, x: Array) -> Values:
        """Runs are only evaluated together."""
        raise NotImplementedError

    def take_beside(self) -> Beside | None:
        """Nothing is called beside the candidates."""
        return None


def value_columns(counts: Sequence[tuple[int, int]]) -> np.ndarray:
    """Where f, g and h of each problem stand if all values follow a first 0, which is for nothing: [P, 1 + p + q]."""
    n_ineq, n_eq = (max(each) for each in zip(*counts))
    table = np.zeros((len(counts), 1 + n_ineq + n_eq), dtype=np.int64)
    starts = accumulate((1 + sum(c) for c in counts), initial=1)
    for row, start, (p, q) in zip(table, starts, counts):
        row[: 1 + p] = start + np.arange(1 + p)
        row[1 + n_ineq : 1 + n_ineq + q] = start + 1 + p + np.arange(q)
    return table


def _each(values: Any) -> list[Array]:
    """Constraint values one by one, whether a formula gives a list or [..., n]."""
    return list(values) if isinstance(values, (list, tuple)) else [values[..., k] for k in range(values.shape[-1])]
