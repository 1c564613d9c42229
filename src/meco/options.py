"""What a run may be told, as small frozen records that check themselves; each has a plain value for the common case.

minimize(fun, {"width": (0, 2, "m"), "teeth": Variable(8, 40, integer=True)}, budget=200,
         tolerances=1e-6, workers=4, stop="feasible", checkpoint="run-1")
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meco.errors import InvalidInput, UnknownName

INEQ_TOL, EQ_TOL = 1e-8, 1e-4  # rounding, and what the benchmark suites call an equality
WIDEST = 1e300  # of a range: arithmetic with wider ones overflows
STOPS = ("feasible", "converged")

Tolerance = float | list[float] | dict[str, float]  # for all constraints, in their order, or by name


# -- variables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable:
    """One variable: its range, its unit, and what kind of number it is.

    An integer variable takes the whole numbers of its range; a log variable is searched by factors. Categories and
    infinite ends are part of this record and not searched yet.
    """

    low: float
    high: float
    unit: str | None = None
    integer: bool = False
    log: bool = False
    categories: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.categories is not None:
            raise InvalidInput("categories= is not searched yet; give each category a run of its own, or an integer")
        for end in ("low", "high"):
            value = _real(getattr(self, end), f"{end} of a variable")
            object.__setattr__(self, end, value)
        if not self.low <= self.high:
            raise InvalidInput(f"a variable needs low <= high; got {self.low} and {self.high}")
        if math.isinf(self.low) or math.isinf(self.high):
            raise InvalidInput(
                f"a variable needs finite ends; got ({self.low}, {self.high}): methods search inside a box, so give "
                "the widest range that makes sense"
            )
        if not self.high - self.low < WIDEST:
            raise InvalidInput(f"the ends of a variable are too far apart: {self.low} and {self.high}")
        if self.integer and math.ceil(self.low) > math.floor(self.high):
            raise InvalidInput(f"an integer variable has no whole number between {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise InvalidInput(f"a log variable needs low above 0; got {self.low}")
        if self.log and self.integer:
            raise InvalidInput("a variable is integer or log, not both")


@dataclass(frozen=True)
class Variables:
    """All variables in their order; named ones are handed to the function as a dict."""

    each: tuple[Variable, ...]
    names: tuple[str, ...] = ()  # () where they were given without names

    @classmethod
    def read(cls, bounds: Any) -> Variables:
        """From pairs, Variables, an array [D, 2], an object with lb and ub, or a dict of names."""
        if isinstance(bounds, Variables):
            return bounds
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
            return cls(tuple(_variable(pair, i) for i, pair in enumerate(zip(low.tolist(), high.tolist()))))
        if isinstance(bounds, Mapping):
            if not bounds:
                raise InvalidInput("bounds names no variable")
            names = tuple(str(name) for name in bounds)
            return cls(tuple(_variable(given, repr(name)) for name, given in zip(names, bounds.values())), names)
        try:
            given = list(bounds)
        except TypeError as error:
            raise InvalidInput(
                f"bounds must be one (low, high) pair of numbers per variable; got {bounds!r:.60}"
            ) from error
        shape = _shape(bounds)
        if not given or (shape is not None and (len(shape) != 2 or shape[1] != 2)):
            turned = " (is it transposed?)" if shape is not None and len(shape) == 2 and shape[0] == 2 else ""
            raise InvalidInput(
                f"bounds must be one (low, high) pair per variable, shape (D, 2); got shape {shape or (0,)}{turned}"
            )
        return cls(tuple(_variable(each, i) for i, each in enumerate(given)))

    @classmethod
    def of(cls, lower: Any, upper: Any, integer: Any = None, log: Any = None) -> Variables:
        """Without names or units: least and largest values [D], and masks [D] of integer and of log variables."""
        low, high = np.atleast_1d(lower), np.atleast_1d(upper)
        masks = [np.zeros(low.size, dtype=bool) if mask is None else np.asarray(mask, bool) for mask in (integer, log)]
        rows = zip(low.tolist(), high.tolist(), *(mask.tolist() for mask in masks))
        return cls(tuple(Variable(a, b, integer=i, log=j) for a, b, i, j in rows))

    def column(self, name: str) -> np.ndarray:
        """One fact of every variable: [D]."""
        return np.array([getattr(variable, name) for variable in self.each])

    @property
    def lower(self) -> np.ndarray:
        """Least values [D]: whole numbers of integer variables."""
        low = self.column("low").astype(np.float64)
        return np.where(self.column("integer"), np.ceil(low), low)

    @property
    def upper(self) -> np.ndarray:
        """Largest values [D]: whole numbers of integer variables."""
        high = self.column("high").astype(np.float64)
        return np.where(self.column("integer"), np.floor(high), high)

    def labels(self, units: bool = False) -> list[str]:
        """What tables call the variables: their names, or x1, x2 ...; with units as in "width [m]"."""
        names = self.names or [f"x{i + 1}" for i in range(len(self.each))]
        return [f"{name} [{v.unit}]" if units and v.unit else name for name, v in zip(names, self.each)]

    def as_dict(self, x: np.ndarray) -> dict[str, Any]:
        """A point [D], or rows of points [S, D], by name."""
        return dict(zip(self.names, np.moveaxis(x, -1, 0)))

    def as_array(self, x: Any) -> Any:
        """Points given by name as an array; anything else as it is."""
        if isinstance(x, Mapping):
            wrong = [str(name) for name in x if name not in self.names]
            if wrong:
                raise UnknownName("variable", wrong[0], self.names)
            missing = [name for name in self.names if name not in x]
            if missing:
                raise InvalidInput(f"a point by name needs every variable; {missing[0]!r} is missing")
            return np.array([x[name] for name in self.names], dtype=np.float64)
        if isinstance(x, Sequence) and x and all(isinstance(point, Mapping) for point in x):
            return np.array([self.as_array(point) for point in x])
        return x


def _shape(bounds: Any) -> tuple[int, ...] | None:
    """The shape of bounds that are numbers alone; None where there are Variables among them."""
    try:
        return np.shape(np.array(bounds, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return None


def _variable(given: Any, which: int | str) -> Variable:
    """A variable as (low, high), (low, high, unit) or itself; errors say which it is."""
    if isinstance(given, Variable):
        return given
    try:
        low, high, *unit = given
        if len(unit) > 1 or not all(isinstance(each, str) for each in unit):
            raise TypeError
        return Variable(low, high, *unit)
    except InvalidInput as error:
        raise InvalidInput(f"bounds of variable {which}: {error}") from error
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"bounds must be one (low, high) pair of numbers per variable; variable {which} has {given!r:.60}"
        ) from error


# -- tolerances --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tolerances:
    """How far constraints may be off: feasible means every g <= ineq and every |h| <= eq.

    ineq and eq are a number, a list in the order of the constraints, or a dict by name. keep_feasible names
    constraints that must never be violated during the search, True for every inequality. names are for messages and
    tables, inequalities first.
    """

    ineq: Tolerance | np.ndarray = INEQ_TOL
    eq: Tolerance | np.ndarray = EQ_TOL
    keep_feasible: bool | Sequence[str] = False
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ineq", _tolerance(self.ineq, "ineq"))
        object.__setattr__(self, "eq", _tolerance(self.eq, "eq"))
        object.__setattr__(self, "keep_feasible", _kept(self.keep_feasible))
        object.__setattr__(self, "names", read_names(self.names))

    @classmethod
    def read(cls, given: Any) -> Tolerances:
        """A record as it is; a number for every constraint; a dict by name."""
        if given is None:
            return cls()
        return given if isinstance(given, Tolerances) else cls(ineq=given, eq=given)


def _tolerance(given: Any, keyword: str) -> Tolerance:
    """One of the three forms, every number in it checked."""
    if isinstance(given, Mapping):
        return {str(name): _off(value, f"{keyword}[{name!r}]") for name, value in given.items()}
    listed = given.ndim == 1 if isinstance(given, np.ndarray) else isinstance(given, Sequence)
    if listed and not isinstance(given, (str, bytes)):
        return [_off(value, f"{keyword}[{i}]") for i, value in enumerate(given)]
    return _off(given, keyword)


def _off(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InvalidInput(
            f"tolerances: {what} must be a finite number, 0 or more (or a list of them in order, or a dict by name); "
            f"got {value!r:.60}"
        )
    return number


def _kept(given: Any) -> bool | tuple[str, ...]:
    if given is None or isinstance(given, (bool, np.bool_)):
        return bool(given)
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(n, str) for n in given):
        raise InvalidInput(f"keep_feasible must be True (every inequality) or a list of names; got {given!r:.60}")
    return tuple(given)


def read_names(given: Any) -> tuple[str, ...]:
    """Names of constraints, each once."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(n, str) for n in given):
        raise InvalidInput(f"names of constraints must be a list of texts; got {given!r:.60}")
    for name in given:
        if list(given).count(name) > 1:
            raise InvalidInput(f"names of constraints has {name!r} twice")
    return tuple(given)


# -- workers -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workers:
    """Who calls the function, and how many points at once.

    n is a number of processes (-1: all cores), an executor, or a map. batch is how many points are proposed at once, as
    many as there are workers unless given; the points depend on it and on the seed, not on n. With asynchronous=True
    every free worker gets a point at once and none waits for another. timeout is the number of seconds after which
    a call is killed. A vectorized function gets rows of points [S, D] and returns f [S], g [S, p], h [S, q].
    """

    n: Any = 1
    batch: int | None = None
    asynchronous: bool = False
    timeout: float | None = None
    vectorized: bool = False

    AT_ONCE = 8  # points for an executor or a map, whose size is not known

    def __post_init__(self) -> None:
        if not (hasattr(self.n, "submit") or callable(self.n)):
            try:
                count = 0 if isinstance(self.n, bool) else operator.index(self.n)
            except TypeError as error:
                raise InvalidInput(
                    f"workers must be a number of processes (-1: all cores), an executor or a map; got {self.n!r:.60}"
                ) from error
            if count < 1 and count != -1:
                raise InvalidInput(f"workers must be 1 or more, or -1 for all cores; got {self.n}")
            object.__setattr__(self, "n", (os.cpu_count() or 1) if count == -1 else count)
        if self.batch is not None:
            object.__setattr__(self, "batch", whole_number(self.batch, "batch"))
        if self.timeout is not None:
            object.__setattr__(self, "timeout", read_seconds(self.timeout, "timeout", positive=True))
        object.__setattr__(self, "asynchronous", bool(self.asynchronous))
        object.__setattr__(self, "vectorized", bool(self.vectorized))

    @classmethod
    def read(cls, given: Any) -> Workers:
        """A record as it is; a number, an executor or a map."""
        return given if isinstance(given, Workers) else cls(given)

    @property
    def at_once(self) -> int:
        """How many points can be evaluated side by side."""
        return self.n if isinstance(self.n, int) else self.AT_ONCE


# -- stops -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stop:
    """What ends a run before its budget is spent: whatever comes first."""

    target: float | None = None  # a feasible f
    max_time: float | None = None  # seconds
    feasible: bool = False  # at the first feasible point
    converged: bool = False  # where the search would start again from elsewhere

    def __post_init__(self) -> None:
        if self.target is not None:
            object.__setattr__(self, "target", _real(self.target, "target"))
        if self.max_time is not None:
            object.__setattr__(self, "max_time", read_seconds(self.max_time, "max_time"))

    @classmethod
    def read(cls, given: Any) -> Stop:
        """A record as it is; "feasible", "converged", or a number of seconds."""
        if given is None:
            return cls()
        if isinstance(given, Stop):
            return given
        if isinstance(given, str):
            if given not in STOPS:
                raise UnknownName("stop condition", given, STOPS)
            return cls(**{given: True})
        return cls(max_time=given)


# -- checkpoints -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """A folder that keeps every evaluation, and whether to go on with what it holds.

    Of a run that goes on, what is left at its default is what the run recorded. fsync waits for the disk each
    generation, against a failing machine.
    """

    folder: str | os.PathLike[str]
    resume: bool = False
    fsync: bool = False

    @classmethod
    def read(cls, given: Any) -> Checkpoint | None:
        """A record as it is; a folder; None for none."""
        return given if given is None or isinstance(given, Checkpoint) else cls(given)


# -- methods -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Method:
    """A method with options of its own: Method("MeCO-TR", policy="my.safetensors"), Method("SHADE", pop_size=30).

    name is any of METHODS, "file.py:Name", a MethodRecord, or an engine of your own.
    """

    name: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    def __init__(self, name: str | Callable[..., Any] | Any, /, **options: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", dict(options))

    @classmethod
    def read(cls, given: Any) -> Method:
        """A record as it is; a name, a record of METHODS or an engine."""
        return given if isinstance(given, Method) else cls(given)


# -- numbers -----------------------------------------------------------------------------------------


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """A whole number that is not too small, however it was written."""
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError as error:
        raise InvalidInput(f"{name} must be a whole number; got {value!r}") from error
    if number < least:
        raise InvalidInput(f"{name} must be at least {least}; got {number}")
    return number


def _real(value: Any, what: str) -> float:
    """A number, infinite where it is too large for one, but not nan."""
    try:
        number = math.nan if isinstance(value, (bool, str, bytes, complex)) else float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise InvalidInput(f"{what} must be a number; got {value!r:.60}")
    return number


def read_seconds(value: Any, name: str, positive: bool = False) -> float:
    """A length of time; infinity is one."""
    try:
        number = _real(value, name)
    except InvalidInput:
        number = math.nan
    if not (number > 0 or (number == 0 and not positive)):
        kind = "a positive number of seconds" if positive else "a number of seconds, 0 or more"
        raise InvalidInput(f"{name} must be {kind}; got {value!r:.60}")
    return number
