"""The state of the paper's MDP: ten numbers that summarise a population (paper eqs. 4 and 5).

Every function is pure and works on B runs at once. Failed candidates enter no feature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.core.arrays import (
    Array,
    at_least,
    bounded,
    masked_max,
    masked_mean,
    masked_min,
    maybe_any,
    namespace,
    reshaped,
    rows,
    stack_columns,
    total,
    zeros_like,
)
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Population, Progress, best
from meco.rules.epsilon import relaxed_violation

FEATURE_BOUND = 10.0  # every feature ends in [-FEATURE_BOUND, FEATURE_BOUND]
MIN_DENOMINATOR = 1e-8  # least size of a denominator
NU_BAR_COUNT = 5  # how many of the smallest violations nu-bar averages


class PopulationSummary(NamedTuple):
    """How good a population is: f_best of the state, nu-bar and f_best of the reward; [B] each.

    The two f_best differ in the first population alone, under the reading "release".
    """

    f_best: Array
    nu_bar: Array
    f_reward: Array

    def fill_missing(self, old: PopulationSummary) -> PopulationSummary:
        """Another summary: the old numbers [B] where all of the population failed, these elsewhere."""
        xp = namespace(self.f_best)
        return PopulationSummary(*(xp.where(xp.isnan(new), before, new) for new, before in zip(self, old)))


class Denominators(NamedTuple):
    """What features and rewards are divided by, kept away from zero; [B] each."""

    f_range: Array  # f_worst(0) - f_best(0)
    f_best: Array  # f_best(0)
    nu_bar: Array  # nu-bar(0)


class Reference(NamedTuple):
    """The first population, against which later ones are measured: [B] each; nan where every candidate failed."""

    f_best: Array
    f_worst: Array  # the largest f
    f_min: Array  # the least f, whatever its violation
    nu_bar: Array
    f_reward: Array  # f_best of the reward
    per: Denominators

    @classmethod
    def of(cls, f_best: Array, f_worst: Array, f_min: Array, nu_bar: Array, f_reward: Array) -> Reference:
        """A reference of these numbers [B], with the denominators that follow from them."""
        per = Denominators(safe_denominator(f_worst - f_best), safe_denominator(f_best), safe_denominator(nu_bar))
        return cls(f_best, f_worst, f_min, nu_bar, f_reward, per)

    @property
    def summary(self) -> PopulationSummary:
        """The summary of the first population."""
        return PopulationSummary(self.f_best, self.nu_bar, self.f_reward)

    def fill_missing(self, found: Reference) -> Reference:
        """Another reference: the one found in runs that had none, this one elsewhere."""
        xp = namespace(self.f_best)
        void = xp.isnan(self.f_best)
        names = ("f_best", "f_worst", "f_min", "nu_bar", "f_reward")
        return Reference.of(**{name: xp.where(void, getattr(found, name), getattr(self, name)) for name in names})


def safe_denominator(d: Array) -> Array:
    """A denominator kept away from zero: sign(d) max(|d|, 1e-8), with sign(0) = +1; any shape, nan stays."""
    xp = namespace(d)
    return xp.where(d < 0.0, xp.clip(d, max=-MIN_DENOMINATOR), xp.clip(d, min=MIN_DENOMINATOR))


def valid_mask(ev: Evaluation) -> Array | None:
    """Candidates that did not fail, [B, N]; None if none did, where the host knows that without waiting."""
    return None if ev.intact or not maybe_any(ev.failed) else ~ev.failed


def average_valid(values: Array, ok: Array | None) -> Array:
    """Mean of the entries that count along the last axis: values and ok [B, n] -> [B]; 0 where none counts.

    The same bits whether ok is None or true throughout.
    """
    if ok is None:
        return total(values) / values.shape[-1]
    return masked_mean(values, ok)


def count_flags(flags: Array) -> Array:
    """How many flags are set in each run: [B, ...] -> [B]."""
    if isinstance(flags, np.ndarray):
        return np.array([np.count_nonzero(run) for run in flags], dtype=np.float64)
    xp = namespace(flags)
    return xp.sum(xp.astype(xp.reshape(flags, (flags.shape[0], -1)), xp.float64), axis=-1)


def centre_and_spread(values: Array, ok: Array | None) -> tuple[Array, Array]:
    """Mean and population standard deviation (ddof 0) of the entries that count: [B, n] -> [B] each; 0, 0 for none."""
    xp, n, mean = namespace(values), values.shape[-1], average_valid(values, ok)
    apart = values - mean[:, None]
    if ok is not None:
        apart, n = xp.where(ok, apart, 0.0), xp.clip(count_flags(ok), min=1.0)
    return mean, xp.sqrt(xp.vecdot(apart, apart) / n)


def best_objective(ev: Evaluation, eps: Array, ok: Array | None, order: str) -> Array:
    """f_best: objective of the best candidate; nan if all failed. [B].

    order "least" takes the least f, "feasible" the best feasibility first, others when eps [B, C] is allowed.
    """
    if order == "least":
        key = Key(zeros_like(ev.f), ev.f)
    else:
        key = Key(ev.nu if order == "feasible" else relaxed_violation(ev.c, eps), ev.f)
    if ok is not None:
        key = key.last_where(~ok)
    return rows(ev.f, best(key)[:, None])[:, 0]


def mean_least_violation(nu: Array, ok: Array | None) -> Array:
    """nu-bar: mean of the five least violations (paper, after eq. 8); nan if all failed. [B]."""
    xp = namespace(nu)
    if ok is None:
        return average_valid(xp.sort(nu, axis=-1)[:, :NU_BAR_COUNT], None)
    least = xp.sort(xp.where(ok, nu, xp.inf), axis=-1)[:, :NU_BAR_COUNT]
    there = least < xp.inf
    return xp.where(there[:, 0], average_valid(least, there), xp.nan)


@np.errstate(all="ignore")
def summarize_population(ev: Evaluation, eps: Array, ok: Array | None, reading: str) -> PopulationSummary:
    """f_best under a reading of BEST, and nu-bar, of a later population: [B] each, nan if all failed.

    eps [B, C] is the relaxation in force; ok [B, N] or None for all.
    """
    f_best = best_objective(ev, eps, ok, reading)
    return PopulationSummary(f_best, mean_least_violation(ev.nu, ok), f_best)


@np.errstate(all="ignore")
def make_reference(ev: Evaluation, delta: float, reading: str) -> Reference:
    """What later populations are measured against, nan in runs that all failed.

    f_best under a reading of BEST, with delta allowed everywhere.
    """
    xp = namespace(ev.f)
    ok, valid, eps = ~ev.failed, valid_mask(ev), xp.full_like(ev.c[:, 0, :], delta)
    first = summarize_population(ev, eps, valid, reading)
    f_state = best_objective(ev, eps, valid, "least") if reading == "release" else first.f_best
    nothing = xp.isnan(first.f_best)
    f_worst = xp.where(nothing, xp.nan, masked_max(ev.f, ok))
    f_min = xp.where(nothing, xp.nan, masked_min(ev.f, ok))
    return Reference.of(f_state, f_worst, f_min, first.nu_bar, first.f_reward)


def decision_centre_and_spread(x: Array, ok: Array | None) -> tuple[Array, Array]:
    """s3 and s1: mean and std of (x_i - x^L) / (x^U - x^L) over all N D entries; x [B, N, D] is in the unit cube."""
    entries = reshaped(x, (x.shape[0], -1))
    if ok is not None:
        ok = reshaped(namespace(x).broadcast_to(ok[..., None], x.shape), entries.shape)
    return centre_and_spread(entries, ok)


def objective_centre_and_spread(
    f: Array, now: PopulationSummary, first: Reference, ok: Array | None
) -> tuple[Array, Array]:
    """s4 and s2: mean and std of (f(x_i) - f_best(t)) / (f_worst(0) - f_best(0)), [B] each."""
    return centre_and_spread((f - now.f_best[:, None]) / first.per.f_range[:, None], ok)


def objective_progress(now: PopulationSummary, first: Reference) -> Array:
    """s5 = f_best(t) / f_best(0), [B]; the denominator is kept away from 0."""
    return now.f_best / first.per.f_best


def spent_share(progress: Progress, like: Array) -> Array:
    """s6 = FEs / FEs_max, the first population included: [B] as like, the same for all runs in lockstep."""
    return zeros_like(like) + progress.evaluations / progress.budget


def violation_progress(now: PopulationSummary, first: Reference) -> Array:
    """s7 = nu-bar(t) / nu-bar(0), [B]; the denominator is kept away from 0."""
    return now.nu_bar / first.per.nu_bar


def feasible_share(ev: Evaluation, ok: Array | None) -> Array:
    """s8 = N_feas / N_pop [B]; a failed candidate is not feasible, and not counted."""
    if ok is None:
        return ev.feasible_share
    return count_flags(ev.feasible) / at_least(count_flags(ok), 1.0)


def objective_violation_agreement(f: Array, nu: Array, ok: Array | None) -> Array:
    """s10 [B] = share of pairs in which f and nu rise together, Delta f Delta nu > 0; 0 with fewer than two candidates.

    Counting the ordered pairs where both are larger counts each such pair once. A failed candidate is nan, and nan
    is larger than nothing.
    """
    size = f.shape[-1]
    pairs = count_flags((f[:, :, None] > f[:, None, :]) & (nu[:, :, None] > nu[:, None, :]))
    if ok is None:
        return pairs * (2.0 / max(size * (size - 1), 1))
    n = count_flags(ok)
    return pairs * (2.0 / at_least(n * (n - 1.0), 1.0))


def clip_features(s: Array) -> Array:
    """Extreme values cut to [-FEATURE_BOUND, FEATURE_BOUND]; what is undefined (of a population that failed) is 0."""
    xp = namespace(s)
    return bounded(xp.where(xp.isnan(s), 0.0, s), -FEATURE_BOUND, FEATURE_BOUND)


@np.errstate(all="ignore")  # values beyond any range are clipped
def state_vector(
    pop: Population, now: PopulationSummary, first: Reference, progress: Progress, action: Array, ok: Array | None
) -> Array:
    """The state vector s [B, 10], s1 first; action [B] is the one that led here (s9 = a_{t-1}, 0 at first)."""
    ev = pop.ev
    s3, s1 = decision_centre_and_spread(pop.x, ok)
    s4, s2 = objective_centre_and_spread(ev.f, now, first, ok)
    s5 = objective_progress(now, first)
    s6 = spent_share(progress, action)
    s7 = violation_progress(now, first)
    s8 = feasible_share(ev, ok)
    s9 = action
    s10 = objective_violation_agreement(ev.f, ev.nu, ok)
    return clip_features(stack_columns([s1, s2, s3, s4, s5, s6, s7, s8, s9, s10], s9))
