"""An episode: one optimization run as the policy sees it, many of them in lockstep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from meco.arrays import Array, namespace, to_numpy
from meco.engines.de.shade import Shade
from meco.engines.engine import Engine, Task
from meco.errors import InvalidInput
from meco.evaluator import Evaluator
from meco.mdp.action import Decoder, Geometric
from meco.mdp.learned import Relaxation, SteeredEpsilon
from meco.mdp.reward import Moment, ReferenceObjective, Reward, reward_function
from meco.problems.problem import Problem
from meco.problems.suite import get_problem
from meco.results import RunResult
from meco.rules.rule import Population
from meco.streams import Streams


class Episode:
    """Runs whose relaxation is steered from outside: reset(), then step(actions) until done.

    One step is one generation under the allowance that the actions [B] ask for. Every run
    has its seed, and its own problem if a list is given; row b is run b alone, bit for bit.
    references is f~* of the reward: values [B], or a ReferenceObjective, which learns from
    the episodes that end here; unless given, the episode keeps one of its own. record=False
    keeps no trace for results(), which training never asks for.

    >>> from meco.mdp import Episode
    >>> episode = Episode("tilted", seeds=[1, 2], budget=150)
    >>> s = episode.reset()
    >>> s, r, done = episode.step([0.5, 1.0])
    >>> s.shape, r.shape, done.tolist()
    ((2, 10), (2,), [False, False])
    """

    def __init__(
        self,
        problem: Problem | str | Sequence[Problem],
        seeds: Iterable[int],
        budget: int | None = None,
        pop_size: int | None = 50,
        *,
        decoder: Decoder | None = None,
        reward: str | Reward = "full",
        references: ReferenceObjective | Array | None = None,
        xp: Any = np,
        device: Any = None,
        record: bool = True,
        engine: Callable[..., Engine] = Shade,
        **options: Any,
    ) -> None:
        self.problem = get_problem(problem) if isinstance(problem, str) else problem
        self.seeds = list(seeds)
        dim = self.problem.dim if isinstance(self.problem, Problem) else self.problem[0].dim
        self.budget = 50 * dim if budget is None else int(budget)
        self.rule = SteeredEpsilon(Geometric() if decoder is None else decoder)
        self.reward = reward_function(reward) if isinstance(reward, str) else reward
        self.references = ReferenceObjective() if references is None else references
        self._build = engine
        self._options = options if pop_size is None else {"pop_size": pop_size, **options}
        self._xp, self._device, self._traced = xp, device, record
        self.engine: Any = None  # an engine that keeps its rule's state as .state
        self._over = True  # until the first reset

    def reset(self, seeds: Iterable[int] | None = None) -> Array:
        """Evaluate first populations and give their features s [B, 10]; the same seeds unless new ones come."""
        self.seeds = self.seeds if seeds is None else list(seeds)
        draw = Streams(self.seeds, self._xp, self._device)
        self._evaluator = Evaluator(self.problem, self.budget, draw.runs, self._xp, self._device)
        self.engine = self._build(Task.of(self._evaluator, draw), rule=self.rule, **self._options)
        self.keys = [p.name for p in self._evaluator.problems]
        self._advance()
        self.best_objective, self._first_score = self.state.now.f_best, self.score
        self._known = self._given(self._references())
        self._over = self._evaluator.left == 0
        if self._over:
            raise InvalidInput(
                f"a budget of {self.budget} ends with the first population; an episode needs at least one step more"
            )
        return self.state.s

    def step(self, actions: Any) -> tuple[Array, Array, Array]:
        """One generation: features s [B, 10], reward r [B] and whether the budget is spent, done [B]."""
        if self._over:
            raise InvalidInput("no episode is running: call reset() first")
        before = self._moment()
        self.engine.state = self.rule.with_action(self.state, self._checked(actions))
        self._record()
        self._advance()
        after = self._moment()
        xp = namespace(after.f_best)
        with np.errstate(all="ignore"):  # rewards are clipped
            r = self.reward(before, after, self.state.first, self._known)
        kept = self.best_objective <= after.f_best  # false for nan, a first population that failed as a whole
        self.best_objective = xp.where(kept, self.best_objective, after.f_best)
        self._over = self._evaluator.left == 0
        if self._over:
            self._finish()
        return self.state.s, r, xp.full(r.shape, self._over, dtype=xp.bool, device=r.device)

    @property
    def state(self) -> Relaxation:
        """What the rule knows: allowance, features, reference values."""
        return self.engine.state

    @property
    def population(self) -> Population:
        """The present population, in the unit cube."""
        assert self.engine.population is not None
        return self.engine.population

    @property
    def x(self) -> Array:
        """The present population in the problem's units: [B, N, D]."""
        return self._evaluator.to_box(self.population.x)

    @property
    def f(self) -> Array:
        """Its objective values: [B, N]."""
        return self.population.ev.f

    @property
    def c(self) -> Array:
        """Its violations, inequalities first: [B, N, C]."""
        return self.population.ev.c

    @property
    def nfev(self) -> np.ndarray:
        """Evaluations made so far: [B]."""
        return self._evaluator.nfev

    @property
    def score(self) -> Array:
        """Least f + nu of the points evaluated so far: [B]."""
        held = self._evaluator.score_best.held
        assert held is not None
        return held.key.minor[:, 0]

    def results(self, method: str = "MeCO") -> list[RunResult]:
        """What the runs found so far, one record each."""
        return self._evaluator.results(method, self.seeds)

    def _moment(self) -> Moment:
        return Moment(*self.state.now, score=self.score, first_score=self._first_score)

    def _advance(self) -> None:
        x = self.engine.ask()
        self.engine.tell(x, self._evaluator.evaluate(x))

    def _record(self) -> None:
        if self._traced:
            self._evaluator.note(self.engine.population, self.engine.trace())

    def _finish(self) -> None:
        self._record()
        if isinstance(self.references, ReferenceObjective):
            self.references.update(self.keys, to_numpy(self.best_objective))

    def _references(self) -> Array:
        if isinstance(self.references, ReferenceObjective):
            return self.references.of(self.keys)
        return self.references

    def _given(self, values: Any) -> Array:
        """Numbers [B] from the caller, beside the population."""
        like = self.population.ev.f
        if not isinstance(values, type(like)):
            values = np.asarray(values, dtype=np.float64)
        return namespace(like).asarray(values, dtype=like.dtype, device=like.device)

    def _checked(self, actions: Any) -> Array:
        values = self._given(actions)
        runs, (low, *_, high) = len(self.seeds), self.rule.decoder.grid.tolist()
        if tuple(values.shape) != (runs,):
            raise InvalidInput(f"{runs} runs need actions of shape ({runs},); got {tuple(values.shape)}")
        if not bool(namespace(values).all((values >= low) & (values <= high))):
            raise InvalidInput(f"actions must lie in [{low:g}, {high:g}]; got {to_numpy(values).tolist()}")
        return values
