"""The border of what fails, beside the centre: a plane, where it runs, and how sure that is.

Ways d_ij = (b_j - g_i) / |b_j - g_i| lead from a point that did not fail to one that did. A plane that parts the two
has a normal n with n d_ij > 0 for all of them, however long they are: a way of 1e-7 tells as much of n as one across
the region. Of these n one is taken that keeps off their limits,

    min_v  mean_ij log(1 + exp(-v d_ij)) + ridge |v|^2 / 2,    n = v / |v|.                              (1)

Towards a direction e across it, n may turn by tau, n + tau e, as long as (n + tau e) d_ij > 0: between tau-(e) < 0 and
tau+(e) > 0. So at u = p n + r e, in radii from the centre, the border lies at p = t - r tau, with t between
lo = max_i (p_i + r_i tau-(e_i)) and hi = min_j (p_j + r_j tau+(e_j)). If t and tau may be anything between these,

    logit P(failure at u) = 1.7 (p - (lo + hi) / 2 + r (tau+ + tau-) / 2) / s,                           (2)
    12 s^2 = (hi - lo)^2 + r^2 (tau+ - tau-)^2.

Borders bend, by a radius of about half the box if nothing else is known: tau+ and tau- are by r delta farther apart
than the ways allow, delta being the radius of the region.

Steps beside a border slide along it, and those towards it close the gap between lo and hi.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from meco.core.arrays import (
    Array,
    Factored,
    bounded,
    identities,
    maybe_any,
    namespace,
    nearest,
    rows,
    total,
    zeros_like,
)
from meco.tr.archive import PointArchive
from meco.tr.region import Region
from meco.tr.run_subsets import choose_runs

BORDER_RADII = 3.0  # radii times sqrt(D) within which a failure is beside the centre
NARROWER = (1.0, 0.2, 0.04, 0.008)  # shares of that, one of which has a border without much of a curve
NEAR_POINTS = 20  # of either kind
NEW_POINTS = 8  # the newest of them are among these wherever they lie
RIDGES = tuple(10.0 ** -(1 + k // 3) for k in range(20))  # of eq. (1), for a Newton step each: v grows with them
MOST_TURN = 2.0
LEAST_TURN = 1e-2  # however many points there are
BEND = 1.0  # by which tau may differ besides, times r delta
LOGIT_PER_DEVIATION = 1.7  # of a normal distribution, as a logistic one


class Border(NamedTuple):
    """A plane of each run; [B] unless said otherwise."""

    there: Array  # whether a plane parts the points
    normal: Array  # [B, D], in radii
    low: Array  # lo
    high: Array  # hi
    ways: Array  # [B, P, D]: d_ij, 0 where there is none
    bend: Array  # by which tau may differ at r = 1, because the border bends
    centre: Array  # [B, D]
    reach: Array  # [B, D]

    def logits(self, x: Array) -> Array:
        """Eq. (2) at points x [B, n, D]: [B, n]."""
        p, r, e = _split_along(self.normal, (x - self.centre[:, None, :]) / self.reach[:, None, :])
        least, most = _turn_limits(self.normal, self.ways, e, r * self.bend[:, None])
        gap, spread = (self.high - self.low)[:, None], r * (most - least)
        s = namespace(x).sqrt((gap * gap + spread * spread) / 12.0)
        return LOGIT_PER_DEVIATION * (p - 0.5 * (self.low + self.high)[:, None] + 0.5 * r * (most + least)) / s

    def plane(self, s: Array, z: Array) -> tuple[Array, Array]:
        """Normal [B, D] and distance [B] of a plane that steps like s [B, D] keep to, so that their logits are z [B].

        What (2) allows is nearly a cone around the normal, its tip near the centre; the plane touches it beside s.
        """
        xp = namespace(s)
        _, r, e = _split_along(self.normal, s[:, None, :])
        least, most = _turn_limits(self.normal, self.ways, e, r * self.bend[:, None])
        share = z / (LOGIT_PER_DEVIATION * math.sqrt(12.0))
        slope = 0.5 * (most + least)[:, 0] - share * (most - least)[:, 0]
        normal = self.normal + slope[:, None] * e[:, 0, :]
        length = xp.sqrt(total(normal * normal))
        distance = 0.5 * (self.low + self.high) + share * (self.high - self.low)
        return normal / length[:, None], distance / length


def fit_border(archive: PointArchive, region: Region) -> Border:
    """The border of each run, from points within the largest of NARROWER distances at which a plane parts them.

    `there` is False where none does, and where no point failed, or none did not.
    """
    found: Border | None = None
    for share in NARROWER:
        made = _fit_within(archive, region, share * BORDER_RADII * math.sqrt(region.centre.shape[-1]))
        found = made if found is None else choose_runs(found.there, found, made)
        if not maybe_any(~found.there):
            break
    assert found is not None
    return found


def _fit_within(archive: PointArchive, region: Region, limit: float) -> Border:
    """The border from at most NEAR_POINTS of either kind within `limit` radii of the centre.

    The newest of these come before the nearest. Where there is no border, low is 0 and high 1.
    """
    xp, (centre, reach) = namespace(region.centre), (region.centre, region.reach)
    apart = (archive.x - centre[:, None, :]) / reach[:, None, :]
    square = total(apart * apart)
    near = []
    new = archive.newest(NEW_POINTS)
    for kind in (~archive.failed, archive.failed):
        far = xp.where(kind & xp.isfinite(square) & (square <= limit * limit), square, xp.inf)
        index = nearest(xp.where(new & xp.isfinite(far), -1.0, far), min(NEAR_POINTS, far.shape[1]))
        taken = xp.isfinite(rows(far, index))
        near.append((xp.where(taken[..., None], rows(apart, index), 0.0), taken))
    (g, safe), (b, bad) = near
    ways, some = _find_ways(g, safe, b, bad)
    normal = _fit_normal(ways, some)
    along = (ways @ normal[..., None])[..., 0]
    bend = BEND * region.delta
    p, r, e = _split_along(normal, g)
    low = xp.max(xp.where(safe, p + r * _turn_limits(normal, ways, e, r * bend[:, None])[0], -math.inf), axis=-1)
    p, r, e = _split_along(normal, b)
    high = xp.min(xp.where(bad, p + r * _turn_limits(normal, ways, e, r * bend[:, None])[1], math.inf), axis=-1)
    parted = xp.all((along > -(LEAST_TURN + bend)[:, None]) | ~some, axis=-1)
    there = xp.any(some, axis=-1) & parted & (low < high)
    low, high = xp.where(there, low, 0.0), xp.where(there, high, 1.0)
    return Border(there, normal, low, high, ways, bend, centre, reach)


def _find_ways(g: Array, safe: Array, b: Array, bad: Array) -> tuple[Array, Array]:
    """d_ij [B, n m, D] from points g [B, n, D] to b [B, m, D], and which count [B, n m].

    Those of points that are not safe [B, n] or bad [B, m], or are the same point, do not count, and are 0.
    """
    xp, (runs, n, dim), m = namespace(g), g.shape, b.shape[1]
    way = b[:, None, :, :] - g[:, :, None, :]
    length = xp.sqrt(total(way * way))
    some = safe[:, :, None] & bad[:, None, :] & (length > 0.0)
    way = xp.where(some[..., None], way / xp.where(length > 0.0, length, 1.0)[..., None], 0.0)
    return xp.reshape(way, (runs, n * m, dim)), xp.reshape(some, (runs, n * m))


def _fit_normal(ways: Array, some: Array) -> Array:
    """n of eq. (1) from ways [B, P, D] that count where some [B, P] holds: [B, D], 0 where none does."""
    xp, dim = namespace(ways), ways.shape[-1]
    weight = xp.astype(some, ways.dtype)
    weight = weight / bounded(total(weight), 1.0, math.inf)[:, None]
    v = zeros_like(ways[:, 0, :])
    for ridge in RIDGES:
        p = 1.0 / (1.0 + xp.exp(bounded((ways @ v[..., None])[..., 0], -50.0, 50.0)))
        slope = total((weight * p)[..., None] * ways, 1) - ridge * v
        bend = (ways * (weight * p * (1.0 - p))[..., None]).mT @ ways + identities(1, dim, ways, ridge)
        v = v + Factored(bend).solved(slope[..., None])[..., 0]
    length = xp.sqrt(total(v * v))
    return v / xp.where(length > 0.0, length, 1.0)[:, None]


def _split_along(normal: Array, u: Array) -> tuple[Array, Array, Array]:
    """p, r [B, n] and e [B, n, D] with u = p normal + r e, of points u [B, n, D]; e is 0 where r is."""
    xp, p = namespace(u), (u @ normal[..., None])[..., 0]
    across = u - p[..., None] * normal[:, None, :]
    r = xp.sqrt(total(across * across))
    return p, r, across / xp.where(r > 0.0, r, 1.0)[..., None]


def _turn_limits(normal: Array, ways: Array, e: Array, bend: Array) -> tuple[Array, Array]:
    """tau- < 0 and tau+ > 0 towards directions e [B, n, D]: [B, n] each.

    Both are between LEAST_TURN and MOST_TURN in size, and then larger by a bend [B, n].
    """
    xp = namespace(e)
    along = bounded((ways @ normal[..., None])[:, None, :, 0], 0.0, 1.0)  # [B, 1, P]
    across = e @ ways.mT  # [B, n, P]
    ratio = along / xp.where(across == 0.0, 1.0, xp.abs(across))
    most = xp.min(xp.where(across < 0.0, ratio, MOST_TURN), axis=-1)
    least = -xp.min(xp.where(across > 0.0, ratio, MOST_TURN), axis=-1)
    return bounded(least, -MOST_TURN, -LEAST_TURN) - bend, bounded(most, LEAST_TURN, MOST_TURN) + bend
