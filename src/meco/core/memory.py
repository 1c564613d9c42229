"""What a search remembers between two generations, as a flat record of named arrays: saved, and put back.

Whatever names its attributes in `remembers` can be saved: an engine that offers SavedState, its parts, random streams.
Beneath these lie arrays, numbers and plain containers of them (named tuples, frozen dataclasses, tuples, dicts), so

    TrustRegion.state.region.models.gradient [B, F, D]   is saved as   "state.region.models.gradient"

A record says no types. It is put back into a search of the same kind that has been told one generation, whatever its
values: that one has every array in its place, and what does not fit it in name, type or shape is refused. Nothing is
computed again, so models are not fitted again. Attributes that are also named in `grows` hold arrays [B, rows, ...]
with as many rows as the budget asks for: a record with fewer fills the first ones, so that a search goes on with a
larger budget.

Run folders keep records: to rename an attribute in `remembers`, or a field beneath one, makes older states unreadable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from meco.core.arrays import namespace, to_numpy

Record = dict[str, np.ndarray]
NUMBERS = (bool, int, float)


class DoesNotFit(ValueError):
    """A record that is not of this search."""


def capture_state(thing: Any) -> Any:
    """What a thing keeps, without copies: its attributes named in `remembers`, entries of a dict, else itself.

    Arrays are never written to, objects and dicts may be.
    """
    if getattr(thing, "remembers", None) is not None:
        return {name: capture_state(getattr(thing, name)) for name in thing.remembers}
    if isinstance(thing, dict):
        return {name: capture_state(value) for name, value in thing.items()}
    return thing


def flatten_state(value: Any, name: str = "") -> Record:
    """Something captured as arrays by dotted name; None has no name. Raises DoesNotFit where a leaf is no number."""
    if value is None:
        return {}
    parts = container_parts(value)
    if parts is not None:
        found: Record = {}
        for part, inner in parts.items():
            found |= flatten_state(inner, _join_names(name, part))
        return found
    array = np.array(value) if isinstance(value, NUMBERS) else to_numpy(value)
    if array.dtype.kind not in "biuf":
        raise DoesNotFit(f"{name} is no array of numbers: {value!r:.60}")
    return {name: array}


def restore_state(thing: Any, record: Mapping[str, np.ndarray]) -> None:
    """Set in place what the record names, in a thing that was told one generation.

    Raises DoesNotFit where names, types or shapes differ, and leaves the thing half done.
    """
    left = dict(record)
    _restore_part(thing, left, "")
    if left:
        raise DoesNotFit(f"{min(left)} is unknown here")


def _restore_part(like: Any, left: Record, name: str, *, grows: bool = False) -> Any:
    """like with the values of the record; their names are taken out of left. Objects with `remembers` are changed.

    With grows arrays may have more rows than recorded.
    """
    if getattr(like, "remembers", None) is not None:
        growing = getattr(like, "grows", ())
        for part in like.remembers:
            inner = getattr(like, part)
            setattr(like, part, _restore_part(inner, left, _join_names(name, part), grows=grows or part in growing))
        return like
    if like is None:
        return None
    parts = container_parts(like)
    if parts is None:
        return _pop_value(like, left, name, grows=grows)
    return replace_parts(
        like, {part: _restore_part(inner, left, _join_names(name, part), grows=grows) for part, inner in parts.items()}
    )


def _pop_value(like: Any, left: Record, name: str, *, grows: bool) -> Any:
    """Take the value of this name out of left. Raises DoesNotFit unless it has type and shape of like.

    With grows it may have fewer rows, the rest are like's.
    """
    if name not in left:
        raise DoesNotFit(f"{name} is missing")
    value, there = left.pop(name), flatten_state(like)[""]
    if grows and value.ndim == there.ndim > 1 and value.shape[1] < there.shape[1]:
        value = np.concatenate([value, there[:, value.shape[1] :]], axis=1) if _same_but_rows(value, there) else value
    if value.dtype != there.dtype or value.shape != there.shape:
        raise DoesNotFit(f"{name} should be {there.dtype} {there.shape}, and is {value.dtype} {value.shape}")
    if isinstance(like, NUMBERS):
        return type(like)(value.item())
    if isinstance(like, np.ndarray):
        return value.copy()  # ours alone, and writable
    return namespace(like).asarray(value, dtype=like.dtype, device=like.device)


def _same_but_rows(value: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays [B, rows, ...] differ in their number of rows at most."""
    return (value.dtype, value.shape[0], value.shape[2:]) == (other.dtype, other.shape[0], other.shape[2:])


def container_parts(value: Any) -> dict[str, Any] | None:
    """What a container holds, by name; None of an array or a number."""
    if isinstance(value, dict):
        return value
    if hasattr(value, "_fields"):
        return value._asdict()
    if isinstance(value, (tuple, list)):
        return {str(i): part for i, part in enumerate(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: getattr(value, field.name) for field in fields(value) if not field.metadata.get("transient")
        }
    return None


def replace_parts(like: Any, parts: dict[str, Any]) -> Any:
    """Another container of like's kind that holds these parts, and nothing that was derived from the old ones."""
    if isinstance(like, dict):
        return parts
    if isinstance(like, (tuple, list)) and not hasattr(like, "_fields"):
        return type(like)(parts.values())
    return type(like)(**parts)


def _join_names(name: str, part: str) -> str:
    """The name of a part within what is called name."""
    return f"{name}.{part}" if name else part
