"""An engine says ask and tell; the loop belongs to the caller.

Everything this library compares is one of three compositions:

    Cobra(task)                                             an engine alone: it brings its own order
    Shade(task, rule=FeasibilityFirst())                    engine x rule: any rule orders any RuleEngine's candidates
    Controlled(Shade(task, rule=SteeredEpsilon()), policy)  engine x rule x policy: controls set while it runs

An engine proposes points of the unit cube for B runs in lockstep and learns from what it is told of them; it
neither calls the problem nor counts, which is the Evaluator's work. What may be set from outside it declares as
controls, and what a policy may look at it tells as knowledge(); it knows nothing of who steers it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.arrays import Array, asarray_like, namespace
from meco.engines.graphs import Turns, draws_by_itself
from meco.engines.limits import KnownLimits
from meco.evaluator import Evaluator
from meco.problems.evaluation import Evaluation
from meco.rules.control import Control, refuse_unknown
from meco.rules.rule import Population, Progress
from meco.streams import Streams

__all__ = ["Control", "Engine", "Task", "first_population", "note_if_cut", "with_given"]


@dataclass(frozen=True)
class Task:
    """What an engine may know of the job before the first evaluation."""

    dim: int
    budget: int
    rng: Streams  # one random stream per run
    lower: Array  # box of each run, [B or 1, 1, D]
    upper: Array
    counts: Callable[[], tuple[int, int]]  # inequalities and equalities; a user's function tells by its first answers
    x0: Array | None = None  # points to try first, unit cube, [n, D]
    ineq_tol: float = 0.0  # of the first run, the strictest where its constraints differ
    eq_tol: float = 1e-4
    same_tolerances: bool = True  # whether they hold for every run
    whole: Array | None = None  # variables that are whole numbers, [B or 1, 1, D]; None: there are none
    tolerances: Callable[[], tuple[Array, Array]] | None = None  # each run's own, [B or 1, 1, 1 or C]
    limits: KnownLimits | None = None  # what is known of constraints beforehand; of tasks with one run

    @classmethod
    def of(cls, evaluator: Evaluator, rng: Streams, x0: Array | None = None) -> Task:
        """The task behind an evaluator."""
        tolerances = {p.strictest: None for p in evaluator.shared}
        return cls(
            evaluator.dim, evaluator.budget, rng, evaluator.lower, evaluator.upper,
            evaluator.counts, x0, *next(iter(tolerances)), len(tolerances) == 1,
            evaluator.whole, evaluator.tolerances,
        )  # fmt: skip

    @property
    def n_ineq(self) -> int:
        """Number of inequalities; known from the first tell on."""
        return self.counts()[0]

    @property
    def n_eq(self) -> int:
        """Number of equalities; known from the first tell on."""
        return self.counts()[1]

    def tolerance(self, ev: Evaluation) -> Array:
        """What each constraint may be violated by, inequalities first: [B or 1, C]."""
        xp = namespace(ev.f)
        pair = (self.ineq_tol, self.eq_tol) if self.tolerances is None else self.tolerances()
        parts = [
            xp.zeros_like(v[:, 0, :]) + (t if isinstance(t, float) else t[:, 0, :]) for v, t in zip((ev.g, ev.h), pair)
        ]
        return xp.concat(parts, axis=-1)


class Engine(ABC):
    """A search strategy on B runs in lockstep, in the unit cube.

    ask() gives candidates [B, n, D]; tell() takes them back, in that order, with their
    evaluation. population is what survived last, size how many candidates are asked for at
    first, generation how many were told. wanted [B, n], where an engine sets it, says which
    of the asked candidates each run needs.
    """

    task: Task
    size: int
    wanted: np.ndarray | None = None
    population: Population | None = None
    generation: int = 0
    controls: tuple[Control, ...] = ()  # what steer() takes
    knows: tuple[str, ...] = ()  # the names that knowledge() gives
    remembers: tuple[str, ...] | None = None  # attributes that the next ask builds on, see memory.py; None: unknown
    passing: tuple[str, ...] = ()  # attributes that every ask makes anew, and nobody reads after the tell

    def steer(self, values: Mapping[str, Array]) -> None:
        """Set controls by name, one value [B] each; what is not named stays as it is."""
        refuse_unknown(self, self.controls, values)

    def knowledge(self) -> Mapping[str, Any]:
        """What features may be computed from after a tell, by name: numbers [B] that the engine knows anyway."""
        return {}

    def steered_by(self) -> Mapping[str, Any]:
        """What is known of the policy that steers this search; nothing where none does."""
        return {}

    @abstractmethod
    def ask(self) -> Array:
        """Candidates to evaluate next: [B, n, D]."""

    @abstractmethod
    def tell(self, x: Array, ev: Evaluation) -> None:
        """Learn from the evaluated candidates."""

    def learn(self, x: Array, ev: Evaluation) -> None:  # noqa: B027 - most engines cannot
        """Points [B, n, D] that another search proposed, after the first tell; for engines that can use them."""

    def set_apart(self, u: Array) -> None:  # noqa: B027 - most engines differ by their random streams
        """Differ from other searches that know the same points, by u [B], uniform."""

    def parts(self) -> tuple[object, ...]:
        """The objects that hold what changes during a search."""
        return (self,)

    @property
    def turn_size(self) -> int:
        """Candidates that each later turn asks for."""
        return self.size

    def kind_of_turn(self) -> Hashable | None:
        """Equal for turns that differ in numbers on a device alone; None where that is never so."""
        return None

    def count_turn(self) -> None:  # noqa: B027 - of engines that have kinds of turns
        """What the host counts of a turn, when a device repeats one by itself."""

    def make_ready(self) -> None:  # noqa: B027 - most engines always are
        """Make the room that the next turn needs, so that no shape changes while it is made."""

    def converged(self) -> Array | None:
        """Runs [B] that have nothing left to do where they are, a feasible point; None: the engine cannot tell."""
        return None

    def multipliers(self, x: Array) -> Array | None:
        """Lagrange multipliers [B, C] of the constraints at evaluated points x [B, D]; None: the engine has none."""
        return None

    def trace(self) -> dict[str, Array]:
        """What to record beside the incumbents this generation."""
        return {}

    def run(self, evaluator: Evaluator, stop: Callable[[], Any] | None = None) -> None:
        """Ask, evaluate and tell until the budget is spent or stop() says so; a device may repeat turns by itself."""
        turns = self._recordings(evaluator)
        while not evaluator.over:
            if turns is None or not turns.replayed():
                x = self.ask()
                if self.generation == 0:
                    note_if_cut(evaluator, x.shape[1])
                self.tell(x, evaluator.evaluate(x, self.wanted))
            evaluator.note(self.population, self.trace(), overwritten=turns is not None and turns.have_places)
            if stop is not None and stop():
                break

    def _recordings(self, evaluator: Evaluator) -> Turns | None:
        """What replays turns of this search, where its device can and the engine knows their kinds."""
        known = type(self).kind_of_turn is not Engine.kind_of_turn
        return Turns(self, evaluator) if known and draws_by_itself(self.task.rng) else None

    def spent(self, told: int) -> Progress:
        """Progress after `told` candidates, as the rules see it: a last, cut generation ends at the budget."""
        return Progress(min(told, self.task.budget), self.task.budget, self.generation)


def note_if_cut(evaluator: Evaluator, size: int) -> None:
    """Say in the result that the budget does not reach through the first candidates."""
    if size > evaluator.budget:
        evaluator.notes.append(
            f"the budget of {evaluator.budget} is below the population of {size}: "
            f"only the first {evaluator.budget} points were evaluated"
        )


def first_population(task: Task, size: int) -> Array:
    """Uniform points in the unit cube [B, N, D]; points to try first take the first places."""
    return with_given(task.rng.uniform(size, task.dim), task.x0)


def with_given(x: Array, given: Array | None) -> Array:
    """x [B, N, D] with the given rows [n, D], as many as there is room for, in the first places of each run."""
    if given is None:
        return x
    xp = namespace(x)
    first = asarray_like(given, x)[: x.shape[1], :]
    first = xp.broadcast_to(first[None], (x.shape[0], *first.shape))
    return xp.concat([first, x[:, first.shape[1] :, :]], axis=1)
