"""One call of a user's function: what it returns, read into numbers or into the reason why that is impossible."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import IntEnum
from numbers import Real
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meco.core.arrays import to_numpy
from meco.errors import MecoError

if TYPE_CHECKING:
    from meco.variables import Variables

NO_VALUES = np.zeros(0)


class Fault(IntEnum):
    """Why a call gave no usable evaluation; the numbers are those of the log."""

    NONE = 0
    NOT_FINITE = 1
    RAISED = 2
    TIMEOUT = 3
    MALFORMED = 4
    MISMATCH = 5
    WORKER_LOST = 6


FAULT_MESSAGES = {
    Fault.NOT_FINITE: "gave a number that is not finite",
    Fault.RAISED: "raised an exception",
    Fault.TIMEOUT: "ran past eval_timeout",
    Fault.MALFORMED: "gave something other than f, (f, g), (f, g, h) or a dict of them",
    Fault.MISMATCH: "gave another number of constraints",
    Fault.WORKER_LOST: "lost the worker process",
}


class EvaluationFailed(MecoError, RuntimeError):
    """A call of the user's function failed and on_error is "raise"; result holds what was found before."""

    result: Any = None


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
    where: str = ""  # the line that raised it


def failed_answer(fault: Fault, reason: str, cause: Cause | None = None) -> Answer:
    """The answer of a call that gave no numbers."""
    return Answer(np.nan, fault=fault, reason=reason, cause=cause)


def raised_answer(error: BaseException) -> Answer:
    """The answer of a call that raised."""
    answer = failed_answer(Fault.RAISED, f"{type(error).__name__}: {_short(error, str)}", Cause(error))
    return answer._replace(where=_line(error.__traceback__))


def _line(trace: TracebackType | None) -> str:
    """The line that raised an exception, in words."""
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"in {trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}"


class Unreadable(Exception):
    """The value is not made of real numbers."""


def read_answer(value: Any) -> Answer:
    """The answer to one point."""
    try:
        f, g, h = _parts(value)
        scalar = as_vector(f)
        if scalar.size != 1:
            raise Unreadable(f"f must be one number, not {scalar.size}")
        (g, g_names), (h, h_names) = _named(g), _named(h)
    except Exception as error:  # whatever an unknown object does when it is read
        return failed_answer(Fault.MALFORMED, f"it returned {_short(value)} ({_short(error, str)})")
    return check_finite(Answer(float(scalar[0]), g, h, g_names, h_names))


def read_rows(value: Any, count: int) -> list[Answer]:
    """The answers to `count` points that a vectorized function took at once: f [S], g [S, p], h [S, q]."""
    try:
        f, g, h = _parts(value)
        column = _table(f, count)
        if column.shape[1] != 1:
            raise Unreadable(f"f must have one number for each of the {count} rows of x (rows are points)")
        (g, g_names), (h, h_names) = _named_rows(g, count), _named_rows(h, count)
    except Exception as error:
        return [failed_answer(Fault.MALFORMED, f"it returned {_short(value)} ({_short(error, str)})")] * count
    return [check_finite(Answer(float(column[i, 0]), g[i], h[i], g_names, h_names)) for i in range(count)]


def check_finite(answer: Answer) -> Answer:
    """The same answer, marked as failed when a number in it is not finite."""
    for where, values in (("f", (answer.f,)), ("g", answer.g.tolist()), ("h", answer.h.tolist())):
        if not all(map(math.isfinite, values)):
            return answer._replace(fault=Fault.NOT_FINITE, reason=f"{where} is not finite")
    return answer


def as_vector(value: Any) -> np.ndarray:
    """A vector of float64 from a number, a list of numbers, or an array of at most one long axis."""
    if isinstance(value, (float, int)):
        return np.array([value], dtype=np.float64)
    if isinstance(value, (list, tuple)):
        return np.array([_one(v) for v in value], dtype=np.float64)
    array = np.asarray(to_numpy(value))
    if array.dtype.kind == "O":
        return np.array([_one(v) for v in array.ravel()], dtype=np.float64)
    if array.dtype.kind not in "biuf":
        raise Unreadable(f"{array.dtype} is not a real number")
    if array.ndim > 1 and sum(size != 1 for size in array.shape) > 1:
        raise Unreadable(f"an array of shape {array.shape} is not a list of numbers")
    return array.astype(np.float64).ravel()


def _one(value: Any) -> float:
    if isinstance(value, (float, int, Real, Decimal)):
        return float(value)
    if isinstance(value, (list, tuple, np.ndarray, np.generic)) or hasattr(value, "__array__"):
        inner = as_vector(value)
        if inner.size == 1:
            return float(inner[0])
    raise Unreadable(f"{_short(value)} is not a number")


def _parts(value: Any) -> tuple[Any, Any, Any]:
    """f, g and h of whatever form the answer has."""
    if isinstance(value, tuple):
        if not 1 <= len(value) <= 3:
            raise Unreadable(f"a tuple must be (f, g) or (f, g, h), not of {len(value)}")
        return (*value, None, None)[:3]
    if isinstance(value, Mapping):
        if "f" not in value:
            raise Unreadable('a dict must hold "f"')
        return value["f"], value.get("g"), value.get("h")
    return value, None, None


def _named(values: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    if values is None:
        return NO_VALUES, ()
    if isinstance(values, (dict, Mapping)):
        return np.array([_one(v) for v in values.values()], dtype=np.float64), tuple(str(k) for k in values)
    found = as_vector(values)
    return found, ("",) * found.size


def _named_rows(values: Any, count: int) -> tuple[np.ndarray, tuple[str, ...]]:
    if values is None:
        return np.zeros((count, 0)), ()
    if isinstance(values, Mapping):
        columns = [_table(v, count) for v in values.values()]
        if any(c.shape[1] != 1 for c in columns):
            raise Unreadable("each named constraint must have one number for each row of x")
        return np.concatenate([np.zeros((count, 0)), *columns], axis=1), tuple(str(k) for k in values)
    found = _table(values, count)
    return found, ("",) * found.shape[1]


def _table(values: Any, count: int) -> np.ndarray:
    """Numbers [S, n] from [S], [S, n] or, for a single row, [n]."""
    array = np.asarray(to_numpy(values))
    if array.dtype.kind not in "biuf":
        array = np.array([[_one(v) for v in np.atleast_1d(row)] for row in array])
    array = array.astype(np.float64)
    if array.ndim == 0:
        array = array[None]
    if array.ndim == 1 and array.shape[0] == count:
        return array[:, None]
    if array.ndim == 2 and array.shape[0] == count:
        return array
    raise Unreadable(f"an array of shape {array.shape} has not {count} rows (rows are points)")


def _short(value: Any, as_text: Any = repr) -> str:
    try:
        text = str(as_text(value))
    except (Exception, SystemExit):
        text = f"a {type(value).__name__}"
    text = " ".join(text[:1000].split())
    return text if len(text) <= 80 else text[:77] + "..."


Constraint = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # x [D] or rows -> g, h


class Call:
    """The function and its separate constraints; (number, rows of points) -> answers and seconds.

    A function with the attribute `numbered` is also told the number of the call. A function may fork:
    the copy of this process that comes back from it ends here, so that every call is answered once.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        constraints: tuple[Constraint, ...] = (),
        vectorized: bool = False,
        named: Variables | None = None,
    ) -> None:
        self.fun, self.constraints, self.vectorized, self.named = fun, constraints, vectorized, named
        self.numbered = bool(getattr(fun, "numbered", False))
        self.errstate = np.geterr()  # the caller's own, whatever the library sets around it

    def __call__(self, number: int, points: np.ndarray) -> tuple[list[Answer], float]:
        start, me = perf_counter(), os.getpid()
        try:
            with np.errstate(**self.errstate):
                given: Any = points.copy() if self.vectorized else points[0].copy()
                given = given if self.named is None else self.named.as_dict(given)
                value = self.fun(given, number) if self.numbered else self.fun(given)
                answers = self._rows(value, points) if self.vectorized else [self._one(value, points[0])]
        except (Exception, SystemExit) as error:  # a crash of the simulation is a failed evaluation
            answers = [raised_answer(error)] * len(points)
        finally:
            if os.getpid() != me:
                os._exit(0)
        return answers, perf_counter() - start

    def _one(self, value: Any, x: np.ndarray) -> Answer:
        answer = read_answer(value)
        if not self.constraints or answer.fault is not Fault.NONE:
            return answer
        parts = [constraint(x.copy()) for constraint in self.constraints]
        return check_finite(_join_constraints(answer, [g for g, _ in parts], [h for _, h in parts], self.constraints))

    def _rows(self, value: Any, points: np.ndarray) -> list[Answer]:
        answers = read_rows(value, len(points))
        if not self.constraints or all(a.fault is Fault.MALFORMED for a in answers):
            return answers
        parts = [constraint(points.copy()) for constraint in self.constraints]
        return [
            check_finite(_join_constraints(a, [g[i] for g, _ in parts], [h[i] for _, h in parts], self.constraints))
            for i, a in enumerate(answers)
        ]


def _join_constraints(
    answer: Answer, g: list[np.ndarray], h: list[np.ndarray], constraints: tuple[Constraint, ...]
) -> Answer:
    """The answer with the separate constraints after the function's own; those with a label are named by it."""
    labels = [getattr(constraint, "label", "") for constraint in constraints]
    return answer._replace(
        g=np.concatenate([answer.g, *g]),
        h=np.concatenate([answer.h, *h]),
        g_names=answer.g_names + tuple(name for label, v in zip(labels, g) for name in label_names(label, v.size, "g")),
        h_names=answer.h_names + tuple(name for label, v in zip(labels, h) for name in label_names(label, v.size, "h")),
    )


def label_names(label: str, count: int, kind: str) -> tuple[str, ...]:
    """Names of the values of one separate constraint: "" where it has no label."""
    return tuple(f"{label} {kind}{i}" for i in range(1, count + 1)) if label else ("",) * count
