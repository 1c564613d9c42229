"""What people bring from SciPy: its keywords, its callbacks and its random generators."""

from __future__ import annotations

import inspect
import operator
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from meco.errors import InvalidInput, UnknownName

SEED_BITS = 256  # of a seed, at most
_CALLS = "budget= is the number of calls of fun, which no method ever passes"
_END = "a run ends when its budget is spent; stop=Stop(target=.., max_time=..) or a callback end it earlier"
_METHOD = 'options of a method are given with it: method=Method("SHADE", pop_size=30)'
_VARIABLE = "the kind of a variable is part of bounds: Variable(low, high, unit=.., integer=.., log=..)"
_NAMES = 'variables get names and units from bounds={"width": (0, 2, "mm"), ..}'
_TOLERANCES = "tolerances=Tolerances(ineq=.., eq=.., keep_feasible=.., names=..)"
_WORKERS = "workers=Workers(n, batch=.., asynchronous=.., timeout=.., vectorized=..)"
_STEP = "the first step comes from the bounds, and adapts; x0= is where the search begins"
_KEPT = "checkpoint=folder keeps every evaluation, and Checkpoint(folder, resume=True) goes on with a run"
_PROGRESS = "callback=meco.Progress() tells how far the run is"
ADVICE = {
    "args": "give fun its further arguments beforehand: functools.partial(fun, ...) or lambda x: fun(x, *args)",
    **dict.fromkeys(("maxiter", "max_iter", "maxfev", "maxfun", "max_nfev"), _CALLS),
    **dict.fromkeys(("max_evals", "max_evaluations", "n_calls", "n_trials", "n_iter", "iterations"), _CALLS),
    **dict.fromkeys(("n_eval", "n_evals", "nfev", "n_evaluations"), _CALLS),
    "options": "there is no dict of options: budget=, stop=, workers= and the others are keywords; " + _METHOD,
    **dict.fromkeys(("tol", "atol", "ftol", "xtol", "gtol", "termination"), _END),
    **dict.fromkeys(("rhobeg", "rhoend", "initial_tr_radius", "final_tr_radius", "sigma0"), _STEP),
    **dict.fromkeys(("strategy", "algorithm", "optimizer", "solver"), "method= is a name of meco.METHODS; " + _METHOD),
    "polish": "there is no last step: the models of the search come to a smooth optimum by themselves",
    **dict.fromkeys(("storage", "study_name", "load_if_exists"), _KEPT),
    **dict.fromkeys(("save_history", "return_all"), "every call is kept: result.evaluations, result.to_csv(path)"),
    **dict.fromkeys(("target", "max_time", "time_limit"), "stop=Stop(target=.., max_time=..), or stop=60 for a minute"),
    "timeout": "stop=60 limits the run to a minute; workers=Workers(n, timeout=60) limits each call of fun",
    **dict.fromkeys(("pop_size", "popsize", "policy", "theta", "share", "rule"), _METHOD),
    **dict.fromkeys(("integrality", "integer", "log", "variables", "units"), _VARIABLE),
    **dict.fromkeys(("eq_tol", "ineq_tol", "constraint_names", "keep_feasible"), _TOLERANCES),
    **dict.fromkeys(("x_names", "variable_names", "var_names", "parameter_names"), _NAMES),
    "names": f"{_NAMES}; those of constraints are {_TOLERANCES}",
    **dict.fromkeys(("batch", "asynchronous", "eval_timeout", "vectorized", "n_jobs"), _WORKERS),
    **dict.fromkeys(("disp", "verbose", "progress"), _PROGRESS),
    **dict.fromkeys(("jac", "hess"), "derivatives are neither needed nor used"),
    **dict.fromkeys(("random_state", "rng"), "seed= takes a whole number or a NumPy generator"),
    **dict.fromkeys(("direction", "maximize", "sense"), "f is minimised: return -f from fun to find its maximum"),
    "resume": "checkpoint=Checkpoint(folder, resume=True) goes on with a run",
    "repeats": "meco.confirm(result, fun, calls=20) calls the best points again",
}

SCIPY_METHODS = (  # of its minimize() and its global optimizers, which METHODS does not have; in lower case
    "nelder-mead", "powell", "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "dogleg", "trust-ncg", "trust-exact",
    "trust-krylov", "trust-constr", "basinhopping", "dual_annealing", "shgo", "direct", "brute",
)  # fmt: skip
FOR_SCIPY_NAMES = {"differential_evolution": "SciPy-DE", "de": "SciPy-DE"}


class UnknownMethod(UnknownName):
    """A method of SciPy's that is none of METHODS."""

    def __init__(self, name: str) -> None:
        """Say what to do without this one of SciPy's methods."""
        super().__init__("method", name, ())
        said = f"no method named {name!r}, which is one of SciPy's: "
        nearest = FOR_SCIPY_NAMES.get(name.lower())
        if nearest is not None:
            self.args = (f"{said}here it is {nearest!r}",)
            return
        others = "; SLSQP, COBYLA, COBYQA and SciPy-DE are here under these names"
        self.args = (f"{said}leave method= out, for the default needs neither derivatives nor choices{others}",)
        self.on_command_line(f"{said}leave --method out, for the default needs neither derivatives nor choices{others}")


def resolve_method(methods: Any, name: Any) -> str:
    """The exact name of a method in a registry; UnknownMethod for one of SciPy's own, UnknownName for others."""
    try:
        return methods.resolve(name)
    except UnknownName:
        if isinstance(name, str) and (name.lower() in SCIPY_METHODS or name.lower() in FOR_SCIPY_NAMES):
            raise UnknownMethod(name) from None
        raise


def spread_scalar_bounds(bounds: Any, x0: Any) -> Any:
    """Bounds(-5, 5) of SciPy for each of the variables of x0, as SciPy itself takes them; other bounds as they are."""
    ends: tuple[Any, Any] = (getattr(bounds, "lb", None), getattr(bounds, "ub", None))
    if any(end is None for end in ends) or any(np.size(end) != 1 for end in ends) or x0 is None:
        return bounds
    try:
        dim = np.shape(np.asarray(getattr(x0, "x", x0), dtype=np.float64))[-1:]
    except (TypeError, ValueError):
        return bounds
    low, high = (np.ravel(end)[0] for end in ends)
    return bounds if dim in ((), (1,)) else [(low, high)] * dim[0]


class UnknownKeyword(UnknownName, TypeError):
    """A keyword that a function does not have, with what does its work or the nearest name."""

    def __init__(self, function: str, name: str, known: list[str]) -> None:
        """Say of function's keyword name what does its work here, or the nearest of the known."""
        super().__init__(f"keyword of {function}", name, known)
        if name in ADVICE:
            self.args = (f"{function} has no keyword {name!r}: {ADVICE[name]}",)


class RepeatedArgument(InvalidInput, TypeError):
    """An argument that was given by place and by name; SciPy's minimize() has x0 where this one has bounds."""

    def __init__(self, function: str, name: str, known: list[str]) -> None:
        order = ", ".join(known[:2])
        hint = "; points to begin at are x0=" if "x0" in known else ""
        super().__init__(f"{function}({order}, ...) got {name} twice, by its place and by name{hint}")


P = ParamSpec("P")
R = TypeVar("R")


def explain_unknown_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, but that an unknown keyword is UnknownKeyword: what does its work here, or the nearest.

    So does an argument that is given twice.
    """
    places = list(inspect.signature(function).parameters)
    known = [name for name in places if name != "self"]
    label = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise UnknownKeyword(label, name, known)
            if name in places[: len(args)]:
                raise RepeatedArgument(label, name, known)
        return function(*args, **kwargs)

    return checked


def read_seed(seed: Any) -> int:
    """A seed: the whole number given, one drawn from a generator, which moves it, or a new one for None.

    InvalidInput for others.
    """
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
    if number.bit_length() > SEED_BITS:
        raise InvalidInput(f"seed must have at most {SEED_BITS} bits; got {number.bit_length()}")
    return number


def read_callback(callback: Any) -> Callable[[Any], Any] | None:
    """A function of the result so far, from callback(result), or SciPy's callback(xk) or (*, intermediate_result).

    None stays None; InvalidInput for what cannot be called.
    """
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
    if [p.name for p in parameters] == ["xk"]:  # SciPy's older form: the point alone
        return lambda result: callback(np.copy(result.x))
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    takes = any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
    if len(needed) > 1 or not takes or any(p.kind is p.KEYWORD_ONLY and p.name in needed for p in parameters):
        raise InvalidInput(
            "callback must take one argument, the result so far (its x is the best point): callback(result) or "
            f"callback(*, intermediate_result); got one that takes ({', '.join(p.name for p in parameters)})"
        )
    return callback
