"""The merit f + sum_i w_i v_i of values, and its weights, which are free of units.

An exact penalty needs weights above the multipliers |lambda_i|, which are only known near a solution. So each weight
is the largest of

    what the multipliers ask for        1.5 |lambda_i|                                                  (1)
    what the scales ask for             kappa s_f / s_i,  s: change across the region                   (2)
    what is left of the last weight     (1 - 0.3 / D) w_i                                               (3)
    what hard feasibility asks for      a floor, set while the centre violates the constraint and       (4)
                                        raised by 1.1 with every poor step that escalates it; it
                                        decays slowly after, and a restart has (1) and (2) alone

A constraint that some point around keeps can be met by steps; so one is escalated where no point around keeps it, and
every one late in the run. While feasibility is restored, all weights are one number, large beside f, and stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FLAT_CHANGE = 1e-3  # least change of a constraint across the region that counts, in shares of its value


def violations(y: np.ndarray, n_ineq: int) -> np.ndarray:
    """(max(g, 0), |h|) of values y [..., 1 + C]: [..., C]."""
    c = y[..., 1:]
    if c.shape[-1] == n_ineq:
        return np.maximum(c, 0.0)
    return np.concatenate([np.maximum(c[..., :n_ineq], 0.0), np.abs(c[..., n_ineq:])], axis=-1)


@dataclass
class Merit:
    """Weights and floors [C] of violations beyond tolerance [C]; weights stay while feasibility is restored."""

    n_ineq: int
    tolerance: np.ndarray
    weights: np.ndarray
    floors: np.ndarray
    restoring: bool = False

    def of(self, y: np.ndarray) -> np.ndarray:
        """The merit of values y [..., 1 + C]: [...]."""
        v = violations(y, self.n_ineq)
        return y[..., 0] + np.where(v > self.tolerance, v, 0.0) @ self.weights

    def is_feasible(self, y: np.ndarray) -> np.ndarray:
        """Whether values y [..., 1 + C] keep every constraint within its tolerance: [...]."""
        return np.asarray(np.all(violations(y, self.n_ineq) <= self.tolerance, axis=-1))

    def decay(self, share: float) -> None:
        """Eq. (3), not below the floors."""
        if not self.restoring:
            self.weights = np.maximum((1.0 - share) * self.weights, self.floors)

    def rise(self, wanted: np.ndarray) -> None:
        """To weights of at least wanted [C]."""
        if not self.restoring:
            self.weights = np.maximum(self.weights, wanted)

    def escalate(self, violated: np.ndarray, which: np.ndarray, growth: float, decay: float) -> None:
        """Eq. (4) after a step from a centre that violates constraints [C], of which some [C] are to be escalated."""
        if self.restoring:
            violated = np.zeros_like(violated)
        self.weights = np.where(violated & which, growth * self.weights, self.weights)
        self.floors = np.where(violated, self.weights, decay * self.floors)

    def restart(self, weights: np.ndarray) -> None:
        """Weights [C] that a restart begins with."""
        self.weights, self.floors, self.restoring = weights, np.zeros_like(weights), False

    def restore(self, s_f: float, s_c: np.ndarray, violation: np.ndarray, radius: float, price: float) -> None:
        """One weight for all constraints, which stays: price times what the flattest violated one asks for.

        s_f and s_c [C] are what f and constraints change by across a region of a radius, violation [C] is the centre's.
        """
        asked = np.where(violation > 0.0, s_f / np.maximum(s_c, FLAT_CHANGE * radius * violation), 0.0)
        weight = price * asked.max(initial=0.0)
        if weight > 0.0:
            self.weights, self.restoring = np.full_like(self.weights, weight), True


def all_violated(y: np.ndarray, merit: Merit) -> np.ndarray:
    """Constraints [C] that all points with values y [m, 1 + C] violate, equalities on the same side."""
    c, p = y[:, 1:], merit.n_ineq
    violated = np.asarray(np.all(c > merit.tolerance, axis=0))
    violated[p:] |= np.asarray(np.all(c < -merit.tolerance, axis=0))[p:]
    return violated


def scale_weights(kappa: float, s_f: float, s_c: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Eq. (2); a constraint that is flat across the region counts by its value c [C]."""
    return kappa * s_f / np.maximum(s_c, FLAT_CHANGE * np.abs(c))
