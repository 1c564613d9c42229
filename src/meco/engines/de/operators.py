"""What several differential evolutions share beside SHADE's moves: blocks of numbers, indices, reflection."""

from __future__ import annotations

import math

from meco.arrays import Array, bounded, converted, namespace, reshaped, stepped_over
from meco.streams import Streams


def numbers(rng: Streams, *shapes: tuple[int, ...], normal: bool = False) -> list[Array]:
    """Uniform or normal numbers [B, *shape] for each shape, drawn as one block per run."""
    needed = sum(math.prod(shape) for shape in shapes)
    return pieces(rng.normal(needed) if normal else rng.uniform(needed), *shapes)


def pieces(block: Array, *shapes: tuple[int, ...]) -> list[Array]:
    """Cut a run's numbers [B, n] into arrays [B, *shape] one after the other."""
    cut, at = [], 0
    for shape in shapes:
        end = at + math.prod(shape)
        cut.append(reshaped(block[:, at:end], (block.shape[0], *shape)))
        at = end
    return cut


def distinct(u: Array) -> list[Array]:
    """k indices for each individual, different from each other and from its own: u [B, N, k] -> k of [B, N].

    Each is drawn from the positions that are left, then steps over those already taken.
    """
    xp = namespace(u)
    runs, size, count = u.shape
    own = xp.arange(size, dtype=xp.int64, device=u.device)
    taken = xp.broadcast_to(own[None, :, None], (runs, size, 1))
    picked = []
    for k in range(count):
        index = converted(u[..., k] * (size - 1 - k), xp.int64)
        for j in range(k + 1):
            index = stepped_over(index, taken[..., j])
        picked.append(index)
        taken = xp.sort(xp.concat([taken, index[..., None]], axis=-1), axis=-1)
    return picked


def reflect(x: Array) -> Array:
    """Mirror at the bound of the unit cube that was crossed; what leaves by the other side stops there."""
    xp = namespace(x)
    mirrored = xp.where(x < 0.0, -x, xp.where(x > 1.0, 2.0 - x, x))
    return bounded(mirrored, 0.0, 1.0)
