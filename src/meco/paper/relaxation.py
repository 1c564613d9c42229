"""Constrained problems and the relaxed comparison (section 2.1, eqs. 1 and 2).

A problem is f, g <= 0 and h = 0 in a box (eq. 1, core/problem.py); c = (max(g, 0), |h|) are its violations and nu their
sum (core/evaluation.py). relaxed_violation() is eq. 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from meco.core.arrays import Array, namespace
from meco.core.control import Control, refuse_unknown
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Population, Progress, Rule
from meco.paper.action import Decoder, GeometricDecoder
from meco.rules.epsilon import relaxed_violation

__all__ = ["Allowance", "SteeredEpsilon", "relaxed_violation"]


class Allowance(NamedTuple):
    """What the rule keeps of its runs."""

    eps: Array  # [B, C] under which candidates are compared
    base: Array  # [B, C] violation of each constraint at first, at least delta
    void: Array  # [B] runs in which every candidate has failed so far
    complete: bool  # whether there are none of these


@dataclass(frozen=True)
class SteeredEpsilon(Rule):
    """Within the allowance by objective, beyond it by what exceeds it (paper eq. 2 and the text after it).

    The allowance stays until the control changes it.
    """

    decoder: Decoder = field(default_factory=GeometricDecoder)
    knows = ("eps", "delta")

    @property
    def controls(self) -> tuple[Control, ...]:  # type: ignore[override]
        return (self.decoder.control,)

    def start(self, pop: Population, progress: Progress, u: Array) -> Allowance:
        """The allowance before any action and the initial scale, [B, C] each, and which runs [B] failed altogether."""
        base = self.decoder.scale(pop.ev)
        void = namespace(base).all(pop.ev.failed, axis=-1)
        return Allowance(
            self.decoder.first_allowance(base), base, void, pop.ev.intact or not bool(namespace(base).any(void))
        )

    def adapt(self, state: Allowance, pop: Population, progress: Progress, u: Array) -> Allowance:
        """The same state; runs [B] that had all failed are measured against their first population that did not."""
        if state.complete:
            return state
        xp, late = namespace(state.base), state.void[:, None]
        base = xp.where(late, self.decoder.scale(pop.ev), state.base)
        void = state.void & xp.all(pop.ev.failed, axis=-1)
        return Allowance(
            xp.where(late, self.decoder.first_allowance(base), state.eps), base, void, not bool(xp.any(void))
        )

    def apply_controls(self, state: Allowance, values: Mapping[str, Array]) -> Allowance:
        """The allowance that a value [B] of the control asks for, the same without any; other controls are refused."""
        refuse_unknown(self, self.controls, values)
        eps, base, void, complete = state
        for action in values.values():
            eps = self.decoder.next_allowance(eps, action, base)
        return Allowance(eps, base, void, complete)

    def values(self, ev: Evaluation, state: Allowance) -> Key:
        return self.decoder.values(ev, state.eps)

    def known(self, state: Allowance) -> dict[str, Array | float]:
        """The allowance in force and the strictest one."""
        return {"eps": state.eps, "delta": self.decoder.delta, **self.decoder.known(state.eps)}

    def trace(self, state: Allowance) -> dict[str, Array]:
        """The allowance that the next generation is compared under."""
        return {"eps": state.eps}
