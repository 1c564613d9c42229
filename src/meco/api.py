"""The two doors: minimize() calls your function, Optimizer lets you call it yourself."""

from __future__ import annotations

import inspect
import operator
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import Any

from meco.core.capabilities import Convergence
from meco.errors import InvalidInput
from meco.methods import DEFAULT, METHODS, methods_that_offer
from meco.optimizer import Optimizer
from meco.run.calling.answers import Call
from meco.run.calling.caller import Backend, Serial, Stopping
from meco.run.folder.run_folder import Checkpoint, RunFolder, recorded
from meco.run.request import Request, make_request
from meco.run.result import MinimizeResult
from meco.run.scipy_compat import given_seed, refuse_unknown
from meco.run.session import Session
from meco.run.tolerances import EQ_TOL, INEQ_TOL

BATCH = 8  # points at once for an executor or a map, whose size is not known

__all__ = ["Checkpoint", "MinimizeResult", "Optimizer", "minimize"]


def minimize(
    fun: Callable[..., Any],
    bounds: Any,
    constraints: Any = (),
    *,
    x0: Any = None,
    evaluated: Any = None,
    budget: int | None = None,
    method: str = DEFAULT,
    policy: Any = None,
    pop_size: int | None = None,
    batch: int | None = None,
    asynchronous: bool = False,
    integrality: Any = None,
    eq_tol: Any = EQ_TOL,
    ineq_tol: Any = INEQ_TOL,
    constraint_names: Sequence[str] | None = None,
    keep_feasible: Any = False,
    log: Any = None,
    repeats: int | None = None,
    seed: Any = None,
    vectorized: bool = False,
    workers: Any = 1,
    eval_timeout: float | None = None,
    on_error: str | None = None,
    max_time: float | None = None,
    target: float | None = None,
    stop: str | None = None,
    callback: Callable[[MinimizeResult], Any] | None = None,
    progress: bool | None = None,
    checkpoint: Any = None,
    resume: bool = False,
    **unknown: Any,
) -> MinimizeResult:
    """Minimise a black box in a box, under constraints, with a fixed number of evaluations.

    fun(x) gets one point and returns f, (f, g), (f, g, h) or {"f": .., "g": .., "h": ..}, where
    g <= 0 and h = 0 are wanted and g, h may be dicts of named values. One call is one evaluation.
    An exception, a timeout, None, nan or anything unreadable is a failed evaluation: it loses every
    comparison, teaches the search nothing, and does not stop the run.

    Args:
        fun: The function; with vectorized=True it gets rows of points.
        bounds: Pairs, an array [D, 2], or a scipy Bounds.
        constraints: scipy NonlinearConstraint or LinearConstraint, old scipy dicts, or functions c(x) <= 0;
            evaluated in the same call as fun.
        x0: Points to try first.
        evaluated: Points whose values are known, which cost nothing: (X, F, G, H), a result's evaluations,
            or a run folder.
        budget: Calls of fun at most, failures and retries included; 50 D unless given.
        method: Any of METHODS.
        policy: Of a learned method: a name, a file, an object, or constants such as {"theta": 0.3, "share": 0}.
        pop_size: Candidates of a generation, of methods that have a population.
        batch: Points that TR, TR-ES and MeCO-TR propose at once: as many as there are workers (8 for an executor
            or a map) unless given. The points depend on it and on the seed.
        asynchronous: Whether every free worker gets a point of TR, TR-ES or MeCO-TR at once, and none waits for
            another. What the run does then depends on who finishes first; it resumes from every recorded answer, not
            bit for bit.
        integrality: True for variables that are whole numbers.
        eq_tol: Feasible means |h| <= eq_tol: a number, a list in the order of the constraints, or a dict by name.
        ineq_tol: The same for g <= ineq_tol. Points with every g <= 0 go before points within the tolerance.
        constraint_names: Names for messages and tables, inequalities first.
        keep_feasible: Constraints that must never be violated during the search: True for every inequality, or a list
            of names; SciPy's constraints may say it themselves. No point outside linear ones is evaluated; of
            others only the models can tell, and x0 must keep them.
        log: True for variables on a logarithmic scale, whose bounds are above 0.
        repeats: For noisy functions: so many of the last calls go to the best points again, and fun is a mean.
        seed: A whole number, or a NumPy generator to draw one from; drawn and recorded unless given.
        vectorized: fun gets rows of points [S, D] and returns f [S], g [S, p], h [S, q].
        workers: Processes (-1: all cores), an executor, or a map; given the batch, the evaluations do not
            depend on it.
        eval_timeout: Seconds after which a call is killed; the call then runs in a worker process.
        on_error: "penalize", "retry" (up to twice, counted) or "raise". Left open, failures are penalized, but
            ten first calls that raise one error from one line end the run with that error.
        max_time: Seconds after which the run ends.
        target: A feasible f that ends the run.
        stop: "feasible" ends the run at the first feasible point, "converged" where TR, TR-ES or MeCO-TR would
            start again from elsewhere.
        callback: Gets the result so far after each generation, and ends the run by returning True.
        progress: Whether to tell on standard error how far the run is.
        checkpoint: A folder that keeps every evaluation.
        resume: Whether to go on with what the folder holds. What is left at its default is then what the run recorded.

    Ctrl-C ends the run after the evaluation at hand and returns the best point so far.

    Examples:
        >>> from meco import minimize
        >>> result = minimize(lambda x: (x @ x, [1.0 - x[0]]), [(-2, 2)] * 3, budget=100, seed=1)
        >>> result.feasible
        True
    """
    if unknown:
        seed = given_seed(seed, unknown)
        refuse_unknown(minimize, unknown)
    if not callable(fun):
        raise InvalidInput(f"fun must be a function of x; got {fun!r:.60}")
    asked = {
        "budget": budget, "seed": seed, "method": method, "policy": policy, "pop_size": pop_size, "batch": batch,
        "eq_tol": eq_tol, "ineq_tol": ineq_tol, "on_error": on_error, "keep_feasible": keep_feasible, "log": log,
        "repeats": repeats, "asynchronous": bool(asynchronous),
    }  # fmt: skip
    if resume:
        if checkpoint is None:
            raise InvalidInput("resume=True needs checkpoint=<folder of the run>")
        before = recorded(checkpoint)
        asked |= {key: before[key] for key in asked if key in before and _left_open(key, asked[key])}
    on_error, keep_feasible, asynchronous = (asked.pop(key) for key in ("on_error", "keep_feasible", "asynchronous"))
    request = make_request(
        bounds, integrality=integrality, x0=x0, evaluated=evaluated, constraint_names=constraint_names,
        at_once=_at_once(workers), **asked,
    )  # fmt: skip
    for note in request.notes:
        warnings.warn(note, stacklevel=2)
    separate = _constraints(constraints, request)
    if separate or keep_feasible:
        from meco.run.hard_constraints import read_kept, with_limits

        request = with_limits(request, separate, read_kept(keep_feasible))
    call = Call(fun, separate, bool(vectorized))
    stopping = Stopping(max_time, target, stop, callback)
    if stop == "converged" and Convergence not in METHODS[request.method].offers:
        raise InvalidInput(
            f'stop="converged" needs one of {methods_that_offer(Convergence)}; {request.method} cannot tell'
        )
    with closing(_backend(workers, call, eval_timeout, request)) as backend, ExitStack() as files:
        folder = None
        if checkpoint is not None:
            inputs = request.facts() | {"fun": _name(fun), "on_error": on_error}
            inputs |= {"asynchronous": True} if asynchronous else {}
            folder = RunFolder.open(checkpoint, inputs, resume, getattr(fun, "source", None))
            files.enter_context(closing(folder))
        session = (_async_session(request, backend) if asynchronous else Session)(
            request,
            backend,
            stopping,
            on_error=on_error,
            vectorized=call.vectorized,
            folder=folder,
            report=_reporter(progress),
            warn=lambda text: warnings.warn(text, stacklevel=2),
        )
        return session.run()


def _left_open(key: str, value: Any) -> bool:
    """Whether a keyword has its default, and a resumed run may fill it in."""
    default = inspect.signature(minimize).parameters[key].default
    return value is default or (isinstance(value, (str, float)) and value == default)


def _at_once(workers: Any) -> int:
    """How many points can be evaluated side by side; what is wrong with workers is said elsewhere."""
    if hasattr(workers, "submit") or callable(workers):
        return BATCH
    try:
        count = operator.index(workers)
    except TypeError:
        count = 1
    return max(1, (os.cpu_count() or 1) if count == -1 else count)


def _constraints(given: Any, request: Request) -> tuple[Any, ...]:
    """Separate constraints as functions of x, where there are any."""
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return ()
    from meco.run.constraints import read_constraints

    return read_constraints(given, request.lower, request.upper)


def _backend(workers: Any, call: Call, eval_timeout: float | None, request: Request) -> Backend:
    """Where the function is called: here, or wherever workers and eval_timeout say."""
    if type(workers) is int and workers == 1 and eval_timeout is None and not getattr(call.fun, "isolated", False):
        return Serial(call)
    from meco.run.calling.backends import choose_backend

    return choose_backend(workers, call, eval_timeout, request.options.get("batch", sys.maxsize))


def _async_session(request: Request, backend: Backend) -> type[Session]:
    """The session of asynchronous runs, where the workers can be given one point at a time."""
    from meco.run.async_search import refuse_generations
    from meco.run.async_session import AsyncSession

    refuse_generations(request.method)
    if not backend.streams:
        raise InvalidInput("asynchronous=True needs a number of workers or an executor: a map takes points together")
    return AsyncSession


def _reporter(progress: Any) -> Callable[[Session], None] | None:
    """What tells how far the run is, where that is wanted."""
    if not progress:
        return None
    from meco.run.progress import reporter

    return reporter(progress)


def _name(fun: Any) -> str:
    """What a function calls itself, to recognise it in a checkpoint."""
    while hasattr(fun, "func"):  # functools.partial
        fun = fun.func
    return getattr(fun, "__qualname__", None) or type(fun).__qualname__
