"""What the engineering formulas share: boxes and masks written as the suite's tables write them, and table look-up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from meco.core.arrays import Array

Values = tuple[Array, Any, Any]  # f [...], then g and h: lists of [...], or arrays [..., p] and [..., q]


def expand_numbers(text: str) -> Iterator[int]:
    """Variable numbers counted from 1: "1 3 5-7" gives 1, 3, 5, 6, 7."""
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def expand_bounds(ranges: Mapping[str, tuple[float, float]]) -> list[tuple[float, float]]:
    """Bounds in order of the variables, from ranges given once for several: {"1 3": (0, 1), "2": (0, 5)}."""
    bounds = {number: bound for text, bound in ranges.items() for number in expand_numbers(text)}
    return [bounds[number] for number in range(1, len(bounds) + 1)]


def integer_mask(dim: int, text: str) -> np.ndarray:
    """Mask [D] of the variables that the formula rounds, by their numbers such as "1 3 5-7"."""
    mask = np.zeros(dim, dtype=bool)
    mask[[number - 1 for number in expand_numbers(text)]] = True
    return mask


def read_only_point(*values: float) -> np.ndarray:
    """The values as a point [D] that cannot be written to."""
    x = np.array(values, dtype=np.float64)
    x.flags.writeable = False
    return x


def number_names(pattern: str, first: int, last: int) -> tuple[str, ...]:
    """Names for a run of like variables: number_names("angle {} (deg)", 1, 3)."""
    return tuple(pattern.format(number) for number in range(first, last + 1))
