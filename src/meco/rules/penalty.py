"""Rules that add a price on violation to the objective."""

from __future__ import annotations

from dataclasses import dataclass

from meco.core.arrays import Array, masked_max, masked_mean, masked_min, namespace, zeros_like
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Population, Progress, Rule
from meco.errors import UnknownName

MIN_VIOLATION = 1e-12  # of a range or a mean; below it violations count as none, and the old weight stays
FALLBACK_WEIGHT = 1e12  # first weight when the first population cannot set one


def penalty_key(ev: Evaluation, weight: Array | float) -> Key:
    """f + weight * nu as a one-level key [B, N]; weight is a number or [B, 1]."""
    total = ev.f + weight * ev.nu
    return Key(zeros_like(total), total)


@dataclass(frozen=True)
class StaticPenalty(Rule):
    """f + weight * nu with a fixed weight (paper, Setup: weight 1). Weight 0 ignores constraints."""

    weight: float = 1.0

    def values(self, ev: Evaluation, state: None) -> Key:
        return penalty_key(ev, self.weight)


@dataclass(frozen=True)
class BalancedPenalty(Rule):
    """f + r * nu, r adapted so that objective and violation span the same range.

    Reconstructed: the formula of L-SHADE-BOC was not available. "range" takes
    r = (2 - share of feasible) * range(f) / range(nu) over the population, "apm" takes
    mean|f| / mean(nu).
    """

    formula: str = "range"

    def __post_init__(self) -> None:
        """UnknownName for another formula than "range" and "apm"."""
        if self.formula not in FORMULAS:
            raise UnknownName("balanced penalty", self.formula, FORMULAS)

    def start(self, pop: Population, progress: Progress, u: Array) -> Array:
        """The first weight [B, 1], FALLBACK_WEIGHT where the first population does not tell one."""
        xp = namespace(pop.ev.f)
        fallback = xp.full_like(pop.ev.f[:, :1], FALLBACK_WEIGHT)
        return self.adapt(fallback, pop, progress, u)

    def adapt(self, state: Array, pop: Population, progress: Progress, u: Array) -> Array:
        """Weight [B, 1] for the next generation."""
        weight, usable = FORMULAS[self.formula](pop.ev)
        return namespace(state).where(usable[:, None], weight[:, None], state)

    def values(self, ev: Evaluation, state: Array) -> Key:
        return penalty_key(ev, state)

    def trace(self, state: Array) -> dict[str, Array]:
        return {"weight": state[:, 0]}


def _weight_by_ranges(ev: Evaluation) -> tuple[Array, Array]:
    """r of "range" [B], and where violations differ enough for it, a mask [B]; failed candidates do not count."""
    xp = namespace(ev.f)
    ok = ~ev.failed
    some = xp.any(ok, axis=-1)

    def spread(v: Array) -> Array:
        """Largest less least of candidates that did not fail, [B]; 0 where all did."""
        return xp.where(some, masked_max(v, ok), 0.0) - xp.where(some, masked_min(v, ok), 0.0)

    spread_nu = spread(ev.nu)
    usable = spread_nu > MIN_VIOLATION
    feasible_share = masked_mean(xp.astype(ev.feasible, ev.f.dtype), ok)
    return (2.0 - feasible_share) * spread(ev.f) / xp.where(usable, spread_nu, 1.0), usable


def _weight_by_means(ev: Evaluation) -> tuple[Array, Array]:
    """r of "apm" [B], and where violations are large enough for it, a mask [B]; failed candidates do not count."""
    xp = namespace(ev.f)
    mean_nu = masked_mean(ev.nu, ~ev.failed)
    usable = mean_nu > MIN_VIOLATION
    return masked_mean(xp.abs(ev.f), ~ev.failed) / xp.where(usable, mean_nu, 1.0), usable


FORMULAS = {"range": _weight_by_ranges, "apm": _weight_by_means}
