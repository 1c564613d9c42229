"""One call of a user's function and of its separate constraints, here or in whichever process holds this object."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.run.answer import (
    MISSING_VALUE,
    Answer,
    CannotCall,
    Fault,
    Unreadable,
    check_finite,
    make_failed_answer,
    make_raised_answer,
    read_answer,
    read_rows,
)
from meco.run.blas import threads_of_caller

if TYPE_CHECKING:
    from meco.run.stop import Stopping
    from meco.variables import Variables

Done = tuple[int, list[Answer], float]  # number, answers, seconds
Constraint = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # x [D] or rows -> g, h


class Call:
    """The function and its separate constraints; (number, rows of points) -> answers and seconds.

    Every backend carries one of these to where it calls: this is the line in which minimize() calls the function.

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
        """vectorized functions get rows of points; with named variables a point is a dict.

        Keeps NumPy's error handling.
        """
        self.fun, self.constraints, self.vectorized, self.named = fun, constraints, vectorized, named
        self.numbered = bool(getattr(fun, "numbered", False))
        self.errstate = np.geterr()  # the caller's own, whatever the library sets around it

    def __call__(self, number: int, points: np.ndarray) -> tuple[list[Answer], float]:
        """Call the function with these points [m, D], the first of which has this number: answers [m] and seconds.

        It never raises but for Ctrl-C.
        """
        start, me = perf_counter(), os.getpid()
        try:
            with np.errstate(**self.errstate), threads_of_caller():
                given: Any = points.copy() if self.vectorized else points[0].copy()
                given = given if self.named is None else self.named.as_dict(given)
                value = self.fun(given, number) if self.numbered else self.fun(given)
                answers = self._read_points(value, points) if self.vectorized else [self._read_point(value, points[0])]
        except CannotCall as error:
            answers = [make_failed_answer(Fault.NOT_CALLED, str(error))] * len(points)
        except (Exception, SystemExit) as error:  # a crash of the simulation is a failed evaluation
            answers = [make_raised_answer(error)] * len(points)
        finally:
            if os.getpid() != me:
                os._exit(0)
        return answers, perf_counter() - start

    def _read_point(self, value: Any, x: np.ndarray) -> Answer:
        """The answer of a function of one point x [D], with the separate constraints there."""
        answer = self._add_location(read_answer(value))
        if not self.constraints or answer.fault not in (Fault.NONE, Fault.NOT_FINITE):
            return answer
        try:
            parts = [_ask_constraint(i, constraint, x) for i, constraint in enumerate(self.constraints)]
        except UnreadableConstraint as error:
            return error.answer
        return check_finite(_join_constraints(answer, [g for g, _ in parts], [h for _, h in parts], self.constraints))

    def _add_location(self, answer: Answer) -> Answer:
        """The answer, with the place of the function in `where` if what it returned cannot be read."""
        if answer.fault is Fault.MALFORMED or answer.reason.endswith(MISSING_VALUE):
            return answer._replace(where=_describe_place(self.fun))
        return answer

    def _read_points(self, value: Any, points: np.ndarray) -> list[Answer]:
        """The answers of a vectorized function of points [m, D], with the separate constraints there."""
        answers = [self._add_location(answer) for answer in read_rows(value, len(points))]
        if not self.constraints or all(a.fault is Fault.MALFORMED for a in answers):
            return answers
        try:
            parts = [_ask_constraint(i, constraint, points) for i, constraint in enumerate(self.constraints)]
        except UnreadableConstraint as error:
            return [error.answer] * len(points)
        return [
            check_finite(_join_constraints(a, [g[i] for g, _ in parts], [h[i] for _, h in parts], self.constraints))
            for i, a in enumerate(answers)
        ]


class UnreadableConstraint(Exception):
    """A separate constraint gave no numbers; answer is that of its call."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


def _ask_constraint(index: int, constraint: Constraint, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """g and h of a separate constraint at a copy of x; UnreadableConstraint, with name and place, for no numbers."""
    try:
        return constraint(x.copy())
    except Unreadable as error:
        label = getattr(constraint, "label", "") if getattr(constraint, "named", False) else f"constraints[{index}]"
        own, place = getattr(_find_function(constraint), "__name__", ""), _describe_place(constraint)
        said = f"constraint {label}{f' ({own})' if own else ''}: {error}"
        raise UnreadableConstraint(make_failed_answer(Fault.MALFORMED, said)._replace(where=place)) from None


def _find_function(fun: Any) -> Any:
    """The user's function inside of what carries it: SciPy's objects, bound arguments, partials."""
    for name in ("values", "fun", "func"):
        if callable(inner := getattr(fun, name, None)):
            return _find_function(inner)
    return fun


def _describe_place(fun: Any) -> str:
    """File and first line of a function, in words; "" where it has none."""
    code = getattr(_find_function(fun), "__code__", None)
    return "" if code is None else f"in {code.co_filename}, line {code.co_firstlineno}"


def _join_constraints(
    answer: Answer, g: list[np.ndarray], h: list[np.ndarray], constraints: tuple[Constraint, ...]
) -> Answer:
    """The answer with the separate constraints, [p] and [q] each, after the function's own, named by their labels."""
    errors = answer.se
    if errors.size:  # those of separate constraints have none
        own = 1 + answer.g.size
        more = [np.zeros(sum(v.size for v in part)) for part in (g, h)]
        errors = np.concatenate([errors[:own], more[0], errors[own:], more[1]])
    return answer._replace(
        se=errors,
        g=np.concatenate([answer.g, *g]),
        h=np.concatenate([answer.h, *h]),
        g_names=answer.g_names + _list_names(constraints, g, "g"),
        h_names=answer.h_names + _list_names(constraints, h, "h"),
    )


def _list_names(constraints: tuple[Constraint, ...], values: list[np.ndarray], kind: str) -> tuple[str, ...]:
    """Names of the values of separate constraints, in their order; kind is "g" or "h"."""
    plain: Callable[[int, str], tuple[str, ...]] = lambda count, kind: ("",) * count  # noqa: E731
    each = [getattr(constraint, "value_names", plain)(v.size, kind) for constraint, v in zip(constraints, values)]
    return tuple(name for names in each for name in names)


def label_names(label: str, count: int, kind: str) -> tuple[str, ...]:
    """Names of count values of one separate constraint, "label g1" and so on: "" where it has no label."""
    return tuple(f"{label} {kind}{i}" for i in range(1, count + 1)) if label else ("",) * count


class Serial:
    """Calls in this process, one at a time."""

    chunks, streams = 1, True

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call, self.jobs = call, deque[tuple[int, np.ndarray]]()

    @property
    def free(self) -> int:
        return 1 - len(self.jobs)

    def submit(self, number: int, points: np.ndarray) -> None:
        self.jobs.append((number, points))

    def collect(self, stopping: Stopping) -> list[Done]:
        stopping.raise_if_over()
        number, points = self.jobs[0]
        answers, seconds = self.call(number, points)
        stopping.raise_if_broken_off(answers)
        self.jobs.popleft()
        return [(number, answers, seconds)]

    def close(self) -> None:
        """Nothing was started."""
