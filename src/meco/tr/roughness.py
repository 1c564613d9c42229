"""How rough each function is: the share of its variance that no quadratic explains, from leave-one-out predictions.

In eq. (1) of quadratic.py eta is that share, a noise beside the process of quadratics. With e_i what the models miss
of point i when they are fitted to the others, and s_i the variance that they give it, in units of the process'

    log p = - sum_i log(s_i) / 2 - m / 2 log(mean_i e_i^2 / s_i)                                        (1)

is the leave-one-out likelihood at the best amplitude (Sundararajan and Keerthi 2001): free of units. Smooth functions
are most likely with the least eta that rounding allows; steps, kinks and noise ask for more. A larger one is taken
only where it is clearly more likely.
"""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array, Factored, maybe_any, namespace, total
from meco.tr.quadratic import Fit, systems_at

ROUGH_LEVELS = (1e-6, 1e-4, 1e-2)  # eta of rougher and rougher functions
FADING = 0.7  # what an estimate leaves of those before it
LEAST_EVIDENCE = 0.1  # gain of log p for each point that a rougher level needs


class Roughness(NamedTuple):
    """eta of each function [B, F], and the share of the last estimates that found f rough [B], older ones fading."""

    eta: Array
    lately: Array


def estimate_roughness(fit: Fit, smooth: Array, lately: Array) -> Roughness:
    """How rough the functions of a fit are: eta [B, F], and how often f was found rough lately [B].

    smooth [B or 1] is eta where nothing speaks for more, and that of the fit; lately [B] what was found before. eta is
    smooth or one of ROUGH_LEVELS.
    """
    xp = namespace(fit.u)
    taken = xp.astype(xp.any(fit.u != 0.0, axis=-1), fit.u.dtype)  # [B, m]: the centre tells nothing
    evidence = LEAST_EVIDENCE * total(taken)[:, None]
    eta = smooth[:, None] + 0.0 * fit.y[:, 0, :]
    best = _likelihood(fit.y, fit.system, taken)  # whose eta is the smooth one
    systems = systems_at(fit, [0.0 * smooth + level for level in ROUGH_LEVELS])
    for level, system in zip(ROUGH_LEVELS, systems):
        likely = _likelihood(fit.y, system, taken)
        better = (likely > best + evidence) & (smooth[:, None] < level)
        eta, best = xp.where(better, level, eta), xp.where(better, likely, best)
    found = xp.astype(eta[:, 0] > smooth, eta.dtype)
    return Roughness(eta, FADING * lately + (1.0 - FADING) * found)


def _likelihood(y: Array, system: Factored, taken: Array) -> Array:
    """Eq. (1) of values y [B, m, F] with K [B, m, m], over the points that are taken [B, m]: [B, F].

    -inf where the models miss nothing, or what they miss is not finite.
    """
    xp, count = namespace(y), total(taken)[:, None]
    missed = system.inverse_times(y)  # e / s
    diagonal = system.inverse_diagonal  # [B, m]: 1 / s
    share = taken / xp.where(diagonal > 0.0, diagonal, 1.0)
    square = total(share[..., None] * missed * missed, 1) / xp.where(count > 0.0, count, 1.0)
    spread = total(taken * xp.log(xp.where(diagonal > 0.0, diagonal, 1.0)))[:, None]
    known = (square > 0.0) & xp.isfinite(square)
    return xp.where(known, 0.5 * spread - 0.5 * count * xp.log(xp.where(known, square, 1.0)), -xp.inf)


def levels_in_use(eta: Array) -> list[float]:
    """The rougher levels that some function has, eta [B, F]."""
    if not maybe_any(eta >= ROUGH_LEVELS[0]):
        return []
    return [level for level in ROUGH_LEVELS if maybe_any(eta == level)]
