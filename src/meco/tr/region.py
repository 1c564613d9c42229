"""The region's bookkeeping: how a step is judged, and what the radius and the next turn become. Pure functions."""

from __future__ import annotations

import math
from typing import NamedTuple

from meco.core.arrays import Array, namespace
from meco.tr.merit import Weights
from meco.tr.quadratic import Quadratic

FIRST = 0.25  # radius of a start, in the unit cube
WIDEST, NARROWEST = 0.5, 1e-6
GROWTH, SHRINKAGE = 1.6, 0.6
GOOD, POOR = 0.7, 0.1  # shares of the foreseen decrease of the merit
HARDLY = 1e-8  # decrease, in shares of f's change across the region, that is not worth a step
BORDER = 0.9  # of the box, beyond which a good step asks for a larger one
FAR = 2.0  # model points farther than this many radii (times sqrt D) call for a geometry point
STEP, GEOMETRY, RESTART, OFFSPRING = range(4)  # who proposes a point


class Region(NamedTuple):
    """What each run remembers between steps; [B] unless said otherwise."""

    centre: Array  # [B, D]
    delta: Array  # radius
    models: Quadratic  # around the centre, in the unit cube
    multipliers: Array  # [B, C]
    weights: Weights
    turn: Array  # who proposes next: STEP, GEOMETRY or RESTART
    start: Array  # starts so far


class Judgement(NamedTuple):
    """Steps that went as well as foreseen, steps that did not, and steps that margins hold back; [B] each."""

    good: Array
    poor: Array
    held: Array

    def of(self, which: Array) -> Judgement:
        """The same for some of the runs [B], nothing for the others."""
        return Judgement(*(part & which for part in self))


def judged(now: Array, then: Array, foreseen: Array, withheld: Array, f_change: Array) -> Judgement:
    """From the merit at the centre and at the step's end, the foreseen decrease, what margins withhold of it, and f's
    change across the region.

    A failed evaluation (then is inf) is neither: it says nothing of the models.
    """
    xp = namespace(now)
    actual = now - then
    share = actual / xp.where(xp.abs(foreseen) > 0.0, foreseen, 1.0)
    gained = actual > 0.0
    hardly = foreseen <= HARDLY * f_change
    good = gained & (share > GOOD) & (foreseen > 0.0)
    poor = ~gained | (share < POOR) | hardly
    return Judgement(good, poor & ~xp.isinf(then), foreseen < withheld)


def next_turn(delta: Array, judgement: Judgement, width: Array, farthest: Array, narrowest: Array, dim: int):
    """Radius and turn after a step of width [B], as a share of the box, whose model points reach as far as farthest."""
    xp = namespace(delta)
    wider = xp.where(delta * GROWTH < WIDEST, delta * GROWTH, WIDEST)
    delta = xp.where(judgement.good & (width > BORDER), wider, delta)
    look = judgement.poor & (farthest > FAR * delta * math.sqrt(dim))
    delta = xp.where((judgement.poor | judgement.held) & ~look, SHRINKAGE * delta, delta)
    turn = xp.where(look, GEOMETRY, xp.full_like(look, STEP, dtype=xp.int64))
    turn = xp.where(delta < narrowest, RESTART, turn)
    return delta, turn
