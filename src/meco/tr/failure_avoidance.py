"""Steps, restarts and further points that weigh the probability of failure (failures.py).

A step may end where failure is at most as likely as a limit. Where it is more likely, the program is solved again with
a plane through the place where the limit is passed: searches can follow a border, and end on it. The limit is no
constant: it falls by half with every step that fails and rises slowly with every one that does not, so that about a
fifth of the steps at a border fail. That is the price of finding where it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from meco.core.arrays import Array, bounded, maybe_any, namespace, rows, total, zeros_like
from meco.tr.failures import FailureModel
from meco.tr.region import Region
from meco.tr.step import Step, Subproblem

LEAST_LIMIT, MOST_LIMIT = 0.05, 0.5  # probability of failure that a step may have
LIMIT_FALL, LIMIT_RISE = 0.5, 1.2  # after a step that failed, and after one that did not
PLANES = 3  # that a step is cut by, one after another
WAY_POINTS = 24  # on the way of a step, of which the first beyond the limit is found
RESTART_TRIES = 64  # points of which a restart is the first that is hardly more likely to fail than the best
RESTART_FACTOR, RESTART_LIMIT = 1.5, 0.1


def cut_step(
    step: Step, sub: Subproblem, region: Region, model: FailureModel, limit: Array, solve: Callable[[Subproblem], Step]
) -> tuple[Step, Subproblem]:
    """The step, ending where failure is at most as likely as limit [B]; and the subproblem with the plane that did it.

    solve gives the step of another subproblem.
    """
    xp = namespace(step.s)
    centre, reach = region.centre, region.reach
    shares = (xp.arange(1, WAY_POINTS + 1, dtype=step.s.dtype, device=step.s.device) / WAY_POINTS)[None, :, None]
    highest = _logit(limit)
    here = model.logits(centre[:, None, :])[:, 0]
    highest = xp.maximum(highest, here)[:, None]
    for k in range(PLANES + 1):
        way = centre[:, None, :] + shares * (reach * step.s)[:, None, :]
        beyond = model.logits(way) > highest  # [B, n]
        beyond = beyond & model.local[:, None]
        bad = xp.any(beyond, axis=-1)
        if not maybe_any(bad):
            break
        first = xp.argmax(xp.astype(beyond, xp.int64), axis=-1)
        share = (xp.astype(first, step.s.dtype) + 0.5) / WAY_POINTS  # half a piece short of it
        at = share[:, None] * step.s
        wide = bad[:, None]
        if k == PLANES:
            s = xp.where(wide, at, step.s)
            step = step._replace(s=s, value=xp.where(wide, sub.values(s), step.value))
            break
        normal = model.slope(centre + reach * at) * reach
        size = xp.sqrt(total(normal * normal))[:, None]
        along = step.s / xp.where((length := xp.sqrt(total(step.s * step.s))[:, None]) > 0.0, length, 1.0)
        normal = xp.where(size > 0.0, normal / xp.where(size > 0.0, size, 1.0), along)
        normal = xp.where((total(normal * step.s) > 0.0)[:, None], normal, along)
        cut = sub._replace(
            normal=xp.where(wide, normal, sub.normal), distance=xp.where(bad, total(normal * at), sub.distance)
        )
        again = solve(cut)
        step = Step(
            xp.where(wide, again.s, step.s),
            xp.where(wide, again.value, step.value),
            xp.where(wide, again.multipliers, step.multipliers),
            step.weights._replace(w=xp.where(wide, again.weights.w, step.weights.w)),
            step.by,
        )
        sub = cut
    return step, sub


def next_limit(limit: Array, stepped: Array, failed: Array, risk: Array) -> Array:
    """The limit [B] after steps [B] that failed or not [B]; those without a risk [B] teach nothing."""
    xp = namespace(limit)
    factor = xp.where(failed, LIMIT_FALL, xp.where(risk > LEAST_LIMIT, LIMIT_RISE, 1.0 + 0.0 * limit))
    return xp.where(stepped, bounded(limit * factor, LEAST_LIMIT, MOST_LIMIT), limit)


def keep_region(limit: Array, risk: Array) -> Array:
    """Runs [B] whose region stays as it is although a step of this risk [B] failed: the limit will keep steps off."""
    return (risk > 0.5 * limit) & (limit > LEAST_LIMIT)


def likely_restart(model: FailureModel, u: Array, to_point: Callable[[Array], Array]) -> Array:
    """Numbers u [B, D] in (0, 1), or others evenly spread, whose point hardly fails: [B, D].

    Others are those of a Kronecker sequence that begins at u: no further numbers are drawn.
    """
    xp, dim = namespace(u), u.shape[-1]
    ratio = _golden_ratio(dim)
    k = xp.arange(RESTART_TRIES, dtype=u.dtype, device=u.device)[None, :, None]
    powers = xp.stack([zeros_like(u[:, 0]) + ratio ** -(j + 1.0) for j in range(dim)], axis=-1)
    tries = u[:, None, :] + k * powers[:, None, :]
    tries = tries - xp.floor(tries)
    risk = model.risks(xp.stack([to_point(tries[:, j, :]) for j in range(RESTART_TRIES)], axis=1))
    most = xp.maximum(RESTART_FACTOR * xp.min(risk, axis=-1), zeros_like(risk[:, 0]) + RESTART_LIMIT)
    chosen = xp.argmax(xp.astype(risk <= most[:, None], xp.int64), axis=-1)[:, None]
    return rows(tries, chosen)[:, 0, :]


def prefer_safe(tries: Array, model: FailureModel, region: Region) -> Array:
    """Steps [B, n, D], those likelier to fail than half of them drawn in towards the centre, which did not."""
    xp = namespace(tries)
    risk = model.risks(region.centre[:, None, :] + region.reach[:, None, :] * tries)
    return xp.where((risk > MOST_LIMIT)[..., None] & model.local[:, None, None], 0.3 * tries, tries)


def _golden_ratio(dim: int) -> float:
    """The root of r^(D + 1) = r + 1 (Roberts 2018): powers of 1 / r spread points evenly."""
    root = 2.0
    for _ in range(40):
        root = (1.0 + root) ** (1.0 / (dim + 1))
    return root


def _logit(p: Array) -> Array:
    return namespace(p).log(p / (1.0 - p))
