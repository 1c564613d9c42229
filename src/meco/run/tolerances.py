"""How far each constraint may be off: one number for all, a list in their order, or a dict by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from meco.errors import InvalidInput, UnknownName
from meco.options import EQ_TOL, INEQ_TOL
from meco.run.log.evaluation_log import EvaluationLog, default_equality_tolerances

DEFAULT_TOLERANCES = {"ineq": INEQ_TOL, "eq": EQ_TOL}


def resolve_tolerances_by_name(
    ineq: Any, eq: Any, names: Sequence[str], n_ineq: int, default_eq: np.ndarray
) -> tuple[Any, Any]:
    """Tolerances of inequalities and equalities, of constraints of these names, inequalities first.

    One dict for both names constraints of either kind; one for a kind names those of its kind alone.
    UnknownConstraint for others. default_eq [q] are those of equalities without one.
    """
    if eq is None:
        eq = EQ_TOL if (default_eq == EQ_TOL).all() else default_eq.tolist()
    both = isinstance(ineq, dict) and ineq == eq
    parts = (ineq, names[:n_ineq], "ineq"), (eq, names[n_ineq:], "eq")
    if both and names:
        check_constraint_names(ineq, names, "by name")
        parts = tuple(({k: v for k, v in t.items() if k in own}, own, kind) for t, own, kind in parts)  # type: ignore[assignment]
    defaults = np.full(len(parts[0][1]), INEQ_TOL), default_eq
    one, other = (resolve_tolerance(*part, default) for part, default in zip(parts, defaults))
    return one, other


def resolve_tolerance(tolerance: Any, names: Sequence[str], keyword: str, default: np.ndarray) -> float | np.ndarray:
    """The tolerance of each constraint of these names, [p], or the number that holds for all of them.

    default [p] are those of constraints that a dict does not name.

    InvalidInput where their number differs, UnknownConstraint for a name that is none.
    """
    if isinstance(tolerance, (int, float)):
        return tolerance
    if not names:  # no answer has told yet what the constraints are, or there are none
        return DEFAULT_TOLERANCES[keyword]
    if isinstance(tolerance, list):
        if len(tolerance) != len(names):
            raise InvalidInput(
                f"tolerances: {keyword} has {len(tolerance)} values, but there are {len(names)} constraints: "
                f"{', '.join(names)}"
            )
        return np.array(tolerance)
    check_constraint_names(tolerance, names, keyword)
    return np.array([tolerance.get(name, own) for name, own in zip(names, default.tolist())])


def resolve_recorded_tolerances(inputs: Mapping[str, Any], log: EvaluationLog) -> tuple[Any, Any]:
    """The tolerances of a run folder's inputs, for the constraints that its log holds."""
    given = inputs["tolerances"]
    names, default = log.constraint_names(given["names"]), default_equality_tolerances(log)
    return resolve_tolerances_by_name(given["ineq"], given["eq"], names, log.counts[0], default)


def check_constraint_names(tolerance: Any, names: Sequence[str], keyword: str) -> None:
    """UnknownConstraint for a dict that names a constraint which is not there."""
    for name in tolerance if isinstance(tolerance, dict) else ():
        if name not in names:
            raise UnknownConstraint(f"constraint (in tolerances: {keyword})", name, names)


def resolve_noise_by_name(
    noise: float | list[float] | dict[str, float], names: Sequence[str], exact: Collection[str] = ()
) -> np.ndarray:
    """Standard deviations of f and of constraints of these names [1 + C]: one for all, in order, or by name.

    Exact constraints have 0, unless a dict names them, and a list may leave them out. InvalidInput where their number
    differs, UnknownConstraint for a name that is none.
    """
    if isinstance(noise, dict):
        for name in noise:
            if name != "f" and name not in names:
                raise UnknownConstraint('function (in noise: "f" or a constraint)', name, ("f", *names))
        return np.array([noise.get(name, 0.0) for name in ("f", *names)])
    noisy = [name for name in names if name not in exact]
    if isinstance(noise, list) and len(noise) == 1 + len(names):
        return np.array(noise)
    if isinstance(noise, list) and len(noise) != 1 + len(noisy):
        raise InvalidInput(f"noise has {len(noise)} values, but there are {1 + len(noisy)}: f, {', '.join(noisy)}")
    found = np.zeros(1 + len(names))
    found[[True, *(name not in exact for name in names)]] = noise
    return found


class UnknownConstraint(UnknownName, InvalidInput):
    """A tolerance, or a level of noise, of a constraint that does not exist."""


def strictest_tolerance(tolerance: Any, keyword: str) -> float:
    """The smallest tolerance, for methods that know only one; the default's where some constraint may have that."""
    if tolerance is None:
        return DEFAULT_TOLERANCES[keyword]
    if isinstance(tolerance, (int, float)):
        return tolerance
    values = tolerance if isinstance(tolerance, list) else [*tolerance.values(), DEFAULT_TOLERANCES[keyword]]
    return min(values, default=DEFAULT_TOLERANCES[keyword])
