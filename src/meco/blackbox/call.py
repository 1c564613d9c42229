"""One call of the user's function: objective and constraints of a point together, never an exception."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from meco.blackbox.answers import Answer, Fault, checked, failed, raised, read, read_rows
from meco.blackbox.constraints import Limit
from meco.errors import InvalidInput


class Call:
    """The function and its separate constraints; (number, rows of points) -> answers and seconds.

    A function with the attribute `numbered` is also told the number of the call.
    """

    def __init__(self, fun: Callable[..., Any], limits: tuple[Limit, ...] = (), vectorized: bool = False) -> None:
        self.fun, self.limits, self.vectorized = fun, limits, vectorized
        self.numbered = bool(getattr(fun, "numbered", False))
        self.errstate = np.geterr()  # the caller's own, whatever the library sets around it

    def __call__(self, number: int, points: np.ndarray) -> tuple[list[Answer], float]:
        start = perf_counter()
        try:
            with np.errstate(**self.errstate):
                answers = self._rows(points) if self.vectorized else [self._one(number, points[0])]
        except (Exception, SystemExit) as error:  # a crash of the simulation is a failed evaluation
            answers = [raised(error)] * len(points)
        return answers, perf_counter() - start

    def _one(self, number: int, x: np.ndarray) -> Answer:
        answer = read(self.fun(x.copy(), number) if self.numbered else self.fun(x.copy()))
        if not self.limits or answer.fault is not Fault.NONE:
            return answer
        parts = [limit(x.copy()) for limit in self.limits]
        return checked(_joined(answer, [g for g, _ in parts], [h for _, h in parts]))

    def _rows(self, points: np.ndarray) -> list[Answer]:
        answers = read_rows(self.fun(points.copy()), len(points))
        if not self.limits or all(a.fault is Fault.MALFORMED for a in answers):
            return answers
        parts = [limit(points.copy()) for limit in self.limits]
        return [checked(_joined(a, [g[i] for g, _ in parts], [h[i] for _, h in parts])) for i, a in enumerate(answers)]


def _joined(answer: Answer, g: list[np.ndarray], h: list[np.ndarray]) -> Answer:
    """The answer with the separate constraints after the function's own."""
    more_g, more_h = np.concatenate(g), np.concatenate(h)
    return answer._replace(
        g=np.concatenate([answer.g, more_g]),
        h=np.concatenate([answer.h, more_h]),
        g_names=answer.g_names + ("",) * more_g.size,
        h_names=answer.h_names + ("",) * more_h.size,
    )


class Parcel:
    """A call packed for another process by cloudpickle where that is installed, else by pickle."""

    def __init__(self, call: Callable[..., Any]) -> None:
        try:
            import cloudpickle as packer
        except ImportError:
            packer = pickle
        try:
            self.content: bytes = packer.dumps(call)
            pickle.loads(self.content)
        except Exception as error:
            more = "" if packer is not pickle else ", install cloudpickle"
            raise InvalidInput(
                f"fun cannot be sent to worker processes ({type(error).__name__}: {error}); define it at the top level "
                f"of a module without open files or locks{more}, or pass a ThreadPoolExecutor as workers"
            ) from error

    def __call__(self, number: int, points: np.ndarray) -> tuple[list[Answer], float]:
        try:
            call = unpacked(self.content)
        except Exception as error:
            return [failed(Fault.RAISED, f"the worker cannot load fun: {error}")] * len(points), 0.0
        return call(number, points)


@lru_cache(maxsize=8)
def unpacked(content: bytes) -> Callable[..., Any]:
    """The call in a parcel, unpacked once in each process."""
    return pickle.loads(content)
