"""Where evaluations fail: a probability of failure, learnt from the points that failed and those that did not.

A Gaussian process z over the box, in logits, is fitted to which points failed (Laplace's approximation; Rasmussen and
Williams 2006, ch. 3): with t_i = 1 where point i failed, p = 1 / (1 + exp(-z)) and W = p (1 - p),

    z = z0 + K a,    a = t - p at the mode,    K_ij = A^2 exp(-|u_i - u_j|^2 / (2 l^2)),                (1)
    P(failure at v) = 1 / (1 + exp(-mean / sqrt(1 + pi/8 var))),                                        (2)

mean and variance at v given all points. Length l and amplitude A are those of a few whose leave-one-out predictions,

    log p = sum_i log P(t_i | the others),                                                              (3)

are most likely, which is what makes (2) a calibrated probability. Where a constant rate predicts as well as the best
of them, failures come by chance: no place is to be kept away from, and P is that rate everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from meco.core.arrays import Array, bounded, identities, inverse, namespace, nearest, rows, total, zeros_like
from meco.tr.archive import PointArchive

LENGTHS = (0.5, 1.0, 2.0, 4.0)  # l, in root mean square distances of the points
AMPLITUDES = (3.0, 30.0, 300.0)  # A, in logits
NEWTON_STEPS = 12
LEAST_CURVATURE = 1e-9  # of a likelihood, below which a point tells nothing
LARGEST_LOGIT = 30.0
GLOBAL_POINTS = 150  # of the whole archive, at most, that tell of the box as a whole
FIRST_LIMIT = 0.4  # probability of failure that a step may have when a search begins
CHANCE_FAILURES = 3  # up to so many failures nobody can tell chance from a place
CHANCE_EVIDENCE = 1.0  # by which the places must be more likely than a rate, in log p


class FailureModel(NamedTuple):
    """A fitted (1) of each run: points u [B, m, D] with a [B, m], (K + W^-1)^-1 [B, m, m], z0, l and A [B].

    local [B]: whether failures have places; rate [B] is the share of the points that failed. Everything is measured
    from a centre [B, D] in units [B, D].
    """

    u: Array
    a: Array
    inverted: Array
    prior: Array
    length: Array
    amplitude: Array
    local: Array
    rate: Array
    centre: Array
    unit: Array

    def logits(self, x: Array) -> Array:
        """Log odds of failure at points x [B, n, D], eq. (2): [B, n]."""
        xp, v = namespace(x), (x - self.centre[:, None, :]) / self.unit[:, None, :]
        cross = _covariance(v, self.u, self.length, self.amplitude)  # [B, n, m]
        mean = self.prior[:, None] + (cross @ self.a[..., None])[..., 0]
        variance = (self.amplitude * self.amplitude)[:, None] - total((cross @ self.inverted) * cross)
        found = mean / xp.sqrt(1.0 + 0.125 * math.pi * bounded(variance, 0.0, math.inf))
        return xp.where(self.local[:, None], found, _logit(self.rate)[:, None])

    def risks(self, x: Array) -> Array:
        """Probabilities of failure at points x [B, n, D]: [B, n]."""
        return _probability(self.logits(x))

    def slope(self, x: Array) -> Array:
        """Of the mean in (1) at one point x [B, D]: a direction in which failure becomes more likely, [B, D]."""
        v = (x - self.centre) / self.unit
        apart = v[:, None, :] - self.u
        cross = _covariance(v[:, None, :], self.u, self.length, self.amplitude)[:, 0, :]
        pull = -(cross * self.a / (self.length * self.length)[:, None])
        return (pull[:, None, :] @ apart)[:, 0, :] / self.unit


def fit_failures(x: Array, failed: Array, taken: Array, centre: Array, unit: Array) -> FailureModel:
    """The most likely (1) of points x [B, m, D] of which some failed [B, m]; those not taken [B, m] tell nothing.

    Distances are measured in units [B, D].
    """
    xp = namespace(x)
    weight, t = xp.astype(taken, x.dtype), xp.astype(failed, x.dtype)
    count, bad = total(weight), total(weight * t)
    rate = (bad + 0.5) / (count + 1.0)
    u = xp.where(taken[..., None], (x - centre[:, None, :]) / unit[:, None, :], 0.0)
    spread = xp.sqrt(total(weight * total(u * u)) / xp.maximum(count, xp.ones_like(count)))
    spread = xp.where(spread > 0.0, spread, 1.0)
    u, scaled = u / spread[:, None, None], unit * spread[:, None]
    prior = _logit(rate)
    best = None
    for length in LENGTHS:
        for amplitude in AMPLITUDES:
            size, top = xp.zeros_like(rate) + length, xp.zeros_like(rate) + amplitude
            a, inverted, likely = _fit(u, t, weight, prior, size, top)
            found = (likely, a, inverted, size, top)
            if best is None:
                best = found
                continue
            better = likely > best[0]
            best = tuple(_choose(better, new, old) for new, old in zip(found, best))
    assert best is not None
    likely, a, inverted, size, top = best
    others = (bad[:, None] - t + 0.5) / (xp.maximum(count, xp.ones_like(count))[:, None])
    constant = total(weight * (t * xp.log(others) + (1.0 - t) * xp.log(bounded(1.0 - others, 1e-12, 1.0))))
    local = (bad > 0.0) & ((bad <= CHANCE_FAILURES) | (likely > constant + CHANCE_EVIDENCE))
    return FailureModel(u, a, inverted, prior, size, top, local, rate, centre, scaled)


def _fit(u: Array, t: Array, weight: Array, prior: Array, length: Array, amplitude: Array) -> tuple[Array, ...]:
    """a [B, m], (K + W^-1)^-1 [B, m, m] and (3) [B] of one length and amplitude [B]."""
    xp, m = namespace(u), u.shape[1]
    kernel = _covariance(u, u, length, amplitude)
    z = prior[:, None] + 0.0 * t
    a, inverted, curvature = 0.0 * t, kernel, weight
    for _ in range(NEWTON_STEPS):
        p = _probability(z)
        curvature = weight * bounded(p * (1.0 - p), LEAST_CURVATURE, 1.0)
        root = xp.sqrt(curvature)
        inner = identities(1, m, kernel) + root[:, :, None] * kernel * root[:, None, :]
        inverted = root[:, :, None] * inverse(inner) * root[:, None, :]
        b = curvature * (z - prior[:, None]) + weight * (t - p)
        a = b - (inverted @ (kernel @ b[..., None]))[..., 0]
        z = bounded(prior[:, None] + (kernel @ a[..., None])[..., 0], -LARGEST_LOGIT, LARGEST_LOGIT)
    p = _probability(z)
    left = xp.linalg.diagonal(kernel) - total((kernel @ inverted) * kernel)  # posterior variances
    left = bounded(left, 1e-12, math.inf)
    cavity = 1.0 / bounded(1.0 / left - curvature, 1e-9, math.inf)
    step = weight * (t - p) / xp.where(curvature > 0.0, curvature, 1.0)
    mean = cavity * (z / left - curvature * (z + step))
    alone = _probability(mean / xp.sqrt(1.0 + 0.125 * math.pi * cavity))
    right = bounded(xp.where(t > 0.5, alone, 1.0 - alone), 1e-12, 1.0)
    return a, inverted, total(weight * xp.log(right))


def _covariance(v: Array, u: Array, length: Array, amplitude: Array) -> Array:
    """K of eq. (1) between v [B, n, D] and u [B, m, D]: [B, n, m]."""
    xp = namespace(v)
    square = total(v * v)[:, :, None] + total(u * u)[:, None, :] - 2.0 * (v @ u.mT)
    share = bounded(square, 0.0, math.inf) / (2.0 * length * length)[:, None, None]
    return (amplitude * amplitude)[:, None, None] * xp.exp(-share)


def _choose(where: Array, new: Array, old: Array) -> Array:
    """New values of the runs [B] where it holds."""
    xp = namespace(where)
    return xp.where(xp.reshape(where, (where.shape[0], *([1] * (new.ndim - 1)))), new, old)


def _probability(z: Array) -> Array:
    return 1.0 / (1.0 + namespace(z).exp(-z))


def _logit(p: Array) -> Array:
    return namespace(p).log(p / (1.0 - p))


def fit_nearby(archive: PointArchive, centre: Array, width: Array, points: int) -> FailureModel:
    """From so many points nearest to the centre [B, D], in widths [B, D], and as many more of those that failed."""
    xp = namespace(centre)
    apart = (archive.x - centre[:, None, :]) / width[:, None, :]
    square = total(apart * apart)  # inf: a row that is not filled
    count = min(points, square.shape[1])
    near = nearest(square, count)
    numbers = xp.arange(square.shape[1], dtype=near.dtype, device=near.device)
    among = xp.any(near[:, :, None] == numbers, axis=1)
    others = xp.where(archive.failed & ~among, square, xp.inf)
    more = nearest(others, count)
    index = xp.concat([near, more], axis=1)
    taken = xp.isfinite(xp.concat([rows(square, near), rows(others, more)], axis=1))
    x = xp.where(taken[..., None], rows(archive.x, index), centre[:, None, :])
    return fit_failures(x, rows(archive.failed, index) & taken, taken, centre, width)


def fit_everywhere(archive: PointArchive, width: Array) -> FailureModel:
    """From points all over the archive, the newest where there are many: for places that are far from any centre."""
    xp = namespace(width)
    x, failed = archive.x[:, -GLOBAL_POINTS:, :], archive.failed[:, -GLOBAL_POINTS:]
    taken = xp.isfinite(total(x))
    centre = zeros_like(width) + 0.5
    x = xp.where(taken[..., None], x, centre[:, None, :])
    return fit_failures(x, failed & taken, taken, centre, width)
