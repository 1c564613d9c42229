"""minimize(): a black box in a box, under constraints, with a fixed number of evaluations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meco.core.capabilities import Convergence
from meco.errors import InvalidInput, warn_user
from meco.evaluations import Evaluations
from meco.method_record import MethodRecord
from meco.methods import DEFAULT, METHODS, methods_that_offer
from meco.options import Checkpoint, Method, Stop, Tolerances, Workers
from meco.result import Result
from meco.run.calling.call import Call
from meco.run.calling.caller import Backend, SerialBackend, Stopping
from meco.run.folder.reader import read_run_json
from meco.run.folder.run_folder import RunFolder, read_recorded_inputs
from meco.run.function_fingerprint import Fingerprints, fingerprint_function
from meco.run.request import Request, check_noise_length, make_request, options_from_inputs, tolerances_from_inputs
from meco.run.scipy_compat import explain_unknown_keywords
from meco.run.session import Session
from meco.variables import HasEnds, Variables

if TYPE_CHECKING:
    from meco.run.constraints import LimitedValues


@explain_unknown_keywords
def minimize(
    fun: Callable[..., Any],
    bounds: Iterable[Any] | Variables | HasEnds,
    constraints: Any = (),
    *,
    budget: int | None = None,
    method: str | Method | MethodRecord | Callable[..., Any] = DEFAULT,
    x0: Any = None,
    evaluated: Any = None,
    seed: Any = None,
    tolerances: float | dict[str, float] | Tolerances | None = None,
    workers: Any = 1,
    stop: str | float | Stop | None = None,
    on_error: str | None = None,
    callback: Callable[[Result], Any] | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    cheap: Any = None,
    noise: bool | float | list[float] | dict[str, float] | None = None,
) -> Result:
    """Minimise a black box in a box, under constraints, with a fixed number of evaluations.

    fun(x) gets one point and returns f, (f, g), (f, g, h) or {"f": .., "g": .., "h": ..}, where
    g <= 0 and h = 0 are wanted and g, h may be dicts of named values. One call is one evaluation.
    Further keys of a dict are "se" (see noise) and "info", which is not read; others are refused.
    An exception, a timeout, None, nan or anything unreadable is a failed evaluation: it loses every
    comparison, teaches the search nothing, and does not stop the run.

    Args:
        fun: The function of a point [D], or of a dict where the variables have names.
        bounds: One (low, high) pair per variable or a Variable, an array [D, 2], a scipy Bounds, or a dict
            name -> (low, high), (low, high, "unit") or Variable(low, high, unit, integer, log). An end may be infinite
            for methods that search without a box (TR, TR-ES, MeCO-TR); they then need x0, or evaluated points.
        constraints: scipy NonlinearConstraint or LinearConstraint, old scipy dicts, or functions c(x) <= 0,
            of a dict too where the variables have names; a list of them, or a dict by name. Evaluated in the same call
            as fun.
        budget: Calls of fun at most, failures and retries included; 50 D unless given.
        method: Any of METHODS, or Method("MeCO-TR", policy=..), Method("SHADE", pop_size=30) with options.
        x0: Points to try first: a point, several, or the result of another run, whose answer it is.
        evaluated: Points whose values are known, which cost nothing: (X, F, G, H), a result or its evaluations,
            or a run folder.
        seed: A whole number, or a NumPy generator to draw one from; drawn and recorded unless given.
        tolerances: How far constraints may be off: a number, a dict by name, or Tolerances(ineq, eq, keep_feasible,
            names). Points with every g <= 0 go before points within the tolerance.
        workers: Processes (-1: all cores), an executor, a map, or Workers(n, batch, asynchronous, timeout, vectorized).
            Given the batch, the evaluations do not depend on n.
        stop: "feasible" (at the first feasible point), "converged" (where the search would start again from
            elsewhere), a number of seconds, or Stop(target, max_time, feasible, converged).
        on_error: "penalize", "retry" (up to twice, counted) or "raise". Left open, failures are penalized, but
            mistakes end the run: a name that is not defined, a key or index raised three times before any success,
            ten first calls that raise one error from one line, max(20, 3 D + 1) failures before the first success.
        callback: Gets the result so far after each generation, and stops the run by returning True.
        checkpoint: A folder that keeps every evaluation, or Checkpoint(folder, resume=True) to go on with a run.
        cheap: Constraints that may be called as often as one likes before an expensive call: as constraints takes them,
            or a dict of these by name. No point that violates them is called, and they cost nothing of the budget.
        noise: What is known of noise: False, calls of one point give the same values; True, they do not; or the
            standard deviation of a call: a number for f and every constraint, a list in their order, or a dict by name
            with "f". fun may tell standard errors with each answer, {"f": .., "g": .., "se": ..}. Left open, methods of
            the TR family spend one call on finding out where a function looks as if it were noisy.

    Ctrl-C stops the run after the evaluation that is under way and returns the best point so far.

    Examples:
        >>> from meco import minimize
        >>> result = minimize(lambda x: (x @ x, [1.0 - x[0]]), [(-2, 2)] * 3, budget=100, seed=1)
        >>> result.feasible
        True
    """
    if not callable(fun):
        raise InvalidInput(f"fun must be a function of x; got {fun!r:.60}")
    stop_at = Stop.read(stop)
    stopping = Stopping(stop_at, callback)
    with stopping.listen_to_signals():  # from here on, so that no signal is lost between two parts of the work
        pool, saved = Workers.read(workers), Checkpoint.read(checkpoint)
        asked: dict[str, Any] = {
            "budget": budget, "seed": seed, "method": method, "tolerances": tolerances, "noise": noise,
        }  # fmt: skip
        if saved is not None and saved.resume:
            asked, pool, on_error = _fill_defaults_from_folder(saved, asked, pool, on_error)
        request = make_request(bounds, x0=x0, evaluated=evaluated, workers=pool, **asked)
        separate = _read_separate_constraints(constraints, request.variables)
        if separate or request.keep_feasible:
            from meco.run.hard_constraints import add_hard_constraints

            request = add_hard_constraints(request, separate)
        free = _read_cheap(cheap, request.variables)
        if free:
            from meco.run.cheap_constraints import add_cheap_constraints

            request = add_cheap_constraints(request, free, vectorized=pool.vectorized)
        check_noise_length(request)
        fingerprints = Fingerprints(fingerprint_function(fun, separate, free), _find_known_function(evaluated))
        call = Call(fun, (*separate, *free), pool.vectorized, request.variables if request.variables.names else None)
        if stop_at.converged and Convergence not in METHODS[request.method].offers:
            raise InvalidInput(
                f'stop="converged" needs one of {methods_that_offer(Convergence)}; {request.method} cannot tell'
            )
        for note in request.notes:
            warn_user(note)
        with closing(_make_backend(pool, call, request)) as backend, ExitStack() as files:
            folder = None
            if saved is not None:
                inputs = request.describe_inputs() | {
                    "fun": _find_function_name(fun),
                    "on_error": on_error,
                    "asynchronous": pool.asynchronous,
                }
                folder = files.enter_context(
                    closing(RunFolder.open(saved, inputs, getattr(fun, "source", None), fingerprints.now))
                )
            session = (_find_async_session_class(request, backend) if pool.asynchronous else Session)(
                request,
                backend,
                stopping,
                on_error=on_error,
                vectorized=pool.vectorized,
                folder=folder,
                warn=warn_user,
                fingerprints=fingerprints,
            )
            return session.run()


def _fill_defaults_from_folder(
    saved: Checkpoint, asked: dict[str, Any], pool: Workers, on_error: Any
) -> tuple[dict[str, Any], Workers, Any]:
    """What is asked for, workers and on_error: what a resumed run recorded wherever the caller left the default.

    As given where the folder holds no run.
    """
    before, asked = read_recorded_inputs(saved.folder), dict(asked)
    if not before:
        return asked, pool, on_error
    for key in ("budget", "seed", "noise"):
        asked[key] = before.get(key) if asked[key] is None else asked[key]
    if asked["tolerances"] is None:
        asked["tolerances"] = tolerances_from_inputs(before)
    batch = before["options"].get("batch")
    if isinstance(asked["method"], str) and asked["method"] in (DEFAULT, before["method"]):
        options = options_from_inputs(before)
        options.pop("batch", None)
        asked["method"] = Method(before["method"], **options)
    asynchronous = pool.asynchronous or bool(before.get("asynchronous"))
    pool = Workers(pool.n, batch if pool.batch is None else pool.batch, asynchronous, pool.timeout, pool.vectorized)
    return asked, pool, before.get("on_error") if on_error is None else on_error


def _read_separate_constraints(constraints: Any, variables: Variables) -> tuple[LimitedValues, ...]:
    """Constraints that were given beside the function, () for none; their module is loaded only where there are any."""
    if constraints is None or (isinstance(constraints, (list, tuple)) and not constraints):
        return ()
    from meco.run.constraints import read_constraints

    return read_constraints(constraints, variables)


def _read_cheap(cheap: Any, variables: Variables) -> tuple[LimitedValues, ...]:
    """Constraints that cost nothing, () for none; their module is loaded only where there are any."""
    if cheap is None:
        return ()
    from meco.run.cheap_constraints import read_cheap

    return read_cheap(cheap, variables)


def _find_known_function(evaluated: Any) -> str | None:
    """The fingerprint of the function whose evaluations these are, of a result or a run folder; None: not known."""
    if isinstance(evaluated, Result):
        evaluated = evaluated.evaluations
    if isinstance(evaluated, Evaluations):
        return evaluated.function
    if isinstance(evaluated, (str, os.PathLike)):
        return (read_run_json(Path(evaluated)) or {}).get("function")
    return None


def _make_backend(pool: Workers, call: Call, request: Request) -> Backend:
    """Where the function is called: here, or wherever the workers are. Starts no process yet."""
    if pool.n == 1 and pool.timeout is None and not getattr(call.fun, "isolated", False):
        return SerialBackend(call)
    from meco.run.calling.backends import choose_backend

    return choose_backend(pool, call, request.options.get("batch"))


def _find_async_session_class(request: Request, backend: Backend) -> type[Session]:
    """The session of asynchronous runs; InvalidInput where method or workers cannot take one point at a time."""
    from meco.run.async_search import check_asynchronous
    from meco.run.async_session import AsyncSession

    check_asynchronous(request.method)
    if not backend.streams:
        raise InvalidInput("asynchronous=True needs a number of workers or an executor: a map takes points together")
    return AsyncSession


def _find_function_name(fun: Any) -> str:
    """What a function calls itself: run folders keep it, and a resumed run must have the same."""
    while hasattr(fun, "func"):  # functools.partial
        fun = fun.func
    return getattr(fun, "__qualname__", None) or type(fun).__qualname__
