"""confirm(): the best points of a noisy function are called again, so that luck does not decide.

The least of many noisy values lies below what the function is worth there. Further calls therefore go, one after the
other, to whatever point is best by the mean of its calls so far, of few points; where calls differ, the answer is that
of noisy_answer.py: the best by its mean of those that keep the constraints with a probability of 0.95.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from meco.answer.build import constraint_values
from meco.answer.noise import average_calls, choose_noisy_answer
from meco.errors import InvalidInput
from meco.evaluations import BestPoint, Evaluations
from meco.read_numbers import read_whole_number
from meco.result import LimitPrices, Result, describe_doubt, format_probability, is_feasible_in_mean
from meco.run.answer import Answer, Fault
from meco.run.call import Call
from meco.run.constraints import LimitedValues, read_constraints
from meco.run.folder import log_confirmation
from meco.run.layout import Answers
from meco.variables import Variables

CALLS_PER_POINT = 4  # that is called again, on average at least


def point_to_call(every: Evaluations, tolerances: tuple[Any, Any], calls: int) -> np.ndarray | None:
    """The point [D] to call again: the best by its mean, of at most a quarter as many points as there are calls.

    Points that were called again count for that number only if they keep the constraints by their means, as long as
    another point does: what is known to violate is not called again. None where nothing was answered.
    """
    found = average_calls(every)
    kept = found.feasible(tolerances)
    again = (found.calls > 1) & (kept | ~kept.any())
    enough = np.count_nonzero(again) >= max(1, calls // CALLS_PER_POINT)
    at = found.best_index(tolerances, again if enough else found.calls > 0) if len(found.x) else None
    return None if at is None else found.x[at]


class ConfirmedPoint(NamedTuple):
    """The best point by repeated calls, its means, their spreads, how many calls there were, and the probability that
    it keeps the constraints; None of that where calls of one point do not differ."""

    x: np.ndarray
    f: float
    g: np.ndarray
    h: np.ndarray
    feasible: bool
    calls: int
    spread: tuple[float, np.ndarray, np.ndarray]
    probability: float | None


def best_confirmed_point(every: Evaluations, tolerances: tuple[Any, Any]) -> ConfirmedPoint | None:
    """The answer by repeated calls: that of a noisy run, or the best where calls do not differ; None where none was.

    Of points that were called again, half as often as any that keeps the constraints, or more.
    """
    found = average_calls(every)
    again, kept = found.calls > 1, found.feasible(tolerances)
    if not again.any():
        return None
    noisy = choose_noisy_answer(every, tolerances, called_again=True)
    if noisy is None:
        some = again & kept if (again & kept).any() else again
        at = found.best_index(tolerances, some & (found.calls >= (found.calls[some].max() + 1) // 2))
        assert at is not None
    else:
        at = int(np.flatnonzero((found.x == noisy.point.x).all(axis=1))[0])
    place = int(np.searchsorted(found.several, at))  # it was called again
    f, g, h = (m[place] for m in found.mean)
    spread = tuple(s[place] for s in found.spread)
    sure, probability = (bool(kept[at]), None) if noisy is None else (noisy.point.feasible, noisy.probability)
    return ConfirmedPoint(found.x[at], float(f), g, h, sure, int(found.calls[at]), spread, probability)


def confirm(
    result: Result,
    fun: Callable[..., Any],
    calls: int = 20,
    *,
    constraints: Any = (),
    vectorized: bool = False,
    cheap: Any = None,
) -> Result:
    """Call the best points of a finished run again, and give its result by means over all calls.

    fun, constraints, vectorized and cheap are those of the run. The new result has `repeated`: how often x was called,
    the mean and the spread (standard deviation) of f, and the spread of each constraint; where calls of one point
    differ, `probability` and `success` are as in a noisy run, by these calls. nfev counts these calls too. A call that
    fails is counted and changes nothing. InvalidInput for a result of solve(), or a fun of other constraints.

    Examples:
        >>> import meco
        >>> fun = lambda x: x @ x
        >>> result = meco.confirm(meco.minimize(fun, [(-2, 2)] * 2, budget=40, seed=1), fun, calls=8)
        >>> result.repeated["calls"] > 1
        True
    """
    if not isinstance(result, Result):
        raise InvalidInput(f"confirm(result, fun) takes a result of minimize() first; got {result!r:.60}")
    run, every, calls = result.run, result.evaluations, read_whole_number(calls, "calls")
    if every is None or run.variables is None:
        raise InvalidInput("confirm() takes a result of minimize() or of an Optimizer")
    if not callable(fun):
        raise InvalidInput(f"fun must be a function of x; got {fun!r:.60}")
    separate = (*read_constraints(constraints, run.variables), *_read_cheap(cheap, run.variables))
    call = Call(fun, separate, vectorized, run.variables if run.variables.names else None)
    made = failed = 0
    calls_made: list[tuple[np.ndarray, Answer, float]] = []
    while made < calls and (x := point_to_call(every, run.tolerances, calls)) is not None:
        (answer,), seconds = call(result.nfev + made, x[None])
        calls_made.append((x, answer, seconds))
        failed += answer.fault is not Fault.NONE
        every, made = every.with_answer(x, *_values_in_order(answer, result, every), *run.tolerances), made + 1
    if run.folder and calls_made:
        log_confirmation(run.folder, calls_made)
    found = best_confirmed_point(every, run.tolerances)
    if found is None:
        return replace(result, nfev=result.nfev + made, evaluations=every, run=replace(run, nfail=run.nfail + failed))
    spread, *others = found.spread
    best_point = BestPoint(found.x.copy(), found.f, found.g, found.h, found.feasible, True)
    values = constraint_values(list(result.constraints), best_point, *run.tolerances)
    violations = [each.violation for each in values.values()]
    moved = not np.array_equal(best_point.x, result.x)
    said = f"Confirmed by {found.calls} calls: f = {found.f:.10g}, standard deviation {spread:.3g}."
    made_of = replace(
        result,
        x=best_point.x,
        fun=found.f,
        success=found.feasible,
        nu=sum(violations),
        maxcv=max(violations, default=0.0),
        constraints=values,
        limits=LimitPrices() if moved else result.limits,
        minima=() if moved else result.minima,
        nfev=result.nfev + made,
        evaluations=every,
        run=replace(run, nfail=run.nfail + failed),
        repeated={
            "calls": found.calls,
            "mean": found.f,
            "spread": float(spread),
            "constraint_spread": np.concatenate(others),
        },
        probability=found.probability,
    )
    return replace(made_of, message=f"{result.message} {said}{_describe_sureness(made_of)}")


def _describe_sureness(result: Result) -> str:
    """What the message adds on how sure the constraints are; "" where calls do not differ, or nothing limits x."""
    if result.probability is None or not result.constraints:
        return ""
    if is_feasible_in_mean(result):
        return f" x is {describe_doubt(result.probability)}."
    return f" Probability that x keeps the constraints: {format_probability(result.probability)}."


def _read_cheap(cheap: Any, variables: Variables) -> tuple[LimitedValues, ...]:
    """Constraints that cost nothing, () for None; their module is loaded only where there are any."""
    if cheap is None:
        return ()
    from meco.run.cheap import read_cheap

    return read_cheap(cheap, variables)


def _values_in_order(answer: Answer, result: Result, every: Evaluations) -> tuple[float, np.ndarray, np.ndarray]:
    """f, g [p] and h [q] of an answer in the order of the run's constraints; nan where it is partial or failed.

    InvalidInput where their number differs.
    """
    p, q = every.g.shape[1], every.h.shape[1]
    if answer.fault is not Fault.NONE:
        return np.nan, np.full(p, np.nan), np.full(q, np.nan)
    names = result.run.constraint_names or tuple(result.constraints)
    layout = Answers()
    layout.declare(p, q, names[:p], names[p:])
    aligned = layout.align(answer)
    if aligned.fault is Fault.MISMATCH:
        raise InvalidInput(
            f"fun gave {answer.g.size} inequalities and {answer.h.size} equalities, but the run has {p} and {q}: give "
            "confirm() the function and the constraints of the run"
        )
    return aligned.f, aligned.g, aligned.h
