"""The record of a method: everything there is to know of it before it runs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meco.engines.engine import Engine
from meco.errors import InvalidInput

UNITS = {  # what may be multiplied by a factor
    "f": "f",
    "all": "all constraints alike",
    "each": "one constraint against the others",
}
Size = Callable[[int, int], int]  # (dim, budget) -> how many


@dataclass(frozen=True)
class Method:
    """How to build a search, and its facts; whoever needs a fact reads it here."""

    build: Callable[..., Engine]  # (task, **options) -> engine
    about: str
    family: str = "own"  # what kind of search it is
    lockstep: bool = True  # whether many runs go together, each as it would alone
    asked: bool = True  # whether it proposes points and is told values; False: it calls the objective itself
    population: Size | None = None  # candidates of a generation; None: it has no fixed number
    options: tuple[str, ...] = ()  # keywords that build takes
    extra: str | None = None  # the extra that brings the packages it needs
    models_functions: bool = False  # whether runs that go together must have equal D, p and q
    notices: tuple[str, ...] = ()  # units that change the search, see UNITS; where tolerances change with them
    seconds: float = 0.02  # of one core, for a run at D = 50 and 2500 evaluations, in lockstep where it can
    aliases: tuple[str, ...] = ()  # other spellings of its name


def as_method(given: Any) -> Method:
    """A record as it is; an engine, or a function (task, **options) -> engine, with the facts it shows."""
    if isinstance(given, Method):
        return given
    if not callable(given):
        raise InvalidInput(f"a method must be a name, a meco.Method or an engine; got {given!r:.60}")
    if isinstance(given, type) and not issubclass(given, Engine):
        raise InvalidInput(f"{given.__name__} is no engine: derive it from meco.engines.engine.Engine")
    about = (inspect.getdoc(given) or "").partition("\n")[0]
    return Method(given, about, lockstep=False, seconds=1.0)  # one run at a time is right for any engine


def fifty(dim: int, budget: int) -> int:
    """The paper's population (section 4.1), for every method that has a fixed one."""
    return 50


def by_dimension(dim: int, budget: int) -> int:
    """The offspring of an evolution strategy, 4 + floor(3 ln D)."""
    return 4 + int(3 * math.log(dim))
