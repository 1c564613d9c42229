"""Some of the runs in lockstep by themselves, without the work of the others; bits stay the same."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from meco.core.arrays import Array, namespace

T = TypeVar("T")


def take_runs(value: T, runs: np.ndarray) -> T:
    """The record, of tuples and NumPy arrays [B, ...], for the runs where [B] holds: [b, ...].

    Arrays [1, ...] and anything else stay.
    """
    return value if runs.size == 1 else _take_rows(value, runs.size, runs.nonzero()[0])


def _take_rows(value: T, count: int, index: np.ndarray) -> T:
    """take_runs() by their numbers, index [b], of count runs."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0 or len(value) != count:
            return value
        # take() is several times faster than an index in brackets, but turns memory of another order into C's
        some: Any = value.take(index, 0) if value.flags.c_contiguous else value[index]
        return some
    if isinstance(value, tuple):
        parts = [_take_rows(part, count, index) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def put_runs(value: Any, new: Any, runs: np.ndarray) -> Any:
    """The record, of tuples and NumPy arrays [B, ...], with new ones [b, ...] for the runs where [B] holds; copies.

    Arrays [1, ...] and anything else stay.
    """
    if isinstance(value, np.ndarray):
        if value.ndim == 0 or value.shape[0] != runs.size:
            return value
        made = value.copy()
        made[runs] = new
        return made
    if isinstance(value, tuple):
        parts = [put_runs(one, other, runs) for one, other in zip(value, new)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def repeat_runs(value: T, count: int, runs: int) -> T:
    """The record with its arrays [B, ...] count times one after another, [count B, ...], where B is runs.

    Arrays [1, ...] stay, unless B is 1.
    """
    if isinstance(value, tuple):
        parts = [repeat_runs(part, count, runs) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    array = cast(Any, value)
    if getattr(array, "ndim", 0) == 0 or array.shape[0] != runs:
        return value
    return cast(T, namespace(array).concat([array] * count, axis=0))


def slice_runs(value: T, first: int, last: int, runs: int) -> T:
    """The record of arrays [B, ...], where B is runs, for the runs from number first to before last.

    Arrays [1, ...] stay, unless B is 1.
    """
    if isinstance(value, tuple):
        parts = [slice_runs(part, first, last, runs) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    array = cast(Any, value)
    return cast(T, value if getattr(array, "ndim", 0) == 0 or array.shape[0] != runs else array[first:last, ...])


def choose_runs(where: Array, new: T, old: T) -> T:
    """The new record of arrays [B, ...] for the runs where [B] holds, the old one for others.

    Parts that both share, arrays or not, stay as they are.
    """
    if new is old:
        return old
    if where.size == 1:
        return new if where[0] else old
    if isinstance(new, tuple):
        parts = [choose_runs(where, one, other) for one, other in zip(new, cast(tuple[Any, ...], old))]
        return type(new)(*parts) if hasattr(new, "_fields") else type(new)(parts)
    xp, wide = namespace(where), cast(Any, new)
    return cast(T, xp.where(xp.reshape(where, (where.shape[0], *([1] * (wide.ndim - 1)))), wide, old))
