"""MDE-CGO, reconstructed: matrix-based differential evolution that puts violation first (Bai et al. 2025)."""

from __future__ import annotations

from typing import Any

from meco.arrays import Array, bounded, namespace, rows
from meco.engines.de.operators import distinct, pieces
from meco.engines.de.shade import binomial
from meco.engines.engine import Engine, Task, first_population
from meco.errors import InvalidInput, UnknownName
from meco.problems.evaluation import Evaluation
from meco.rules import FeasibilityFirst
from meco.rules.rule import Population, Rule, best, not_worse

FEWEST = 4  # a trial needs itself and three others
STRATEGIES = ("rand1", "best1", "rand-to-best1")


class MdeCgo(Engine):
    """Differential evolution with fixed F and CR; a trial that is not worse replaces its parent.

    The original's operator and settings were not available: DE/rand/1/bin, F = 0.5 and
    CR = 0.9 are a reconstruction.
    """

    def __init__(
        self,
        task: Task,
        rule: Rule | None = None,
        pop_size: int = 50,
        strategy: str = "rand1",
        scale: float = 0.5,
        rate: float = 0.9,
    ) -> None:
        if strategy not in STRATEGIES:
            raise UnknownName("MDE-CGO strategy", strategy, STRATEGIES)
        if pop_size < FEWEST:
            raise InvalidInput(f"MDE-CGO needs a pop_size of at least {FEWEST}; got {pop_size}")
        self.task, self.rule, self.size = task, rule or FeasibilityFirst(), int(pop_size)
        self.strategy, self.scale, self.rate = strategy, float(scale), float(rate)
        self.state: Any = None

    def ask(self) -> Array:
        """Trials of the next generation; the first time, uniform points."""
        if self.population is None:
            return first_population(self.task, self.size)
        size, dim = self.size, self.task.dim
        u = self.task.rng.uniform(size * (4 + dim) + 2)
        others, forced, cross, self.rule_draw = pieces(u, (size, 3), (size,), (size, dim), (2,))
        x = self.population.x
        self.parent_key = self.rule.key(self.population.ev, self.state)
        leader = rows(x, best(self.parent_key)[:, None])  # [B, 1, D]
        first, second, third = (rows(x, index) for index in distinct(others))
        inside = bounded(mutant(self.strategy, leader, first, second, third, self.scale), 0.0, 1.0)
        return binomial(x, inside, namespace(x).full_like(forced, self.rate), cross, forced)

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep each trial that is not worse than its parent."""
        if self.population is None:
            self.population = Population(x, ev)
            self.state = self.rule.start(self.population, self.spent(self.size), self.task.rng.uniform(2))
            return
        won = not_worse(self.rule.key(ev, self.state), self.parent_key) & ~ev.failed
        self.population = self.population.replaced(won, x, ev)
        self.generation += 1
        progress = self.spent(self.size * (self.generation + 1))
        self.state = self.rule.adapt(self.state, self.population, progress, self.rule_draw)

    def trace(self) -> dict[str, Array]:
        return self.rule.trace(self.state)


def mutant(strategy: str, leader: Array, first: Array, second: Array, third: Array, scale: float) -> Array:
    """The donor of each individual: leader [B, 1, D] is the best, the others [B, N, D] are drawn."""
    if strategy == "best1":
        return leader + scale * (first - second)
    if strategy == "rand-to-best1":
        return first + scale * (leader - first) + scale * (second - third)
    return first + scale * (second - third)
