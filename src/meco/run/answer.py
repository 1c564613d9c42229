"""What a user's function returned, read into numbers or into the reason why that is impossible."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import IntEnum
from numbers import Real
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import to_numpy
from meco.errors import MecoError

NO_VALUES = np.zeros(0)
MISSING_VALUE = "is None (is a return missing in what computes it?)"
GAVE_A_DICT, GAVE_TOO_MANY = "it returned a dict", "values, but has limits for"  # of a constraint
NO_KEY = "is no key of an answer"
TRUTH_VALUES = "g must be numbers, of which g <= 0 is kept: for x[0] >= 1 write 1 - x[0]"
CLEARLY_OFF = 1e-4  # of an equality that a partial answer violates, at least
ANSWER_KEYS = ("f", "g", "h", "se", "info")  # of a dict that a function returns; info is not read
OTHER_WORDS = {  # for what these keys hold, as other libraries and people call it
    "f": ("fun", "fx", "obj", "objective", "objectives", "cost", "loss", "y"),
    "g": ("c", "con", "cons", "constr", "constraint", "constraints", "ineq", "ineqs", "inequality", "inequalities"),
    "h": ("eq", "eqs", "equality", "equalities"),
    "se": ("std", "sem", "sd", "sigma", "stderr", "noise", "error", "errors", "variance"),
}


class Fault(IntEnum):
    """Why a call gave no usable evaluation; the numbers are those of the log."""

    NONE = 0
    NOT_FINITE = 1
    RAISED = 2
    TIMEOUT = 3
    MALFORMED = 4
    MISMATCH = 5
    WORKER_LOST = 6
    TOLD = 7
    NOT_CALLED = 8  # for a reason that is not the function's: never logged


FAULT_MESSAGES = {
    Fault.NOT_FINITE: "gave a number that is not finite",
    Fault.RAISED: "raised an exception",
    Fault.TIMEOUT: "ran past the timeout",
    Fault.MALFORMED: "gave something other than f, (f, g), (f, g, h) or a dict of them",
    Fault.MISMATCH: "gave another number of constraints",
    Fault.WORKER_LOST: "lost the worker process",
    Fault.TOLD: "told as failed",
    Fault.NOT_CALLED: "could not be called",
}


class EvaluationFailed(MecoError, RuntimeError):
    """A call of the user's function failed and on_error is "raise"; result holds what was found before."""

    result: Any = None


class CannotCall(RuntimeError):
    """The function cannot be called for a reason that is not its own: a full disk, a program that is gone."""


class Cause:
    """The exception that a call raised. It stays in its process: only its text travels, since unpickling runs code."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def __reduce__(self) -> tuple[type[Cause], tuple[()]]:
        return Cause, ()


class Answer(NamedTuple):
    """One call's numbers; names are those the function gave, "" where it gave none."""

    f: float
    g: np.ndarray = NO_VALUES
    h: np.ndarray = NO_VALUES
    g_names: tuple[str, ...] = ()
    h_names: tuple[str, ...] = ()
    fault: Fault = Fault.NONE
    reason: str = ""
    cause: Cause | None = None
    where: str = ""  # the line that raised it, or that of a function whose answer cannot be read
    se: np.ndarray = NO_VALUES  # standard errors of f, g and h [1 + p + q]; [0] without any

    @property
    def good(self) -> bool:
        """Whether the call gave usable values; nan among them stands for "not computed, since x is infeasible"."""
        return self.fault is Fault.NONE

    @property
    def informative(self) -> bool:
        """Whether its numbers can be learnt from: those of a good answer, or finite ones beside nan."""
        if self.fault is not Fault.NOT_FINITE:
            return self.good
        return not (math.isinf(self.f) or np.isinf(self.g).any() or np.isinf(self.h).any())

    @property
    def violates_a_constraint(self) -> bool:
        """Whether a constraint is violated, which explains what a partial answer leaves out."""
        return bool((self.g > 0.0).any() or (np.abs(self.h) > CLEARLY_OFF).any())


def make_failed_answer(fault: Fault, reason: str, cause: Cause | None = None) -> Answer:
    """The answer of a call that gave no numbers: f is nan, without constraints."""
    return Answer(np.nan, fault=fault, reason=reason, cause=cause)


def make_raised_answer(error: BaseException) -> Answer:
    """The answer of a call that raised, with the line that did."""
    answer = make_failed_answer(Fault.RAISED, f"{type(error).__name__}: {_shorten(error, str)}", Cause(error))
    return answer._replace(where=_describe_line(error.__traceback__))


def _describe_line(trace: TracebackType | None) -> str:
    """The line that raised an exception, in words; "" where that is one of ours, which runs a program."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_globals.get("__name__", "").startswith(("meco.run.call", "meco.run.command")):
        return ""
    return f"in {trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}"


class Unreadable(Exception):
    """The value is not made of real numbers."""


class WrongForm(Unreadable):
    """The value of a constraint has a form that no point will change."""


def read_answer(value: Any) -> Answer:
    """The answer to one point from whatever the function returned.

    What cannot be read is a failed answer, never an error.
    """
    try:
        f, g, h = _split_answer(value)
        if f is None and g is None and h is None:
            raise Unreadable("None is not a number")
        scalar = as_vector(math.nan if f is None else f)
        if scalar.size != 1:
            raise Unreadable(f"f must be one number, not {scalar.size}")
        (g, g_names), (h, h_names) = _read_named(g), _read_named(h)
        errors = NO_VALUES if (told := _read_told_errors(value)) is None else read_errors(told, (*g_names, *h_names))
    except Exception as error:  # whatever an unknown object does when it is read
        return _make_unreadable_answer(value, error)
    answer = check_finite(Answer(float(scalar[0]), g, h, g_names, h_names, se=errors))
    return _name_missing(answer, value) if answer.fault is Fault.NOT_FINITE else answer


def _name_missing(answer: Answer, value: Any) -> Answer:
    """A failed answer, whose reason names the first constraint that is None, where that is all that is wrong."""
    if not math.isfinite(answer.f):
        return answer
    for kind, part, names in zip("gh", _split_answer(value)[1:], (answer.g_names, answer.h_names)):
        values = list(part.values()) if isinstance(part, Mapping) else part
        for i, each in enumerate(values if isinstance(values, (list, tuple)) else ()):
            if each is None:
                return answer._replace(reason=f"{names[i] or f'{kind}{i + 1}'} {MISSING_VALUE}")
    return answer


def _read_told_errors(value: Any) -> Any:
    """What an answer says of its standard errors, unread; None where it says nothing."""
    return value.get("se") if isinstance(value, Mapping) else None


def check_constraint(values: Any) -> None:
    """Unreadable where a constraint returned nothing, or True or False, which as numbers mean the opposite."""
    if values is None:
        raise Unreadable("it returned None (is a return missing?)")
    if isinstance(values, Mapping):
        raise WrongForm(f'{GAVE_A_DICT}; a constraint returns numbers, and is named where it is given, {{"gap": fun}}')
    check_truth_values(values)


def check_truth_values(values: Any) -> None:
    """Unreadable where values of constraints are True or False."""
    each = values if isinstance(values, (list, tuple)) else (values,)
    if any(isinstance(v, (bool, np.bool_)) or getattr(getattr(v, "dtype", None), "kind", "") == "b" for v in each):
        raise Unreadable(TRUTH_VALUES)


def read_errors(told: Any, names: Sequence[str]) -> np.ndarray:
    """Standard errors [1 + C] of f and of constraints of these names, "" where they have none.

    told is a list of them, a dict by name, in which what is missing has none, or a number where f is all there is.
    Unreadable where they do not fit.
    """
    if isinstance(told, Mapping):
        for name in told:
            if name != "f" and name not in names:
                raise Unreadable(f"se has {name!r}, which is no name of f or a constraint")
        told = [told.get(name, 0.0) if name else 0.0 for name in ("f", *names)]
    found = as_vector(told)
    if found.size != 1 + len(names):
        raise Unreadable(f"se must have {1 + len(names)} numbers, of f and of each constraint, not {found.size}")
    if not (np.isfinite(found) & (found >= 0.0)).all():
        raise Unreadable("se must be finite numbers, 0 or more")
    return found


def _make_unreadable_answer(value: Any, error: Exception) -> Answer:
    """The answer of a call that returned something else than f, g and h."""
    ours = isinstance(error, Unreadable)  # sentences of ours are not cut
    hint = "is a return missing?" if value is None else str(error) if ours else _shorten(error, str)
    return make_failed_answer(Fault.MALFORMED, f"it returned {_shorten(value)} ({hint})")


def read_rows(value: Any, count: int) -> list[Answer]:
    """The answers to `count` points that a vectorized function took at once: f [S], g [S, p], h [S, q].

    What cannot be read makes every answer a failed one.
    """
    try:
        f, g, h = _split_answer(value)
        column = _read_rows_of_numbers(np.full(count, math.nan) if f is None and g is not None else f, count)
        if column.shape[1] != 1:
            raise Unreadable(f"f must have one number for each of the {count} rows of x (rows are points)")
        (g, g_names), (h, h_names) = _read_named_rows(g, count), _read_named_rows(h, count)
        errors = [NO_VALUES] * count
        if (told := _read_told_errors(value)) is not None:
            names = (*g_names, *h_names)
            errors = [read_errors(row, names) for row in _split_error_rows(told, count)]
    except Exception as error:
        return [_make_unreadable_answer(value, error)] * count
    return [check_finite(Answer(float(column[i, 0]), g[i], h[i], g_names, h_names, se=errors[i])) for i in range(count)]


def _split_error_rows(told: Any, count: int) -> list[Any]:
    """Standard errors of each of `count` points: rows of [S, 1 + C], or dicts by name of columns [S] by name."""
    if not isinstance(told, Mapping):
        return list(_read_rows_of_numbers(told, count))
    columns, names = _read_named_rows(told, count)
    return [dict(zip(names, row)) for row in columns.tolist()]


def check_finite(answer: Answer) -> Answer:
    """The same answer, marked as failed when a number in it is not finite.

    An answer in which nan stands for what was not computed is a partial one where what is known says why: a constraint
    is violated. Else nobody knows what is wrong with the point, and it counts as failed, too.
    """
    for where, values in (("f", (answer.f,)), ("g", answer.g.tolist()), ("h", answer.h.tolist())):
        if not all(map(math.isfinite, values)):
            if answer.fault in (Fault.NONE, Fault.NOT_FINITE) and _is_partial_answer(answer):
                return answer._replace(fault=Fault.NONE, reason="")
            return answer._replace(fault=Fault.NOT_FINITE, reason=f"{where} is not finite")
    return answer


def _is_partial_answer(answer: Answer) -> bool:
    """Whether an answer with gaps has a constraint that is violated, and no infinite number."""
    if math.isinf(answer.f) or np.isinf(answer.g).any() or np.isinf(answer.h).any():
        return False
    return bool((answer.g > 0.0).any() or (np.abs(answer.h) > CLEARLY_OFF).any())


def as_vector(value: Any) -> np.ndarray:
    """A vector [n] of float64 from a number, a list of numbers or an array of at most one long axis.

    Else Unreadable.
    """
    if isinstance(value, (float, int)):
        return np.array([value], dtype=np.float64)
    if isinstance(value, (list, tuple)):
        return np.array([_read_number(v) for v in value], dtype=np.float64)
    array = np.asarray(to_numpy(value))
    if array.dtype.kind == "O":
        return np.array([_read_number(v) for v in array.ravel()], dtype=np.float64)
    if array.dtype.kind not in "biuf":
        raise Unreadable(f"{array.dtype} is not a real number")
    if array.ndim > 1 and sum(size != 1 for size in array.shape) > 1:
        raise Unreadable(f"an array of shape {array.shape} is not a list of numbers")
    return array.astype(np.float64).ravel()


def _read_number(value: Any) -> float:
    """A single number, also where it comes in a list or an array of one; None is nan. Unreadable for others."""
    if isinstance(value, (float, int, Real, Decimal)):
        return float(value)
    if value is None:  # not computed
        return math.nan
    if isinstance(value, (list, tuple, np.ndarray, np.generic)) or hasattr(value, "__array__"):
        inner = as_vector(value)
        if inner.size == 1:
            return float(inner[0])
    raise Unreadable(f"{_shorten(value)} is not a number")


def _split_answer(value: Any) -> tuple[Any, Any, Any]:
    """f, g and h of whatever form the answer has, unread, None where it has none; Unreadable for other forms."""
    if isinstance(value, tuple):
        if not 1 <= len(value) <= 3:
            raise Unreadable(f"a tuple must be (f, g) or (f, g, h), not of {len(value)}")
        if len(value) > 1 and isinstance(value[0], (list, Mapping)) and isinstance(value[1], (Real, Decimal)):
            raise Unreadable("f comes first: are f and g swapped?")
        return (*value, None, None)[:3]
    if isinstance(value, Mapping):
        _check_keys(value)
        return value.get("f"), value.get("g"), value.get("h")
    return value, None, None


def _check_keys(answer: Mapping[Any, Any]) -> None:
    """Unreadable for a dict with a key of no meaning, which may hold a constraint, or without anything known."""
    strange = [key for key in answer if key not in ANSWER_KEYS]
    if strange:
        key = _shorten(strange[0], str)
        meant = _find_meant_key(key)
        hint = f'constraints go under "g", {{"f": .., "g": {{"{key}": ..}}}}'
        if meant is not None and meant not in answer:
            hint = f'did you mean "{meant}"?'
        raise Unreadable(f'"{key}" {NO_KEY}: {hint}')
    if not any(key in answer for key in ("f", "g", "h")):  # constraints alone: f was not computed
        raise Unreadable('a dict must hold "f"')


def _find_meant_key(key: str) -> str | None:
    """The key of an answer that somebody means who writes another; None where it looks like a name of their own."""
    word = key.lower().strip("_")
    for known, others in OTHER_WORDS.items():
        if word == known or word in others or (len(known) == 1 and word and set(word) == {known}):
            return known
    return None


def _read_named(values: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Values [p] of constraints and their names, "" where they come without; none of None. Unreadable for others."""
    if values is None:
        return NO_VALUES, ()
    if isinstance(values, (dict, Mapping)):
        check_truth_values(list(values.values()))
        return np.array([_read_number(v) for v in values.values()], dtype=np.float64), tuple(str(k) for k in values)
    check_truth_values(values)
    found = as_vector(values)
    return found, ("",) * found.size


def _read_named_rows(values: Any, count: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Values [S, p] of constraints and their names, "" where they come without; p = 0 of None.

    Unreadable for others.
    """
    if values is None:
        return np.zeros((count, 0)), ()
    check_truth_values(list(values.values()) if isinstance(values, Mapping) else values)
    if isinstance(values, Mapping):
        columns = [_read_rows_of_numbers(v, count) for v in values.values()]
        if any(c.shape[1] != 1 for c in columns):
            raise Unreadable("each named constraint must have one number for each row of x")
        return np.concatenate([np.zeros((count, 0)), *columns], axis=1), tuple(str(k) for k in values)
    found = _read_rows_of_numbers(values, count)
    return found, ("",) * found.shape[1]


def _read_rows_of_numbers(values: Any, count: int) -> np.ndarray:
    """Numbers [S, n] from [S], [S, n] or, for a single row, [n]; Unreadable for other shapes."""
    array = np.asarray(to_numpy(values))
    if array.dtype.kind not in "biuf":
        array = np.array([[_read_number(v) for v in np.atleast_1d(row)] for row in array])
    array = array.astype(np.float64)
    if array.ndim == 0:
        array = array[None]
    if array.ndim == 1 and array.shape[0] == count:
        return array[:, None]
    if array.ndim == 2 and array.shape[0] == count:
        return array
    raise Unreadable(f"an array of shape {array.shape} has not {count} rows (rows are points)")


def _shorten(value: Any, as_text: Any = repr) -> str:
    """A value in one line of at most 80 characters; an object that cannot be written is called by its type."""
    try:
        text = str(as_text(value))
    except (Exception, SystemExit):
        text = f"a {type(value).__name__}"
    text = " ".join(text[:1000].split())
    return text if len(text) <= 80 else text[:77] + "..."
