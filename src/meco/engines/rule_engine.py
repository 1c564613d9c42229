"""What engines that compare by a rule have in common: the rule, its state, and when it starts and adapts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meco.core.arrays import Array
from meco.core.capabilities import SavedState, Steering
from meco.core.engine import Engine, Task
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Population, Progress, Rule
from meco.errors import InvalidInput


class RuleEngine(Engine):
    """An engine whose candidates any rule may order.

    It keeps the rule's state, and of every generation the two uniform numbers u_rule [B, 2] that the rule was told.
    """

    label = ""  # what error messages call the engine
    fewest = 1  # candidates without which it cannot work
    common = ("generation", "population", "state", "u_rule")  # what each of them remembers, and may be more
    # attributes that the next ask builds on, which are the names in saved states; None: it cannot be saved now
    remembers: tuple[str, ...] | None = None

    def __init__(self, task: Task, rule: Rule, pop_size: int) -> None:
        """No population yet; one of fewer than `fewest` is refused."""
        if pop_size < self.fewest:
            raise InvalidInput(f"{self.label} needs a pop_size of at least {self.fewest}; got {pop_size}")
        self.task, self.rule, self.size = task, rule, int(pop_size)
        self.state: Any = None
        self.u_rule: Array = None

    def key(self, ev: Evaluation) -> Key:
        """The keys of candidates [B, N] under the rule's present state, failed ones last."""
        return self.rule.key(ev, self.state)

    def begin_population(self, x: Array, ev: Evaluation) -> None:
        """Make the evaluated candidates the first population, draw u [B, 2], and start the rule.

        Engines may extend this.
        """
        self.population, self.u_rule = Population(x, ev), self.task.rng.uniform(2)
        self.state = self.rule.start(self.population, self.progress(), self.u_rule)

    def adapt_rule(self, u: Array) -> None:
        """Let the rule adapt its state to the population that was just selected; u [B, 2] uniform numbers."""
        assert self.population is not None
        self.u_rule = u
        self.state = self.rule.adapt(self.state, self.population, self.progress(), u)

    def progress(self) -> Progress:
        """How far the runs are: one population at first, another for every generation."""
        return self.task.progress(self.size * (self.generation + 1), self.generation)

    def capabilities(self) -> tuple[Any, ...]:
        """Steering by its rule's controls, and a state that can be saved."""
        offers: list[Any] = [
            Steering(self.rule.controls, ("population", "progress", *self.rule.knows), self._steer, self._knowledge)
        ]
        if self.remembers is not None:
            offers.append(SavedState(self))
        return tuple(offers)

    def _steer(self, values: Mapping[str, Array]) -> None:
        """Set controls of the rule by name, [B] each; InvalidInput for names that it has not."""
        self.state = self.rule.apply_controls(self.state, values)

    def _knowledge(self) -> Mapping[str, Any]:
        """The population, how far the runs are, and what the rule tells."""
        return {"population": self.population, "progress": self.progress(), **self.rule.known(self.state)}

    def trace(self) -> dict[str, Array]:
        """What the rule traces."""
        return self.rule.trace(self.state)
