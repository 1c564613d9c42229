"""meco.scipy_method: MeCO as a method of SciPy's minimize().

scipy.optimize.minimize(fun, x0, method=meco.scipy_method, bounds=..., constraints=..., options={"budget": 500})
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from meco import minimize
from meco.errors import InvalidInput, load_extra, warn_user
from meco.methods import DEFAULT
from meco.result import Result
from meco.run.progress import Progress
from meco.variables import Variables

load_extra("scipy.optimize", "peers", "meco.scipy_method")
from scipy.optimize import OptimizeResult  # noqa: E402

LEAST_BUDGET, BUDGET_PER_VARIABLE = 500, 100  # evaluations: at least, and for each variable
TOLERANCE = 1e-8  # of constraints, as in SciPy's methods
UNUSED = ("tol", "ftol", "xtol", "gtol", "fatol", "xatol", "barrier_tol")  # tolerances on convergence

TOL_ADVICE = (
    "a run ends when its budget is spent (options={'budget': 500}); how far constraints may be off is "
    "options={'tolerances': 1e-6}"
)


def as_scipy_result(result: Result) -> OptimizeResult:
    """The same in SciPy's record; what it has no name for stands in its `meco`."""
    names = ("x", "fun", "success", "status", "message", "nfev", "nit", "maxcv")
    return OptimizeResult(**{name: getattr(result, name) for name in names}, meco=result)


def scipy_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    *,
    method: str = DEFAULT,
    budget: int | None = None,
    maxfev: int | None = None,
    disp: Any = False,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    tol: Any = None,
    **options: Any,
) -> OptimizeResult:
    """What scipy.optimize.minimize calls; all keywords after callback come from its options=.

    The search is global inside the bounds and begins at x0, whose size tells how far to look where bounds are infinite
    (or bounds is None), which TR can do. budget (or maxfev, or maxiter) is
    the number of evaluations, 100 for each variable and at least 500 unless given; it alone ends the run, so tol, ftol
    and xtol do nothing, which a warning says. Constraints are kept within 1e-8 unless tolerances is given, as by
    SciPy's own methods. Derivatives are not used. integrality marks integer variables, one mark or one
    each, as elsewhere in SciPy. Further options are those of meco.minimize: seed, tolerances, workers, stop, ...
    """
    for name in UNUSED:
        value = tol if name == "tol" else options.pop(name, None)
        if value is not None:
            warn_user(f"{name}={value!r:.20} does nothing: {TOL_ADVICE}")
    iterations = options.pop("maxiter", None)
    if iterations is not None and budget is None and maxfev is None:
        maxfev = iterations
        warn_user(f"maxiter={iterations!r:.20} is used as maxfev, the maximum number of evaluations")
    options.setdefault("tolerances", TOLERANCE)
    x0 = np.atleast_1d(np.asarray(x0, dtype=np.float64))
    pairs = read_bounds(bounds, x0.size)
    if budget is None:
        budget = max(LEAST_BUDGET, BUDGET_PER_VARIABLE * x0.size) if maxfev is None else maxfev
    given = args if isinstance(args, tuple) else (args,)
    start = np.clip(x0, pairs[:, 0], pairs[:, 1])
    if (moved := np.flatnonzero(start != x0)).size:
        i = int(moved[0])
        warn_user(f"x0 lies outside the bounds and begins at them: variable {i} is {x0[i]:g}, now {start[i]:g}")
    integer = np.broadcast_to(np.asarray(options.pop("integrality", False), dtype=bool), x0.shape)
    start = np.where(integer, np.round(start), start)
    found = minimize(
        lambda x: fun(x, *given),
        Variables.of(pairs[:, 0], pairs[:, 1], integer),
        constraints,
        x0=start,
        budget=budget,
        method=method,
        callback=_wrap_callback(callback) if callback is not None else Progress() if disp else None,
        **options,
    )
    return as_scipy_result(found)


def read_bounds(bounds: Any, dim: int) -> np.ndarray:
    """Bounds in any of SciPy's forms as an array [D, 2]; None, for one end or for all, is no limit.

    InvalidInput where they are not as many as the variables.
    """
    if bounds is None:
        return np.tile([-np.inf, np.inf], (dim, 1))
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        sides: Any = np.broadcast_to(bounds.lb, (dim,)), np.broadcast_to(bounds.ub, (dim,))
    else:
        sides = zip(*bounds)
    low, high = (
        np.array([none if v is None else v for v in side], dtype=np.float64)
        for side, none in zip(sides, (-np.inf, np.inf))
    )
    if low.shape != (dim,):
        raise InvalidInput(f"x0 has {dim} variables, so bounds must be {dim} pairs; got {len(low)}")
    return np.stack([low, high], axis=1)


def _wrap_callback(callback: Callable[..., Any]) -> Callable[[Any], bool]:
    """A callback in either of SciPy's forms: of xk, or of intermediate_result; StopIteration ends the run."""
    named = set(inspect.signature(callback).parameters) == {"intermediate_result"}

    def call_back(found: Any) -> bool:
        """Whether to stop: the callback said so by True or StopIteration."""
        try:
            answer = callback(intermediate_result=as_scipy_result(found)) if named else callback(np.copy(found.x))
        except StopIteration:
            return True
        return answer is True

    call_back.every_call = True  # type: ignore[attr-defined] # as SciPy's own methods call it
    return call_back
