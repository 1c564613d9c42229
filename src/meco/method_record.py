"""The record of a method: everything there is to know of it before it runs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meco.core.capabilities import OwnLoop
from meco.core.engine import Engine
from meco.errors import InvalidInput

RESCALINGS = {  # what may be multiplied by a factor, tolerances with it
    "f": "f",
    "all": "all constraints alike",
    "each": "one constraint against the others",
}
Size = Callable[[int, int], int]  # (dim, budget) -> how many


@dataclass(frozen=True)
class MethodRecord:
    """How to build a search, and everything that is known of it beforehand; its name is its key in METHODS."""

    build: Callable[..., Engine]  # (task, **options) -> engine
    about: str
    family: str = "own"  # what kind of search it is
    lockstep: bool = True  # whether many runs go together, each as it would alone
    offers: tuple[type, ...] = ()  # capabilities of its engine with default options, see core/capabilities.py
    population: Size | None = None  # candidates of a generation; None: it has no fixed number
    options: tuple[str, ...] | None = None  # keywords that build takes; None: as its signature says
    extra: str | None = None  # the extra that brings the packages it needs
    models_functions: bool = False  # whether runs that go together must have equal D, p and q
    least_budget: Callable[[int], int] | None = None  # (dim) -> evaluations below which it cannot search yet
    scale_sensitive_to: tuple[str, ...] = ()  # rescalings that change the search, see RESCALINGS
    cost_seconds: float = 0.02  # of one core, for a run at D = 50 and 2500 evaluations, in lockstep where it can
    aliases: tuple[str, ...] = ()  # other spellings of its name

    @property
    def has_ask(self) -> bool:
        """Whether it proposes points and is told values; else it calls the objective itself."""
        return OwnLoop not in self.offers

    def accepted_options(self) -> tuple[str, ...] | None:
        """The names of options that build takes; None: any."""
        if self.options is not None:
            return self.options
        given = list(inspect.signature(self.build).parameters.values())[1:]  # the first is the task
        if any(p.kind is p.VAR_KEYWORD for p in given):
            return None
        return tuple(p.name for p in given if p.kind is not p.VAR_POSITIONAL)


def as_method_record(given: Any) -> MethodRecord:
    """A record as it is; an engine, or a function (task, **options) -> engine, with the facts it shows.

    InvalidInput for others.
    """
    if isinstance(given, MethodRecord):
        return given
    if not callable(given):
        raise InvalidInput(f"a method must be a name, a meco.MethodRecord or an engine; got {given!r:.60}")
    if isinstance(given, type) and not issubclass(given, Engine):
        raise InvalidInput(f"{given.__name__} is no engine: derive it from meco.core.engine.Engine")
    about = (inspect.getdoc(given) or "").partition("\n")[0]
    return MethodRecord(given, about, lockstep=False, cost_seconds=1.0)  # one run at a time is right for any engine


def paper_pop_size(dim: int, budget: int) -> int:
    """The paper's population (section 4.1), for every method that has a fixed one."""
    return 50


def native_pop_size(dim: int, budget: int) -> int:
    """The offspring of an evolution strategy, 4 + floor(3 ln D)."""
    return 4 + int(3 * math.log(dim))
