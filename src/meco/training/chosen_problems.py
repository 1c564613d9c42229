"""Runs that a device gives their problems: by numbers in an array, where the host would sort them by problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from meco.arrays import Array
from meco.core.evaluator import Evaluator
from meco.problems.problem import Problem
from meco.results import Incumbent, feasibility_first, objective_plus_violation

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


class ChosenProblems(Evaluator):
    """Every problem is evaluated for all runs, and each run takes the values of its own.

    That is the same computation whichever problems are chosen, for as many times the arithmetic as there are
    problems: of use where runs are few and a device has plenty of it. begin() chooses them.
    """

    def __init__(self, problems: Sequence[Problem], runs: int, budget: int, xp: Any, device: Any) -> None:
        super().__init__(problems, budget, len(problems), xp, device)
        self.runs = runs
        self._of_each = {k: v for k, v in vars(self).items() if k in self.placed and v is not None and v.shape[0] > 1}
        self._columns = self._index(value_columns([(p.n_ineq, p.n_eq) for p in problems]))
        self._rows = self._index(np.arange(runs)[:, None])
        self._lanes = Lanes(device)

    def begin(self, which: Array) -> None:
        """Begin runs [B] on the problems with these numbers."""
        xp = self.xp
        self.nfev, self._most = np.zeros(self.runs, dtype=np.int64), 0
        self.feasible_best, self.score_best = Incumbent(feasibility_first), Incumbent(objective_plus_violation)
        vars(self).update({k: xp.take(v, which, axis=0) for k, v in self._of_each.items()})
        self._mine = self.runs * xp.take(self._columns, which, axis=0) + self._rows  # among all values of all runs

    def _raw(self, x: Array) -> tuple[Array, Array, Array]:
        xp, (runs, count, _) = self.xp, x.shape
        values = [xp.zeros_like(x[..., 0])]  # what a problem with fewer constraints has in the others' places
        with self._lanes.open() as lane:
            for number, problem in enumerate(self.problems):
                with lane(number):
                    f, g, h = problem.formula(x)
                    values += [f, *_each(g), *_each(h)]
        every = xp.reshape(xp.stack(values), (-1, count))
        mine = xp.reshape(xp.take(every, xp.reshape(self._mine, (-1,)), axis=0), (runs, -1, count))
        f, g, h = mine[:, 0, :], mine[:, 1 : 1 + self.n_ineq, :], mine[:, 1 + self.n_ineq :, :]
        return f, xp.matrix_transpose(g), xp.matrix_transpose(h)


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
