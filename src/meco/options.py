"""What a run may be told, as small frozen records that check themselves; each has a plain value for the common case.

minimize(fun, {"width": (0, 2, "m"), "teeth": Variable(8, 40, integer=True)}, budget=200,
         tolerances=1e-6, workers=4, stop="feasible", checkpoint="run-1")
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from meco.errors import InvalidInput, UnknownName

INEQ_TOL, EQ_TOL = 1e-8, 1e-4  # rounding, and what the benchmark suites call an equality
WIDEST_RANGE = 1e300  # of a variable: arithmetic with wider ones overflows
STOP_NAMES = ("feasible", "converged")

Tolerance = float | list[float] | dict[str, float]  # for all constraints, in their order, or by name


class HasEnds(Protocol):
    """Ends of ranges, as SciPy's Bounds have them."""

    @property
    def lb(self) -> Any: ...

    @property
    def ub(self) -> Any: ...


# -- variables ---------------------------------------------------------------------------------------


class UnknownVariable(UnknownName, InvalidInput):
    """A point that names a variable which does not exist."""


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
            object.__setattr__(self, end, _real(getattr(self, end), f"{end} of a variable"))
        for kind in ("integer", "log"):
            object.__setattr__(self, kind, _flag(getattr(self, kind), f"{kind} of a variable"))
        if not (self.unit is None or isinstance(self.unit, str)):
            raise InvalidInput(f'unit of a variable must be a text, such as "mm"; got {self.unit!r:.60}')
        if math.isinf(self.low) or math.isinf(self.high):
            raise InvalidInput(
                f"a variable needs finite ends; got ({self.low}, {self.high}): methods search inside a box, so give "
                "the widest range that makes sense"
            )
        if not self.low <= self.high:
            raise InvalidInput(f"a variable needs low <= high; got {self.low} and {self.high}")
        if not self.high - self.low < WIDEST_RANGE:
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

    def __post_init__(self) -> None:
        each, names = tuple(self.each), tuple(self.names)
        if not each or not all(isinstance(variable, Variable) for variable in each):
            raise InvalidInput(f"Variables needs one Variable or more; got {self.each!r:.60}")
        for i, name in enumerate(names):
            if not isinstance(name, str) or not name:
                raise InvalidInput(f"the name of a variable must be a text; got {name!r:.60}")
            if name in names[:i]:
                raise InvalidInput(f"two variables have the name {name!r}")
        if names and len(names) != len(each):
            raise InvalidInput(f"{len(each)} variables need {len(each)} names; got {len(names)}")
        object.__setattr__(self, "each", each)
        object.__setattr__(self, "names", names)

    @classmethod
    def read(cls, bounds: Any) -> Variables:
        """From pairs, Variables, an array [D, 2], an object with lb and ub, or a dict of names."""
        if isinstance(bounds, Variables):
            return bounds
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            bounds = _pairs(bounds.lb, bounds.ub)
        if isinstance(bounds, Mapping):
            if not bounds:
                raise InvalidInput("bounds names no variable; give {name: (low, high), ...}")
            return cls(tuple(_variable(given, repr(name)) for name, given in bounds.items()), tuple(bounds))
        if isinstance(bounds, (str, bytes, Set)) or not isinstance(bounds, Iterable):
            kind = " (a set has no order)" if isinstance(bounds, Set) else ""
            raise InvalidInput(f"bounds must be one (low, high) pair per variable{kind}; got {bounds!r:.60}")
        try:
            given = list(bounds)
        except TypeError as error:  # an array without an axis
            raise InvalidInput(f"bounds must be one (low, high) pair per variable; got {bounds!r:.60}") from error
        shape = _shape(given)
        if not given or (shape is not None and (len(shape) != 2 or shape[1] != 2)):
            hint = ""
            if shape is not None and len(shape) == 2 and shape[0] == 2:
                hint = " (is it transposed?)"
            elif shape == (2,):
                hint = " (one variable is [(low, high)])"
            raise InvalidInput(
                f"bounds must be one (low, high) pair per variable, shape (D, 2); got shape {shape or (0,)}{hint}"
            )
        return cls(tuple(_variable(each, i) for i, each in enumerate(given)))

    @classmethod
    def of(cls, lower: Any, upper: Any, integer: Any = False, log: Any = False) -> Variables:
        """Without names or units: least and largest values [D]; integer and log are True, or masks [D]."""
        low, high = np.atleast_1d(lower), np.atleast_1d(upper)
        masks = [
            np.broadcast_to(np.asarray(False if mask is None else mask, dtype=bool), low.shape)
            for mask in (integer, log)
        ]
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
        """A point [D] by name, integer variables as int; rows of points [S, D] as columns [S]."""
        columns = np.moveaxis(np.asarray(x, dtype=np.float64), -1, 0)
        return {
            name: int(column) if variable.integer and columns.ndim == 1 else column
            for name, variable, column in zip(self.names, self.each, columns)
        }

    def as_array(self, x: Any) -> Any:
        """Points given by name as an array: a dict is a point [D] or columns, a list of dicts rows [n, D].

        Anything else is given back as it is.
        """
        if isinstance(x, Mapping):
            return np.stack(np.broadcast_arrays(*self._columns(x)), axis=-1)
        if isinstance(x, Sequence) and x and all(isinstance(point, Mapping) for point in x):
            return np.array([self.as_array(point) for point in x])
        return x

    def _columns(self, x: Mapping[Any, Any]) -> list[np.ndarray]:
        """The values of each variable in a point by name, in their order."""
        if not self.names:
            raise InvalidInput("a point by name needs variables with names: give bounds as a dict {name: (low, high)}")
        wrong = [name for name in x if name not in self.names]
        if wrong:
            raise UnknownVariable("variable", wrong[0], self.names)
        missing = [name for name in self.names if name not in x]
        if missing:
            raise InvalidInput(f"a point by name needs every variable; {missing[0]!r} is missing")
        try:
            return [np.asarray(x[name], dtype=np.float64) for name in self.names]
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"a point by name must be numbers; got {dict(x)!r:.60}") from error


def _pairs(low: Any, high: Any) -> np.ndarray:
    """Ends of ranges, as an object with lb and ub holds them, as pairs [D, 2]."""
    try:
        ends = np.broadcast_arrays(np.atleast_1d(low).astype(np.float64), np.atleast_1d(high).astype(np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"lb and ub of bounds must be numbers of equal count; got {low!r:.40}, {high!r:.40}"
        ) from error
    return np.stack(ends, axis=-1)


def _shape(given: Sequence[Any]) -> tuple[int, ...] | None:
    """The shape of bounds that are numbers alone; None where there are Variables or texts among them."""
    if any(isinstance(each, (str, bytes)) for each in given):
        return None
    try:
        return np.shape(np.array(given, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return None


def _variable(given: Any, which: int | str) -> Variable:
    """A variable as (low, high), (low, high, unit) or itself; errors say which it is."""
    if isinstance(given, Variable):
        return given
    try:
        if isinstance(given, (str, bytes, Mapping, Set)):
            raise TypeError
        low, high, *unit = given
        if len(unit) > 1 or not all(isinstance(each, str) for each in unit):
            raise TypeError
        return Variable(low, high, *unit)
    except InvalidInput as error:
        raise InvalidInput(f"bounds of variable {which}: {error}") from error
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"bounds must be one (low, high) pair of numbers per variable, or (low, high, unit); variable {which} has "
            f"{given!r:.60}"
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
        if isinstance(self.n, type) and hasattr(self.n, "submit"):
            raise InvalidInput(f"workers must be an executor that was made, not its class; got {self.n.__name__}")
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
        for name in ("asynchronous", "vectorized"):
            object.__setattr__(self, name, _flag(getattr(self, name), name))

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
        for name in STOP_NAMES:
            object.__setattr__(self, name, _flag(getattr(self, name), f"stop: {name}"))

    @classmethod
    def read(cls, given: Any) -> Stop:
        """A record as it is; "feasible", "converged", or a number of seconds."""
        if given is None:
            return cls()
        if isinstance(given, Stop):
            return given
        if isinstance(given, str):
            if given not in STOP_NAMES:
                raise UnknownName("stop condition", given, STOP_NAMES)
            return cls(**{given: True})
        try:
            return cls(max_time=given)
        except InvalidInput as error:
            raise InvalidInput(f'stop must be "feasible", "converged", seconds or Stop(..): {error}') from error


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

    def __post_init__(self) -> None:
        try:
            folder = os.fspath(self.folder)
        except TypeError:
            folder = ""
        if not folder or not isinstance(folder, str):
            raise InvalidInput(f"checkpoint must be the path of a folder; got {self.folder!r:.60}")
        for name in ("resume", "fsync"):
            object.__setattr__(self, name, _flag(getattr(self, name), f"checkpoint: {name}"))

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


def _flag(value: Any, what: str) -> bool:
    """True or False, also as 1 and 0."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise InvalidInput(f"{what} must be True or False; got {value!r:.60}")


def _real(value: Any, what: str) -> float:
    """A number, infinite where it is too large for one, but not nan."""
    try:
        number = math.nan if isinstance(value, (bool, np.bool_, str, bytes, complex)) else float(value)
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
