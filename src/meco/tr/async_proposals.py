"""One proposal at a time for workers that are never waited for: TR while answers are outstanding.

An iteration of the engine has a step that is judged when its answer comes, and further points that are not: other
steps of the same models, points they know least about. Here the step is given out first. Whoever asks
before it is answered gets a further point, of models that have been fitted to all answers so far, and none that lies
where one is outstanding, unless a lattice has no other point. With the answer of the step the iteration ends, and the
next one to ask gets the next step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.core.arrays import Array
from meco.core.evaluation import Evaluation
from meco.tr.archive import SAME_POINT_RADII, is_repeated
from meco.tr.expectation import Asked, Expectation
from meco.tr.lattice import snap_to
from meco.tr.merit import MERIT
from meco.tr.proposal_counts import add_points
from meco.tr.region import PointSource

if TYPE_CHECKING:
    from meco.tr.engine import TrustRegion

MAX_ITERATIONS_TRIED = 8  # whose further points are searched for one that is not outstanding
MAX_POINTS_TRIED = 100  # near a step, searched for one that is not outstanding
STEP_SHORTENING = 0.8  # of a step next to one that is outstanding
PATIENCE_BATCHES = 2  # of answers that a step is waited for; a call may hang


@dataclass(eq=False)
class Ticket:
    """A point given out, [D], and what its answer is for."""

    x: np.ndarray
    source: int | None = None  # None: one of the first points
    is_step: bool = False  # whether it is the step of an iteration
    late: bool = False  # whether it was, and has been waited for in vain
    restart_index: Any = None  # that it belongs to, [1]
    asked: Asked | None = None  # what the engine is to know when it is told


class AsyncProposals:
    """Asks an engine of this family one point at a time; batch is how many are out.

    tell is the loop's. It reads and sets the engine's `asked`, and puts back state.region and state.r2 after proposals
    that are not to count.
    """

    def __init__(self, engine: TrustRegion, batch: int, tell: Callable[[Array, Any], None]) -> None:
        """Asks the engine for its first points, unless it has been told of them already.

        batch, at least 2, is how many points may be out. tell(x, ev) tells loop and engine.
        """
        self.engine, self.batch, self._tell = engine, max(2, int(batch)), tell
        self.waiting = [] if self.begun else [Ticket(x) for x in engine.ask()[0]]  # first points to be given out
        self.out: list[Ticket] = []
        self.stock: list[Ticket] = []  # further points of the last iteration
        self.beside: list[Evaluation] = []  # what came while a step was out
        self.step: Ticket | None = None  # the step that is out
        self.since = 0  # answers since it was given out
        self.tried = 0  # points given out because the first ones were not answered

    @property
    def begun(self) -> bool:
        """Whether the engine has been told of first points."""
        return self.engine.generation > 0

    @np.errstate(all="ignore")
    def ask(self) -> Ticket:
        """The next point for whoever is free, which then counts as outstanding.

        First points come first; where they are all out and none is answered yet, random ones near them. Then a step for
        each iteration, and further points while that is out.
        """
        if self.waiting:
            ticket = self.waiting.pop(0)
        elif not self.begun:
            self.tried += 1
            ticket = Ticket(self._draw_near(self.engine.first[0, 0], anywhere=self.tried > self.engine.first.shape[1]))
        else:
            ticket = self._propose_step() if self.step is None else self._propose_further(self.step)
        if self.engine.models.cheap is not None:
            ticket.x = self.engine.models.cheap.pull_back(ticket.x[None, None, :])[0, 0]
        self.out.append(ticket)
        return ticket

    def ticket(self, x: np.ndarray) -> Ticket:
        """A ticket for a point x [D] that an earlier session proposed; it does not count as outstanding."""
        return Ticket(x)

    def give_out(self, x: np.ndarray) -> Ticket:
        """Count a point [D] of an earlier session as outstanding."""
        ticket = Ticket(x)
        self.out.append(ticket)
        return ticket

    def drop_waiting(self, is_taken: Callable[[np.ndarray], bool]) -> None:
        """Do not give out first points x [D] that were given out already, as is_taken(x) says."""
        self.waiting = [ticket for ticket in self.waiting if not is_taken(ticket.x)]

    @np.errstate(all="ignore")
    def answer(self, ticket: Ticket, x: np.ndarray, ev: Evaluation) -> None:
        """Take the answer to a ticket, x [1, 1, D] and its evaluation, once the engine has begun; withdraws the ticket.

        A step is told to the engine, anything else goes to the archive alone. A step that is still out
        after PATIENCE_BATCHES batches of other answers is waited for no longer.
        """
        self.withdraw(ticket)
        self.since += 1
        if self.step is not None and ticket is not self.step and self.since > PATIENCE_BATCHES * self.batch:
            self.step.is_step, self.step.late = False, True  # it counts as any other point when it comes
            self.step, self.stock = None, []
        if ticket.is_step:
            self._put_back_asked(ticket, self.engine.state.reduce(ev))
            self._tell(x, ev)
            if ticket.is_step:
                self.step, self.stock, self.beside = None, [], []
            return
        self._add_to_archive(ticket, x, ev)
        self.beside.append(self.engine.state.reduce(ev))

    def _add_to_archive(self, ticket: Ticket, x: np.ndarray, ev: Evaluation) -> None:
        """Add the answer to a further point x [1, 1, D] to archive and counts; the engine is not told of it."""
        state, index = self.engine.state, ticket.restart_index
        region, ev = state.region, state.keep_and_reduce(ev)
        state.archive.add(x, ev, region.restart_index * 0 if index is None else index, region.centre)
        state.count_points(1)
        source = region.restart_index[:, None] * 0 + (PointSource.GEOMETRY if ticket.source is None else ticket.source)
        made = None if ticket.asked is None else ticket.asked.expectation
        gained = ev.failed & False if made is None else _merits_of(ev, made) < made.merit[:, None]
        state.counts = add_points(state.counts, source, gained, ev)

    def withdraw(self, ticket: Ticket) -> None:
        """Count a ticket as outstanding no longer; without effect where it was not."""
        self.out = [other for other in self.out if other is not ticket]

    def _put_back_asked(self, ticket: Ticket, ev: Evaluation) -> None:
        """Set the engine's `asked` to what was expected of this point, whose reduced answer is ev [1, 1].

        A step that is no better than the centre is not judged where another answer since was. An answer of an earlier
        restart sets no weights of the present one.
        """
        asked = ticket.asked
        assert asked is not None
        made = asked.expectation
        if (made.restart_index != self.engine.region.restart_index[:, None]).any():
            made = made._replace(violation=0.0 * made.violation)
        if ticket.source == PointSource.STEP and ticket.is_step and self.beside:
            merits = [float(_merits_of(each, made)[0, 0]) for each in (ev, *self.beside)]
            if min(merits[1:]) < float(made.merit[0]) <= merits[0]:
                made = made._replace(source=made.source * 0 + PointSource.GEOMETRY)
        self.engine.asked = asked._replace(expectation=made)

    def _propose_step(self) -> Ticket:
        """The step of a new iteration, which is then the one that is out.

        Where that very point is out already, its answer is judged instead, and a further point is given.
        """
        ticket = self._propose_iteration(1)[0]
        same = self._find_outstanding(ticket.x)
        for _ in range(MAX_POINTS_TRIED):
            if same is None or not same.late:
                break
            ticket.x = self._shorten(ticket.x)  # next to it: nobody knows when that answer comes, or what it is for
            same = self._find_outstanding(ticket.x)
        else:
            same = None  # on a small lattice every point may be out: one of them is called a second time
        if same is None:
            ticket.is_step, self.step, self.beside, self.since = True, ticket, [], 0
            return ticket
        same.is_step, same.source, same.asked = True, ticket.source, ticket.asked
        self.step, self.beside, self.since = same, [], 0
        return self._propose_further(same)

    def _find_outstanding(self, x: np.ndarray) -> Ticket | None:
        """The first ticket out within SAME_POINT_RADII of a point x [D]; None where there is none."""
        return next((other for other in self.out if self._is_close(other.x, x)), None)

    def _shorten(self, x: np.ndarray) -> np.ndarray:
        """A point nearer to the centre than x [D]; where there is none, and on a lattice, a random one near x."""
        centre = self.engine.region.centre[0]
        nearer = centre + STEP_SHORTENING * (x - centre)
        if self.engine.lattice is not None or self._is_close(nearer, x):
            return self._draw_near(x)
        return nearer

    def _propose_further(self, step: Ticket) -> Ticket:
        """A point beside the step that is neither out nor evaluated; takes it from the stock.

        The stock is filled anew as it runs out. After MAX_ITERATIONS_TRIED fillings it may be any point. Near a
        restart, which has no models yet, a random one.
        """
        if step.source == PointSource.RESTART:  # there are no models yet around a restart
            return Ticket(self._draw_near(step.x), PointSource.GEOMETRY, restart_index=self.engine.region.restart_index)
        for _ in range(MAX_ITERATIONS_TRIED):
            while self.stock:
                ticket = self.stock.pop(0)
                known = is_repeated(self.engine.archive, ticket.x[None])[0]
                if self._find_outstanding(ticket.x) is None and not known:
                    return ticket
            self.stock = self._propose_undone()
        return self.stock.pop(0)

    def _propose_undone(self) -> list[Ticket]:
        """Points of an iteration after which the engine is what it was.

        Puts back region, R^2, noise and failure scale of the state and the engine's `asked`; numbers stay drawn.
        """
        engine, state = self.engine, self.engine.state
        region, r2, asked, noise = state.region, state.r2, engine.asked, state.noise
        scale = state.failure_scale
        tickets = self._propose_iteration(self.batch)
        state.region, state.r2, engine.asked, state.noise = region, r2, asked, noise
        state.failure_scale = scale
        return tickets

    def _propose_iteration(self, batch: int) -> list[Ticket]:
        """Tickets for the `batch` points of the engine's next iteration; its `asked` is left as propose() set it."""
        x = self.engine.propose(batch)[0]
        asked = self.engine.asked
        assert asked is not None
        made = asked.expectation
        return [
            Ticket(x[k], int(made.source[0, k]), restart_index=made.restart_index[:, k], asked=asked.of_point(k))
            for k in range(len(x))
        ]

    def _is_close(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Whether two points [D] are as good as the same."""
        return bool(np.max(np.abs(one - other) / self.engine.region.reach[0]) < SAME_POINT_RADII)

    def _draw_near(self, x: np.ndarray, anywhere: bool = False) -> np.ndarray:
        """A random point [D] within the first radii of x [D], or anywhere, on the lattice and inside hard constraints.

        Draws one block of numbers from the task's streams.
        """
        engine = self.engine
        u = engine.task.rng.uniform(1, engine.task.dim)
        near = u if anywhere else np.clip(x + 2.0 * engine.radii[0] * (u - 0.5), *engine.task.walls)
        near = snap_to(engine.lattice, near)
        return near[0, 0] if engine.guard is None else engine.guard.project(near[0])[0]


def _merits_of(ev: Evaluation, made: Expectation) -> Array:
    """Merits [1, k] of an evaluation by the weights that points were expected with; inf where they failed."""
    return MERIT.key(ev, made.weights).minor
