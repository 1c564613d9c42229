"""What a search knows before the first evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from meco.core.cheap_set import CheapLimits
    from meco.core.known_limits import KnownLimits


def usual_tolerances(n_ineq: int, n_eq: int) -> np.ndarray:
    """Tolerances [C]: 0 for inequalities, 1e-4 for equalities."""
    return np.repeat((0.0, 1e-4), (n_ineq, n_eq))


@dataclass(frozen=True)
class Task:
    """A problem in search coordinates.

    A variable with two bounds has the range [0, 1], one without has low or high = -inf or inf. The fields below
    `tolerances` belong to extensions, and None means that the task does not need them.
    """

    dim: int
    budget: int
    batch: int = 1  # points per iteration
    low: np.ndarray | float = 0.0  # [D]
    high: np.ndarray | float = 1.0
    x0: np.ndarray | None = None  # points to evaluate first, [n, D]
    lengths: np.ndarray | None = None  # typical size of each variable around x0, [D]
    tolerances: Callable[[int, int], np.ndarray] = usual_tolerances  # of n_ineq and n_eq constraints: [C]
    integers: IntegerTask | None = None
    limits: KnownLimits | None = None  # linear rows, and constraints that must never be violated
    cheap: CheapLimits | None = None  # constraints that cost nothing to evaluate


@dataclass(frozen=True)
class IntegerTask:
    """Which variables are integers [D], and what a coordinate means in the user's units: origin + coordinate length.

    lowest and highest [D] are the ends of their ranges.
    """

    integer: np.ndarray
    origin: np.ndarray
    length: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
