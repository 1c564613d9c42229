"""Rules that call a candidate feasible while its violations stay within an allowance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from meco.core.arrays import Array, at_least, masked_max, namespace, ordered_sum
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Population, Progress, Rule

DELTA = 1e-3  # the strictest allowance (paper, after eq. 6)


def relaxed_violation(c: Array, eps: Array) -> Array:
    """Violation beyond the allowance, summed over constraints (paper eq. 2).

    c [B, N, C], eps [B, C] -> [B, N]; equals nu when eps is zero.
    """
    return ordered_sum(at_least(c - eps[:, None, :], 0.0))


def thresholded_violation(nu: Array, eps: Array) -> Array:
    """The classic scalar level: 0 within eps, the whole violation beyond.

    nu [B, N], eps [B] -> [B, N]; nan stays nan.
    """
    return namespace(nu).where(nu <= eps[:, None], 0.0, nu)


def decode_action(action: Array, base: Array, delta: float = DELTA) -> Array:
    """Allowance between delta and the initial scale, geometrically (paper eq. 6).

    action [B], base [B, C] -> eps [B, C]; action 1 gives base, 0 gives delta.
    """
    a = action[:, None]
    return base**a * delta ** (1.0 - a)


def initial_scale(ev: Evaluation, delta: float = DELTA) -> Array:
    """Mean violation of each constraint over the first population, at least delta: [B, C]; failed ones do not count."""
    xp = namespace(ev.f)
    ok = ~ev.failed[:, None, :]
    total = ordered_sum(xp.where(ok, xp.matrix_transpose(ev.c), 0.0))  # the same bits however many columns there are
    count = xp.sum(xp.astype(ok, total.dtype), axis=-1)
    return xp.clip(total / xp.where(count > 0, count, 1.0), min=delta)


@dataclass(frozen=True)
class FeasibilityFirst(Rule):
    """Smaller violation wins, the objective breaks ties (Deb's rule on the total violation)."""

    def values(self, ev: Evaluation, state: None) -> Key:
        return Key(ev.nu, ev.f)


@dataclass(frozen=True)
class FixedEpsilon(Rule):
    """Allow, for the whole run, a share of the largest violation of the first population.

    One level on the total violation, or one per constraint; `level` sets it outright
    (inf ignores constraints, 0 is feasibility first).
    """

    share: float = 0.1
    per_constraint: bool = False
    level: float | None = None

    def start(self, pop: Population, progress: Progress, u: Array) -> Array:
        """The level for the whole run: [B], or [B, C] per constraint; 0 where all of the first population failed."""
        xp = namespace(pop.ev.f)
        ok = ~pop.ev.failed
        if self.level is not None:
            return xp.full_like(pop.ev.c[:, 0, :] if self.per_constraint else pop.ev.f[:, 0], self.level)
        if self.per_constraint:
            eps = self.share * masked_max(pop.ev.c, ok[..., None], axis=-2)  # [B, C]
        else:
            eps = self.share * masked_max(pop.ev.nu, ok)  # [B]
        return xp.where(xp.isfinite(eps), eps, 0.0)  # nothing was evaluated successfully

    def values(self, ev: Evaluation, state: Array) -> Key:
        within = relaxed_violation(ev.c, state) if self.per_constraint else thresholded_violation(ev.nu, state)
        return Key(within, ev.f)

    def trace(self, state: Array) -> dict[str, Array]:
        return {"eps": state}


class Schedule(NamedTuple):
    """Initial scale and present allowance, both [B, C]."""

    base: Array
    eps: Array


@dataclass(frozen=True)
class ScheduledEpsilon(Rule):
    """Move the allowance geometrically from one level to another while the budget is spent.

    Levels are the actions of eq. 6: 1 is the initial scale, 0 is delta. `until` is the
    share of the budget at which the last level is reached.
    """

    first: float = 1.0
    last: float = 0.0
    until: float = 1.0
    delta: float = DELTA

    def start(self, pop: Population, progress: Progress, u: Array) -> Schedule:
        """The initial scale, and the allowance of the first generation: [B, C] each."""
        return self._schedule_at(initial_scale(pop.ev, self.delta), progress)

    def adapt(self, state: Schedule, pop: Population, progress: Progress, u: Array) -> Schedule:
        """The same scale, and the allowance at this progress; the population does not count."""
        return self._schedule_at(state.base, progress)

    def _schedule_at(self, base: Array, progress: Progress) -> Schedule:
        """The allowance at this progress, for the initial scale base [B, C]."""
        reached = min(1.0, progress.evaluations / (self.until * progress.budget))
        level = self.first + (self.last - self.first) * reached
        action = namespace(base).full((base.shape[0],), level, dtype=base.dtype, device=base.device)
        return Schedule(base, decode_action(action, base, self.delta))

    def values(self, ev: Evaluation, state: Schedule) -> Key:
        return Key(relaxed_violation(ev.c, state.eps), ev.f)

    def trace(self, state: Any) -> dict[str, Array]:
        return {"eps": state.eps}
