"""An episode of the MDP, whose return the training maximizes (section 2.2, eq. 3): a run as the policy sees it.

Many episodes go in lockstep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from meco.core.arrays import Array, namespace, to_numpy
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.rule import Population
from meco.core.streams import Streams
from meco.engines.de.shade import Shade
from meco.engines.rule_engine import RuleEngine
from meco.errors import InvalidInput
from meco.paper.action import Decoder, GeometricDecoder
from meco.paper.controller import Controller
from meco.paper.controls import make_relaxation_controls
from meco.paper.features import PopulationMemory, PopulationTen
from meco.paper.reading import AS_PRINTED, Reading
from meco.paper.relaxation import SteeredEpsilon
from meco.paper.reward import ReferenceObjective, Reward, StepSummary, reward_function
from meco.paper.state import PopulationSummary, Reference
from meco.problems.suite import get_problem
from meco.result import Result


class Episode:
    """Runs whose relaxation is steered from outside: reset(), then step(actions) until done.

    One step is one generation under the allowance that the actions [B] ask for. Every run
    has its seed, and its own problem if a list is given; row b is run b alone, bit for bit.
    references is f~* of the reward: values [B], or a ReferenceObjective, which learns from
    the episodes that end here; unless given, the episode keeps one of its own. reading says whose objective
    f_best is, and how guides are ranked. record=False
    keeps no trace for results(), which training never asks for.

    Examples:
        >>> from meco.paper import Episode
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
        reading: Reading = AS_PRINTED,
        references: ReferenceObjective | Array | None = None,
        xp: Any = np,
        device: Any = None,
        record: bool = True,
        engine: Callable[..., RuleEngine] = Shade,
        **options: Any,
    ) -> None:
        """Nothing is evaluated before reset(). budget None: 50 D; options go to the engine. Unknown names fail."""
        self.problem = get_problem(problem) if isinstance(problem, str) else problem
        self.seeds = list(seeds)
        dim = self.problem.dim if isinstance(self.problem, Problem) else self.problem[0].dim
        self.budget = 50 * dim if budget is None else int(budget)
        self.rule = SteeredEpsilon(GeometricDecoder() if decoder is None else decoder)
        self.reward = reward_function(reward) if isinstance(reward, str) else reward
        self.reading = reading
        self.references = ReferenceObjective() if references is None else references
        self._make_engine = engine
        self._options = options if pop_size is None else {"pop_size": pop_size, **options}
        self._xp, self._device, self._traced = xp, device, record
        self._over = True  # until the first reset

    def reset(self, seeds: Iterable[int] | None = None) -> Array:
        """Begin anew: evaluate first populations and give their features s [B, 10]; the same seeds if none come.

        A budget that ends with the first populations is an error.
        """
        self._over = True  # unless the first populations can be evaluated
        self.seeds = self.seeds if seeds is None else list(seeds)
        rng, self._evaluator = self._make_evaluator()
        options = {**self._options, **self.reading.engine_options(self._make_engine)}
        self.engine = self._make_engine(Task.of(self._evaluator, rng), rule=self.rule, **options)
        self._loop = Loop(self.engine, self._evaluator, traced=False)
        controls = make_relaxation_controls(self.rule.decoder.name, self.rule.decoder)
        self._controller = Controller(self.engine, PopulationTen(self.reading.best), controls)
        self.keys = list(self._evaluator.source.names)
        self._step_and_observe()
        self.best_objective, self._first_score = self.population_summary.f_reward, self.score
        self._known = self._as_population_array(self._known_references())
        self._over = self._evaluator.left == 0
        if self._over:
            raise InvalidInput(
                f"a budget of {self.budget} ends with the first population; an episode needs at least one step more"
            )
        return self.s

    def _make_evaluator(self) -> tuple[Streams, Evaluator]:
        """Random streams of new runs at their beginning, and an evaluator that has counted nothing."""
        rng = Streams(self.seeds, self._xp, self._device)
        return rng, Evaluator.on(self.problem, self.budget, rng.runs, self._xp, self._device, rng)

    def step(self, actions: Any) -> tuple[Array, Array, Array]:
        """One generation: features s [B, 10], reward r [B] and whether the budget is spent, done [B].

        actions [B] outside the decoder's range, and a step after the end, are errors. The last step may lower f~*.
        """
        if self._over:
            raise InvalidInput("no episode is running, or its last step failed: call reset() first")
        before, wanted = self._summarize_now(), self._check_actions(actions)
        self._over = True  # unless this step comes to its end: after a failed one the runs no longer agree
        self._controller.steer({self.rule.decoder.control.name: wanted})
        self._add_trace_row()
        self._step_and_observe()
        after = self._summarize_now()
        xp = namespace(after.f_best)
        with np.errstate(all="ignore"):  # rewards are clipped
            r = self.reward(before, after, self.first_population, self._known)
        kept = self.best_objective <= after.f_best  # false for nan, where all of the first population failed
        self.best_objective = xp.where(kept, self.best_objective, after.f_best)
        self._over = self._evaluator.left == 0
        if self._over:
            self._end_episode()
        return self.s, r, xp.full(r.shape, self._over, dtype=xp.bool, device=r.device)

    @property
    def first_population(self) -> Reference:
        """The first population, against which later ones are measured."""
        return self._memory.first

    @property
    def population_summary(self) -> PopulationSummary:
        """f_best under the reading, and nu-bar, of the present population."""
        return self._memory.now

    @property
    def eps(self) -> Array:
        """The allowance in force: [B, C]."""
        return self.engine.state.eps

    @property
    def _memory(self) -> PopulationMemory:
        """What the engine's controller remembers of the populations."""
        return self._controller.memory

    @property
    def population(self) -> Population:
        """The present population, in the unit cube."""
        assert self.engine.population is not None
        return self.engine.population

    @property
    def x(self) -> Array:
        """The present population in the problem's units: [B, N, D]."""
        return self._evaluator.box.to_box(self.population.x)

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
        best = self._evaluator.history.score_best.point
        assert best is not None
        return best.key.minor[:, 0]

    def results(self, method: str = "MeCO") -> list[Result]:
        """What the runs found so far, one record each; needs reset()."""
        return list(self._evaluator.results(method, self.seeds))

    def _summarize_now(self) -> StepSummary:
        """What the reward compares, of the present population and the best score so far: [B] each."""
        return StepSummary(
            self.population_summary.f_reward,
            self.population_summary.nu_bar,
            score=self.score,
            first_score=self._first_score,
        )

    def _step_and_observe(self) -> None:
        """Make one generation, and observe the features of what came out."""
        self._loop.step()
        self.s = self._controller.observe()  # features of the present population, [B, 10]

    def _add_trace_row(self) -> None:
        """Record the present population, where a trace is kept."""
        if self._traced:
            traced = {**self._controller.trace(), **self.engine.trace()}
            self._evaluator.history.record_generation(self._evaluator.nfev, self.engine.population, traced)

    def _end_episode(self) -> None:
        """Record the last population; f~* of the problems may fall."""
        self._add_trace_row()
        if isinstance(self.references, ReferenceObjective):
            self.references.update(self.keys, to_numpy(self.best_objective))

    def _known_references(self) -> Array:
        """f~* of each run's problem, [B]; inf where no episode has ended yet."""
        if isinstance(self.references, ReferenceObjective):
            return self.references.look_up(self.keys)
        return self.references

    def _as_population_array(self, values: Any) -> Array:
        """Numbers [B] from the caller as float64, in the library and on the device of the population."""
        like = self.population.ev.f
        if not isinstance(values, type(like)):
            values = np.asarray(values, dtype=np.float64)
        return namespace(like).asarray(values, dtype=like.dtype, device=like.device)

    def _check_actions(self, actions: Any) -> Array:
        """Action values [B] as an array of the population's kind.

        InvalidInput for a wrong shape or a value out of range.
        """
        values = self._as_population_array(actions)
        runs, (low, *_, high) = len(self.seeds), self.rule.decoder.grid.tolist()
        if tuple(values.shape) != (runs,):
            raise InvalidInput(f"{runs} runs need actions of shape ({runs},); got {tuple(values.shape)}")
        if not bool(namespace(values).all((values >= low) & (values <= high))):
            raise InvalidInput(f"actions must lie in [{low:g}, {high:g}]; got {to_numpy(values).tolist()}")
        return values
