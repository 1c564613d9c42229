"""An engine says ask and tell; the loop belongs to the caller (loop.py).

Everything this library compares is one of three compositions:

    Cobra(task)                                             an engine alone: it brings its own order
    Shade(task, rule=FeasibilityFirst())                    engine x rule: any rule orders a RuleEngine's candidates
    Controlled(Shade(task, rule=SteeredEpsilon()), policy)  engine x rule x policy: controls set while it runs

An engine proposes points of the unit cube for B runs in lockstep and learns from what it is told of them; it
neither calls the problem nor counts, which is the Evaluator's work. What else it can do it offers (capabilities.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace, to_numpy
from meco.core.evaluation import Evaluation
from meco.core.known_limits import KnownLimits
from meco.core.rule import Population, Progress
from meco.core.search_range import SearchRange
from meco.core.streams import Streams

if TYPE_CHECKING:
    from meco.core.categories import Categories
    from meco.core.cheap_set import CheapLimits
    from meco.core.evaluator import Evaluator


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
    integer: Array | None = None  # variables that are integers, [B or 1, 1, D]; None: there are none
    tolerances: Callable[[], tuple[Array, Array]] | None = None  # each run's own, [B or 1, 1, 1 or C]
    lengths: np.ndarray | None = None  # typical length of each variable around x0, in the unit cube, [D]
    limits: KnownLimits | None = None  # what is known of constraints beforehand; of tasks with one run
    noisy: bool | None = None  # whether calls of one point differ; None: not known
    noise: Callable[[], np.ndarray | None] | None = None  # standard deviations of f, g and h [1 + C], where told
    range: SearchRange | None = None  # where a bound is infinite, which InfiniteBounds allows; of tasks with one run
    cheap: CheapLimits | None = None  # constraints that cost nothing; of tasks with one run
    categories: Categories | None = None  # of tasks with one run; to all but their own methods they are integers

    @classmethod
    def of(cls, evaluator: Evaluator, rng: Streams, x0: Array | None = None) -> Task:
        """The task of B runs that an evaluator's source poses; x0 [n, D] are points to try first, in the unit cube."""
        source = evaluator.source
        strictest = dict.fromkeys(source.strictest)
        return cls(
            source.box.dim,
            evaluator.budget,
            rng,
            source.box.lower,
            source.box.upper,
            source.counts,
            x0,
            *next(iter(strictest)),
            same_tolerances=len(strictest) == 1,
            integer=source.box.integer,
            lengths=None if x0 is None else source.box.typical_lengths(to_numpy(x0)[0]),
            tolerances=source.tolerances,
            range=source.box.range,
            categories=source.box.categories,
            noisy=False,
        )

    @property
    def walls(self) -> tuple[Any, Any]:
        """Least and largest coordinates of a point: 0 and 1, or [D] with -inf and inf where a bound is missing."""
        return (0.0, 1.0) if self.range is None else (self.range.low, self.range.high)

    @property
    def n_ineq(self) -> int:
        """Number of inequalities; known from the first tell on."""
        return self.counts()[0]

    @property
    def n_eq(self) -> int:
        """Number of equalities; known from the first tell on."""
        return self.counts()[1]

    def tolerance(self, ev: Evaluation) -> Array:
        """What each constraint may be violated by, inequalities first.

        [B or 1, C], in the library and on the device of ev.
        """
        xp = namespace(ev.f)
        pair = (self.ineq_tol, self.eq_tol) if self.tolerances is None else self.tolerances()
        parts = [
            xp.zeros_like(v[:, 0, :]) + (t if isinstance(t, float) else t[:, 0, :]) for v, t in zip((ev.g, ev.h), pair)
        ]
        return xp.concat(parts, axis=-1)

    def progress(self, told: int, generation: int) -> Progress:
        """Progress after `told` candidates, as the rules see it: a last, cut generation ends at the budget."""
        return Progress(min(told, self.budget), self.budget, generation)


class Engine(ABC):
    """A search strategy on B runs in lockstep, in the unit cube.

    ask() gives candidates [B, n, D]; tell() takes them back, in that order, with their evaluation. population is what
    survived last, generation how many were told.
    """

    task: Task
    population: Population | None = None
    generation: int = 0

    @abstractmethod
    def ask(self) -> Array:
        """Candidates to evaluate next: [B, n, D]."""

    @abstractmethod
    def tell(self, x: Array, ev: Evaluation) -> None:
        """Learn from the candidates [B, n, D] asked for last, in that order, with their evaluation.

        Failed ones teach nothing.
        """

    def trace(self) -> dict[str, Array]:
        """What to record beside the incumbents this generation, [B, ...] by name.

        Figures and stored traces know the names.
        """
        return {}

    def capabilities(self) -> tuple[Any, ...]:
        """What else this engine can do: objects of capabilities.py, at most one of a kind."""
        return ()


def first_population(task: Task, size: int) -> Array:
    """Uniform points in the unit cube [B, size, D]; task.x0 takes the first places. Draws from task.rng."""
    return put_given_first(task.rng.uniform(size, task.dim), task.x0)


def put_given_first(x: Array, given: Array | None) -> Array:
    """x [B, N, D] with the given rows [n, D], as many as there is room for, first in each run; x itself if None."""
    if given is None:
        return x
    xp = namespace(x)
    first = asarray_like(given, x)[: x.shape[1], :]
    first = xp.broadcast_to(first[None], (x.shape[0], *first.shape))
    return xp.concat([first, x[:, first.shape[1] :, :]], axis=1)
