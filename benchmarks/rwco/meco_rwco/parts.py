"""What the formulas of the suite share: bounds and masks written as its tables write them, and look-up in lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace
from meco.problems.realworld.parts import Values, number_names

__all__ = ["Values", "expand_bounds", "integer_mask", "look_up_entry", "number_names"]


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


def look_up_entry(table: tuple[float, ...], number: Array) -> Array:
    """The entry that each number picks, counted from 1; numbers beyond the table pick its end, nan stays nan."""
    xp = namespace(number)
    index = xp.clip(xp.where(xp.isnan(number), 1.0, number), min=1, max=len(table)) - 1
    flat = xp.astype(xp.reshape(index, (-1,)), xp.int64)
    picked = xp.reshape(xp.take(asarray_like(table, number), flat), number.shape)
    return xp.where(xp.isnan(number), number, picked)
