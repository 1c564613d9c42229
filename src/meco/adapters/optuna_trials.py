"""Optuna's parameters as variables, and its trials as points."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from meco.run.layout import PriorEvaluations
from meco.variables import Variable

FREE_RANGE = 20.0  # where a parameter without bounds is sampled before anything is known of it


class SearchedParameter(NamedTuple):
    """A parameter as a variable: logarithms where the scale is one, the number of the step or of the choice."""

    low: float
    high: float
    integer: bool
    to_value: Callable[[float], Any]  # of the parameter, from the variable
    from_value: Callable[[Any], float]  # of the variable, from the parameter
    choices: int = 0  # of a category

    @classmethod
    def of(cls, d: Any) -> SearchedParameter:
        """The variable behind a distribution of Optuna, one of SEARCHED."""
        if isinstance(d, CategoricalDistribution):
            last = len(d.choices) - 1
            return cls(0, last, True, lambda x: d.choices[round(x)], lambda v: d.to_internal_repr(v), len(d.choices))
        kind = int if isinstance(d, IntDistribution) else float

        def inside(value: float) -> Any:
            return min(max(kind(round(value)) if kind is int else value, d.low), d.high)

        if d.log:
            half = 0.5 if kind is int else 0.0  # so that the ends have as much room as the others
            return cls(math.log(d.low - half), math.log(d.high + half), False, lambda x: inside(math.exp(x)), math.log)
        if d.step:
            last = round((d.high - d.low) / d.step)
            return cls(
                0, last, True, lambda x: inside(d.low + round(x) * d.step), lambda v: round((v - d.low) / d.step)
            )
        return cls(d.low, d.high, False, float, float)

    @property
    def variable(self) -> Variable:
        """The same for a search."""
        if self.choices:
            return Variable(categories=[f"choice {i}" for i in range(self.choices)])
        return Variable(float(self.low), float(self.high), integer=self.integer)

    @property
    def infinite(self) -> bool:
        """Whether an end is missing."""
        return math.isinf(self.low) or math.isinf(self.high)

    def value_at_share(self, u: float) -> float:
        """The value at a share u of the range; without bounds, of ten to either side of 0 or beyond the bound."""
        if not self.infinite:
            return self.low + u * (self.high - self.low)
        if math.isfinite(self.low) or math.isfinite(self.high):
            return self.low + FREE_RANGE * u if math.isfinite(self.low) else self.high - FREE_RANGE * u
        return FREE_RANGE * (u - 0.5)


def trial_constraints(trial: FrozenTrial) -> dict[str, float]:
    """Constraint values of a trial by name, {} without any; Optuna 4 keeps them as a list."""
    named = getattr(trial, "constraints", None)
    listed = trial.system_attrs.get("constraints") or ()
    return {str(i): c for i, c in enumerate(listed)} if named is None else named


def trial_as_point(
    trial: FrozenTrial, axes: dict[str, SearchedParameter], constraints: tuple[str, ...], sign: float
) -> PriorEvaluations:
    """A finished trial as one point; nan where it failed or was pruned, and for what is missing or out of range."""
    x = [axis.from_value(trial.params[name]) if name in trial.params else math.nan for name, axis in axes.items()]
    x = [v if axis.low <= v <= axis.high else math.nan for v, axis in zip(x, axes.values())]
    found = trial_constraints(trial)
    f = sign * trial.value if trial.state == TrialState.COMPLETE and trial.value is not None else math.nan
    g = [found.get(name, math.nan) for name in constraints]
    return PriorEvaluations(np.array([x]), np.array([f]), np.array([g]).reshape(1, -1), np.zeros((1, 0)))
