"""Look-up of entries in a list by a variable that counts them."""

from __future__ import annotations

from meco.core.arrays import Array, asarray_like, namespace


def look_up_entry(table: tuple[float, ...], number: Array) -> Array:
    """The entry that each number picks, counted from 1; numbers beyond the table pick its end, nan stays nan."""
    xp = namespace(number)
    index = xp.clip(xp.where(xp.isnan(number), 1.0, number), min=1, max=len(table)) - 1
    flat = xp.astype(xp.reshape(index, (-1,)), xp.int64)
    picked = xp.reshape(xp.take(asarray_like(table, number), flat), number.shape)
    return xp.where(xp.isnan(number), number, picked)
