"""Numbers and flags as people give them, checked: each error names the thing, what was wanted and what came."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from meco.errors import InvalidInput


def read_whole_number(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least `least`, also where it comes as a float. InvalidInput, which names it, for others."""
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError as error:
        raise InvalidInput(f"{name} must be a whole number; got {value!r}") from error
    if number < least:
        raise InvalidInput(f"{name} must be at least {least}; got {number}")
    return number


def read_flag(value: Any, name: str) -> bool:
    """True or False, also as 1 and 0; InvalidInput, which names it, for others."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise InvalidInput(f"{name} must be True or False; got {value!r:.60}")


def read_real(value: Any, name: str) -> float:
    """A number, infinite where it is too large for one; InvalidInput, which names it, for nan, texts and flags."""
    try:
        number = math.nan if isinstance(value, (bool, np.bool_, str, bytes, complex)) else float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise InvalidInput(f"{name} must be a number; got {value!r:.60}")
    return number


def read_seconds(value: Any, name: str, *, positive: bool = False) -> float:
    """A length of time in seconds, 0 or more, or above 0 where positive; infinity is one. InvalidInput for others."""
    try:
        number = read_real(value, name)
    except InvalidInput:
        number = math.nan
    if not (number > 0 or (number == 0 and not positive)):
        kind = "a positive number of seconds" if positive else "a number of seconds, 0 or more"
        raise InvalidInput(f"{name} must be {kind}; got {value!r:.60}")
    return number
