"""Where values come from: a batch of problems, or a user's function. The evaluator asks, and never looks inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from meco.arrays import Array
from meco.core.box import Box

Values = tuple[Array, Array, Array]  # f [B, n], g [B, n, p], h [B, n, q]


class Beside(NamedTuple):
    """Calls that a source made beside the candidates asked for: how many, and points that may be the best."""

    count: int
    points: Sequence[tuple[np.ndarray, Values]] = ()  # x [1, n, D] with their values


class Source(Protocol):
    """Values of points in the box, for B runs."""

    runs: int
    box: Box
    xp: Any
    device: Any
    names: Sequence[str]  # of each run's problem
    strictest: Sequence[tuple[float, float]]  # tolerances of inequalities and equalities, of each different problem
    finite: bool  # whether values are known to be numbers, so that nobody has to look
    recordable: bool  # whether a device may record the evaluation

    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities of the widest problem."""
        ...

    def tolerances(self) -> tuple[Array, Array]:
        """Of inequalities and equalities: [B or 1, 1, 1], or [B or 1, 1, C] where constraints differ in it."""
        ...

    def values(self, x: Array) -> Values:
        """Of points [B, n, D], a row for each run."""
        ...

    def values_of(self, run: int, x: Array) -> Values:
        """Of points [1, n, D] of one run alone."""
        ...

    def take_beside(self) -> Beside | None:
        """What was called beside the candidates since the last time; None: nothing."""
        ...
