"""pymoo's NSGA-III, with violations as objectives, and its ISRES, with stochastic ranking."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.core.capabilities import Remarks
from meco.core.engine import Engine, Task, first_population
from meco.core.evaluation import Evaluation
from meco.core.rule import Population
from meco.engines.external import (
    FAILED_COLUMN,
    FailureCeiling,
    contain_warnings,
    load_library,
    pack_evaluation,
    unpack_evaluation,
)
from meco.engines.external.directions import reference_directions
from meco.errors import InvalidInput, UnknownName

ISRES_OFFSPRING_PER_PARENT = 7  # a seventh of the offspring become parents
ISRES_MIN_PARENTS = 2


class Pymoo(Engine):
    """A pymoo algorithm told of evaluations instead of making them.

    Members of pymoo's population carry their evaluation, packed, in the attribute "told".
    """

    name = ""  # what error messages call the engine
    algorithm: Any  # pymoo's; None until the first tell, when the number of constraints is known
    problem: Any  # pymoo's, which says what the algorithm is told of
    asked: Any  # offspring as pymoo's population: ask() leaves it for tell()

    def __init__(self, task: Task, pop_size: int) -> None:
        """The algorithm is built with the first tell()."""
        self.task, self.size = task, int(pop_size)
        self.random = task.rng.generator(0)
        self.algorithm = None
        self.ceiling = FailureCeiling()

    @abstractmethod
    def _make_algorithm(self, first: np.ndarray) -> Any:
        """The algorithm with its first candidates [n, D], not yet set up."""

    @abstractmethod
    def _count_outputs(self) -> dict[str, int]:
        """Numbers of objectives and constraints, by the names of pymoo's Problem; _stack_values gives these columns."""

    @abstractmethod
    def _stack_values(self, ev: Evaluation) -> np.ndarray:
        """Objectives, then inequalities, then equalities: [n, k]; tell() cuts them apart in this order."""

    def ask(self) -> Array:
        """Offspring, the first time uniform points: [1, n, D]. An algorithm that has none left is started again."""
        if self.generation == 0:  # the algorithm is built when the number of constraints is known
            return np.clip(first_population(self.task, self.size), 0.0, 1.0)
        with contain_warnings():
            self.asked = self.algorithm.ask()
        if self.asked is None or len(self.asked) == 0:  # every offspring was a duplicate
            self._start_algorithm(self.random.random((self.size, self.task.dim)))
            self.asked = self.algorithm.ask()
        return np.clip(self.asked.get("X").astype(np.float64), 0.0, 1.0)[None]

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Let the algorithm select among x [1, n, D] and its members; what survives becomes the population."""
        values, told = self.ceiling.replace_failed(self._stack_values(ev), ev.failed[0]), pack_evaluation(ev)
        if self.generation == 0:
            self._start_algorithm(x[0])
            with contain_warnings():
                self.asked = self.algorithm.ask()
            places = [int(np.argmax((x[0] == point).all(axis=1))) for point in self.asked.get("X").astype(np.float64)]
            values, told = values[places], told[places]  # pymoo drops repeated points
        self._lift_failed_members()
        static = load_library("pymoo.problems.static", self.name).StaticProblem
        n_obj, n_ieq = self.problem.n_obj, self.problem.n_ieq_constr
        parts = dict(zip("FGH", np.split(values, [n_obj, n_obj + n_ieq], axis=1)))
        self.asked.set("told", told)
        with contain_warnings():
            self.algorithm.evaluator.eval(static(self.problem, **parts), self.asked)
            self.algorithm.tell(infills=self.asked)
        self.generation += 1
        survivors = self.algorithm.pop
        known = unpack_evaluation(np.stack(survivors.get("told")), self.task.n_ineq)
        self.population = Population(survivors.get("X").astype(np.float64)[None], known)

    def _start_algorithm(self, first: np.ndarray) -> None:
        """Set problem and algorithm anew, from these candidates [n, D]; its seed is the run's next number."""
        problem = load_library("pymoo.core.problem", self.name).Problem
        never = load_library("pymoo.core.termination", self.name).NoTermination
        self.problem = problem(n_var=self.task.dim, xl=0.0, xu=1.0, **self._count_outputs())
        seed = int(self.random.integers(2**31))
        with contain_warnings():
            self.algorithm = self._make_algorithm(first)
            self.algorithm.setup(self.problem, termination=never(), seed=seed, verbose=False)

    def _lift_failed_members(self) -> None:
        """Raise the objectives of pymoo's members that failed above all values seen since."""
        n_obj = self.problem.n_obj
        for member in self.algorithm.pop:
            if member.get("told")[FAILED_COLUMN]:
                member.F = self.ceiling.stand_in[:n_obj]


class Nsga3(Pymoo):
    """NSGA-III on f and every violation ("multi"), or on f and their sum ("bi").

    Without constraints the second objective is constant. When there are as many
    objectives as directions, the violations are summed and the result says so.
    """

    name = "NSGA-III"

    def __init__(self, task: Task, pop_size: int = 50, objectives: str = "multi") -> None:
        """Other objectives than "multi" and "bi", and populations below 4, are refused."""
        if objectives not in ("multi", "bi"):
            raise UnknownName("NSGA-III formulation", objectives, ("multi", "bi"))
        if pop_size < 4:
            raise InvalidInput(f"NSGA-III needs a pop_size of at least 4; got {pop_size}")
        super().__init__(task, pop_size)
        self.objectives = objectives

    @property
    def crowded(self) -> bool:
        """Whether there would be as many objectives as directions."""
        return self.objectives == "multi" and sum(self.task.counts()) + 1 >= self.size

    @property
    def separate(self) -> bool:
        """Whether every violation is an objective."""
        return self.objectives == "multi" and sum(self.task.counts()) > 0 and not self.crowded

    def capabilities(self) -> tuple[Any, ...]:
        return (Remarks(self._list_remarks),)

    def _list_remarks(self) -> list[str]:
        """What the result says where violations were summed."""
        return [f"{sum(self.task.counts())} violations were summed to one objective"] if self.crowded else []

    def _count_outputs(self) -> dict[str, int]:
        return {"n_obj": 1 + sum(self.task.counts()) if self.separate else 2}

    def _stack_values(self, ev: Evaluation) -> np.ndarray:
        violations = ev.c[0] if self.separate else ev.nu[0][:, None]
        return np.concatenate([ev.f[0][:, None], violations], axis=1)

    def _make_algorithm(self, first: np.ndarray) -> Any:
        """NSGA-III from the candidates first [n, D], with a reference direction for each."""
        nsga3 = load_library("pymoo.algorithms.moo.nsga3", self.name).NSGA3
        return nsga3(
            reference_directions(self._count_outputs()["n_obj"], self.size), pop_size=self.size, sampling=first
        )


class Isres(Pymoo):
    """Improved stochastic ranking evolution strategy; pop_size counts offspring, a seventh are parents."""

    name = "ISRES"

    def __init__(self, task: Task, pop_size: int = 50) -> None:
        """Populations too small for two parents are refused."""
        least = ISRES_MIN_PARENTS * ISRES_OFFSPRING_PER_PARENT
        if pop_size < least:
            raise InvalidInput(f"ISRES needs a pop_size of at least {least}, two parents' offspring; got {pop_size}")
        super().__init__(task, pop_size)

    def _count_outputs(self) -> dict[str, int]:
        return {"n_obj": 1, "n_ieq_constr": self.task.n_ineq, "n_eq_constr": self.task.n_eq}

    def _stack_values(self, ev: Evaluation) -> np.ndarray:
        return np.concatenate([ev.f[0][:, None], ev.g[0], ev.h[0]], axis=1)

    def _make_algorithm(self, first: np.ndarray) -> Any:
        """ISRES from candidates first [n, D] with its published settings, ranking by the run's own generator."""
        isres = load_library("pymoo.algorithms.soo.nonconvex.isres", self.name).ISRES
        rule = 1 / ISRES_OFFSPRING_PER_PARENT
        algorithm = isres(n_offsprings=self.size, rule=rule, gamma=0.85, alpha=0.2, PF=0.45, sampling=first)
        algorithm.survival = SeededSurvival(algorithm.survival, self.random)
        return algorithm


class SeededSurvival:
    """Hands the run's generator to a survival that would otherwise rank with fresh randomness."""

    def __init__(self, survival: Any, random: np.random.Generator) -> None:
        self.survival, self.random = survival, random

    def do(self, *args: Any, **kwargs: Any) -> Any:
        """What pymoo calls: the survivors, ranked with the run's generator."""
        return self.survival.do(*args, **{**kwargs, "random_state": self.random})
