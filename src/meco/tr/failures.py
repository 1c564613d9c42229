"""Where evaluations fail: a probability of failure, learnt from the points that failed and those that did not.

A Gaussian process z over the box, in logits, is fitted to which points failed (Laplace's approximation; Rasmussen and
Williams 2006, ch. 3): with t_i = 1 where point i failed, p = 1 / (1 + exp(-z)) and W = p (1 - p),

    z = z0 + K a,    a = t - p at the mode,    K_ij = A^2 exp(-|u_i - u_j|^2 / (2 l^2)),                (1)
    m(v) = mean / sqrt(1 + pi/8 var)  at v, given all points.                                           (2)

That tells how a border runs, and is blind to what is finer than l. What it misses at the nearest point that failed, b,
and at the nearest that did not, c, is added, by the distances d to these:

    logit P(failure at v) = m(v) + (1 - s) min(-Z - m(c), 0) + s max(Z - m(b), 0),   s = d_c / (d_b + d_c).   (3)

So a point that was evaluated is known, however near to another: a border can be followed to any scale. Length l and
amplitude A are those of a few whose leave-one-out predictions by (3),

    log p = sum_i log P(t_i | the others),                                                              (4)

are most likely, which calibrates (3). Where a constant rate predicts as well as the best of them, failures come by
chance: no place is to be kept away from, and P is that rate everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from meco.core.arrays import (
    Array,
    Factored,
    bounded,
    identities,
    inverse,
    known_all,
    maybe_any,
    namespace,
    nearest,
    rows,
    total,
    zeros_like,
)
from meco.tr.archive import PointArchive
from meco.tr.failure_border import Border
from meco.tr.run_subsets import choose_runs, put_runs, take_runs

LENGTHS = (0.5, 2.0, 8.0)  # l, in root mean square distances of the points
STEEPNESS = (10.0, 100.0, 1000.0)  # A / l, in logits
KNOWN_LOGIT = 2.5  # Z: what is believed of a point that was evaluated
NEWTON_STEPS = 8
LEAST_CURVATURE = 1e-9  # of a likelihood, below which a point tells nothing
LARGEST_LOGIT = 30.0
GLOBAL_POINTS = 150  # of the whole archive, at most, that tell of the box as a whole
RECENT_POINTS = 10  # the newest of the archive, of which failures count wherever they lie
CHANCE_FAILURES = 3  # up to so many failures nobody can tell chance from a place
CHANCE_EVIDENCE = 1.0  # by which places must be more likely than a rate, in log p
MOST_CHANCE = 0.3  # rate by which failures come by chance, at most: more of them are likelier to have a reason
LIKELY = 0.5  # probability above which a point is likely to fail: steps are shortened, offspring not evaluated
LEAST_RISK = 0.05  # that a prediction is scored with
ENOUGH_EVIDENCE, MOST_EVIDENCE = 1.5, 5.0  # in log p
DIFFERENCE = 1e-3  # share of a distance, for slopes
MOST_DIFFERENCES = 100_000  # numbers that are made at a time: less than a megabyte


class FailureModel(NamedTuple):
    """A fitted (3) of each run: points u [B, m, D] with a and m at them [B, m], (K + W^-1)^-1 [B, m, m], z0, l, A [B].

    failed and taken [B, m]: which points failed, and which count at all. local [B]: whether failures have places; rate
    [B] is the share of the points that failed. Everything is measured from a centre [B, D] in units [B, D].
    """

    u: Array
    a: Array
    here: Array
    inverted: Array
    prior: Array
    length: Array
    amplitude: Array
    failed: Array
    taken: Array
    local: Array
    rate: Array
    centre: Array
    unit: Array
    border: Border | None = None  # beside the centre of a region; None: of no region

    def logits(self, x: Array) -> Array:
        """Log odds of failure at points x [B, n, D]: [B, n]; those of the rate where failures come by chance."""
        xp, rate = namespace(x), _logit(self.rate)[:, None]
        return (
            xp.where(self.local[:, None], self.place_logits(x), rate)
            if maybe_any(self.local)
            else rate + 0.0 * x[..., 0]
        )

    def place_logits(self, x: Array) -> Array:
        """Eq. (3) at points x [B, n, D], in runs that have a border eq. (2) of failure_border.py: [B, n]."""
        if self.border is not None and known_all(self.border.there):
            return self.border.logits(x)
        xp, v = namespace(x), (x - self.centre[:, None, :]) / self.unit[:, None, :]
        square = _squared_distances(v, self.u)
        cross = _covariance(square, xp.where(self.length > 0.0, self.length, 1.0), self.amplitude)  # [B, n, m]
        mean = self.prior[:, None] + (cross @ self.a[..., None])[..., 0]
        variance = (self.amplitude * self.amplitude)[:, None] - total((cross @ self.inverted) * cross)
        found = _moderated_logits(mean, variance) + _missed_logits(square, self.here, self.failed, self.taken)
        if self.border is not None:
            found = xp.where(self.border.there[:, None], self.border.logits(x), found)
        return found

    def risks(self, x: Array) -> Array:
        """Probabilities of failure at points x [B, n, D]: [B, n]; the rate where failures come by chance."""
        return _probability(self.logits(x))

    def place_risks(self, x: Array) -> Array:
        """Probabilities of failure at points x [B, n, D] as if failures had places in every run: [B, n]."""
        return _probability(self.place_logits(x))

    def slope(self, x: Array, size: Array) -> Array:
        """Gradient of logits() at x [B, D], by central differences of DIFFERENCE times size [B, D]: [B, D]."""
        xp = namespace(x)
        step = DIFFERENCE * size
        moves = step[:, None, :] * identities(1, x.shape[-1], x)
        z = self.logits(xp.concat([x[:, None, :] + moves, x[:, None, :] - moves], axis=1))
        dim = x.shape[-1]
        return (z[:, :dim] - z[:, dim:]) / (2.0 * step)


def fit_failures(
    x: Array, failed: Array, taken: Array, centre: Array, unit: Array, scale: tuple[Array, Array] | None = None
) -> FailureModel:
    """The most likely (3) of points x [B, m, D] of which some failed [B, m]; those not taken [B, m] tell nothing.

    Distances are measured from a centre [B, D] in units [B, D]. scale is l and A [B] where these were found before;
    None: the most likely of LENGTHS and STEEPNESS.
    """
    xp = namespace(x)
    weight, t = xp.astype(taken, x.dtype), xp.astype(failed, x.dtype)
    count, bad = total(weight), total(weight * t)
    rate = (bad + 0.5) / (count + 1.0)
    u = xp.where(taken[..., None], (x - centre[:, None, :]) / unit[:, None, :], 0.0)
    spread = xp.sqrt(total(weight * total(u * u)) / bounded(count, 1.0, math.inf))
    spread = xp.where(spread > 0.0, spread, 1.0)
    u, scaled = u / spread[:, None, None], unit * spread[:, None]
    prior, square = _logit(rate), _squared_distances(u, u)
    best: tuple[Array, ...] | None = None
    none = zeros_like(rate)
    grid = [(none + length, none + length * steep) for length in LENGTHS for steep in STEEPNESS]
    for size, top in grid if scale is None else [scale]:
        found = (*_fit_at_scale(square, t, weight, prior, size, top), size, top)
        if best is None:
            best = found
            continue
        best = choose_runs(found[0] > best[0], found, best)
    assert best is not None
    likely, a, here, inverted, size, top = best
    others = (bad[:, None] - t + 0.5) / bounded(count, 1.0, math.inf)[:, None]
    constant = total(weight * (t * xp.log(others) + (1.0 - t) * xp.log(bounded(1.0 - others, 1e-12, 1.0))))
    local = (bad > 0.0) & ((bad <= CHANCE_FAILURES) | (likely > constant + CHANCE_EVIDENCE))
    return FailureModel(u, a, here, inverted, prior, size, top, failed, taken, local, rate, centre, scaled)


def _fit_at_scale(
    square: Array, t: Array, weight: Array, prior: Array, length: Array, amplitude: Array
) -> tuple[Array, ...]:
    """(4) [B], a and m [B, m], (K + W^-1)^-1 [B, m, m] of one length and amplitude [B].

    square [B, m, m]: squared distances; t and weight [B, m]: 1 or 0, whether a point failed and whether it counts.
    """
    xp, m = namespace(t), t.shape[1]
    kernel = _covariance(square, length, amplitude)
    z = prior[:, None] + 0.0 * t
    a, root, curvature, inner = 0.0 * t, weight, weight, kernel
    for _ in range(NEWTON_STEPS):
        p = _probability(z)
        curvature = weight * bounded(p * (1.0 - p), LEAST_CURVATURE, 1.0)
        root = xp.sqrt(curvature)
        inner = identities(1, m, kernel) + root[:, :, None] * kernel * root[:, None, :]
        b = curvature * (z - prior[:, None]) + weight * (t - p)
        known = root[..., None] * (kernel @ b[..., None])
        a = b - root * Factored(inner).solved(known)[..., 0]
        z = bounded(prior[:, None] + (kernel @ a[..., None])[..., 0], -LARGEST_LOGIT, LARGEST_LOGIT)
    inverted = root[:, :, None] * inverse(inner) * root[:, None, :]
    p = _probability(z)
    left = (amplitude * amplitude)[:, None] - total((kernel @ inverted) * kernel)  # posterior variances
    left = bounded(left, 1e-12, math.inf)
    cavity = 1.0 / bounded(1.0 / left - curvature, 1e-9, math.inf)
    step = weight * (t - p) / xp.where(curvature > 0.0, curvature, 1.0)
    mean = cavity * (z / left - curvature * (z + step))
    here = _moderated_logits(z, left)
    itself = identities(1, m, kernel) > 0.0
    alone = _moderated_logits(mean, cavity) + _missed_logits(
        xp.where(itself, xp.inf, square), here, t > 0.5, weight > 0.0
    )
    chance = _probability(bounded(alone, -LARGEST_LOGIT, LARGEST_LOGIT))
    right = bounded(xp.where(t > 0.5, chance, 1.0 - chance), 1e-6, 1.0)
    return total(weight * xp.log(right)), a, here, inverted


def _missed_logits(square: Array, here: Array, failed: Array, taken: Array) -> Array:
    """The last two terms of eq. (3), by squared distances [B, n, m] to points with m in here [B, m]: [B, n].

    Where no point of one kind counts, only the term of the other is there.
    """
    xp = namespace(square)
    off, near = [], []
    for of_kind, missed in (
        (taken & ~failed, bounded(-KNOWN_LOGIT - here, -math.inf, 0.0)),
        (taken & failed, bounded(KNOWN_LOGIT - here, 0.0, math.inf)),
    ):
        distance = xp.where(of_kind[:, None, :], square, xp.inf)
        index = xp.argmin(distance, axis=-1)
        near.append(xp.sqrt(xp.min(distance, axis=-1)))
        off.append(rows(missed, index))
    both = near[0] + near[1]
    share = near[0] / xp.where(both > 0.0, both, 1.0)
    share = xp.where(xp.isinf(near[0]), 1.0, xp.where(xp.isinf(near[1]), 0.0, share))
    return (1.0 - share) * off[0] + share * off[1]


def _squared_distances(v: Array, u: Array) -> Array:
    """Squared Euclidean distances between v [B, n, D] and u [B, m, D]: [B, n, m].

    In NumPy of some of v at a time, so that differences stay in the cache: in 100 variables three times as fast.
    """
    xp, count = namespace(v), v.shape[1]
    some = max(1, MOST_DIFFERENCES // max(u.size, 1))
    parts = []
    for first in range(0, max(count, 1), some):
        apart = v[:, first : first + some, None, :] - u[:, None, :, :]
        apart *= apart
        parts.append(total(apart))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)


def _covariance(square: Array, length: Array, amplitude: Array) -> Array:
    """K of eq. (1) at squared distances [B, n, m], of lengths and amplitudes [B]: [B, n, m]."""
    share = square / (2.0 * length * length)[:, None, None]
    return (amplitude * amplitude)[:, None, None] * namespace(square).exp(-share)


def _moderated_logits(mean: Array, variance: Array) -> Array:
    """Eq. (2) of means and variances of one shape; negative variances, from rounding, count as 0."""
    return mean / namespace(mean).sqrt(1.0 + 0.125 * math.pi * bounded(variance, 0.0, math.inf))


def _probability(z: Array) -> Array:
    """1 / (1 + exp(-z)) of logits of any shape."""
    return 1.0 / (1.0 + namespace(z).exp(-z))


def _logit(p: Array) -> Array:
    """log(p / (1 - p)) of probabilities of any shape, in (0, 1)."""
    return namespace(p).log(p / (1.0 - p))


def fit_nearby(
    archive: PointArchive,
    centre: Array,
    width: Array,
    points: int,
    scale: tuple[Array, Array],
    due: bool,
    needed: Array | None = None,
) -> FailureModel:
    """The model of the points nearest to the centre [B, D], by distances in widths [B, D].

    They are `points` that failed and as many that did not, fewer where there are not so many, and of the newest
    RECENT_POINTS those that failed wherever they lie: a step to the same place would be as near as they are. scale is l
    and A [B] as they were found before; they are found anew where they are 0 or that is due. Where they are not, no
    model is made of runs that do not need one, needed [B]; None: all do.
    """
    xp = namespace(centre)
    apart = (archive.x - centre[:, None, :]) / width[:, None, :]
    square = total(apart * apart)  # inf: a row that is not filled
    count = min(points, square.shape[1])
    good, bad = xp.where(archive.failed, xp.inf, square), xp.where(archive.failed, square, xp.inf)
    newest = xp.where(archive.newest(RECENT_POINTS) & archive.failed, square, xp.inf)
    near = [nearest(good, count), nearest(bad, count), nearest(newest, min(RECENT_POINTS, square.shape[1]))]
    index = xp.concat(near, axis=1)
    taken = xp.isfinite(xp.concat([rows(part, at) for part, at in zip((good, bad, newest), near)], axis=1))
    x = xp.where(taken[..., None], rows(archive.x, index), centre[:, None, :])
    failed = rows(archive.failed, index) & taken
    made, some = _make_model_without_failures(x, taken, centre, width), failed.any(axis=-1)
    anew = some & (due | (scale[0] == 0.0))
    made = made._replace(length=np.where(some, scale[0], 0.0), amplitude=np.where(some, scale[1], 0.0))
    again = some & ~anew if needed is None else some & ~anew & needed
    for runs, given in ((anew, None), (again, scale)):  # others need no fit, or only one
        if runs.any():
            made = put_runs(made, fit_failures(*take_runs((x, failed, taken, centre, width, given), runs)), runs)
    return made


def _make_model_without_failures(x: Array, taken: Array, centre: Array, width: Array) -> FailureModel:
    """The model of runs in which nothing failed, with as many points as x [B, m, D]: no places, and a rate of 0.001."""
    xp, none = namespace(x), zeros_like(x[:, 0, 0])
    flat, square = zeros_like(x[..., 0]), zeros_like(x[..., 0])[:, :, None] + zeros_like(x[..., 0])[:, None, :]
    return FailureModel(
        zeros_like(x), flat, flat, square, none, none, none, flat > 0.0, taken, none > 0.0, none + 1e-3, centre,
        xp.ones_like(width),
    )  # fmt: skip


def recent_points(archive: PointArchive) -> tuple[Array, Array]:
    """The last GLOBAL_POINTS rows of an archive [B, n, D], and which of them failed [B, n]; rows not filled are inf."""
    first = max(0, archive.x.shape[1] - GLOBAL_POINTS)
    return archive.x[:, first:, :], archive.failed[:, first:]


def fit_everywhere(x: Array, failed: Array, width: Array) -> FailureModel:
    """The model of points x [B, n, D] all over the box, in widths [B, D]; rows that are not finite do not count."""
    xp = namespace(width)
    taken = xp.isfinite(total(x))
    centre = zeros_like(width) + 0.5
    x = xp.where(taken[..., None], x, centre[:, None, :])
    return fit_failures(x, failed & taken, taken, centre, width)


def score_places(evidence: Array, risk: Array, failed: Array, rate: Array) -> Array:
    """Evidence [B] that failures have places, after one more point failed or not [B].

    It grows by log p of what happened by the probability risk [B] that places gave, less that by the rate [B] of all
    points, and stays within MOST_EVIDENCE of 0. Risks are cut at LEAST_RISK, the rate at MOST_CHANCE.
    """
    xp, rate = namespace(risk), bounded(rate, 0.0, MOST_CHANCE)
    risk = bounded(risk, LEAST_RISK, 1.0 - LEAST_RISK)
    gained = xp.where(failed, xp.log(risk / rate), xp.log((1.0 - risk) / (1.0 - rate)))
    return bounded(evidence + gained, -MOST_EVIDENCE, MOST_EVIDENCE)


def decide_local(model: FailureModel, evidence: Array, failed_row: Array, has_failures: Array) -> FailureModel:
    """The model with `local` overruled by evidence [B] beyond ENOUGH_EVIDENCE, for places or against them.

    Right after two failures in a row, failed_row [B], they have places whatever the evidence: by chance that is seldom.
    Runs in which nothing failed, not has_failures [B], have none.
    """
    local = (model.local | (evidence > ENOUGH_EVIDENCE)) & (evidence > -ENOUGH_EVIDENCE)
    local = (local | (failed_row >= 2)) & has_failures
    return model._replace(local=local)
