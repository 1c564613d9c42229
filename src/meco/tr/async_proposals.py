"""One proposal at a time for workers that are never waited for: the TR family while answers are outstanding.

A turn of the engine has a step that is judged when its answer comes, and further points that are not: other steps of
the same models, points they know least about, offspring. Here the step of a turn is given out first. Whoever asks
before it is answered gets a further point, of models that have been fitted to all answers so far, and none that lies
where one is outstanding, unless a lattice has no other place. With the answer of the step the turn ends, and the
next one to ask gets the next step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.core.arrays import Array
from meco.core.evaluation import Evaluation
from meco.tr.expectation import Expectation
from meco.tr.proposal_counts import with_turn
from meco.tr.proposals import CLOSE, SAME, is_seen
from meco.tr.region import GEOMETRY, OFFSPRING, RESTART, STEP

if TYPE_CHECKING:
    from meco.tr.engine import TrustRegion

TRIED = 8  # turns whose further points are looked through for one that is not outstanding
PLACES = 100  # near a step, looked through for one that is not outstanding
SHORTER = 0.8  # of a step next to one that is outstanding
PATIENCE = 2  # batches of answers that a step is waited for; a call may hang
TURN = ("expectation", "z", "d", "fresh")  # what a turn leaves with the engine for the answers to it
OF_A_POINT = ("z", "d")  # of these, what each point has


@dataclass(eq=False)
class Ticket:
    """A point given out, [D], and what its answer is for."""

    x: np.ndarray
    who: int | None = None  # None: one of the first points
    judged: bool = False  # whether it is the step of a turn
    late: bool = False  # whether it was, and has been waited for in vain
    start: Any = None  # of the search, [1]
    turn: dict[str, Any] = field(default_factory=dict)  # what the engine left for the answer


class AsyncProposals:
    """Asks an engine of this family one point at a time; batch is how many are out.

    tell is the loop's. aside is told of points that the engine is not told of, but remembers.
    """

    def __init__(
        self,
        region: TrustRegion,
        batch: int,
        tell: Callable[[Array, Any], None],
        aside: Callable[[int], None] = lambda points: None,
    ) -> None:
        self.region, self.batch, self._tell, self._aside = region, max(2, int(batch)), tell, aside
        self.waiting = [] if self.begun else [Ticket(x) for x in region.ask()[0]]  # first points to be given out
        self.out: list[Ticket] = []
        self.stock: list[Ticket] = []  # further points of the last turn
        self.beside: list[Evaluation] = []  # what came while a step was judged
        self.step: Ticket | None = None  # the step that is out
        self.since = 0  # answers since it was given out
        self.tried = 0  # points given out because the first ones were not answered

    @property
    def begun(self) -> bool:
        """Whether the engine has been told of first points."""
        return self.region.generation > 0

    @np.errstate(all="ignore")
    def ask(self) -> Ticket:
        """The next point for whoever is free."""
        if self.waiting:
            ticket = self.waiting.pop(0)
        elif not self.begun:
            self.tried += 1
            ticket = Ticket(self._near(self.region.first[0], anywhere=self.tried > len(self.region.first)))
        else:
            ticket = self._step() if self.step is None else self._further(self.step)
        self.out.append(ticket)
        return ticket

    def ticket(self, x: np.ndarray) -> Ticket:
        """Of a point [D] that an earlier session proposed."""
        return Ticket(x)

    def give_out(self, x: np.ndarray) -> Ticket:
        """Count a point [D] of an earlier session as outstanding."""
        ticket = Ticket(x)
        self.out.append(ticket)
        return ticket

    def drop_waiting(self, taken: set[bytes]) -> None:
        """Do not give out first points that were answered already."""
        self.waiting = [t for t in self.waiting if (t.x + 0.0).tobytes() not in taken]

    @np.errstate(all="ignore")
    def answer(self, ticket: Ticket, x: np.ndarray, ev: Evaluation) -> None:
        """Take the answer to a point: x [1, 1, D] and its evaluation, once the engine has begun."""
        region, start = self.region, ticket.start
        self.withdraw(ticket)
        self.since += 1
        if self.step is not None and ticket is not self.step and self.since > PATIENCE * self.batch:
            self.step.judged, self.step.late = False, True  # it counts as any other point when it comes
            self.step, self.stock = None, []
        if ticket.who == OFFSPRING or ticket.judged:
            self._hand_back(ticket, ev)
            self._tell(x, ev)
            if ticket.judged:
                self.step, self.stock, self.beside = None, [], []
            return
        region.seen.add(x, ev, region.region.start * 0 if start is None else start, region.region.centre)
        region.told, region.passed = region.told + 1, region.passed + 1
        who = region.region.start[:, None] * 0 + (GEOMETRY if ticket.who is None else ticket.who)
        made = ticket.turn.get("expectation")
        gained = ev.failed & False if made is None else self._merits(ev, made) < made.merit[:, None]
        region.counts = with_turn(region.counts, who, gained, ev)
        self._aside(1)
        self.beside.append(ev)

    def withdraw(self, ticket: Ticket) -> None:
        """A point that is not outstanding any more."""
        self.out = [other for other in self.out if other is not ticket]

    def _hand_back(self, ticket: Ticket, ev: Evaluation) -> None:
        """Let the engine find what it expected of this point; a step that others have made up for is not held poor.

        An answer of an earlier start holds no weights of the present one.
        """
        vars(self.region).update(ticket.turn)
        made = self.region.expectation
        assert made is not None
        if (made.start != self.region.region.start[:, None]).any():
            self.region.expectation = made = made._replace(violated=made.violated & False)
        if ticket.who != STEP or not ticket.judged or not self.beside:
            return
        merits = [float(self._merits(each, made)[0, 0]) for each in (ev, *self.beside)]
        if min(merits[1:]) < float(made.merit[0]) <= merits[0]:
            self.region.expectation = made._replace(who=made.who * 0 + GEOMETRY)

    def _merits(self, ev: Evaluation, made: Expectation) -> Array:
        return self.region.rule.key(ev, made.weights).minor

    def _step(self) -> Ticket:
        """The step of a new turn; where that very point is out already, its answer is judged in its place."""
        ticket = self._turn(1)[0]
        if ticket.who == OFFSPRING:
            return ticket
        same = self._out_at(ticket.x)
        for _ in range(PLACES):
            if same is None or not (same.late or same.who == OFFSPRING):
                break
            ticket.x = self._shorter(ticket.x)  # next to it: nobody knows when that answer comes, or what it is for
            same = self._out_at(ticket.x)
        else:
            same = None  # on a small lattice every place may be out: one of them is called a second time
        if same is None:
            ticket.judged, self.step, self.beside, self.since = True, ticket, [], 0
            return ticket
        same.judged, same.who, same.turn = True, ticket.who, ticket.turn
        self.step, self.beside, self.since = same, [], 0
        return self._further(same)

    def _out_at(self, x: np.ndarray) -> Ticket | None:
        """What is outstanding at a point [D], if anything."""
        return next((other for other in self.out if self._close(other.x, x)), None)

    def _shorter(self, x: np.ndarray) -> np.ndarray:
        """A point [D] nearer to the centre; at it, any near it."""
        region = self.region
        nearer = region.region.centre[0] + SHORTER * (x - region.region.centre[0])
        if region.lattice is not None or self._close(nearer, x):
            return self._near(x)
        return nearer

    def _further(self, step: Ticket) -> Ticket:
        """A point beside the step: of the last turn while there is one, else of another turn that leaves no trace."""
        if step.who == RESTART:  # there are no models yet around a new start
            return Ticket(self._near(step.x), GEOMETRY, start=self.region.region.start)
        for _ in range(TRIED):
            while self.stock:
                ticket = self.stock.pop(0)
                if (
                    self._out_at(ticket.x) is None
                    and not is_seen(self.region.seen, ticket.x[None], np.array([SAME]))[0]
                ):
                    return ticket
            self.stock = self._without_trace()
        return self.stock.pop(0)

    def _without_trace(self) -> list[Ticket]:
        """Points of a turn after which the region is what it was."""
        region = self.region
        kept = {name: getattr(region, name) for name in ("region", "explained", *TURN) if hasattr(region, name)}
        tickets = self._turn(self.batch)
        vars(region).update(kept)
        return tickets

    def _turn(self, batch: int) -> list[Ticket]:
        """The points of a turn of so many."""
        region, before = self.region, self.region.batch
        region.batch = batch
        try:
            x = region.ask()[0]
        finally:
            region.batch = before
        left = {name: getattr(region, name) for name in TURN if hasattr(region, name)}
        made = left["expectation"]
        tickets = []
        for k in range(len(x)):
            mine = {name: value[:, k : k + 1, :] if name in OF_A_POINT else value for name, value in left.items()}
            mine["expectation"] = made._replace(who=made.who[:, k : k + 1], start=made.start[:, k : k + 1])
            tickets.append(Ticket(x[k], int(made.who[0, k]), start=made.start[:, k], turn=mine))
        return tickets

    def _close(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Whether two points [D] are as good as the same."""
        return bool(np.max(np.abs(one - other)) < CLOSE * float(self.region.region.delta[0]))

    def _near(self, x: np.ndarray, anywhere: bool = False) -> np.ndarray:
        """A random point [D] around one that has no models yet, or anywhere."""
        region = self.region
        u = region.task.rng.uniform(1, region.task.dim)
        near = u if anywhere else np.clip(x + 2.0 * region.radius * (u - 0.5), 0.0, 1.0)
        near = near if region.lattice is None else region.lattice.snapped(near)
        return near[0, 0] if region.inside is None else region.inside.at_first(near[0])[0]
