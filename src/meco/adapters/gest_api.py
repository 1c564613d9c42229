"""MeCO as a generator of gest-api, the standard that libEnsemble, Xopt and Optimas share.

generator = MecoGenerator(vocs, budget=200, seed=1); points = generator.suggest(4); generator.ingest(results)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from meco.adapters.named_cheap import NamedCheap
from meco.errors import InvalidInput, load_extra
from meco.methods import DEFAULT
from meco.optimizer import Optimizer
from meco.options import Method, Tolerances, Workers
from meco.result import Result
from meco.run.layout import PriorEvaluations
from meco.variables import Variable, Variables

load_extra("gest_api", "gest", "meco.adapters.gest_api")
from gest_api.generator import Generator  # noqa: E402
from gest_api.vocs import (  # noqa: E402
    VOCS,
    BoundsConstraint,
    ContextualVariable,
    ContinuousVariable,
    DiscreteVariable,
    GreaterThanConstraint,
    LessThanConstraint,
    MaximizeObjective,
    MinimizeObjective,
)

SAME = 1e-9  # of a variable's range: points that differ by less are one point, which went through another's file


class Axis(NamedTuple):
    """A variable of VOCS as one of ours: discrete ones are searched by the place of their value.

    Numbers have an order to search by; words are categories.
    """

    name: str
    variable: Variable
    values: tuple[Any, ...]  # of a discrete variable in order, else ()

    def to_value(self, x: float) -> Any:
        """What the simulation gets."""
        return self.values[round(x)] if self.values else x

    def from_value(self, value: Any) -> float:
        """The variable, from what the simulation got: the place of the nearest number, or of the same word."""
        if not self.values:
            return float(value)
        if self.variable.categories is not None:
            return self._place_of_word(value)
        return float(np.argmin(np.abs(np.array(self.values, dtype=np.float64) - float(value))))

    def _place_of_word(self, value: Any) -> float:
        """The place of a category, which may have gone through a file as text; InvalidInput for another word."""
        for place, word in enumerate(self.values):
            if word == value or str(word) == str(value):
                return float(place)
        raise InvalidInput(f"variable {self.name!r} takes {list(self.values)}; got {value!r}")


class MecoGenerator(Generator):
    """Any method of METHODS that can be asked, for one objective and any number of constraints.

    Args:
        vocs: Variables, objective, constraints and constants.
        budget: Evaluations that the search plans with, 50 for each variable unless given. Asked for more, a new search
            of as many begins that knows every result so far.
        seed, method, x0, tolerances: As in meco.minimize.
        cheap: A function of a point by name, with the constants, that costs nothing: a number, a list or a dict of
            numbers that must be at most 0. No point outside is suggested where one inside can be found.
        asynchronous: Any number of points at any time, whatever is outstanding (True). Methods that work by
            generations need False: then suggest(None) gives a generation.

    A result without its objective or a constraint is a partial answer where a constraint that it has is violated, else
    it has failed, as with a value that is infinite. Whole results of points that were not suggested here are learned
    from; before the first suggestion they cost nothing.
    """

    returns_id = False  # points are recognised by their values: no framework has to carry a number for us

    def __init__(
        self,
        vocs: VOCS,
        *,
        budget: int | None = None,
        seed: int | None = None,
        method: str | Method = DEFAULT,
        x0: Iterable[Mapping[str, float]] | None = None,
        tolerances: float | dict[str, float] | Tolerances | None = None,
        cheap: Callable[[dict[str, Any]], Any] | None = None,
        asynchronous: bool = True,
    ) -> None:
        """The search itself begins with the first suggestion."""
        super().__init__(vocs)
        self.vocs = vocs
        self._axes = [_read_variable(name, given) for name, given in vocs.variables.items()]
        self._objective, kind = next(iter(vocs.objectives.items()))
        self._sign = -1.0 if isinstance(kind, MaximizeObjective) else 1.0
        self._sides = [side for name, given in vocs.constraints.items() for side in _read_constraint(name, given)]
        start = None if x0 is None else np.array([self._as_point(point) for point in x0])
        self._settings: dict[str, Any] = {"budget": budget, "method": method, "x0": start, "tolerances": tolerances}
        self._seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        self._cheap_function, self._asynchronous, self._searches = cheap, asynchronous, 0
        self._events: list[tuple[str, Any]] = []  # every suggestion and result, by which a copy becomes what this is
        self._reset()

    def _reset(self) -> None:
        """Forget everything that was suggested or ingested."""
        self._optimizer: Optimizer | None = None
        names = tuple(axis.name for axis in self._axes)
        self._variables = Variables(tuple(axis.variable for axis in self._axes), names)
        free = self._cheap_function
        self._cheap = None if free is None else NamedCheap(partial(self._call_cheap, free), self._variables)
        self._searches = 0
        self._results: list[PriorEvaluations] = []  # all whole ones that came back
        self._unheard: list[PriorEvaluations] = []  # of other points, while the search could not learn from them

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: what was asked and told, not the search that came of it."""
        made = ("_optimizer", "_variables", "_cheap", "_results", "_unheard", "_searches")
        return {key: value for key, value in vars(self).items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Do again all that was done: the copy goes on as the original does."""
        events = state.pop("_events")
        self.__dict__.update(state, _events=[])
        self._reset()
        for name, given in events:
            getattr(self, name)(given)

    def _validate_vocs(self, vocs: VOCS) -> None:
        """InvalidInput for what no search of ours can do."""
        if len(vocs.objectives) != 1:
            raise InvalidInput(f"MeCO minimises or maximises one objective; VOCS has {list(vocs.objectives)}")
        for name, kind in vocs.objectives.items():
            if not isinstance(kind, (MinimizeObjective, MaximizeObjective)):
                raise InvalidInput(f"objective {name!r} must be MINIMIZE or MAXIMIZE; got {type(kind).__name__}")
        for name, given in vocs.variables.items():
            _read_variable(name, given)
        for name, constraint in vocs.constraints.items():
            _read_constraint(name, constraint)

    @property
    def result(self) -> Result | None:
        """The best so far as a meco.Result; its fun is of the opposite sign where the objective is maximised."""
        return None if self._optimizer is None else self._optimizer.result

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """So many points by name, with the constants; a number that the search chooses where none is given.

        Begins a search, or a further one where the plan is spent; ValueError where points outstanding must be
        ingested first.
        """
        self._events.append(("suggest", num_points))
        found: list[np.ndarray] = []
        while not found or (num_points is not None and len(found) < num_points):
            if num_points == 0:
                break
            search = self._find_search()
            asked = search.ask(None if num_points is None else num_points - len(found))
            if not len(asked) and self._count_planned(search) < search.request.budget:
                raise ValueError(
                    f"{len(found)} of {num_points} points: the rest of the generation must be ingested first "
                    "(asynchronous=True waits for nothing)"
                )
            if not len(asked):
                self._optimizer = self._begin_search()  # the plan is spent: another begins
                continue
            found += list(asked)
        return [self._as_dict(x) for x in found]

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Learn from values of points by name, in any order; what lacks values is a failed or partial answer."""
        results = [dict(result) for result in results]
        self._events.append(("ingest", results))
        for result in results:
            known = self._read_result(result)
            whole = all(np.isfinite(part).all() for part in known)
            if whole:
                self._results.append(known)
            search = self._optimizer
            if search is None:
                continue
            if (asked := self._find_pending(search, known.x[0])) is not None:
                search.tell(asked, known.f, known.g)
            elif whole:
                self._unheard.append(known)
            if search.nit:
                for other in self._unheard:
                    search.learn(*self._with_cheap(other))
                self._unheard = []

    def finalize(self) -> None:
        """Nothing: nothing runs in the background."""

    def _find_search(self) -> Optimizer:
        """The search at hand; the first time it is begun."""
        if self._optimizer is None:
            self._optimizer = self._begin_search()
        return self._optimizer

    @staticmethod
    def _count_planned(search: Optimizer) -> int:
        """Evaluations of the plan that were given out, told or not."""
        return len(search.answers) + len(search.pending)

    def _begin_search(self) -> Optimizer:
        """A search that knows every result so far; the first has the seed itself, as minimize would."""
        results = [self._with_cheap(known) for known in self._results]
        known = tuple(np.concatenate(part) for part in zip(*results)) if results else None
        first = self._searches == 0
        drawn = int(np.random.default_rng([self._seed, self._searches]).integers(2**31))
        self._searches += 1
        return Optimizer(
            self._variables,
            len(self._sides),
            seed=self._seed if first else drawn,
            evaluated=known,
            cheap=None if self._cheap is None else self._cheap.as_argument(),
            workers=Workers(batch=1 if self._asynchronous else None, asynchronous=self._asynchronous),
            **self._settings | ({} if first else {"x0": None}),
        )

    def _call_cheap(self, cheap: Callable[[dict[str, Any]], Any], given: Mapping[str, Any]) -> Any:
        """What the cheap function says of a point of the search by name, which has words for categories."""
        point = {
            axis.name: given[axis.name] if axis.variable.categories is not None else axis.to_value(given[axis.name])
            for axis in self._axes
        }
        return cheap(point | self._constants())

    def _with_cheap(self, known: PriorEvaluations) -> PriorEvaluations:
        """One result with the values of cheap constraints after its own, as a search knows it."""
        if self._cheap is None:
            return known
        point = {axis.name: v for axis, v in zip(self._axes, known.x[0].tolist())}
        words = {axis.name: axis.to_value(point[axis.name]) for axis in self._axes if axis.variable.categories}
        return known._replace(g=np.concatenate([known.g, [self._cheap.values(point | words)]], axis=1))

    def _constants(self) -> dict[str, Any]:
        """The constants of VOCS by name."""
        return {name: constant.value for name, constant in self.vocs.constants.items()}

    def _as_dict(self, x: np.ndarray) -> dict[str, Any]:
        """A point x [D] as the simulation gets it, by name, with the constants."""
        point = {axis.name: axis.to_value(v) for axis, v in zip(self._axes, x.tolist())}
        return point | self._constants()

    def _as_point(self, given: Mapping[str, Any]) -> list[float]:
        """A point of ours, [D] as a list, from one by name; InvalidInput where a variable is missing."""
        try:
            return [axis.from_value(given[axis.name]) for axis in self._axes]
        except KeyError as error:
            raise InvalidInput(f"a point needs every variable; {error} is missing") from error

    def _read_result(self, result: Mapping[str, Any]) -> PriorEvaluations:
        """A result as one point, f with the sign of the search; nan for what is missing."""
        f = self._sign * _read_value(result, self._objective)
        g = [sign * (_read_value(result, name) - bound) for name, sign, bound in self._sides]
        x = np.array([self._as_point(result)])
        return PriorEvaluations(x, np.array([f]), np.array([g]).reshape(1, -1), np.zeros((1, 0)))

    def _find_pending(self, search: Optimizer, x: np.ndarray) -> np.ndarray | None:
        """The outstanding point [1, D] that x [D] is but for rounding; None where it is none."""
        pending = search.pending
        if not len(pending):
            return None
        width = np.maximum(search.variables.upper - search.variables.lower, np.finfo(float).tiny)
        apart = np.max(np.abs(pending - x) / width, axis=1)
        nearest = int(np.argmin(apart))
        return pending[nearest] if apart[nearest] <= SAME else None


def _read_value(result: Mapping[str, Any], name: str) -> float:
    """A value of a result by name; nan where there is none, or it is no number."""
    value = result.get(name)
    try:
        return math.nan if value is None else float(np.asarray(value).item())
    except (TypeError, ValueError):
        return math.nan


def _read_variable(name: str, given: Any) -> Axis:
    """A variable of VOCS as one of ours; InvalidInput names one that cannot be searched."""
    if isinstance(given, ContextualVariable):
        raise InvalidInput(f"variable {name!r} is contextual: it is observed and cannot be searched")
    if isinstance(given, DiscreteVariable):
        try:
            values = sorted(given.values, key=float)
        except (TypeError, ValueError):
            words = tuple(sorted(given.values, key=str))  # VOCS keeps a set: no order is told
            return Axis(name, Variable(categories=words), words)
        return Axis(name, Variable(0, len(values) - 1, integer=True), tuple(values))
    if not isinstance(given, ContinuousVariable):
        raise InvalidInput(f"variable {name!r} must be continuous or discrete; got {type(given).__name__}")
    try:
        return Axis(name, Variable(*given.domain), ())
    except InvalidInput as error:
        raise InvalidInput(f"variable {name!r}: {error}") from error


def _read_constraint(name: str, given: Any) -> list[tuple[str, float, float]]:
    """Sides (name, sign, bound) of a constraint: sign * (value - bound) <= 0; InvalidInput for other kinds."""
    if isinstance(given, LessThanConstraint):
        return [(name, 1.0, given.value)]
    if isinstance(given, GreaterThanConstraint):
        return [(name, -1.0, given.value)]
    if isinstance(given, BoundsConstraint):
        return [(name, -1.0, given.range[0]), (name, 1.0, given.range[1])]
    raise InvalidInput(f"constraint {name!r} must be LESS_THAN, GREATER_THAN or BOUNDS; got {type(given).__name__}")
