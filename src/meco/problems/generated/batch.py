"""Many problems of one shape, evaluated in one call."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from meco.core.arrays import Array, Constants, namespace
from meco.core.problem import Problem
from meco.errors import InvalidInput

Values = tuple[Array, Array, Array]
Numbers = dict[str, dict[str, np.ndarray]]  # by part of the formula, then by name

# x [B, N, D] and the numbers of B problems, stacked, and perhaps chance z  ->  f [B, N], g [B, N, p], h [B, N, q]
LockstepFormula = Callable[..., Values]


class GeneratedBatch(Sequence[Problem]):
    """B problems of equal D, p and q that share one formula and stack its numbers; also a plain list of problems.

    Examples:
        >>> from meco.problems.generated import make_batch
        >>> batch = make_batch("bowl-linear", seeds=range(100), dim=10)
        >>> f, g, h = batch.raw((batch.lower + batch.upper)[:, None, :] / 2)
        >>> f.shape, g.shape, h.shape
        ((100, 1), (100, 1, 6), (100, 1, 0))
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        """The problems must be of one family and one D, in the order of the runs."""
        if not problems:
            raise InvalidInput("a batch needs at least one problem; got none")
        self.problems = list(problems)
        first = problems[0]
        self.dim, self.n_ineq, self.n_eq, self.draws = first.dim, first.n_ineq, first.n_eq, first.draws
        self._values = Stacked([p.formula for p in problems])  # type: ignore[misc]

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds [B, D]."""
        return np.stack([p.lower for p in self.problems])

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds [B, D]."""
        return np.stack([p.upper for p in self.problems])

    def raw(self, x: Array) -> Values:
        """Values of all problems at once: x [B, N, D] -> f [B, N], g [B, N, p], h [B, N, q]; others are refused."""
        if x.ndim != 3 or x.shape[0] != len(self) or x.shape[2] != self.dim:
            raise InvalidInput(
                f"{len(self)} problems in lockstep need x of shape ({len(self)}, N, {self.dim}); got {tuple(x.shape)}"
            )
        return self._values(x)

    def disturbed(self, x: Array, z: Array) -> Values:
        """What calls answer when chance gives the normal numbers z [B, N, draws]; of families that take some."""
        return self._values(x, z)

    def __len__(self) -> int:
        return len(self.problems)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> GeneratedBatch: ...
    def __getitem__(self, index: int | slice) -> Problem | GeneratedBatch:
        return GeneratedBatch(self.problems[index]) if isinstance(index, slice) else self.problems[index]


@dataclass(frozen=True, eq=False)
class StackingFormula:
    """The formula of one problem, for any leading shape; formulas of one kind differ in their numbers alone.

    What evaluates many problems asks for `stacks_with` and, where that is equal, calls `stack`.
    """

    lockstep: LockstepFormula
    numbers: Numbers
    stacks_with: Hashable  # equal for formulas of one kind and one D
    finite_within: float = math.inf  # |x| up to which every value is a number; -1: some fail
    draws: int = 0  # normal numbers that a call takes from chance

    @staticmethod
    def stack(problems: Sequence[Problem]) -> GeneratedBatch:
        """One batch of problems whose formulas stack, in this order."""
        return GeneratedBatch(problems)

    @cached_property
    def _alone(self) -> Stacked:
        """The formula of this one problem, as a stack of one."""
        return Stacked([self])

    def __call__(self, x: Array) -> Values:
        """Values at x [..., D], with the bits that the problem has in any batch."""
        return self._evaluate(x)

    def disturbed(self, x: Array, z: Array) -> Values:
        """What calls at x [..., D] answer when chance gives the normal numbers z [..., draws]."""
        return self._evaluate(x, z)

    def _evaluate(self, x: Array, *chance: Array) -> Values:
        """Values at x [..., D], without chance or with z [..., draws]."""
        xp, leading = namespace(x), x.shape[:-1]
        rows = x.shape[-2] if x.ndim > 1 else 1
        # a matrix product for each run, as in a batch: then run b has the same bits in any company
        f, g, h = self._alone(*(xp.reshape(each, (-1, rows, each.shape[-1])) for each in (x, *chance)))
        return (
            xp.reshape(f, leading),
            xp.reshape(g, (*leading, g.shape[-1])),
            xp.reshape(h, (*leading, h.shape[-1])),
        )


class Stacked:
    """Formulas of one kind as one: their numbers stacked, and moved to each library and device once."""

    def __init__(self, formulas: Sequence[StackingFormula]) -> None:
        """Stack the numbers by part and name; all formulas must have the same `stacks_with`."""
        if len({formula.stacks_with for formula in formulas}) > 1:
            raise InvalidInput(f"a batch needs problems of one family and D; got {formulas[0].stacks_with} and others")
        self._formula = formulas[0].lockstep
        self._numbers = {
            part: Constants(**{key: np.stack([f.numbers[part][key] for f in formulas]) for key in names})
            for part, names in formulas[0].numbers.items()
        }

    def __call__(self, x: Array, *chance: Array) -> Values:
        """Values at x [B, N, D]; with z [B, N, draws] as chance has them."""
        with np.errstate(all="ignore"):  # a failure is a failed candidate, not a warning
            return self._formula(x, {part: numbers.on(x) for part, numbers in self._numbers.items()}, *chance)
