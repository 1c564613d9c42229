"""The two doors: minimize() calls your function, Optimizer lets you call it yourself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from meco.blackbox.answers import Call
from meco.blackbox.asktell import Optimizer
from meco.blackbox.calls import Backend, Caller, Serial, Stopping
from meco.blackbox.evaluation_log import EvaluationLog
from meco.blackbox.request import make_request, refuse_unknown
from meco.blackbox.result import MinimizeResult
from meco.blackbox.runfolder import Checkpoint, RunFolder, recorded
from meco.blackbox.session import Session
from meco.errors import InvalidInput

__all__ = ["Checkpoint", "MinimizeResult", "Optimizer", "minimize"]


def minimize(
    fun: Callable[..., Any],
    bounds: Any,
    constraints: Any = (),
    *,
    x0: Any = None,
    evaluated: Any = None,
    budget: int | None = None,
    method: str = "MeCO",
    policy: Any = None,
    pop_size: int | None = None,
    integrality: Any = None,
    eq_tol: float = 1e-4,
    ineq_tol: float = 0.0,
    constraint_names: Sequence[str] | None = None,
    seed: int | None = None,
    vectorized: bool = False,
    workers: Any = 1,
    eval_timeout: float | None = None,
    on_error: str = "penalize",
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

    bounds            pairs, an array [D, 2], or a scipy Bounds
    constraints       scipy NonlinearConstraint / LinearConstraint, old scipy dicts, or functions c(x) <= 0;
                      evaluated in the same call as fun
    x0, evaluated     points to try first; points whose values are known: (X, F, G, H), a result's
                      evaluations, or a run folder. Known points cost nothing
    budget            calls of fun at most, failures and retries included (50 D unless given)
    method            any of METHODS; policy and pop_size are its options
    integrality       True for variables that are whole numbers
    vectorized        fun gets rows of points [S, D] and returns f [S], g [S, p], h [S, q]
    workers           processes (-1: all cores), an executor, or a map; the evaluations do not depend on it
    eval_timeout      seconds after which a call is killed; the call then runs in a worker process
    on_error          "penalize", "retry" (up to twice, counted) or "raise"
    max_time, target, stop="feasible", callback   end the run early; a callback gets the result so far
                      and ends it by returning True
    checkpoint, resume   a folder that keeps every evaluation, and whether to go on with what it holds

    Ctrl-C ends the run after the evaluation at hand and returns the best point so far.

    >>> from meco import minimize
    >>> result = minimize(lambda x: (x @ x, [1.0 - x[0]]), [(-2, 2)] * 3, method="SHADE-FR", budget=400, seed=1)
    >>> result.feasible
    True
    """
    refuse_unknown(minimize, unknown)
    if not callable(fun):
        raise InvalidInput(f"fun must be a function of x; got {fun!r:.60}")
    if resume:
        if checkpoint is None:
            raise InvalidInput("resume=True needs checkpoint=<folder of the run>")
        before = recorded(checkpoint)
        seed = before.get("seed") if seed is None else seed
        policy = before.get("policy") if policy is None else policy
        pop_size = before.get("pop_size") if pop_size is None else pop_size
    request = make_request(
        bounds, budget=budget, method=method, seed=seed, integrality=integrality, x0=x0, evaluated=evaluated,
        constraint_names=constraint_names, ineq_tol=ineq_tol, eq_tol=eq_tol, policy=policy, pop_size=pop_size,
    )  # fmt: skip
    call = Call(fun, _constraints(constraints, request.dim), bool(vectorized))
    backend = _backend(workers, call, eval_timeout)
    log = EvaluationLog(request.budget, len(request.names) or None)
    stopping = Stopping(max_time, target, stop, callback)
    caller = Caller(backend, log, stopping, request.budget, on_error, request.tolerances, call.vectorized)
    caller.warn = lambda text: warnings.warn(text, stacklevel=2)
    session = Session(request, caller, _reporter(progress))
    folder = None
    try:
        if checkpoint is not None:
            inputs = request.facts() | {"fun": _name(fun), "on_error": on_error}
            folder = RunFolder.open(checkpoint, inputs, resume, getattr(fun, "source", None))
            session.keep_in(folder)
        return session.run()
    finally:
        try:
            backend.close()
        finally:
            if folder is not None:
                folder.close()


def _constraints(given: Any, dim: int) -> tuple[Any, ...]:
    """Separate constraints as functions of x, where there are any."""
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return ()
    from meco.blackbox.constraints import read_constraints

    return read_constraints(given, dim)


def _backend(workers: Any, call: Call, eval_timeout: float | None) -> Backend:
    """Where the function is called: here, or wherever workers and eval_timeout say."""
    if type(workers) is int and workers == 1 and eval_timeout is None and not getattr(call.fun, "isolated", False):
        return Serial(call)
    from meco.blackbox.workers import choose_backend

    return choose_backend(workers, call, eval_timeout)


def _reporter(progress: Any) -> Callable[[Session], None] | None:
    """What tells how far the run is, where that is wanted."""
    if not progress:
        return None
    from meco.blackbox.progress import reporter

    return reporter(progress)


def _name(fun: Any) -> str:
    """What a function calls itself, to recognise it in a checkpoint."""
    while hasattr(fun, "func"):  # functools.partial
        fun = fun.func
    return getattr(fun, "__qualname__", None) or type(fun).__qualname__
