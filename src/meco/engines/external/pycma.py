"""pycma's CMA-ES: with the static penalty, and with an augmented Lagrangian."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.core.engine import Engine, Task
from meco.core.evaluation import Evaluation
from meco.core.rule import Population
from meco.engines.es.maes import native_size
from meco.engines.external import FailureCeiling, contain_warnings, load_library
from meco.errors import InvalidInput

# the search cannot go on from here: start again at a random point
EXHAUSTED = {"conditioncov", "noeffectaxis", "noeffectcoord", "tolx", "tolflatfitness", "tolfacupx"}


@cache
def load_cma() -> ModuleType:
    """pycma; MissingExtra, which says how to get it, where it is not installed."""
    return load_library("cma", "CMA-ES")


class CmaEs(Engine):
    """CMA-ES on f + penalty * nu in the unit cube, from its centre.

    pop_size is the number of offspring; left out, pycma takes 4 + floor(3 ln D). Only
    numerical stop conditions are obeyed: they restart the search at a uniform random point.
    """

    es: Any  # pycma's strategy; None where the next ask starts a new one
    asked: Any  # offspring as pycma's list: ask() leaves it for tell()
    ceiling: FailureCeiling  # of the present start

    def __init__(self, task: Task, pop_size: int | None = None, sigma0: float = 0.3, penalty: float = 1.0) -> None:
        """pop_size None: pycma's own; less than 3 is refused. MissingExtra without pycma."""
        if pop_size is not None and pop_size < 3:
            raise InvalidInput(f"CMA-ES needs a pop_size of at least 3; got {pop_size}")
        load_cma()
        self.task, self.sigma0, self.penalty = task, float(sigma0), float(penalty)
        self.width = max(2, task.dim)  # pycma wants two variables; a lone one gets an idle companion
        self.size = native_size(self.width) if pop_size is None else int(pop_size)
        self.own_size = pop_size is None  # pycma then derives other settings from its own formula
        self.random = task.rng.generator(0)
        self.es = None
        self.starts = 0

    def ask(self) -> Array:
        """Offspring of the present distribution: [1, n, D], cut to the unit cube.

        Starts a strategy where there is none.
        """
        with contain_warnings():
            if self.es is None:
                self._start_strategy()
            self.asked = self.es.ask()
        return np.clip(np.stack(self.asked)[None, :, : self.task.dim], 0.0, 1.0)

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Move the distribution towards the better of x [1, n, D]; once exhausted, the next ask() starts anew."""
        self.population = Population(x, ev)
        self.generation += 1
        with contain_warnings():
            self.es.tell(self.asked, self._rate_offspring(ev))
            self._adapt_multipliers()
            if EXHAUSTED & set(self.es.stop()):
                self.es = None

    def trace(self) -> dict[str, Array]:
        return {} if self.es is None else {"sigma": np.array([self.es.sigma])}

    def _start_strategy(self) -> None:
        """Set a new strategy, the first time at the centre or the first given point, later at a random one."""
        given = self.task.x0 if self.starts == 0 else None
        mean = np.full(self.width, 0.5) if self.starts == 0 else self.random.random(self.width)
        if given is not None:
            given = np.pad(np.asarray(given), ((0, 0), (0, self.width - self.task.dim)), constant_values=0.5)
            mean = given[0]
        self.es = load_cma().CMAEvolutionStrategy(mean, self.sigma0, self._make_options())
        if given is not None:
            self.es.inject(list(given[: self.es.popsize]), force=True)
        self.starts += 1
        self.ceiling = FailureCeiling()

    def _make_options(self) -> dict[str, Any]:
        """The library's defaults but for the box, early stops, files and randomness."""
        options = {
            "bounds": [0, 1], "tolfun": 1e-20, "tolfunhist": 0, "tolstagnation": 0, "verbose": -9,
            "signals_filename": None, "seed": np.nan, "randn": self._draw_normal,
        }  # fmt: skip
        return options if self.own_size else options | {"popsize": self.size}

    def _draw_normal(self, *shape: int) -> np.ndarray:
        """What pycma draws with: the run's own generator."""
        return self.random.standard_normal(shape)

    def _rate_offspring(self, ev: Evaluation) -> list[float]:
        """f + penalty * nu of each offspring of ev [1, n], failed ones above all others."""
        value = ev.f[0] + self.penalty * ev.nu[0]
        return self.ceiling.replace_failed(value[:, None], ev.failed[0])[:, 0].tolist()

    def _adapt_multipliers(self) -> None:
        """Called after every generation: nothing here, a penalty has no multipliers."""


class AugmentedLagrangian(CmaEs):
    """CMA-ES on pycma's adaptive augmented Lagrangian; an equality counts as two inequalities."""

    lagrangian: Any  # pycma's; it knows the multipliers
    present: tuple[float, np.ndarray]  # f and constraint values of the point that pycma asks about

    def _start_strategy(self) -> None:
        """Set a new strategy and new multipliers; pycma asks for the values of the point in `present`."""
        super()._start_strategy()
        self.lagrangian = load_cma().ConstrainedFitnessAL(
            self._present_objective,
            self._present_constraints,
            dimension=self.width,
            which="best",
            logging=0,
            archives=False,
        )
        self.lagrangian._al = self._make_silent_lagrangian()

    def _make_silent_lagrangian(self) -> Any:
        """A Lagrangian that logs nothing: pycma makes a folder for its logs before it can be told not to log."""
        base: Any = load_cma().constraints_handler.AugmentedLagrangian

        class Silent(base):
            def _init_(self) -> None:
                self.logging = 0
                super()._init_()

        return Silent(self.width)

    def _rate_offspring(self, ev: Evaluation) -> list[float]:
        """The Lagrangian of each offspring of ev [1, n] under the multipliers in force.

        Failed ones above all others.
        """
        if not self.task.n_ineq + self.task.n_eq:
            return super()._rate_offspring(ev)
        limits = np.clip(np.concatenate([ev.g[0], ev.h[0], -ev.h[0]], axis=-1), -1e50, 1e50)  # [n, p + 2 q]
        values = np.full(len(self.asked), np.nan)
        for i in np.flatnonzero(~ev.failed[0]):
            self.present = float(np.clip(ev.f[0, i], -1e100, 1e100)), limits[i]  # pycma squares differences
            values[i] = self.lagrangian(self.asked[i])
        return self.ceiling.replace_failed(values[:, None], ev.failed[0])[:, 0].tolist()

    def _present_objective(self, x: Any) -> float:
        """f of the point that pycma asks about; x, which is that point, is not looked at."""
        return self.present[0]

    def _present_constraints(self, x: Any) -> np.ndarray:
        """Constraint values of that point, [p + 2 q]."""
        return self.present[1]

    def _adapt_multipliers(self) -> None:
        """Let pycma update the multipliers by the last generation; nothing without constraints."""
        if self.task.n_ineq + self.task.n_eq:
            self.lagrangian.update(self.es)
