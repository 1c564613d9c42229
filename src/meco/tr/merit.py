"""The merit f + sum_i w_i v_i as a comparison rule, and weights that are free of units.

An exact penalty (Fletcher 1973; Nocedal and Wright 2006, ch. 17) needs weights above the multipliers |lambda_i|
and nothing else; but multipliers are only known near a solution. So each weight is the largest of

    what the multipliers ask for        1.5 |lambda_i|                                                (1)
    what the scales ask for             kappa s_f / s_i,  s: change across the region                 (2)
    what is left of the last weight     (1 - 0.7 / D) w_i                                             (3)
    what hard feasibility asks for      a floor, set while the centre violates the constraint and     (4)
                                        raised by 1.1 with every refused step that escalates it;
                                        decaying slowly after (a restart has (1) and (2) alone)

(2) makes merits comparable before any multiplier is known, (3) forgets what an early region asked for, (4) is for
constraints whose models keep promising what they do not hold. One that some point around keeps can be met by steps;
raising its weight would hold the search to the first place where an oscillating constraint happens to be kept. So a
constraint is escalated where no point around keeps it, and every one late in the run. Nothing here has a unit: f, or a
constraint with its tolerance, may be multiplied by any factor and every comparison stays the same.

One case apart is feasibility restoration: restarts of a run that has no feasible point yet look for the least sum of
violations, by which such points are compared in the end. Then all weights are one number, large beside f, and stay
(restore()), until a point is feasible. Weights that follow the scales would chase constraints that conflict, with no
least point anywhere. This sum is in the units of the constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from meco.core.arrays import Array, largest, least, maybe_any, namespace, zeros_like
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Rule

MULTIPLIER_FACTOR = 1.5  # weights above the multipliers
WEIGHT_GROWTH = 1.1  # of a weight that is escalated, with a refused step
ESCALATION_BUDGET_SHARE = 0.7  # after which every violated constraint is escalated
FLOOR_DECAY = 0.999  # what a step leaves of a floor once the centre satisfies its constraint
FEASIBILITY_PRICE = 30.0  # of violations beside f where any feasible point is looked for
FLAT_CHANGE = 1e-3  # least change of a constraint across the region that counts, in shares of its value


class Weights(NamedTuple):
    """State of the merit: weights and their floors [B, C], and the violation that is tolerated [B or 1, C].

    Where restoring [B, 1], weights stay as they are: the phase that looks for any feasible point, see restore().
    """

    w: Array
    floor: Array
    tolerance: Array
    restoring: Array

    @classmethod
    def free(cls, w: Array, floor: Array, tolerance: Array) -> Weights:
        """Weights and floors [B, C] of runs none of which restores feasibility."""
        xp = namespace(w)
        return cls(w, floor, tolerance, restoring=xp.zeros((w.shape[0], 1), dtype=xp.bool, device=w.device))

    def decayed(self, dim: int, decay: Array) -> Weights:
        """The weights that the next step begins with, by a decay [B or 1] over dim steps; eq. (3), not below floors."""
        return self._changed(namespace(self.w).maximum((1.0 - decay / dim)[:, None] * self.w, self.floor))

    def raised(self, wanted: Array) -> Weights:
        """Weights of at least wanted [B, C], unless feasibility is being restored; floors stay."""
        return self._changed(namespace(wanted).maximum(self.w, wanted))

    def _changed(self, w: Array) -> Weights:
        """The same floors and tolerances with weights w [B, C], unless feasibility is being restored."""
        return self.with_w(namespace(w).where(self.restoring, self.w, w) if maybe_any(self.restoring) else w)

    def with_w(self, w: Array) -> Weights:
        """The same floors and tolerances with weights w [B, C]."""
        return Weights(w, self.floor, self.tolerance, self.restoring)

    def update_floors(self, violated: Array, escalate: Array) -> Weights:
        """Weights after a step from a centre that violates constraints [B, C]; eq. (4).

        Those to escalate [B, C] grow by WEIGHT_GROWTH if violated. Floors become the weights of violated ones, and
        decay for others.
        """
        xp, held = namespace(violated), violated & ~self.restoring
        w = xp.where(held & escalate, WEIGHT_GROWTH * self.w, self.w)
        return self._replace(w=w, floor=xp.where(held, w, FLOOR_DECAY * self.floor))

    def reset(self, where: Array, w: Array) -> Weights:
        """Weights w [B, C], floors of 0 and no restoration in the runs where [B] holds; others stay."""
        xp, wide = namespace(where), where[:, None]
        return self._replace(
            w=xp.where(wide, w, self.w), floor=xp.where(wide, 0.0, self.floor), restoring=self.restoring & ~wide
        )

    def restore(self, where: Array, s_f: Array, s_c: Array, violation: Array, delta: Array) -> Weights:
        """One weight for all constraints, which stays, in the runs where [B] holds and something is violated.

        It is FEASIBILITY_PRICE times what the change s_f [B] of f across the region asks for beside that of the
        flattest violated constraint: s_c [B, C], or a small share of its violation [B, C] where the radius delta [B]
        leaves less. Then the sum of violations is what falls.
        """
        if not s_c.shape[-1]:
            return self
        xp = namespace(where)
        least = FLAT_CHANGE * delta[:, None] * violation
        asked = xp.where(violation > 0.0, s_f[:, None] / xp.maximum(s_c, least), 0.0)
        weight = FEASIBILITY_PRICE * largest(asked)
        wide = where[:, None] & (weight > 0.0)
        return self._replace(w=xp.where(wide, weight, self.w), restoring=self.restoring | wide)

    def released(self, where: Array) -> Weights:
        """Weights that may change again in the runs where [B] holds."""
        return self._replace(restoring=self.restoring & ~where[:, None])


def scale_weights(s_f: Array, s_c: Array, value: Array, kappa: Array) -> Array:
    """Eq. (2): kappa s_f / s_i [B, C], of changes s_f [B] and s_c [B, C] across the region and kappa [B or 1].

    A constraint that is flat across the region counts by its value [B, C].
    """
    xp = namespace(value)
    return (kappa * s_f)[:, None] / xp.maximum(s_c, FLAT_CHANGE * xp.abs(value))


def violated_at_all_points(c: Array, n_ineq: int, tolerance: Array) -> Array:
    """Constraints that all points, with g and h in c [B, m, C], violate by more than the tolerance [B or 1, C]: [B, C].

    An equality that changes sign among them is kept in between.
    """
    above = least(c, 1, keepdims=False) > tolerance
    if c.shape[-1] == n_ineq:
        return above
    below = largest(c, 1, keepdims=False) < -tolerance
    return namespace(c).concat([above[:, :n_ineq], (above | below)[:, n_ineq:]], axis=1)


def beyond_tolerance(c: Array, tolerance: Array) -> Array:
    """Violations c [B, N, C], 0 where they are within the tolerance [B, C]."""
    return namespace(c).where(c > tolerance[:, None, :], c, 0.0)


@dataclass(frozen=True)
class Merit(Rule):
    """The exact penalty with a weight for each constraint. The region makes the weights, see expectation.py."""

    def values(self, ev: Evaluation, state: Weights) -> Key:
        """The key [B, N] of an evaluation: its merit alone, in one level."""
        total = self.total(ev.f, ev.c, state)
        return Key(zeros_like(total), total)

    def total(self, f: Array, c: Array, state: Weights) -> Array:
        """f [B, N] plus the weighted violations c [B, N, C]: [B, N]."""
        return f + (beyond_tolerance(c, state.tolerance) @ state.w[..., None])[..., 0]

    def trace(self, state: Weights) -> dict[str, Array]:
        """The weights [B, C], by name."""
        return {"weights": state.w}


MERIT = Merit()
