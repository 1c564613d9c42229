"""The result of a run's answers, and what there is to say of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from meco.answer.noise import NoisyAnswer, choose_noisy_answer
from meco.answer.table import Judgement, Table
from meco.core.capabilities import Policed
from meco.errors import InvalidInput
from meco.evaluations import BestPoint, Evaluations
from meco.result import (
    EQUALITY_ERRORS,
    ConstraintValue,
    LimitPrices,
    Minimum,
    Result,
    RunFacts,
    describe_doubt,
    describe_excess,
    format_probability,
    is_feasible_in_mean,
)
from meco.run.answer import FAULT_MESSAGES, Fault
from meco.run.layout import Answers
from meco.run.log import library_versions
from meco.run.request import Request
from meco.run.search import Facts
from meco.run.stop import STOP_MESSAGES

NO_FACTS = Facts()
WIDE_TOLERANCE = 0.01  # share of the largest value of an equality, above which its tolerance says little
TOLD_FAILURE_SHARE = 0.1  # share of failed evaluations from which the message speaks of them


def make_result(
    request: Request,
    answers: Answers,
    table: Table,
    reason: str,
    *,
    detail: str = "",
    facts: Facts = NO_FACTS,
    notes: Sequence[str] = (),
    by_arrival: bool = False,
) -> Result:
    """The result of all answers, whose columns the table makes; reason is a key of STOP_MESSAGES.

    Without any answer x is a point inside the bounds and fun is nan.
    """
    allowed, deviations, misfits = _resolve_names(request, answers)
    every = table.evaluations(make_judgement(request, answers, allowed), by_arrival=by_arrival)
    found = _choose_point(request, every)
    ended = reason != "running" and every.best is not None
    noisy = choose_noisy_answer(every, allowed, deviations) if ended else None
    found = found if noisy is None else noisy.point
    names = distinct_names(answers.constraint_names(request.constraint_names))
    constraints = constraint_values(names, found, *allowed) if every.best is not None else {}
    violations = [each.violation for each in constraints.values()]
    over = reason != "running" and found.usable
    run = RunFacts(
        method=request.method,
        seed=request.seed,
        variables=request.variables,
        tolerances=allowed,
        stop_reason=reason,
        budget=request.budget,
        nfail=sum(answers.faults.values()),
        failures={fault.name.lower(): count for fault, count in sorted(answers.faults.items())},
        starts=_count_starts(facts.trace),
        versions=library_versions() | _policy_version(facts),
        constraint_names=() if answers.layout is None else (*answers.layout.g_names, *answers.layout.h_names),
        notes=(*notes, *misfits),
    )
    result = Result(
        x=found.x,
        fun=found.f if found.usable else float("nan"),
        success=found.feasible,
        nu=sum(violations) if found.usable else float("nan"),
        maxcv=max(violations, default=0.0) if found.usable else float("nan"),
        score=facts.score,
        constraints=constraints,
        nfev=len(answers),
        nit=facts.iterations,
        evaluations=every,
        trace=dict(facts.trace),
        run=run,
        probability=None if noisy is None else noisy.probability,
        repeated=None if noisy is None else _describe_repeats(noisy),
    )
    if over:
        limits, stationary = _price_limits(request, result, found, names)
        minima, evidence = _find_minima(request, result, stationary, reason == "converged" or facts.converged)
        result = replace(result, limits=limits, minima=minima)
        wide = _note_wide_tolerances(request, result, answers.counts[0])
        notes = (*run.notes, *_list_signs(request, result), *wide)
        result = replace(result, run=replace(run, evidence=evidence, notes=notes))
    return replace(result, message=_write_message(result, answers, detail, noise_told=deviations is not None))


def make_judgement(request: Request, answers: Answers, allowed: tuple[Any, Any]) -> Judgement:
    """How evaluations are compared under tolerances (ineq, eq).

    Linear equalities are known exactly: a point that keeps them to rounding comes before one within the tolerance.
    """
    return Judgement(*allowed, _find_exact_equalities(request, answers, allowed))


def _find_exact_equalities(request: Request, answers: Answers, allowed: tuple[Any, Any]) -> np.ndarray | None:
    """The errors of equalities [q] that are known exactly; None without linear ones."""
    if not any(row.equal for row in request.linear_rows):
        return None
    from meco.run.hard_constraints import exact_equalities

    return exact_equalities(request, answers, allowed[1])


def _resolve_names(request: Request, answers: Answers) -> tuple[tuple[Any, Any], np.ndarray | None, tuple[str, ...]]:
    """Tolerances (ineq, eq), standard deviations of a call [1 + C] or None, and notes if names do not fit.

    Calls end as soon as that is known; a run that ended before has the strictest tolerances, and its calls none.
    """
    try:
        return request.resolve_tolerances(answers), request.resolve_noise(answers), ()
    except InvalidInput as error:
        return request.strictest_tolerances, None, (str(error),)


def _describe_repeats(noisy: NoisyAnswer) -> dict[str, Any]:
    """What Result.repeated holds: calls of the answer, the mean of f, and standard deviations of one call.

    "spread" is that of f, "constraint_spread" those of the constraints [C]: sqrt(calls) times errors of the means.
    """
    return {
        "calls": noisy.calls,
        "mean": noisy.point.f,
        "spread": noisy.error * math.sqrt(noisy.calls),
        "constraint_spread": noisy.constraint_errors * math.sqrt(noisy.calls),
    }


def _policy_version(facts: Facts) -> dict[str, str]:
    """{"policy": name, digest and reading} of the policy that steered the search; {} without any."""
    said = Policed(facts.policy).describe()
    return {"policy": said} if said else {}


def _price_limits(request: Request, result: Result, found: BestPoint, names: Sequence[str]) -> tuple[LimitPrices, bool]:
    """What each limit costs at the best point of a result, and whether that was found to be stationary.

    Its module is loaded once a run is over.
    """
    from meco.answer.prices import price_limits

    assert result.evaluations is not None
    feasible = found.feasible or is_feasible_in_mean(result)
    noisy = result.repeated
    deviations = None if noisy is None else np.concatenate([[noisy["spread"]], noisy["constraint_spread"]])
    priced = price_limits(request, result.evaluations, found, names, feasible=feasible, deviations=deviations)
    return LimitPrices(priced.prices), priced.stationary


def _find_minima(
    request: Request, result: Result, stationary: bool, converged: bool
) -> tuple[tuple[Minimum, ...], str]:
    """Where the starts of the search ended, and what that tells in a sentence; loads their module.

    stationary: whether x was found to be a stationary point; converged: whether the last start is.
    """
    from meco.answer.minima import count_combinations, describe_evidence, find_minima

    every = result.evaluations
    assert every is not None
    if not every.feasible.any():
        return (), ""
    minima = find_minima(request, every, result.trace, answer=result.x if stationary else None, converged=converged)
    reached = bool(minima) and np.array_equal(minima[0].x, result.x)
    tried = count_combinations(request.variables, every)
    evidence = describe_evidence(minima, _count_starts(result.trace), tried, reached=reached)
    if minima and not reached:
        minima = (Minimum(result.x.copy(), result.fun, 0), *minima)
    return minima, evidence


def _list_signs(request: Request, result: Result) -> list[str]:
    """Notes on what a run that is over looks like: noisy, though nobody looked for it, or without a minimum."""
    from meco.answer.minima import note_missing_minimum

    said = note_missing_minimum(request, result.minima, result.x)
    if result.probability is not None or request.noise is not None:
        return said
    from meco.answer.noise import note_unseen_noise

    assert result.evaluations is not None
    return [*said, *note_unseen_noise(request, result.evaluations, result.x)]


def _note_wide_tolerances(request: Request, result: Result, n_ineq: int) -> list[str]:
    """A note on equalities whose tolerance is more than WIDE_TOLERANCE of the largest value seen; [] without any.

    Linear and cheap ones, which are kept exactly, are left out, as are those that are 0 everywhere.
    """
    every = result.evaluations
    assert every is not None
    kept = {row.name for row in request.linear_rows}
    kept |= set() if request.cheap is None else set(request.cheap.values.names)
    with np.errstate(invalid="ignore"):
        largest = np.max(np.where(np.isfinite(every.h), np.abs(every.h), 0.0), axis=0, initial=0.0)
    wide = [
        f"{name} ({each.tolerance:.3g}, largest value {size:.3g})"
        for (name, each), size in zip(list(result.constraints.items())[n_ineq:], largest.tolist())
        if name not in kept and size > 0.0 and each.tolerance > WIDE_TOLERANCE * size
    ]
    if not wide:
        return []
    more = f" and {len(wide) - 3} more" if len(wide) > 3 else ""
    said = f"the tolerance is more than 1 % of the largest value seen of {', '.join(wide[:3])}{more}"
    return [f"{said}: give a smaller one, tolerances={{name: value}}"]


def _count_starts(trace: Mapping[str, np.ndarray] | None) -> int:
    """How often the search began, by its trace: 1 where it does not begin again by itself."""
    return int(trace["restarts"][-1]) + 1 if trace and "restarts" in trace else 1


def _choose_point(request: Request, every: Evaluations) -> BestPoint:
    """The best point of all evaluations; without any, a point inside the bounds that is not usable."""
    if every.best is None:
        middle = (request.variables.lower + request.variables.upper) / 2
        x = middle if request.centre is None else request.centre.copy()
        x = x if request.integer is None else np.where(request.integer, np.floor(x), x)
        return BestPoint(x, float("nan"), np.zeros(0), np.zeros(0), False, False)
    return every.best._replace(x=every.best.x.copy())


def constraint_values(names: Sequence[str], point: BestPoint, ineq_tol: Any, eq_tol: Any) -> dict[str, ConstraintValue]:
    """Value, violation and tolerance of each constraint at a point by name, inequalities first; nan where not known.

    Tolerances are a number or one for each; names must be as many as there are constraints.
    """
    g, h = point.g, point.h
    rows = map(
        ConstraintValue,
        [*g.tolist(), *h.tolist()],
        [*np.maximum(g, 0.0).tolist(), *np.abs(h).tolist()],
        [limit for t, v in zip((ineq_tol, eq_tol), (g, h)) for limit in (t + np.zeros(v.size)).tolist()],
    )
    return dict(zip(names, rows))


def distinct_names(names: Sequence[str]) -> list[str]:
    """The same names in their order, numbered where one comes again: "a", "a (2)"."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made


def _write_message(result: Result, answers: Answers, detail: str, *, noise_told: bool) -> str:
    """Result.message: why the run stopped, what was found, and what went wrong, in sentences."""
    run, calls = result.run, f"{result.nfev} evaluation{'' if result.nfev == 1 else 's'}"
    ended = f"Stopped after {calls}: {detail or STOP_MESSAGES[run.stop_reason]}."
    said = [
        f"After {calls} the run goes on." if run.stop_reason == "running" else ended,
        *_describe_point(result, answers.counts[0], noise_told),
    ]
    if run.nfail and run.nfail >= TOLD_FAILURE_SHARE * result.nfev:
        kinds = [
            f"{count} {FAULT_MESSAGES[fault]}"
            + (f" (first: {answers.first_reason[fault]})" if fault in answers.first_reason else "")
            for fault, count in answers.faults.most_common()
            if fault is not Fault.NONE
        ]
        said.append(f"{run.nfail} of {result.nfev} evaluations failed: {'; '.join(kinds)}.")
    said.extend(note[0].upper() + note[1:] + "." for note in run.notes)
    return " ".join(said)


def _describe_point(result: Result, n_ineq: int, noise_told: bool) -> list[str]:
    """What the message says of the best point, in sentences; its first n_ineq constraints are inequalities."""
    if result.status == 2 and any(each.violation > each.tolerance for each in result.constraints.values()):
        told = [name for name, each in result.constraints.items() if np.isfinite(each.value)]
        return [f"No answer was whole; this x violates least of what is known ({', '.join(told)})."]
    if result.status == 2:
        return ["No evaluation succeeded; x is only a point inside the bounds."]
    if result.probability is not None and result.repeated is not None:
        return [_describe_noisy(result, n_ineq, noise_told)]
    if result.status == 1:
        return [
            "No feasible point was found; of the points called this x violates the constraints least in sum "
            f"({_describe_violated(result)})."
        ]
    said = [f"Best feasible f = {result.fun:.10g}."]
    over = [(name, each) for name, each in list(result.constraints.items())[:n_ineq] if each.violation > 0]
    if over:
        worst, most = max(over, key=lambda pair: pair[1].violation)
        said.append(f"No point has every inequality at 0 or below: {worst} is{describe_excess(most)}.")
    return said


def _describe_violated(result: Result) -> str:
    """How many constraints x violates, and the worst of them where there is one."""
    hurt = {name: c.violation for name, c in result.constraints.items() if c.violation > c.tolerance}
    if not hurt:
        return f"0 of {len(result.constraints)} violated"
    worst = max(hurt, key=lambda name: hurt[name])
    return f"{len(hurt)} of {len(result.constraints)} violated, worst: {worst} by {hurt[worst]:.6g}"


def _describe_noisy(result: Result, n_ineq: int, told: bool) -> str:
    """What the message says of an answer that noisy calls were averaged for; equalities come after n_ineq others.

    told: whether the standard deviation of a call was told, and not found out by calls that differ.
    """
    assert result.repeated is not None
    assert result.probability is not None
    calls = result.repeated["calls"]
    error = result.repeated["spread"] / math.sqrt(calls)
    of = f"of {calls} calls at x f = {result.fun:.6g} in the mean" if calls > 1 else f"of one call f = {result.fun:.6g}"
    why = "With the noise that was told" if told else "Calls of one point differ (noise, or a model not converged)"
    said = f"{why}: {of}, standard error {error:.2g}"
    if not result.constraints:
        return f"{said}."
    kinds = _name_kinds(n_ineq, result)
    if is_feasible_in_mean(result):
        said = f"{said}; x is {describe_doubt(result.probability)} (meco.confirm)."
    elif result.success:
        said = f"{said}; probability that x keeps the {kinds}: {format_probability(result.probability)}."
    else:
        said = f"{said}. No feasible point was found; this x is the likeliest to keep the {kinds}, with probability "
        said += f"{format_probability(result.probability)} ({_describe_violated(result)} in the mean)."
    if calls == 1:
        said = f"{said} The probability is a bound, as the best of many points that were called once is a lucky one."
    if len(result.constraints) == n_ineq:
        return said
    return f"{said} Equalities are judged by their means, within the tolerance and {EQUALITY_ERRORS:g} standard errors."


def _name_kinds(n_ineq: int, result: Result) -> str:
    """What a probability is asked of: "constraints", or "inequalities" where there are equalities too."""
    return "constraints" if len(result.constraints) == n_ineq else "inequalities"
