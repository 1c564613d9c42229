"""minimize(): a black box in a box, under constraints, with a fixed number of evaluations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from meco.answer.build import make_result
from meco.answer.table import Table
from meco.core.capabilities import Convergence
from meco.errors import InvalidInput, UnknownName, log_event, warn_user
from meco.method_record import MethodRecord
from meco.methods import DEFAULT, METHODS, methods_that_offer
from meco.options import Checkpoint, Method, OnError, Stop, StopName, Tolerances, Workers
from meco.result import Result
from meco.run.begin import make_answers, make_search
from meco.run.blas import one_thread
from meco.run.call import Call, Serial
from meco.run.log import Events
from meco.run.quick_calls import advise
from meco.run.request import Request, make_request, options_from_inputs, tolerances_from_inputs
from meco.run.run import Driver, Run
from meco.run.scipy_compat import explain_unknown_keywords
from meco.run.stop import Stopping, StopRun
from meco.variables import HasEnds, Variables

if TYPE_CHECKING:
    from meco.run.constraints import LimitedValues
    from meco.run.folder import RunFolder
    from meco.run.workers import Pool

ON_ERROR = (None, *get_args(OnError))


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
    stop: StopName | float | Stop | None = None,
    on_error: OnError | None = None,
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
            for methods that search without a box, such as TR; they then need x0, or evaluated points.
        constraints: scipy NonlinearConstraint or LinearConstraint, old scipy dicts, or functions c(x) <= 0,
            of a dict too where the variables have names; a list of them, or a dict by name. Evaluated in the same call
            as fun.
        budget: Calls of fun at most, failures and retries included; 50 D unless given.
        method: Any of METHODS, or Method("MeCO", policy=..), Method("SHADE", pop_size=30) with options.
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
            asked, pool, on_error, evaluated = _fill_defaults_from_folder(saved, asked, pool, on_error, evaluated)
        request = make_request(bounds, x0=x0, evaluated=evaluated, workers=pool, **asked)
        if not (on_error is None or isinstance(on_error, str)) or on_error not in ON_ERROR:
            raise UnknownName("on_error", on_error, ON_ERROR[1:])
        separate = _read_separate_constraints(constraints, request.variables)
        if separate or request.keep_feasible:
            from meco.run.hard_constraints import add_hard_constraints

            request = add_hard_constraints(request, separate)
        free = _read_cheap(cheap, request.variables)
        if free:
            from meco.run.cheap import add_cheap_constraints

            request = add_cheap_constraints(request, free, vectorized=pool.vectorized)
        request.check_noise()
        call = Call(fun, (*separate, *free), pool.vectorized, request.variables if request.variables.names else None)
        if stop_at.converged and Convergence not in METHODS[request.method].offers:
            raise InvalidInput(
                f'stop="converged" needs one of {methods_that_offer(Convergence)}; {request.method} cannot tell'
            )
        for note in request.notes:
            warn_user(note)
        with closing(_make_workers(pool, call, request)) as workers, ExitStack() as files:
            if pool.asynchronous:
                _check_asynchronous(request, workers)
            folder = None
            if saved is not None:
                from meco.run.folder import RunFolder, digest_source

                inputs = request.describe_inputs() | {
                    "fun": find_function_name(fun),
                    "on_error": on_error,
                    "asynchronous": pool.asynchronous,
                }
                digest = digest_source(fun, *separate, *free)
                folder = RunFolder.open(saved, inputs, getattr(fun, "source", None), digest)
                files.enter_context(closing(folder))
            session = _Session(request, pool, on_error, folder, stopping, workers)
            return session.run()


class _Session:
    """One call of minimize(): a run, what drives it, and its result."""

    def __init__(
        self,
        request: Request,
        pool: Workers,
        on_error: str | None,
        folder: RunFolder | None,
        stopping: Stopping,
        workers: Pool,
    ) -> None:
        """Nothing is replayed or called yet."""
        self.folder, self.stopping, self.workers = folder, stopping, workers
        self.shown = request  # what the result tells of
        if folder is not None and folder.events:
            request = replace(request, budget=folder.begin["budget"])  # before it was raised
        self.request = request
        self.answers = make_answers(request, asynchronous=pool.asynchronous)
        self.table = Table(self.answers, request.known, request.dim)
        self.core = Run(
            request,
            lambda: make_search(request, self.answers, asynchronous=pool.asynchronous),
            self.answers,
            Events() if folder is None else folder,
            on_error=on_error,
            asynchronous=pool.asynchronous,
            vectorized=pool.vectorized,
            warn=warn_user,
        )
        self.driver = Driver(self.core, workers, stopping, self._on_the_way, states=folder is not None)
        self._logged_best = float("inf")

    @np.errstate(all="ignore")  # ours, whatever the caller set: the function and the callback keep theirs
    @one_thread()
    def run(self) -> Result:
        """Search until something ends it; always a result, but for errors, which carry it."""
        request = self.shown
        log_event(
            "info",
            f"{request.method} begins: {request.dim} variables, {request.budget} evaluations, seed {request.seed}",
            method=request.method,
            budget=request.budget,
            seed=request.seed,
        )
        try:
            try:
                self._replay()
                if not self._known_point_ends_run():
                    self.driver.drive()
            except StopRun as stop:
                self.stopping.note_reason(stop.reason, stop.detail)
            except KeyboardInterrupt:
                self.stopping.note_reason("interrupt")
            finally:
                self.stopping.close()
                self.workers.close()
            self.stopping.note_reason("budget" if self.answers.calls >= self.core.budget else "finished")
            result = self.result()
            if self.folder is not None:
                self.folder.write_result(result.summary())
                self.folder.add(["end", self.stopping.reason])
                self.folder.close()
        except BaseException as error:
            self._attach_result(error)
            raise
        log_event("info", result.message, nfev=result.nfev, fun=result.fun, feasible=result.feasible)
        return result

    def _replay(self) -> None:
        """Bring the run to where the folder's events end, and raise its budget where that was asked for."""
        if self.folder is None or not self.folder.events:
            return
        self.core.replay(self.folder.events, self.stopping.raise_if_over)
        if self.core.diverged:
            self.folder.notes.append(
                f"{self.core.diverged} of {self.answers.calls} recorded points are not those that this machine would "
                "have proposed; the run went on from the recorded ones"
            )
        self.core.set_budget(self.shown.budget)

    def _known_point_ends_run(self) -> bool:
        """Whether a point known beforehand already is what the run should stop at."""
        if self.request.known is None or not self.stopping.watches_answers:
            return False
        ev = self.request.known.to_evaluation(*self.request.resolve_tolerances(self.answers))
        return any(self.stopping.check_answer(f, ok) for f, ok in zip(ev.f[0].tolist(), ev.feasible[0].tolist()))

    def _attach_result(self, error: BaseException) -> None:
        """Attach the result so far to an error, unless that is what failed."""
        self.stopping.note_reason("error", f"{type(error).__name__} ended the run")
        log_event("error", f"{type(error).__name__} ended the run: {error}", nfev=len(self.answers))
        with suppress(Exception):
            error.result = self.result()  # type: ignore[attr-defined]

    def _on_the_way(self) -> Result:
        """The result so far, for the callback."""
        return self.result(by_arrival=self.core.asynchronous)

    def result(self, *, by_arrival: bool = False) -> Result:
        """The result of all answers so far; rows by number, or as they came."""
        facts, over = self.core.search.facts(), self.stopping.reason is not None
        notes = [*self.request.notes, *([] if self.folder is None else self.folder.notes)]
        if over:
            notes += advise(self.request.method, len(self.answers), self.core.seconds)
        found = make_result(
            self.shown,
            self.answers,
            self.table,
            self.stopping.reason or "running",
            detail=self.stopping.detail,
            facts=facts,
            notes=[*notes, *facts.remarks, *(self._note_untried_points() if over else [])],
            by_arrival=by_arrival,
        )
        place = "" if self.folder is None else str(self.folder.path)
        return replace(found, run=replace(found.run, folder=place)) if place else found

    def _note_untried_points(self) -> list[str]:
        """A note on starting points for which there was no room."""
        if self.request.x0 is None:
            return []
        tried = {entry.x.tobytes() for entry in self.answers.entries.values()}
        known = set() if self.request.known is None else {row.tobytes() for row in self.request.known.x}
        missing = sum(row.tobytes() not in tried | known for row in self.request.x0)
        said = f"{missing} of the {len(self.request.x0)} starting points were not tried (population or budget)"
        return [said] if missing else []


def _fill_defaults_from_folder(
    saved: Checkpoint, asked: dict[str, Any], pool: Workers, on_error: Any, evaluated: Any
) -> tuple[dict[str, Any], Workers, Any, Any]:
    """What is asked for, workers, on_error and evaluated: what the run recorded wherever the caller left the default.

    As given where the folder holds no run.
    """
    from meco.run.folder import read_run, refuse_old, resolve_folder

    folder = resolve_folder(saved.folder)
    refuse_old(folder)
    found, asked = read_run(folder), dict(asked)
    if found is None:
        return asked, pool, on_error, evaluated
    before = found[0]["inputs"]
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
    on_error = before.get("on_error") if on_error is None else on_error
    return asked, pool, on_error, before["evaluated"] if evaluated is None else evaluated


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
    from meco.run.cheap import read_cheap

    return read_cheap(cheap, variables)


def _make_workers(pool: Workers, call: Call, request: Request) -> Pool:
    """Where the function is called. Starts no process yet."""
    if pool.n == 1 and pool.timeout is None and not getattr(call.fun, "isolated", False):
        return Serial(call)
    from meco.run.workers import make_workers

    return make_workers(pool, call, request.options.get("batch"))


def _check_asynchronous(request: Request, workers: Pool) -> None:
    """InvalidInput where method or workers cannot take one point at a time."""
    from meco.run.async_engine import check_asynchronous

    check_asynchronous(request.method)
    if not workers.streams:
        raise InvalidInput("asynchronous=True needs a number of workers or an executor: a map takes points together")


def find_function_name(fun: Any) -> str:
    """What a function calls itself: run folders keep it, and a resumed run must have the same."""
    while hasattr(fun, "func"):  # functools.partial
        fun = fun.func
    return getattr(fun, "__qualname__", None) or type(fun).__qualname__
