"""A framework's cheap constraints, given as one function, with the names that it gives its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from meco.run.cheap import draw_first_points
from meco.variables import Variables


class NamedCheap:
    """A function that gives a number, a list or a dict, as cheap= takes it, and its values in the same order.

    It is called as minimize() would call it, with a dict of named variables or an array. Its first answer tells the
    names of a dict; one that lacks a name later raises, as a function that fails does.
    """

    def __init__(self, fun: Callable[[Any], Any], variables: Variables) -> None:
        self.fun, self.names = fun, _find_names(fun, variables)

    def as_argument(self) -> dict[str, Callable[[Any], list[float]]]:
        """What cheap= takes: a function for each name, or one for all."""
        if self.names is None:
            return {"cheap": self.values}
        return {name: partial(self._values_of_name, name) for name in self.names}

    def values(self, given: Any) -> list[float]:
        """All values at a point, in the order of the names; raises what the function raises."""
        said = self.fun(given)
        parts = [said] if self.names is None else [said[name] for name in self.names]
        return [value for part in parts for value in np.ravel(part).astype(np.float64).tolist()]

    def _values_of_name(self, name: str, given: Any) -> list[float]:
        """The values of one name at a point; KeyError where the answer lacks it."""
        found: list[float] = np.ravel(self.fun(given)[name]).astype(np.float64).tolist()
        return found


def _find_names(fun: Callable[[Any], Any], variables: Variables) -> tuple[str, ...] | None:
    """The names of the first answer, None where it has none; a function that always fails is refused by the search."""
    for x in draw_first_points(variables):
        with suppress(Exception):  # whatever a user's function raises
            said = fun(variables.as_dict(x) if variables.names else x)
            return tuple(said) if isinstance(said, Mapping) else None
    return None
