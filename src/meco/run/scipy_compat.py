"""What people bring from SciPy: its keywords, its callbacks and its random generators."""

from __future__ import annotations

import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from meco.errors import InvalidInput, UnknownName

_CALLS = "budget= is the number of calls of fun, which no method ever passes"
_END = "a run ends when its budget is spent; target=, max_time=, stop= or a callback end it earlier"
ADVICE = {
    "args": "give fun its further arguments beforehand: functools.partial(fun, ...) or lambda x: fun(x, *args)",
    "maxiter": _CALLS,
    "maxfev": _CALLS,
    "maxfun": _CALLS,
    "max_nfev": _CALLS,
    "n_calls": _CALLS,
    "n_trials": _CALLS,
    "options": "there is no dict of options: budget=, pop_size=, target=, max_time= and the others are keywords",
    "tol": _END,
    "atol": _END,
    "ftol": _END,
    "xtol": _END,
    "popsize": "pop_size= is the number of candidates of a generation, for methods that have one",
    "disp": "progress=True tells how far the run is",
    "verbose": "progress=True tells how far the run is",
    "jac": "derivatives are neither needed nor used",
    "hess": "derivatives are neither needed nor used",
    "random_state": "seed= takes a whole number or a NumPy generator",
    "n_jobs": "workers= is the number of processes that evaluate, an executor or a map",
    "variables": "bounds= has one (low, high) pair per variable",
}


class UnknownKeyword(UnknownName, TypeError):
    """A keyword that a function does not have, with what does its work or the nearest name."""

    def __init__(self, door: str, name: str, known: list[str]) -> None:
        super().__init__(f"keyword of {door}", name, known)
        if name in ADVICE:
            self.args = (f"{door} has no keyword {name!r}: {ADVICE[name]}",)


def refuse_unknown(door: Callable[..., Any], unknown: Mapping[str, Any]) -> None:
    """Name the first keyword that this door does not know."""
    for name in unknown:
        known = [key for key in inspect.signature(door).parameters if key not in ("self", "unknown")]
        raise UnknownKeyword(f"{door.__qualname__.removesuffix('.__init__')}", name, known)


def given_seed(seed: Any, unknown: dict[str, Any]) -> Any:
    """The seed, or what was given as SciPy's rng=, which is taken out of the unknown keywords."""
    rng = unknown.pop("rng", None)
    if rng is None:
        return seed
    if seed is not None:
        raise InvalidInput("seed= and rng= mean the same; give one of them")
    return rng


def read_seed(seed: Any) -> int:
    """A whole number as it is, one drawn from a generator, or a new one."""
    if seed is None:
        return int.from_bytes(os.urandom(6), "little")
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**48))
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**31))
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1)[0])
    try:
        number = int(seed) if isinstance(seed, float) and seed.is_integer() else operator.index(seed)
    except TypeError as error:
        raise InvalidInput(f"seed must be a whole number or a NumPy generator; got {seed!r:.60}") from error
    if number < 0:
        raise InvalidInput(f"seed must be at least 0; got {number}")
    return number


def read_callback(callback: Any) -> Callable[[Any], Any] | None:
    """A function of the result so far, from callback(result) or SciPy's callback(*, intermediate_result)."""
    if callback is None:
        return None
    if not callable(callback):
        raise InvalidInput(f"callback must be a function of the intermediate result; got {callback!r}")
    try:
        parameters = inspect.signature(callback).parameters.values()
    except (TypeError, ValueError):  # of some built-in functions nothing is known
        return callback
    if [p.name for p in parameters] == ["intermediate_result"]:
        return lambda result: callback(intermediate_result=result)
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    takes = any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
    if len(needed) > 1 or not takes or any(p.kind is p.KEYWORD_ONLY and p.name in needed for p in parameters):
        raise InvalidInput(
            "callback must take one argument, the result so far (its x is the best point): callback(result) or "
            f"callback(*, intermediate_result); got one that takes ({', '.join(p.name for p in parameters)})"
        )
    return callback


def read_names(given: Any) -> tuple[str, ...]:
    """Names of constraints, in order."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidInput(f"constraint_names must be a list of names; got {given!r:.60}")
    return tuple(map(str, np.ravel(given) if isinstance(given, np.ndarray) else given))
