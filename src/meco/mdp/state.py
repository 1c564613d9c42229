"""The state of the meta-level MDP: ten numbers that summarise a population (paper eq. 4).

Every function is pure and works on B runs at once. Failed candidates enter no feature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.arrays import Array, masked_max, masked_mean, masked_min, namespace, rows
from meco.rules.epsilon import initial_scale, relaxed_violation
from meco.rules.rule import Key, Population, Progress, best

FEATURE_VERSION = 1  # raised whenever a feature changes its meaning: older policies are then refused
FEATURES = 10
CLIP = 10.0  # every feature ends in [-CLIP, CLIP]
SMALLEST = 1e-8  # least size of a denominator
LEAST = 5  # how many of the smallest violations nu-bar averages


class Situation(NamedTuple):
    """How good a population is: f of its best member under the order in force, and nu-bar; [B] each."""

    f_best: Array
    nu_bar: Array


class Reference(NamedTuple):
    """The first population, against which later ones are measured: [B] each, base [B, C].

    All nan, and base delta, in a run where every candidate failed.
    """

    f_best: Array
    f_worst: Array  # the largest f
    f_min: Array  # the least f, whatever its violation
    nu_bar: Array
    base: Array  # mean violation of each constraint, at least delta


def guarded(d: Array) -> Array:
    """A denominator kept away from zero: sign(d) max(|d|, 1e-8), with sign(0) = +1."""
    xp = namespace(d)
    return xp.where(d < 0.0, xp.minimum(d, -SMALLEST), xp.maximum(d, SMALLEST))


def best_objective(pop: Population, eps: Array) -> Array:
    """f_best: objective of the best candidate when eps [B, C] is allowed; nan if all failed. [B]."""
    xp = namespace(pop.ev.f)
    failed = pop.ev.failed
    key = Key(xp.where(failed, xp.inf, relaxed_violation(pop.ev.c, eps)), xp.where(failed, xp.inf, pop.ev.f))
    return rows(pop.ev.f, best(key)[:, None])[:, 0]


def least_violation(nu: Array) -> Array:
    """nu-bar: mean of the five least violations (paper, after eq. 8); nan if all failed. [B]."""
    xp = namespace(nu)
    least = xp.sort(xp.where(xp.isnan(nu), xp.inf, nu), axis=-1)[:, :LEAST]
    there = least < xp.inf
    return xp.where(there[:, 0], masked_mean(least, there), xp.nan)


def situation(pop: Population, eps: Array) -> Situation:
    """f_best when eps [B, C] is allowed, and nu-bar."""
    return Situation(best_objective(pop, eps), least_violation(pop.ev.nu))


def reference(pop: Population, delta: float) -> Reference:
    """What the first population fixes for the whole run; f_best with delta allowed everywhere."""
    xp = namespace(pop.ev.f)
    ok = ~pop.ev.failed
    base = initial_scale(pop.ev, delta)
    first = situation(pop, xp.full_like(base, delta))
    nothing = xp.isnan(first.f_best)
    f_worst = xp.where(nothing, xp.nan, masked_max(pop.ev.f, ok))
    f_min = xp.where(nothing, xp.nan, masked_min(pop.ev.f, ok))
    return Reference(first.f_best, f_worst, f_min, first.nu_bar, base)


def entries(x: Array, ok: Array) -> tuple[Array, Array]:
    """All N D coordinates of each run in one row, and which of them count: [B, N D] each."""
    xp = namespace(x)
    kept = xp.broadcast_to(ok[..., None], x.shape)
    return xp.reshape(x, (x.shape[0], -1)), xp.reshape(kept, (x.shape[0], -1))


def deviation(x: Array, mean: Array, keep: Array) -> Array:
    """Population standard deviation (ddof 0) of the kept entries around their mean: [B, n] -> [B]."""
    apart = x - mean[:, None]
    return namespace(x).sqrt(masked_mean(apart * apart, keep))


def relative_objective(f: Array, f_best: Array, first: Reference) -> Array:
    """(f(x_i) - f_best(t)) / (f_worst(0) - f_best(0)), the quantity under s2 and s4: [B, N]."""
    return (f - f_best[:, None]) / guarded(first.f_worst - first.f_best)[:, None]


def decision_spread(x: Array, ok: Array) -> Array:
    """s1 = std((x_i - x^L) / (x^U - x^L)) over all N D entries; x [B, N, D] is in the unit cube."""
    values, kept = entries(x, ok)
    return deviation(values, masked_mean(values, kept), kept)


def objective_spread(relative: Array, ok: Array) -> Array:
    """s2 = std((f(x_i) - f_best(t)) / (f_worst(0) - f_best(0)))."""
    return deviation(relative, masked_mean(relative, ok), ok)


def decision_centre(x: Array, ok: Array) -> Array:
    """s3 = mean((x_i - x^L) / (x^U - x^L)) over all N D entries."""
    return masked_mean(*entries(x, ok))


def objective_centre(relative: Array, ok: Array) -> Array:
    """s4 = mean((f(x_i) - f_best(t)) / (f_worst(0) - f_best(0)))."""
    return masked_mean(relative, ok)


def objective_progress(now: Situation, first: Reference) -> Array:
    """s5 = f_best(t) / f_best(0)."""
    return now.f_best / guarded(first.f_best)


def spent_share(progress: Progress, like: Array) -> Array:
    """s6 = FEs / FEs_max, the first population included; the same for all runs in lockstep."""
    return namespace(like).full_like(like, progress.evaluations / progress.budget)


def violation_progress(now: Situation, first: Reference) -> Array:
    """s7 = nu-bar(t) / nu-bar(0)."""
    return now.nu_bar / guarded(first.nu_bar)


def feasible_share(feasible: Array, ok: Array) -> Array:
    """s8 = N_feas / N_pop."""
    return masked_mean(namespace(feasible).astype(feasible, namespace(feasible).float64), ok)


def agreement(f: Array, nu: Array, ok: Array) -> Array:
    """s10 = share of pairs in which f and nu rise together: Delta f Delta nu > 0; 0 with fewer than two.

    Counting the ordered pairs where both are larger counts each such pair once. A failed
    candidate is nan, and nan is larger than nothing.
    """
    xp = namespace(f)
    together = (f[:, :, None] > f[:, None, :]) & (nu[:, :, None] > nu[:, None, :])
    n = xp.sum(xp.astype(ok, f.dtype), axis=-1)
    pairs = xp.sum(xp.astype(xp.reshape(together, (f.shape[0], -1)), f.dtype), axis=-1)
    return 2.0 * pairs / xp.clip(n * (n - 1.0), min=1.0)


def clipped(s: Array) -> Array:
    """Extreme values cut to [-CLIP, CLIP]; what is undefined (a population that failed as a whole) is 0."""
    xp = namespace(s)
    return xp.clip(xp.where(xp.isnan(s), 0.0, s), min=-CLIP, max=CLIP)


def features(pop: Population, now: Situation, first: Reference, progress: Progress, action: Array) -> Array:
    """The state vector s [B, 10]; action [B] is the one that led here (s9 = a_{t-1}, 0 at first)."""
    xp = namespace(pop.x)
    ev, ok = pop.ev, ~pop.ev.failed
    with np.errstate(all="ignore"):  # values beyond any range are clipped
        relative = relative_objective(ev.f, now.f_best, first)
        s = [
            decision_spread(pop.x, ok),
            objective_spread(relative, ok),
            decision_centre(pop.x, ok),
            objective_centre(relative, ok),
            objective_progress(now, first),
            spent_share(progress, action),
            violation_progress(now, first),
            feasible_share(ev.feasible, ok),
            action,
            agreement(ev.f, ev.nu, ok),
        ]
        return clipped(xp.stack(s, axis=-1))
