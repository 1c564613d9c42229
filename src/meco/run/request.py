"""The checked order behind minimize() and Optimizer: variables, points at hand, budget, method and tolerances."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.core.capabilities import Batching, InfiniteBounds
from meco.core.metrics import feasibility_first
from meco.core.rule import order
from meco.core.search_range import FARTHEST, TYPICAL_LENGTHS, SearchRange, measure_range
from meco.errors import InvalidInput
from meco.methods import METHODS, methods_that_offer
from meco.options import EQ_TOL, Method, Noise, Tolerances, Workers, read_noise
from meco.read_numbers import read_whole_number
from meco.run.given_points import read_prior_evaluations, read_start
from meco.run.layout import Answers, PriorEvaluations
from meco.run.scipy_compat import read_seed, resolve_method, spread_scalar_bounds
from meco.run.tolerances import (
    check_constraint_names,
    resolve_noise_by_name,
    resolve_tolerances_by_name,
    strictest_tolerance,
)
from meco.variables import Variable, Variables

if TYPE_CHECKING:
    from meco.run.cheap import Cheap
    from meco.run.constraints import LimitedValues, Row

FEW_GENERATIONS = 10  # below which a population method learns next to nothing
MOST_BUDGET = 10**15
MOST_POPULATION_NUMBERS = 100_000_000  # in a population

MOST_VECTORIZED = 64  # points for a vectorized function at once, where no batch is given
VECTORIZED_ITERATIONS = 20  # times D: iterations that the budget leaves at least

OBJECT_KEY = "object"  # the key that marks an option which was an object


@dataclass(frozen=True, eq=False)
class Request:
    """What a run is asked to do; everything here is checked, and logged when the run begins."""

    variables: Variables
    budget: int
    method: str
    seed: int
    options: dict[str, Any] = field(default_factory=dict)  # for the engine: pop_size, policy, batch
    x0: np.ndarray | None = None  # [n, D]
    known: PriorEvaluations | None = None
    tolerances: Tolerances = field(default_factory=Tolerances)
    notes: tuple[str, ...] = ()  # what the user should know before the first evaluation
    linear_rows: tuple[Row, ...] = ()  # linear constraints
    separate: tuple[LimitedValues, ...] = ()  # constraints given beside the function, which tell their limits
    cheap: Cheap | None = None  # constraints that cost nothing
    noise: Noise | None = None  # whether calls of one point differ, or by how much; None: not known

    @cached_property
    def integer(self) -> np.ndarray | None:
        """Which variables are whole numbers [D]; None: there are none."""
        mask = self.variables.column("integer")
        return mask if mask.any() else None

    @cached_property
    def logarithmic(self) -> np.ndarray | None:
        """Which variables are on a logarithmic scale [D]; None: there are none."""
        mask = self.variables.column("log")
        return mask if mask.any() else None

    @property
    def dim(self) -> int:
        """Number of variables."""
        return len(self.variables.each)

    @cached_property
    def centre(self) -> np.ndarray | None:
        """Where the search begins [D]: x0, or the best of the known points; None: in the middle of the box."""
        if self.x0 is not None or self.known is None:
            return None if self.x0 is None else self.x0[0]
        ev = self.known.to_evaluation(*self.strictest_tolerances)
        usable = [i for i in order(feasibility_first(ev))[0] if not ev.failed[0, i]]
        return self.known.x[usable[0]] if usable else None

    @cached_property
    def range(self) -> SearchRange | None:
        """How far the search may go where a bound is infinite, around x0 as given; None: every bound is finite."""
        if not any(variable.infinite for variable in self.variables.each):
            return None
        centre = self.centre if self.cheap is None or self.cheap.x0 is None else self.cheap.x0[0]
        assert centre is not None, "make_request() refuses infinite bounds without a point to begin at"
        return measure_range(self.variables.lower, self.variables.upper, centre)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of constraints, where they were given."""
        return tuple(self.tolerances.names)

    @property
    def keep_feasible(self) -> bool | tuple[str, ...]:
        """Constraints that must never be violated: True for every inequality, or names."""
        kept = self.tolerances.keep_feasible
        return kept if isinstance(kept, bool) else tuple(kept)

    def resolve_tolerances(self, answers: Answers, *, strict: bool = False) -> tuple[Any, Any]:
        """Tolerances of inequalities and equalities: a number, or an array [p], [q] by the names that the answers tell.

        With strict, defaults of equalities that are not fixed yet are 0. InvalidInput where they do not fit.
        """
        ineq, eq = self.tolerances.ineq, self.tolerances.eq
        numbers = isinstance(ineq, (int, float))  # then no name matters, of however many
        if numbers and isinstance(eq, (int, float)):
            return ineq, eq
        if numbers and eq is None and not answers.counts[1]:
            return ineq, EQ_TOL
        default = self._default_equality_tolerances(answers, strict=strict)
        if numbers and eq is None:
            return ineq, EQ_TOL if (default == EQ_TOL).all() else default
        names = answers.constraint_names(self.constraint_names)
        return resolve_tolerances_by_name(ineq, eq, names, answers.counts[0], default)

    def _default_equality_tolerances(self, answers: Answers, *, strict: bool) -> np.ndarray:
        """Tolerances [q] of equalities without one of their own; cheap ones have that of the points called."""
        found = answers.default_equality_tolerances()
        if strict and answers.equalities.fixed is None:
            found = np.zeros_like(found)
        if self.cheap is not None and (count := self.cheap.values.n_eq) and found.size >= count:
            found = np.concatenate([found[: found.size - count], self.cheap.equality_slack])
        return found

    def resolve_noise(self, answers: Answers) -> np.ndarray | None:
        """Standard deviations of one call of f and of each constraint [1 + C], or None where nothing is known of them.

        Errors that answers told, pooled over all of them, come before numbers that the user gave. noise=False: None,
        whatever was told.
        """
        if self.noise is False:
            return None
        told = answers.pooled_errors()
        return self._resolve_given_noise(answers) if told is None else told

    def _resolve_given_noise(self, answers: Answers) -> np.ndarray | None:
        """Standard deviations [1 + C] as the user gave them; None where there are none, or no constraints known yet."""
        if self.noise is None or isinstance(self.noise, bool) or answers.layout is None:
            return None
        shown = answers.constraint_names(self.constraint_names)
        own = (*answers.layout.g_names, *answers.layout.h_names)
        exact = {row.name for row in self.linear_rows}  # linear and cheap constraints have no noise
        exact |= set() if self.cheap is None else set(self.cheap.values.names)
        return resolve_noise_by_name(self.noise, shown, {name for name, told in zip(shown, own) if told in exact})

    def check_noise(self) -> None:
        """InvalidInput where a list of noise does not fit the names of constraints or the known values.

        With linear or cheap constraints, which a list may leave out, the first answer tells.
        """
        if not isinstance(self.noise, list) or self.linear_rows or self.cheap is not None:
            return
        if self.tolerances.names:
            resolve_noise_by_name(self.noise, self.tolerances.names)
        if self.known is not None and len(self.noise) != 1 + self.known.g.shape[1] + self.known.h.shape[1]:
            raise InvalidInput(
                f"noise has {len(self.noise)} values, but evaluated has f, {self.known.g.shape[1]} inequalities and "
                f"{self.known.h.shape[1]} equalities"
            )

    def check_names(self, answers: Answers) -> None:
        """InvalidInput or UnknownConstraint where tolerances or noise do not fit the constraints of the answers."""
        self.resolve_tolerances(answers)
        self._resolve_given_noise(answers)

    @property
    def strictest_tolerances(self) -> tuple[float, float]:
        """The smallest tolerance of inequalities and equalities, for methods that know only one."""
        return strictest_tolerance(self.tolerances.ineq, "ineq"), strictest_tolerance(self.tolerances.eq, "eq")

    def describe_inputs(self) -> dict[str, Any]:
        """The same in JSON, to the last bit: the inputs in the log, by which a resumed run is recognised."""
        known = None if self.known is None else {key: part.tolist() for key, part in self.known._asdict().items()}
        kept = list(self.keep_feasible) if isinstance(self.keep_feasible, tuple) else self.keep_feasible
        x0 = self.x0 if self.cheap is None else self.cheap.x0
        cheap = {} if self.cheap is None else {"cheap": self.cheap.values.describe()}
        return (
            cheap
            | {
                "variables": [_describe_variable(v) for v in self.variables.each],
                "variable_names": list(self.variables.names),
                "budget": self.budget,
                "method": self.method,
                "seed": self.seed,
                "options": {key: _describe_option(value) for key, value in self.options.items()},
                "x0": None if x0 is None else x0.tolist(),
                "evaluated": known,
                "tolerances": {
                    "ineq": self.tolerances.ineq,
                    "eq": self.tolerances.eq,
                    "keep_feasible": kept,
                    "names": list(self.constraint_names),
                },
            }
            | ({} if self.noise is None else {"noise": self.noise})
        )


def _describe_variable(v: Variable) -> dict[str, Any]:
    """A variable as the log has it, with its categories where it has some."""
    found = {
        "low": _finite_or_none(v.low),
        "high": _finite_or_none(v.high),
        "unit": v.unit,
        "integer": v.integer,
        "log": v.log,
    }
    return found if v.categories is None else found | {"categories": list(v.categories), "ordered": v.ordered}


def _finite_or_none(end: float) -> float | None:
    """An end of a range as JSON has it: null where there is none."""
    return end if math.isfinite(end) else None


def variables_from_inputs(inputs: Mapping[str, Any]) -> Variables:
    """The variables of a run, as describe_inputs() wrote them."""
    return Variables(tuple(Variable(**each) for each in inputs["variables"]), tuple(inputs["variable_names"]))


def tolerances_from_inputs(inputs: Mapping[str, Any]) -> Tolerances:
    """The tolerances of a run, as describe_inputs() wrote them."""
    return Tolerances(**inputs["tolerances"])


def make_request(
    bounds: Any,
    *,
    budget: int | None = None,
    method: Any,
    seed: Any = None,
    x0: Any = None,
    evaluated: Any = None,
    tolerances: Any = None,
    workers: Workers | None = None,
    noise: Any = None,
) -> Request:
    """Check everything that can be checked before an evaluation is spent.

    InvalidInput or UnknownName for what is not right. The batch of a method that has one is that of the workers,
    unless it is given.
    """
    variables, allowed = Variables.read(spread_scalar_bounds(bounds, x0)), Tolerances.read(tolerances)
    dim = len(variables.each)
    budget = read_whole_number(50 * dim if budget is None else budget, "budget")
    if budget > MOST_BUDGET:
        raise InvalidInput(f"budget must be at most {MOST_BUDGET}; got {budget:.3g}")
    asked = Method.read(method)
    name, options = resolve_method(METHODS, asked.name), {k: v for k, v in asked.options.items() if v is not None}
    if "pop_size" in options:
        options["pop_size"] = read_whole_number(options["pop_size"], "pop_size")
        if options["pop_size"] * dim > MOST_POPULATION_NUMBERS:
            raise InvalidInput(f"pop_size is too large for {dim} variables; got {options['pop_size']}")
    batch = options.get("batch", None if workers is None else workers.batch)
    if batch is not None or Batching in METHODS[name].offers:
        at_once = 1 if workers is None else _points_at_once(workers, budget, dim)
        options["batch"] = read_whole_number(at_once if batch is None else batch, "batch")
        if min(options["batch"], budget) * dim > MOST_POPULATION_NUMBERS:
            raise InvalidInput(f"batch is too large for {dim} variables; got {options['batch']}")
    known = None if evaluated is None else read_prior_evaluations(evaluated, variables)
    _check_tolerance_names(allowed, known)
    level = _read_noise_level(noise, allowed, known)
    request = Request(
        variables,
        budget,
        name,
        read_seed(seed),
        options,
        None if x0 is None else read_start(x0, variables),
        known,
        allowed,
        notes=_budget_warnings(name, dim, budget, 0 if known is None else len(known.f), options.get("pop_size")),
        noise=level,
    )
    if any(variable.infinite for variable in variables.each):
        _check_infinite_bounds(request)
    return request


def _points_at_once(workers: Workers, budget: int, dim: int) -> int:
    """How many points are proposed together where no batch is given: as many as there are workers.

    A vectorized function is called for many points in the time of few, so that larger batches pay once the budget
    leaves models enough iterations.
    """
    if not workers.vectorized:
        return workers.at_once
    return max(workers.at_once, min(MOST_VECTORIZED, budget // (VECTORIZED_ITERATIONS * dim)))


def _check_infinite_bounds(request: Request) -> None:
    """InvalidInput for infinite bounds where the method needs a box, or nothing tells how large the variables are."""
    free = next((k, v) for k, v in zip(request.variables.labels(), request.variables.each) if v.infinite)
    said = f"variable {free[0]} has infinite bounds, ({free[1].low:g}, {free[1].high:g})"
    if InfiniteBounds not in METHODS[request.method].offers:
        raise InvalidInput(
            f"{said}, and {request.method} searches inside a box: give finite ones, or use one of "
            f"{methods_that_offer(InfiniteBounds)}"
        )
    if request.centre is None:
        raise InvalidInput(
            f"{said}, so the search needs a point to begin at: give x0=, whose size tells how far to look, or "
            "evaluated= points"
        )
    for name, value in zip(request.variables.labels(), request.centre.tolist()):
        if not TYPICAL_LENGTHS * abs(value) < FARTHEST:
            raise InvalidInput(f"x0 is too far from 0 to search around it: {name} is {value}")


def _check_tolerance_names(allowed: Tolerances, known: PriorEvaluations | None) -> None:
    """InvalidInput for names that contradict the known values, or the tolerances."""
    if known is not None and allowed.names and len(allowed.names) != known.g.shape[1] + known.h.shape[1]:
        raise InvalidInput(
            f"tolerances: names has {len(allowed.names)} names, but evaluated has {known.g.shape[1]} inequalities and "
            f"{known.h.shape[1]} equalities"
        )
    for keyword in ("ineq", "eq") if allowed.names else ():
        check_constraint_names(getattr(allowed, keyword), allowed.names, keyword)


def _read_noise_level(noise: Any, allowed: Tolerances, known: PriorEvaluations | None) -> Noise | None:
    """Noise in one of its forms, refused where it does not fit the names, or the number of known values."""
    found = read_noise(noise)
    if allowed.names and (isinstance(found, dict) or (isinstance(found, list) and len(found) > 1 + len(allowed.names))):
        resolve_noise_by_name(found, allowed.names)  # a list may leave out exact constraints, which are not known yet
    if known is not None and isinstance(found, list) and len(found) > 1 + known.g.shape[1] + known.h.shape[1]:
        raise InvalidInput(
            f"noise has {len(found)} values, but evaluated has f, {known.g.shape[1]} inequalities and "
            f"{known.h.shape[1]} equalities"
        )
    return found


def _budget_warnings(method: str, dim: int, budget: int, known: int, pop_size: int | None) -> tuple[str, ...]:
    """What is known to go badly, () if nothing: too few points for a model, too few generations of a population."""
    record, points = METHODS[method], budget + known
    if record.population is not None:
        size = record.population(dim, budget) if pop_size is None else pop_size
        if budget < FEW_GENERATIONS * size:
            return (
                f"{budget} evaluations are less than {FEW_GENERATIONS} generations of {method}, whose population has "
                f"{size} members; give a larger budget, or a smaller pop_size",
            )
    if record.least_budget is None or points >= record.least_budget(dim):
        return ()
    return (
        f"{points} evaluations are few for {dim} variables: {method} needs {record.least_budget(dim)} or more, since "
        "its models come from the first points; give a larger budget, or fewer variables",
    )


def _describe_option(value: Any) -> Any:
    """An option as JSON, so that two values are the same option where this is equal.

    An object is described by its class and what it is made of; it cannot be made from that again.
    """
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _describe_option(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_describe_option(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    digest = (getattr(value, "metadata", None) or {}).get("digest")
    if digest is not None:
        return {OBJECT_KEY: type(value).__name__, "digest": digest}
    made = fields(value) if is_dataclass(value) and not isinstance(value, type) else ()
    return {
        OBJECT_KEY: type(value).__name__,
        **{each.name: _describe_option(getattr(value, each.name)) for each in made},
    }


def options_from_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The method's options of a run, as describe_inputs() wrote them; InvalidInput for one that was an object."""
    for name, value in inputs["options"].items():
        if isinstance(value, Mapping) and OBJECT_KEY in value:
            raise InvalidInput(
                f"the run's {name} was an object, {value[OBJECT_KEY]}, which no file holds: give "
                f'method=Method("{inputs["method"]}", {name}=<the same>) again'
            )
    return dict(inputs["options"])
