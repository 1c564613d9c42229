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
from meco.core.source import ExtraCalls, Values

CONCURRENT = 12  # formulas at a time; small kernels leave most of a device idle, but the gain levels off


class CudaStreams:
    """Streams of a CUDA device for independent work at the same time; on another device it is done one by one."""

    def __init__(self, device: str) -> None:
        cuda = torch.device(device).type == "cuda"
        self._device, self._streams = device, [torch.cuda.Stream(device) for _ in range(CONCURRENT)] if cuda else []

    @contextmanager
    def fork(self) -> Iterator[Callable[[int], AbstractContextManager[Any]]]:
        """Gives on_stream(number), a context for work that does not wait for other streams.

        All join at the block's end.
        """
        if not self._streams:
            yield lambda number: nullcontext()
            return
        main = torch.cuda.current_stream(self._device)
        for stream in self._streams:
            stream.wait_stream(main)
        yield lambda number: torch.cuda.stream(self._streams[number % CONCURRENT])
        for stream in self._streams:
            main.wait_stream(stream)


class IndexedProblems:
    """A source that evaluates every problem for every run and gathers by index.

    One recording fits whichever problems choose() gives the runs. It costs as many times the arithmetic as there are
    problems, which pays where runs are few and the device is mostly idle.
    """

    def __init__(self, problems: Sequence[Problem], runs: int, xp: Any, device: Any) -> None:
        """Send all problems to the device; call choose() before values()."""
        every = ProblemBatch(problems, len(problems), xp, device)
        self.problems, self.runs, self.xp, self.device = every.problems, runs, xp, device
        self.names, self.strictest = every.names, every.strictest
        self.finite, self.recordable, self.counts = every.finite, every.recordable, every.counts
        self._all_boxes, self._all_tolerances = every.box, every.tolerances()
        columns, rows = value_columns([(p.n_ineq, p.n_eq) for p in problems]), np.arange(runs)[:, None]
        self._columns, self._rows = (xp.asarray(index, device=device) for index in (columns, rows))
        self._streams = CudaStreams(device)
        self.box, self._tolerances = self._all_boxes, self._all_tolerances

    def choose(self, which: Array) -> None:
        """Give run b problem number which[b], integers [B]: box, tolerances and values from the next evaluation on."""
        xp = self.xp

        def of_chosen(each: Array) -> Array:
            """Rows [B, ...] of the chosen problems, of an array with a row for each; one row serves all."""
            return xp.take(each, which, axis=0) if each.shape[0] > 1 else each

        self.box = self._all_boxes.transform(of_chosen)
        ineq, eq = self._all_tolerances
        self._tolerances = of_chosen(ineq), of_chosen(eq)
        self._value_index = self.runs * xp.take(self._columns, which, axis=0) + self._rows  # among all values

    def tolerances(self) -> tuple[Array, Array]:
        """Of the chosen problems' inequalities and equalities: [B or 1, 1, 1 or C] each."""
        return self._tolerances

    def values(self, x: Array) -> Values:
        """f [B, N], g [B, N, p] and h [B, N, q] of every run's chosen problem at x [B, N, D]; 0 for what it lacks.

        Every problem is computed for every run.
        """
        xp, (runs, count, _) = self.xp, x.shape
        values = [xp.zeros_like(x[..., 0])]  # for the constraints that a problem lacks
        with self._streams.fork() as on_stream:
            for number, problem in enumerate(self.problems):
                with on_stream(number):
                    f, g, h = problem.formula(x)
                    values += [f, *_list_constraints(g), *_list_constraints(h)]
        every = xp.reshape(xp.stack(values), (-1, count))
        mine = xp.reshape(xp.take(every, xp.reshape(self._value_index, (-1,)), axis=0), (runs, -1, count))
        n_ineq, _ = self.counts()
        f, g, h = mine[:, 0, :], mine[:, 1 : 1 + n_ineq, :], mine[:, 1 + n_ineq :, :]
        return f, xp.matrix_transpose(g), xp.matrix_transpose(h)

    partial = False  # formulas give all of a candidate's values

    def worst(self) -> float:
        """0: asked only of sources whose answers may have gaps, which problems have not."""
        return 0.0

    def values_of(self, run: int, x: Array) -> Values:
        """Not offered: raises NotImplementedError, since runs are only evaluated together."""
        raise NotImplementedError

    def true_values(self, x: Array) -> Values | None:
        """None: problems that chance disturbs are not recorded."""
        return None

    def pop_extra_calls(self) -> ExtraCalls | None:
        """None: nothing is called beside the candidates."""
        return None


def value_columns(counts: Sequence[tuple[int, int]]) -> np.ndarray:
    """Columns of f, g and h of each problem among all values, after a first one that is 0: [P, 1 + p + q].

    A problem that lacks a constraint has column 0 for it.
    """
    n_ineq, n_eq = (max(each) for each in zip(*counts))
    table = np.zeros((len(counts), 1 + n_ineq + n_eq), dtype=np.int64)
    starts = accumulate((1 + sum(c) for c in counts), initial=1)
    for row, start, (p, q) in zip(table, starts, counts):
        row[: 1 + p] = start + np.arange(1 + p)
        row[1 + n_ineq : 1 + n_ineq + q] = start + 1 + p + np.arange(q)
    return table


def _list_constraints(values: Any) -> list[Array]:
    """Constraint values one by one, whether a formula gives a list or [..., n]."""
    return list(values) if isinstance(values, (list, tuple)) else [values[..., k] for k in range(values.shape[-1])]
