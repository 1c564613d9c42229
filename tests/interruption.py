"""A function that is broken off, as Ctrl-C does in the middle of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def broken_off(fun: Callable[[Any], Any], after: int) -> Callable[[Any], Any]:
    """The function, interrupted in the call after so many; a run folder takes the two for the same function."""
    calls = []

    def breaks_off(x: Any) -> Any:
        calls.append(x)
        if len(calls) > after:
            raise KeyboardInterrupt
        return fun(x)

    breaks_off.__qualname__ = fun.__qualname__
    return breaks_off
