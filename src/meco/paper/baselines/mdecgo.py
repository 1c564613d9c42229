"""MDE-CGO, reconstructed: matrix-based differential evolution that puts violation first (Bai et al. 2025)."""

from __future__ import annotations

from meco.core.arrays import Array, bounded, namespace, rows
from meco.core.engine import Task, first_population
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Rule, best, not_worse
from meco.engines.de.operators import distinct_indices, draw_numbers
from meco.engines.de.shade import binomial_crossover
from meco.engines.rule_engine import RuleEngine
from meco.errors import UnknownName
from meco.rules import FeasibilityFirst

STRATEGIES = ("rand1", "best1", "rand-to-best1")


class MdeCgo(RuleEngine):
    """Differential evolution with fixed F and CR; a trial that is not worse replaces its parent.

    The original's operator and settings were not available: DE/rand/1/bin, F = 0.5 and
    CR = 0.9 are a reconstruction.
    """

    label = "MDE-CGO"
    fewest = 4  # a trial needs itself and three others
    remembers = RuleEngine.common
    _next_u_rule: Array  # [B, 2], what the rule is told at the end of the generation
    _parent_key: Key

    def __init__(
        self,
        task: Task,
        rule: Rule | None = None,
        pop_size: int = 50,
        strategy: str = "rand1",
        F: float = 0.5,
        CR: float = 0.9,
    ) -> None:
        """FeasibilityFirst is the rule unless one is given; unknown strategies are refused."""
        if strategy not in STRATEGIES:
            raise UnknownName("MDE-CGO strategy", strategy, STRATEGIES)
        super().__init__(task, rule or FeasibilityFirst(), pop_size)
        self.strategy, self.F, self.CR = strategy, float(F), float(CR)

    def ask(self) -> Array:
        """Trials [B, N, D] of the next generation, the first time uniform points.

        Draws, and leaves for tell() what it needs.
        """
        if self.population is None:
            return first_population(self.task, self.size)
        size, dim = self.size, self.task.dim
        others, forced, cross, self._next_u_rule = draw_numbers(self.task.rng, (size, 3), (size,), (size, dim), (2,))
        x = self.population.x
        self._parent_key = self.key(self.population.ev)
        leader = rows(x, best(self._parent_key)[:, None])  # [B, 1, D]
        first, second, third = (rows(x, index) for index in distinct_indices(others))
        inside = bounded(make_donors(self.strategy, leader, first, second, third, self.F), 0.0, 1.0)
        return binomial_crossover(x, inside, namespace(x).full_like(forced, self.CR), cross, forced)

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep each trial that is not worse than its parent and did not fail, in `population`; the rule adapts."""
        if self.population is None:
            self.begin_population(x, ev)
            return
        won = not_worse(self.key(ev), self._parent_key) & ~ev.failed
        self.population = self.population.replace_where(won, x, ev)
        self.generation += 1
        self.adapt_rule(self._next_u_rule)


def make_donors(strategy: str, leader: Array, first: Array, second: Array, third: Array, F: float) -> Array:
    """The donor of each individual [B, N, D]: leader [B, 1, D] is the best, the others [B, N, D] are drawn.

    It may lie outside the cube. Names beside the STRATEGIES mean "rand1".
    """
    if strategy == "best1":
        return leader + F * (first - second)
    if strategy == "rand-to-best1":
        return first + F * (leader - first) + F * (second - third)
    return first + F * (second - third)
