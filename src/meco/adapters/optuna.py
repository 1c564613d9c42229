"""MeCO as a sampler of Optuna: optuna.create_study(sampler=MecoSampler(budget=100))."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from meco.adapters.optuna_trials import SearchedParameter, trial_as_point, trial_constraints
from meco.errors import load_extra
from meco.methods import DEFAULT
from meco.optimizer import Optimizer
from meco.read_numbers import read_whole_number
from meco.run.layout import PriorEvaluations
from meco.variables import Variables

load_extra("optuna", "optuna", "meco.adapters.optuna")
from optuna.distributions import (  # noqa: E402
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler  # noqa: E402
from optuna.search_space import IntersectionSearchSpace  # noqa: E402
from optuna.study import Study, StudyDirection  # noqa: E402
from optuna.trial import FrozenTrial, TrialState  # noqa: E402

SEARCHED = (FloatDistribution, IntDistribution, CategoricalDistribution)


class StudySearch:
    """A search of this process: what it has under way, and which trials it has been told of."""

    def __init__(self, optimizer: Optimizer, told: set[int]) -> None:
        self.optimizer, self.told = optimizer, told
        self.asked: dict[int, np.ndarray] = {}  # number of a trial -> the point that was asked for it

    def learn_trial(self, number: int, known: PriorEvaluations) -> None:
        """Tell the value of an own point, or let a search that has begun learn from one that another proposed."""
        search, x = self.optimizer, self.asked.pop(number, None)
        if x is not None:
            search.tell(x, known.f, known.g)
        elif not search.nit:  # its first points are not complete: it will be told later
            return
        elif np.isfinite(known.x).all():
            search.learn(*known)
        self.told.add(number)


class MecoSampler(BaseSampler):
    """Any method of METHODS that can be asked, for studies with one objective and any number of constraints.

    Constraints are those of trial.set_constraint (or constraints_func, as other samplers take it). Trials that run
    at the same time, in threads or in processes on a common storage, have a search each that learns from all
    finished trials; so a study that was stopped goes on from its storage. Parameters that only some trials have are
    left to the independent sampler.

    budget    trials that the study is planned for, 50 for each parameter unless given: the search spends them as it
              would evaluations
    method    a name of METHODS; seed makes studies without parallel trials repeatable: the search of minimize()
    """

    def __init__(
        self, *, budget: int | None = None, method: str = DEFAULT, seed: int | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        independent_sampler: BaseSampler | None = None,
    ) -> None:  # fmt: skip
        """Searches are made when trials ask for points; a copied sampler begins without any."""
        budget = None if budget is None else read_whole_number(budget, "budget")
        Optimizer([(0.0, 1.0)], budget=100, method=method)  # what cannot be asked is refused here, not at a trial
        self.budget, self.method, self.constraints_func, self.seed = budget, method, constraints_func, seed
        self.independent = RandomSampler(seed=seed) if independent_sampler is None else independent_sampler
        self._random, self._space = np.random.default_rng(seed), IntersectionSearchSpace()
        self._searches: list[StudySearch] = []
        self._setting: Any = None  # the space and the constraints that the searches are for
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_lock", "_searches", "_setting")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _searches=[], _setting=None)  # the study knows what they knew

    def reseed_rng(self) -> None:
        """Draw other numbers from now on: Optuna calls it in each process of a study."""
        self._random, self.seed = np.random.default_rng(), None
        self.independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that all trials have: those that the search proposes together."""
        found = self._space.calculate(study)
        return {name: d for name, d in found.items() if isinstance(d, SEARCHED) and not d.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """A point for a trial by name: running searches learn of what has ended, then one is asked or begun.

        {} for the first trials, which sample_independent() answers.
        """
        self._raise_error_if_multi_objective(study)
        trials = study.get_trials(deepcopy=False)
        complete = [t for t in trials if t.state == TrialState.COMPLETE]
        if not search_space or not complete:
            return {}
        axes = {name: SearchedParameter.of(d) for name, d in search_space.items()}
        constraints = tuple(trial_constraints(complete[0]))
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        with self._lock:
            if self._setting != (search_space, constraints):
                self._searches, self._setting = [], (search_space, constraints)
            ended = {t.number: trial_as_point(t, axes, constraints, sign) for t in trials if t.state.is_finished()}
            for search in self._searches:
                for number in sorted(ended.keys() - search.told):
                    search.learn_trial(number, ended[number])
            search, x = self._ask_running() or self._begin_search(trials, trial, axes, constraints, ended)
            search.asked[trial.number] = x
        return {name: axis.to_value(v) for (name, axis), v in zip(axes.items(), x[0].tolist())}

    def _ask_running(self) -> tuple[StudySearch, np.ndarray] | None:
        """A running search with a point [1, D] of it; None where none has one to give. Ended searches are dropped."""
        self._searches = [search for search in self._searches if not search.optimizer.done]
        for search in self._searches:
            if len(x := search.optimizer.ask(1)):
                return search, x
        return None

    def _begin_search(
        self,
        trials: list[FrozenTrial],
        trial: FrozenTrial,
        axes: dict[str, SearchedParameter],
        constraints: tuple[str, ...],
        ended: dict[int, PriorEvaluations],
    ) -> tuple[StudySearch, np.ndarray]:
        """A new search that knows the finished trials, and a point [1, D] of it; beside others it begins elsewhere."""
        box = np.array([(axis.low, axis.high) for axis in axes.values()], dtype=np.float64)
        integer = np.array([axis.integer for axis in axes.values()])
        good = {number: k for number, k in ended.items() if all(np.isfinite(part).all() for part in k)}
        others = any(t.state == TrialState.RUNNING and t.number != trial.number for t in trials)
        x0 = None
        if (others and len(good) <= 2 * len(box)) or (not good and any(axis.infinite for axis in axes.values())):
            drawn = self._random.random(len(box)).tolist()
            x0 = np.array([axis.value_at_share(u) for axis, u in zip(axes.values(), drawn)])
            x0 = np.where(integer, np.round(x0), x0)
        known = tuple(np.concatenate(part) for part in zip(*good.values())) if good else None

        def make_search(seed: int, evaluated: Any) -> Optimizer:
            """A search of this space."""
            variables = Variables(tuple(axis.variable for axis in axes.values()))
            given = {"budget": self.budget, "method": self.method, "x0": x0, "evaluated": evaluated}
            return Optimizer(variables, len(constraints), seed=seed, **given)

        bounded = not any(axis.infinite for axis in axes.values())
        if self.seed is not None and list(ended) == [0] and not others and bounded:
            first = StudySearch(make_search(self.seed, None), set())
            x = first.optimizer.ask(1)
            if np.array_equal(x, ended[0].x):  # the trial in the middle is where minimize() begins too: its search
                first.asked[0] = x
                first.learn_trial(0, ended[0])
                if len(x := first.optimizer.ask(1)):
                    self._searches.append(first)
                    return first, x
        optimizer = make_search(int(self._random.integers(2**31)), known)
        if others:
            optimizer.diversify(float(self._random.random()))
        self._searches.append(StudySearch(optimizer, set(ended)))
        return self._searches[-1], optimizer.ask(1)

    def sample_independent(self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: Any) -> Any:
        """The middle of a parameter for the first trial; else what the independent sampler gives.

        That one draws between bounds: where they are missing, the value is drawn here.
        """
        if isinstance(param_distribution, SEARCHED):
            axis = SearchedParameter.of(param_distribution)
            if trial.number == 0 and not axis.infinite:
                return axis.to_value(0.5 * (axis.low + axis.high))  # the search begins in the middle
            if axis.infinite:
                return axis.to_value(axis.value_at_share(0.5 if trial.number == 0 else float(self._random.random())))
        return self.independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Any) -> None:
        """Keep the values of constraints_func where Optuna's samplers keep them."""
        if self.constraints_func is not None and state == TrialState.COMPLETE:
            found = tuple(float(c) for c in self.constraints_func(trial))
            study._storage.set_trial_system_attr(trial._trial_id, "constraints", found)
        self.independent.after_trial(study, trial, state, values)
