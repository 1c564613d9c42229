"""What several differential evolutions share beside SHADE's moves: blocks of numbers, indices, sums by masks."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from meco.core.arrays import Array, astype, namespace, reshaped
from meco.core.streams import Streams


def draw_numbers(rng: Streams, *shapes: tuple[int, ...], normal: bool = False) -> list[Array]:
    """Uniform or normal numbers [B, *shape] for each shape, drawn as one block per run in this order."""
    needed = _slices_by_shape(shapes)[-1].stop
    return cut_block(rng.normal(needed) if normal else rng.uniform(needed), *shapes)


def cut_block(block: Array, *shapes: tuple[int, ...]) -> list[Array]:
    """Cut the numbers [B, n] of runs into arrays [B, *shape], one after the other.

    n is what the shapes hold, or more.
    """
    runs = block.shape[0]
    cut = [block[:, place] for place in _slices_by_shape(shapes)]
    return [part if len(shape) == 1 else reshaped(part, (runs, *shape)) for part, shape in zip(cut, shapes)]


@lru_cache(maxsize=64)
def _slices_by_shape(shapes: tuple[tuple[int, ...], ...]) -> list[slice]:
    """Where in a row of numbers those of each shape lie; at least one shape."""
    ends = list(accumulate(math.prod(shape) for shape in shapes))
    return [slice(*ends) for ends in zip([0, *ends], ends)]


def skip_taken(index: Array, taken: Array) -> Array:
    """Indices among all positions, for indices that were counted without the taken one; integers of equal shape."""
    beyond = index >= taken
    return index + (beyond if isinstance(beyond, np.ndarray) else astype(beyond, index.dtype))


def distinct_indices(u: Array) -> list[Array]:
    """k indices for each individual, different from each other and from its own: u [B, N, k] -> k of [B, N], k < N.

    Each is drawn from the positions that are left, then steps over those already taken.
    """
    xp = namespace(u)
    runs, size, count = u.shape
    own = xp.arange(size, dtype=xp.int64, device=u.device)
    taken = xp.broadcast_to(own[None, :, None], (runs, size, 1))
    picked = []
    for k in range(count):
        index = astype(u[..., k] * (size - 1 - k), xp.int64)
        for j in range(k + 1):
            index = skip_taken(index, taken[..., j])
        picked.append(index)
        taken = xp.sort(xp.concat([taken, index[..., None]], axis=-1), axis=-1)
    return picked


def where_finite(mask: Array, a: Array, b: Array) -> Array:
    """a where the mask holds and b elsewhere, both finite.

    In NumPy by products: its where guesses what comes next, which a random mask makes expensive.
    """
    return a * mask + b * ~mask if isinstance(mask, np.ndarray) else namespace(mask).where(mask, a, b)


def zero_unless(mask: Array, a: Array) -> Array:
    """a, which is finite, where the mask holds and 0 elsewhere; in NumPy by a product, as in where_finite()."""
    return a * mask if isinstance(mask, np.ndarray) else namespace(mask).where(mask, a, 0.0)


def positions(count: int, like: Array) -> Array:
    """0, 1, ..., count - 1 in the type of like, not to be written to."""
    if isinstance(like, np.ndarray):
        return _cached_positions(count, like.dtype)
    return namespace(like).arange(count, dtype=like.dtype, device=like.device)


@lru_cache(maxsize=64)
def _cached_positions(count: int, dtype: Any) -> np.ndarray:
    """positions() in NumPy: one array for all callers, which cannot be written to."""
    index = np.arange(count, dtype=dtype)
    index.flags.writeable = False
    return index


def ascending_order(x: Array) -> Array:
    """Indices from the least entry to the largest along the last axis; equal ones in any order, nan last."""
    return x.argsort(axis=-1) if isinstance(x, np.ndarray) else namespace(x).argsort(x, axis=-1)
