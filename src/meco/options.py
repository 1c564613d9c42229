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
from typing import Any, Literal, get_args

import numpy as np

from meco.errors import InvalidInput, UnknownName, name_unknown_fields
from meco.read_numbers import read_flag, read_real, read_seconds, read_whole_number

INEQ_TOL, EQ_TOL = 1e-8, 1e-4  # rounding, and what the benchmark suites call an equality
StopName = Literal["feasible", "converged"]
STOP_NAMES = get_args(StopName)
OnError = Literal["penalize", "retry", "raise"]

Tolerance = float | list[float] | dict[str, float]  # for all constraints, in their order, or by name
Noise = bool | float | list[float] | dict[str, float]  # whether there is any, or how much: of all, in order, or by name


# -- tolerances --------------------------------------------------------------------------------------


@name_unknown_fields
@dataclass(frozen=True)
class Tolerances:
    """How far constraints may be off: feasible means every g <= ineq and every |h| <= eq.

    ineq and eq are a number, a list in the order of the constraints, or a dict by name. An equality without a tolerance
    has 1e-4, or 1e-4 of the median of its values in the first design where these are below 1. keep_feasible names
    constraints that must never be violated during the search, True for every inequality. names are for messages and
    tables, inequalities first.
    """

    ineq: Tolerance | np.ndarray = INEQ_TOL
    eq: Tolerance | np.ndarray | None = None
    keep_feasible: bool | Sequence[str] = False
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check and set every field; InvalidInput for what cannot be a tolerance or a name."""
        object.__setattr__(self, "ineq", _read_tolerance(self.ineq, "ineq"))
        object.__setattr__(self, "eq", None if self.eq is None else _read_tolerance(self.eq, "eq"))
        object.__setattr__(self, "keep_feasible", _read_keep_feasible(self.keep_feasible))
        object.__setattr__(self, "names", read_constraint_names(self.names))

    @classmethod
    def read(cls, given: Any) -> Tolerances:
        """A record as it is; a number for every constraint; a dict by name; the defaults for None.

        InvalidInput for others.
        """
        if given is None:
            return cls()
        return given if isinstance(given, Tolerances) else cls(ineq=given, eq=given)


def _read_tolerance(given: Any, keyword: str) -> Tolerance:
    """A tolerance in one of its three forms, every number in it checked; InvalidInput for others."""
    if isinstance(given, Mapping):
        return {str(name): _check_tolerance(value, f"{keyword}[{name!r}]") for name, value in given.items()}
    listed = given.ndim == 1 if isinstance(given, np.ndarray) else isinstance(given, Sequence)
    if listed and not isinstance(given, (str, bytes)):
        return [_check_tolerance(value, f"{keyword}[{i}]") for i, value in enumerate(given)]
    return _check_tolerance(given, keyword)


def _check_tolerance(value: Any, what: str) -> float:
    """A finite number, 0 or more; InvalidInput, which calls it `what`, for others."""
    number = _read_nonnegative(value)
    if number is None:
        raise InvalidInput(
            f"tolerances: {what} must be a finite number, 0 or more (or a list of them in order, or a dict by name); "
            f"got {value!r:.60}"
        )
    return number


def _read_nonnegative(value: Any) -> float | None:
    """A finite number, 0 or more; None for anything else, True and False too."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def read_noise(given: Any) -> Noise | None:
    """Whether calls of one point differ, or the standard deviation of a call: one of the forms of Noise, checked.

    A list is that of f and of each constraint in order; a dict has "f" and names of constraints, others have none.
    """
    if given is None or isinstance(given, (bool, np.bool_)):
        return None if given is None else bool(given)
    if isinstance(given, Mapping):
        found: Noise = {str(name): _check_deviation(value, f"noise[{name!r}]") for name, value in given.items()}
    elif isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim == 1):
        found = [_check_deviation(value, f"noise[{i}]") for i, value in enumerate(given)]
    else:
        found = _check_deviation(given, "noise")
    every = found.values() if isinstance(found, dict) else found if isinstance(found, list) else (found,)
    return found if any(value > 0.0 for value in every) else False


def _check_deviation(value: Any, what: str) -> float:
    """A finite number, 0 or more, and no text; InvalidInput, which calls it `what`, for others."""
    number = None if isinstance(value, (str, bytes)) else _read_nonnegative(value)
    if number is None:
        raise InvalidInput(
            f"{what} must be True, False, or the standard deviation of a call: a finite number, 0 or more (or a list "
            f'of them, f first, or a dict by name with "f"); got {value!r:.60}'
        )
    return number


def _read_keep_feasible(given: Any) -> bool | tuple[str, ...]:
    """True for every inequality, False or None for none, or names; InvalidInput for others."""
    if given is None or isinstance(given, (bool, np.bool_)):
        return bool(given)
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(n, str) for n in given):
        raise InvalidInput(f"keep_feasible must be True (every inequality) or a list of names; got {given!r:.60}")
    return tuple(given)


def read_constraint_names(given: Any) -> tuple[str, ...]:
    """Names of constraints, each once, () for None; InvalidInput for others."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(n, str) for n in given):
        raise InvalidInput(f"names of constraints must be a list of texts; got {given!r:.60}")
    for name in given:
        if list(given).count(name) > 1:
            raise InvalidInput(f"names of constraints has {name!r} twice")
    return tuple(given)


# -- workers -----------------------------------------------------------------------------------------


@name_unknown_fields
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
        """Check and set every field, -1 as all cores; InvalidInput for what cannot call a function."""
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
            object.__setattr__(self, "batch", read_whole_number(self.batch, "batch"))
        if self.timeout is not None:
            object.__setattr__(self, "timeout", read_seconds(self.timeout, "timeout", positive=True))
        for name in ("asynchronous", "vectorized"):
            object.__setattr__(self, name, read_flag(getattr(self, name), name))

    @classmethod
    def read(cls, given: Any) -> Workers:
        """A record as it is; a number, an executor or a map; InvalidInput for others."""
        return given if isinstance(given, Workers) else cls(given)

    @property
    def at_once(self) -> int:
        """How many points can be evaluated side by side."""
        return self.n if isinstance(self.n, int) else self.AT_ONCE


# -- stops -------------------------------------------------------------------------------------------


@name_unknown_fields
@dataclass(frozen=True)
class Stop:
    """What ends a run before its budget is spent: whatever comes first."""

    target: float | None = None  # a feasible f
    max_time: float | None = None  # seconds
    feasible: bool = False  # at the first feasible point
    converged: bool = False  # where the search would start again from elsewhere

    def __post_init__(self) -> None:
        """Check and set every field; InvalidInput for what is no number or no flag."""
        if self.target is not None:
            object.__setattr__(self, "target", read_real(self.target, "target"))
        if self.max_time is not None:
            object.__setattr__(self, "max_time", read_seconds(self.max_time, "max_time"))
        for name in STOP_NAMES:
            object.__setattr__(self, name, read_flag(getattr(self, name), f"stop: {name}"))

    @classmethod
    def read(cls, given: Any) -> Stop:
        """A record as it is; "feasible", "converged", or a number of seconds; None ends nothing.

        UnknownName or InvalidInput else.
        """
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


@name_unknown_fields
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
        """Check and set every field; InvalidInput for what is no path or no flag. Nothing is made yet."""
        try:
            folder = os.fspath(self.folder)
        except TypeError:
            folder = ""
        if not folder or not isinstance(folder, str) or "\0" in folder:
            raise InvalidInput(f"checkpoint must be the path of a folder; got {self.folder!r:.60}")
        for name in ("resume", "fsync"):
            object.__setattr__(self, name, read_flag(getattr(self, name), f"checkpoint: {name}"))

    @classmethod
    def read(cls, given: Any) -> Checkpoint | None:
        """A record as it is; the path of a folder; None for none. InvalidInput for others."""
        return given if given is None or isinstance(given, Checkpoint) else cls(given)


# -- methods -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Method:
    """A method with options of its own: Method("MeCO", policy="my.safetensors"), Method("SHADE", pop_size=30).

    name is any of METHODS, "file.py:Name", a MethodRecord, or an engine of your own.
    """

    name: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    def __init__(self, name: str | Callable[..., Any] | Any, /, **options: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", dict(options))

    @classmethod
    def read(cls, given: Any) -> Method:
        """A record as it is; a name, a record of METHODS or an engine, without options."""
        return given if isinstance(given, Method) else cls(given)
