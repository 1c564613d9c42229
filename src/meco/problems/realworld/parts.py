"""What the engineering formulas share."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.arrays import Array

Values = tuple[Array, Any, Any]  # f [...], then g and h: lists of [...], or arrays [..., p] and [..., q]


def read_only_point(*values: float) -> np.ndarray:
    """The values as a point [D] that cannot be written to."""
    x = np.array(values, dtype=np.float64)
    x.flags.writeable = False
    return x


def number_names(pattern: str, first: int, last: int) -> tuple[str, ...]:
    """Names for a run of like variables: number_names("angle {} (deg)", 1, 3)."""
    return tuple(pattern.format(number) for number in range(first, last + 1))
