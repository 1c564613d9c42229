"""Noise: values that differ from call to call, told apart from functions that are merely rough, and what follows.

Rough functions (roughness.py) may be noisy ones. Where some have been rough for a while the centre is called once more:
the same values show that nothing is noisy, others that something is. From then on

    y = q(u) + b + misfit + noise,   misfit + noise of variance m^2 = eta (1 + tau) A^2,                (1)

is fitted to the points around the centre, q of the process of quadratics of quadratic.py, eta and the amplitude A by
leave-one-out likelihood, for each function. In a wide region most of m is what no quadratic explains of a function that
has nothing to do with chance. Calls of equal points differ by noise alone: its deviation s is at most m, and at most
what they allow. With r what the fit misses of a point's mean of n calls,

    mean - r s^2 / (s^2 + n (m^2 - s^2))                                                                (2)

stands in the place of values: the centre is the best by the models and not the luckiest where noise rules, and values
count where misfit does. A difference that noise explains decides nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from meco.core.arrays import (
    Array,
    asarray_like,
    bounded,
    identities,
    inverse,
    maybe_any,
    namespace,
    nearest,
    rows,
    total,
    zeros_like,
)
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.tr.archive import PointArchive, as_evaluation, values_of
from meco.tr.quadratic import covariance
from meco.tr.region import PointSource, Region

if TYPE_CHECKING:
    from meco.tr.expectation import Expectation

UNKNOWN, STEADY, NOISY = 0, 1, 2  # what is known of a run's values
LEAST_ROUGHNESS = 1e-2  # eta of a function that may be noisy: regions shrink until noise is all that is left
LEAST_SHARE = 1e-7  # of the largest value, below which changes are at rounding
ROUGH_CHECKS = 4  # checks, more than found all smooth, that find a function rough before a call is spent on it
FEWEST_CALLS = 100  # of a budget of which one call is spent on it
NOISE_LEVELS = (1e-6, 1e-4, 1e-2, 0.1, 1.0, 10.0)  # eta
OFFSET_VARIANCE = 1e4  # of b, in units of the process
SIGNIFICANT = 2.0  # standard deviations within which a difference decides nothing
LEAST_CHANGE = 3.0  # standard deviations that the merit changes by across a region that may still shrink
REPEAT_SHARE, MOST_REPEATS = 0.02, 6  # of the budget, and calls at most, that tell noise from misfit
MISFIT = 1.25  # of the deviation that noise may have, above which models miss more than noise explains
LEAST_ROOT = 0.157  # third root of chi-square over its degrees of freedom, of one degree, at a probability of 0.05
MEMORY = 0.95  # what an iteration leaves of the deviations before it: a few points may look smooth by chance
SAME_SHARE = 1e-13  # of a value, within which two are the same
FINAL_SHARE, MOST_FINAL = 0.1, 24  # of the budget that confirms the answer, and calls at most
FEASIBLE_DEVIATIONS = 1.645  # of a mean that is kept with a probability of 0.95


class NoiseState(NamedTuple):
    """What is known [B], how many more checks found a function rough than not [B], whether a call is being repeated to
    find out [B], the standard deviation of each function [B, F]: 0 where there is none, the point [B, D] that the last
    calls go to, whether another call of the centre would tell noise from misfit [B], and the functions [B, F] of which
    models miss more than noise explains."""

    known: Array
    rough_checks: Array
    asked: Array
    deviation: Array
    target: Array
    repeats_pay: Array
    misfit: Array

    @classmethod
    def begin(cls, like: Array, functions: Array, centre: Array, noisy: bool | None) -> NoiseState:
        """The state of runs like [B] with functions [B, F] and centres [B, D] before anything is known of their noise.

        noisy: whether their values are, None where that is to be found out.
        """
        xp = namespace(like)
        none = xp.astype(zeros_like(like), xp.int64)
        known = none + {None: UNKNOWN, False: STEADY, True: NOISY}[noisy]
        return cls(known, none, none > 0, functions * 0.0, centre * 0.0, none > 0, functions != functions)

    @property
    def noisy(self) -> Array:
        """Runs [B] whose values are noisy."""
        return self.known == NOISY

    def checked(self, eta: Array, smooth: Array, span: Array, y: Array) -> NoiseState:
        """The state after another check of how rough the functions are: eta [B, F].

        Up to smooth [B or 1] they are not. span [B, F] is what they change by among the fitted points, y [B, n, F] are
        all values: changes at rounding are no noise.
        """
        xp = namespace(eta)
        size = xp.max(xp.abs(y), axis=1)
        rough = (eta >= LEAST_ROUGHNESS) & (eta > smooth[:, None]) & (span > LEAST_SHARE * size)
        more = self.rough_checks + 1
        fewer = xp.where(self.rough_checks > 0, self.rough_checks - 1, 0)
        return self._replace(rough_checks=xp.where(xp.any(rough, axis=-1), more, fewer))

    @property
    def due(self) -> Array:
        """Runs [B] in which a call is to be repeated, to find out."""
        return (self.known == UNKNOWN) & (self.rough_checks >= ROUGH_CHECKS)

    def compared(self, before: Array, now: Array, usable: Array) -> NoiseState:
        """The state after repeated calls gave values now [B, F] in the place of before [B, F], where usable [B].

        Runs that asked for it are steady or noisy from then on; where a call failed they may ask again.
        """
        xp = namespace(now)
        close = xp.abs(now - before) <= SAME_SHARE * (xp.abs(now) + xp.abs(before))
        same = xp.all(close, axis=-1)
        told = self.asked & usable
        known = xp.where(told, xp.where(same, STEADY, NOISY), self.known)
        return self._replace(known=known, asked=self.asked & False)


class SmoothedArchive:
    """Evaluated points as fit_models() reads an archive, with values from (2) in the place of noisy ones.

    With restart_index [B], all of them belong to that restart.
    """

    def __init__(self, archive: PointArchive, y: Array, restart_index: Array | None = None) -> None:
        """The points of an archive with values y [B, n, F]; restart_index [B] None: each belongs to its own restart."""
        self.x, self.y, self.failed, self.restart_index = archive.x, y, archive.failed, archive.restart_index
        if restart_index is not None:
            self.restart_index = self.restart_index * 0 + restart_index[:, None]
        self.n_ineq = archive.n_ineq

    def evaluation(self) -> Evaluation:
        """The values as a rule reads them."""
        return as_evaluation(self.y, self.n_ineq, self.failed)


class NoisyPoints(NamedTuple):
    """What values are smoothed from: the points of an archive, so many at a time that are nearest to a centre."""

    archive: PointArchive
    region: Region
    noise: NoiseState
    tau: Array  # [B or 1] freedom of gradients
    points: int


def smooth_archive(
    noisy: NoisyPoints, budget: int, left: int, told: Array | None = None
) -> tuple[SmoothedArchive, NoiseState]:
    """The archive with smoothed values, inequalities moved by a margin, and the state with what was learnt of noise.

    left calls of the budget are to come. told [1, F] are standard deviations that are known; None: they are those that
    are most likely, as far as equal points allow them.

    With the margin, for the errors of half of the last calls and of the models alike, a point whose constraints are 0
    will be known to keep them after the last calls of the run, which go to the best of all restarts.
    """
    archive, region, noise = noisy.archive, noisy.region, noisy.noise
    xp = namespace(archive.x)
    limit, repeats = limit_deviation(archive) if told is None else (told, None)
    y, missed = smooth_values(noisy, limit, told)
    if repeats is None:
        deviation, pays = xp.where(noise.noisy[:, None], told, 0.0), noise.noisy & False
    else:
        deviation = xp.minimum(xp.maximum(missed, MEMORY * noise.deviation), limit)
        few = repeats < min(MOST_REPEATS, max(1, int(REPEAT_SHARE * budget)))
        pays = noise.noisy & few & ((repeats < 1) | xp.any(missed > limit, axis=-1))
    count = archive.n_ineq
    active = total(xp.astype(region.multipliers[:, :count] != 0.0, y.dtype))
    several = xp.sqrt(FEASIBLE_DEVIATIONS**2 + 2.0 * xp.log(bounded(active, 1.0, math.inf)))  # all at once with 0.95
    margin = math.sqrt(4.0 / final_calls(budget)) * several[:, None] * deviation[:, 1 : 1 + count]
    y = xp.concat([y[..., :1], y[..., 1 : 1 + count] + margin[:, None, :], y[..., 1 + count :]], axis=-1)
    smoothed = SmoothedArchive(archive, y, region.restart_index if left <= final_calls(budget) else None)
    misfit = missed > MISFIT * limit
    return smoothed, noise._replace(deviation=deviation, repeats_pay=pays, misfit=misfit)


def limit_deviation(archive: PointArchive) -> tuple[Array, Array]:
    """The largest deviation [B, F] that calls of equal points allow, and how many calls were repeated [B].

    With a probability of 0.95, by chi-square: the fewer differences of two calls there are, the more room they leave;
    inf where there are none. Failed calls count as repeated, but tell no difference.
    """
    xp, x = namespace(archive.x), archive.x
    known = ~archive.missing if archive.partial else ~archive.failed[..., None]
    filled = xp.all(xp.isfinite(x), axis=-1)
    mixed = xp.cos(xp.arange(x.shape[-1], dtype=x.dtype, device=x.device))
    order = xp.argsort(xp.where(filled, total(x * mixed), xp.inf), axis=-1, stable=True)  # equal points are neighbours
    x, y, known = rows(x, order), rows(archive.y, order), rows(known, order)
    again = xp.all((x[:, 1:, :] == x[:, :-1, :]) & xp.isfinite(x[:, 1:, :]), axis=-1)
    pair = again[..., None] & known[:, 1:, :] & known[:, :-1, :]
    off = xp.where(pair, y[:, 1:, :] - y[:, :-1, :], 0.0)
    count = total(xp.astype(pair, x.dtype), 1) + zeros_like(y[:, 0, :])
    some = bounded(count, 1.0, math.inf)
    part = 2.0 / (9.0 * some)
    root = bounded(1.0 - part - FEASIBLE_DEVIATIONS * xp.sqrt(part), LEAST_ROOT, 1.0)  # Wilson and Hilferty 1931
    limit = xp.sqrt(0.5 * total(off * off, 1) / (some * root**3))
    return xp.where(count > 0.0, limit, xp.inf), total(xp.astype(again, x.dtype))


def smooth_values(noisy: NoisyPoints, limit: Array, told: Array | None = None) -> tuple[Array, Array]:
    """Values [B, n, F] of all points by (2), for the noisy runs, and m of each function [B, F]; 0 for other runs.

    limit [B or 1, F] is what noise may be at most. Where it is told [1, F], it decides the amplitude of every level;
    functions of which it is 0 keep their values. Points far from the centre keep their values, made worse by two
    deviations: no neighbours speak for them.
    """
    archive, region, noise, tau, points = noisy
    xp = namespace(archive.x)
    apart = (archive.x - region.centre[:, None, :]) / region.width_in_force[:, None, :]
    square = xp.where(archive.failed, xp.inf, total(apart * apart))
    near = nearest(square, min(points, square.shape[1]))
    there = xp.isfinite(rows(square, near))
    taken = xp.astype(there, archive.x.dtype)
    u = xp.where(there[..., None], rows(apart, near), 0.0)
    same = xp.all(u[:, :, None, :] == u[:, None, :, :], axis=-1) & there[:, :, None] & there[:, None, :]
    same = xp.astype(same, u.dtype)
    calls = bounded(total(same), 1.0, math.inf)[..., None]  # [B, m, 1]
    spread = xp.sqrt(total(taken * total(u * u)) / bounded(total(taken), 1.0, math.inf))
    u = u / xp.where(spread > 0.0, spread, 1.0)[:, None, None]
    values = rows(archive.y, near)
    middle = total(taken[..., None] * values, 1) / bounded(total(taken), 1.0, math.inf)[:, None]
    y = xp.where(there[..., None], values - middle[:, None, :], 0.0)
    base = (covariance(u, u, tau) + OFFSET_VARIANCE) * taken[:, :, None] * taken[:, None, :]
    best = [zeros_like(middle) - xp.inf, zeros_like(y), zeros_like(middle)]
    for level in NOISE_LEVELS:
        ridge = (level * (1.0 + tau))[:, None, None]
        inverted = inverse(base + ridge * identities(1, base.shape[1], base))
        weights = inverted @ y
        diagonal = xp.linalg.diagonal(inverted)
        amplitude = (
            total(taken[..., None] * weights * weights / diagonal[..., None], 1)
            / bounded(total(taken), 1.0, math.inf)[:, None]
        )
        free = bounded(amplitude, 1e-300, math.inf)  # A^2 that is most likely
        size = free if told is None else bounded(told * told / (level * (1.0 + tau)[:, None]), 1e-300, math.inf)
        likely = 0.5 * total(taken * xp.log(diagonal))[:, None]
        likely = likely - 0.5 * total(taken)[:, None] * (xp.log(size) + (free / size - 1.0))
        better = likely > best[0]
        best = [
            xp.where(better, likely, best[0]),
            xp.where(better[:, None, :], base @ weights, best[1]),
            xp.where(better, xp.sqrt(level * (1.0 + tau)[:, None] * amplitude), best[2]),
        ]
    fitted, missed = best[1], best[2]
    mean = (same @ y) / calls
    share = bounded(limit / xp.where(missed > 0.0, missed, 1.0), 0.0, 1.0)[:, None, :] ** 2  # s^2 / m^2
    share = share / xp.where(share > 0.0, share + calls * (1.0 - share), 1.0)
    smooth = mean + share * (fitted - mean) + middle[:, None, :]
    numbers = xp.arange(square.shape[1], dtype=near.dtype, device=near.device)
    place = xp.astype((near[:, :, None] == numbers) & there[..., None], archive.x.dtype)  # [B, m, n]
    among = total(place, 1)[..., None] > 0.0
    count = archive.n_ineq + 1
    deviation = xp.minimum(missed, limit) if told is None else told + zeros_like(middle)
    worse = xp.concat(
        [archive.y[..., :count] + SIGNIFICANT * deviation[:, None, :count], archive.y[..., count:]], axis=-1
    )
    made = xp.where(among, place.mT @ xp.where(there[..., None], smooth, 0.0), worse)
    made = xp.where((limit > 0.0)[:, None, :], made, archive.y)
    return xp.where(noise.noisy[:, None, None], made, archive.y), xp.where(noise.noisy[:, None], missed, 0.0)


def compare_repeated(noise: NoiseState, archive: PointArchive, x: Array, ev: Evaluation) -> NoiseState:
    """The state after a call at x [B, D] that was asked for again, whose first values are in the archive.

    ev [B, k] has its answer first. A failed call, or one that the archive does not hold, tells nothing.
    """
    xp = namespace(x)
    same = xp.all(archive.x == x[:, None, :], axis=-1) & ~archive.failed
    before = rows(archive.y, xp.argmax(xp.astype(same, xp.int64), axis=-1)[:, None])[:, 0, :]
    return noise.compared(before, values_of(ev)[:, 0, :], xp.any(same, axis=-1) & ~ev.failed[:, 0])


def merit_deviation(noise: NoiseState, made: Expectation, multipliers: Array) -> Array:
    """Standard deviation of the merit [B], from f and the constraints that hold it back: multipliers [B, C] not 0."""
    xp = namespace(multipliers)
    pull = xp.where(multipliers != 0.0, made.weights.w, 0.0) * noise.deviation[:, 1:]
    return xp.sqrt(noise.deviation[:, 0] ** 2 + total(pull * pull))


def drop_insignificant(
    noise: NoiseState, made: Expectation, multipliers: Array, y: Array, merits: Array
) -> tuple[Array, Array]:
    """Values y [B, k, F] and merits [B, k] as a step is judged: what noise explains is as it was expected.

    Other points of the iteration, of which nothing was expected, count as worse by two deviations. Merits of failed
    points, inf, and runs that are not noisy stay as they are.
    """
    xp = namespace(merits)
    deviation = merit_deviation(noise, made, multipliers)[:, None]
    expected = (made.merit - made.foreseen)[:, None]
    first = expected + _excess_over(merits[:, :1] - expected, SIGNIFICANT * deviation)
    judged = xp.concat([first, merits[:, 1:] + SIGNIFICANT * deviation], axis=1)
    judged = xp.where(noise.noisy[:, None] & xp.isfinite(merits), judged, merits)
    step = made.value + _excess_over(y[:, 0, :] - made.value, SIGNIFICANT * noise.deviation)
    step = xp.where(noise.noisy[:, None], step, y[:, 0, :])
    return xp.concat([step[:, None, :], y[:, 1:, :]], axis=1), judged


def _excess_over(off: Array, room: Array) -> Array:
    """What differences `off` exceed a room >= 0 by, on either side, 0 within it; shapes that broadcast."""
    xp = namespace(off)
    return xp.where(off > room, off - room, xp.where(off < -room, off + room, 0.0))


def keep_radius(noise: NoiseState, made: Expectation, before: Region, after: Region) -> Region:
    """The region after a step; it does not shrink where the merit changes across it by hardly more than noise.

    A restart that would follow becomes a step. Where models of what decides a step miss more than noise explains, a
    smaller region helps them.
    """
    xp = namespace(after.delta)
    deviation = merit_deviation(noise, made, before.multipliers)
    decides = xp.concat([before.delta[:, None] > 0.0, before.multipliers != 0.0], axis=-1)
    lost = noise.noisy & (made.f_change < LEAST_CHANGE * deviation) & (after.delta < before.delta)
    lost = lost & ~xp.any(decides & noise.misfit, axis=-1)
    source = xp.where(lost & (after.next_source == PointSource.RESTART), PointSource.STEP, after.next_source)
    return after._replace(delta=xp.where(lost, before.delta, after.delta), next_source=source)


def told_noise(task: Task, like: Array) -> Array | None:
    """Standard deviations [1, F] that answers or the user told, in the type of like; None where nobody did."""
    found = None if task.noise is None else task.noise()
    return None if found is None else asarray_like(found[None], like)


def is_noisy(task: Task, like: Array) -> bool | None:
    """Whether values like [B, n, F] are noisy: by the task, or by standard errors that were told; None: not known."""
    if task.noisy is not None:
        return task.noisy
    told = told_noise(task, like)
    return True if told is not None and maybe_any(told > 0.0) else None


def final_calls(budget: int) -> int:
    """Calls at the end of a noisy run of a budget that confirm its answer: a tenth, but 3 to MOST_FINAL."""
    return min(MOST_FINAL, max(3, int(FINAL_SHARE * budget)))


def repeat_best(x: Array, source: Array, where: Array, best: Array, kind: int) -> tuple[Array, Array]:
    """Points x [B, k, D] and sources [B, k], the first replaced by best [B, D] and kind where [B] holds; copies."""
    xp = namespace(x)
    first = xp.where(where[:, None], best, x[:, 0, :])
    of = xp.where(where, kind, source[:, 0])
    return (
        xp.concat([first[:, None, :], x[:, 1:, :]], axis=1),
        xp.concat([of[:, None], source[:, 1:]], axis=1),
    )
