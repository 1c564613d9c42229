"""Where values come from: a batch of problems, or a user's function. The evaluator asks, and never looks inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from meco.core.arrays import Array
from meco.core.box import Box

Values = tuple[Array, Array, Array]  # f [B, n], g [B, n, p], h [B, n, q]


class ExtraCalls(NamedTuple):
    """Calls that a source made beside the candidates asked for: how many, and points that may be the best."""

    calls: int
    points: Sequence[tuple[np.ndarray, Values]] = ()  # x [1, n, D] with their values


class Source(Protocol):
    """Values of points in the box, for B runs."""

    @property
    def runs(self) -> int:
        """How many runs there are."""
        ...

    @property
    def box(self) -> Box:
        """Where their points lie."""
        ...

    @property
    def xp(self) -> Any:
        """The array library of candidates and values."""
        ...

    @property
    def device(self) -> Any:
        """Where the arrays lie."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Of each run's problem."""
        ...

    @property
    def strictest(self) -> Sequence[tuple[float, float]]:
        """Least tolerances of inequalities and equalities, of each different problem."""
        ...

    @property
    def finite(self) -> bool:
        """Whether values are known to be numbers, so that nobody has to look."""
        ...

    @property
    def partial(self) -> bool:
        """Whether some of a candidate's values may be known and others not; of one run, in NumPy."""
        ...

    def worst(self) -> float:
        """The largest f so far, where partial; 0 before there is one."""
        ...

    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities of the widest problem."""
        ...

    def tolerances(self) -> tuple[Array, Array]:
        """Of inequalities and equalities: [B or 1, 1, 1], or [B or 1, 1, C] where constraints differ in it."""
        ...

    def values(self, x: Array) -> Values:
        """f [B, n], g [B, n, p] and h [B, n, q] of points x [B, n, D], a row for each run."""
        ...

    def values_of(self, run: int, x: Array) -> Values:
        """f [1, n], g [1, n, p] and h [1, n, q] of points x [1, n, D] of one run alone."""
        ...

    def true_values(self, x: Array) -> Values | None:
        """Of points [B, n, D] without what chance does to values(), by which runs are judged; None: no difference."""
        ...

    def pop_extra_calls(self) -> ExtraCalls | None:
        """What was called beside the candidates since the last time it was asked, given once; None: nothing."""
        ...
