"""Steps, restarts and further points that weigh the probability of failure (failures.py).

Where a step is likely to fail, the program is solved again beside a plane, through where the way to it passes one of a
few levels of that probability P: searches can follow a border, and end on it. Of these steps the one is taken that
promises most,

    (what is foreseen) (1 - P)^6.                                                                       (1)

On the way from a point that did not fail to one that did, with nothing known in between, (1) goes a seventh of it: one
step of seven fails, and the gap still closes half as fast as by halving it, where every second one would.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from meco.core.arrays import Array, bounded, maybe_any, namespace, rows, total, zeros_like
from meco.tr.archive import PointArchive
from meco.tr.failure_border import BORDER_RADII
from meco.tr.failures import LIKELY, FailureModel, fit_everywhere, recent_points
from meco.tr.region import PointSource, Region
from meco.tr.run_subsets import choose_runs, put_runs, repeat_runs, slice_runs, take_runs
from meco.tr.step import Step, Subproblem, merit

LEVELS = (0.08, 0.16, 0.3)  # probabilities of failure that a step may keep to
ROOM = (0.1, 0.5, 1.0)  # or logits above the centre's
MOST_ROOM = 1.5
CAUTION = 6.0  # what is foreseen counts by this power of the probability not to fail
PLANES = 2  # that a step is cut by, one after another
WAY_POINTS = 24  # on the way of a step, of which the first beyond a level is found
END_SHARE = 1e-5  # of what a step would bring, that a search on a border goes on for
LEAST_KEPT_RISK = 0.01
SAME_SHARE = 0.05  # of a step, within which its end is that of another
SHORTENING, SHORTENINGS = 0.8, 6
MOST_HALVINGS = 6
TEST_SHARE = 0.03  # of what a step would bring, below which a border that is not sure is tested
CLEARLY_BEYOND, ENOUGH_TESTS = 2.2, 2  # logits of a point beyond it, and how many that failed make it sure
BORDER_RESTART_RADIUS = 3e-5  # below which a search that ends on a border starts again: each digit costs failures
RESTART_TRIES = 64  # points of which a restart is the first that is hardly more likely to fail than the best
RESTART_FACTOR, RESTART_LIMIT = 1.5, 0.1


class StepChoice(NamedTuple):
    """What a step is chosen from, for each of B runs."""

    step: Step  # that knows nothing of failures
    sub: Subproblem  # which it solves
    region: Region
    model: FailureModel  # of the failures around its centre
    now: Array  # [B] merit at the centre
    given: Any  # what solve() takes beside a subproblem: arrays [B, ...]

    def foreseen(self, step: Step) -> Array:
        """The decrease of the merit that the models foresee for a step: [B]; an increase is negative."""
        return self.now - merit(step.value, self.sub.n_ineq, step.weights)

    def logits_of(self, step: Step) -> Array:
        """Log odds that the point at the end of a step fails: [B]."""
        return self.model.logits((self.region.centre + self.region.reach * step.s)[:, None, :])[:, 0]

    @property
    def beside_border(self) -> Array:
        """Runs [B] in which failures have places and, if a border was looked for, one was found beside the centre."""
        return self.model.local if self.model.border is None else self.model.local & self.model.border.there


def weigh_failures(known: StepChoice, solve: Callable[[Subproblem, Any], Step]) -> tuple[Step, Subproblem]:
    """Of the step and those cut by planes, the one of largest (1), and the subproblem with its plane.

    Only runs in which failures have places and the step fails with a probability above LEVELS[0] are solved again; the
    others keep step and subproblem. solve(subproblem, given) makes a step.
    """
    doubtful = known.model.local & (known.logits_of(known.step) > math.log(LEVELS[0] / (1.0 - LEVELS[0])))
    if not maybe_any(doubtful):
        return known.step, known.sub
    if not doubtful.all():  # the others need no programs
        part, cut = _choose_most_promising(take_runs(known, doubtful), solve)
        return put_runs(known.step, part, doubtful), put_runs(known.sub, cut, doubtful)
    best, kept = _choose_most_promising(known, solve)
    return choose_runs(doubtful, (best, kept), (known.step, known.sub))


def _choose_most_promising(known: StepChoice, solve: Callable[[Subproblem, Any], Step]) -> tuple[Step, Subproblem]:
    """Of the step and one cut by a plane at each of LEVELS, that of largest (1), and the subproblem with its plane.

    All of them are solved in lockstep, in every run; solve(subproblem, given) makes a step.
    """
    xp, runs, count = namespace(known.now), known.now.shape[0], len(LEVELS)
    here = known.model.logits(known.region.centre[:, None, :])[:, 0]
    levels = [math.log(level / (1.0 - level)) for level in LEVELS]
    limit = xp.concat([xp.maximum(here + more, zeros_like(here) + level) for level, more in zip(levels, ROOM)])
    every = repeat_runs(known, count, runs)
    others, cut = _cut_step(every, limit, solve)
    others = _draw_back(every, others, limit)
    promise = _promise(every, others, xp.concat([here] * count))
    best = known.step, known.sub.normal, known.sub.distance, _promise(known, known.step, here)
    for first in range(0, count * runs, runs):
        other = slice_runs((others, cut.normal, cut.distance, promise), first, first + runs, count * runs)
        best = choose_runs(other[-1] > best[-1], other, best)
    step, normal, distance, _ = best
    return step, known.sub._replace(normal=normal, distance=distance)


def runs_testing_border(known: StepChoice, chosen: Step, archive: PointArchive, failed_row: Array) -> Array:
    """Runs [B] that take the step that knows nothing of failures, to see whether the border beside them is one.

    All of this must hold: a border is beside the centre, the chosen step keeps less than TEST_SHARE of the decrease
    that the other foresees, fewer than ENOUGH_TESTS points failed at more than CLEARLY_BEYOND logits, and the last
    point did not fail, failed_row [B].
    """
    xp, border, whole = namespace(known.now), known.model.border, known.foreseen(known.step)
    little = known.foreseen(chosen) < TEST_SHARE * whole
    wanted = known.beside_border & (whole > 0.0) & little & (failed_row == 0)
    if border is None or not maybe_any(wanted):
        return wanted & False
    x = xp.where(xp.isfinite(archive.x), archive.x, known.region.centre[:, None, :])
    beyond = archive.failed & (border.logits(x) > CLEARLY_BEYOND)
    return wanted & (xp.sum(xp.astype(beyond, xp.int64), axis=-1) < ENOUGH_TESTS)


def _draw_back(known: StepChoice, step: Step, limit: Array) -> Step:
    """The step; where its end is above a limit of logits [B], up to the last of WAY_POINTS on its way that is not.

    They lie denser near the centre. Where all of them are above the limit, a very short step is left.
    """
    xp, region = namespace(limit), known.region
    shares = xp.arange(1, WAY_POINTS + 1, dtype=step.s.dtype, device=step.s.device)[None, :, None] / WAY_POINTS
    shares = shares * shares * shares
    way = region.centre[:, None, :] + shares * (region.reach * step.s)[:, None, :]
    beyond = known.model.logits(way) > limit[:, None]
    bad = beyond[:, -1]
    share = ((xp.astype(_last_safe(beyond), step.s.dtype) + 1.0) / WAY_POINTS) ** 3
    share = xp.where(share > 0.0, share, (0.5 / WAY_POINTS) ** 3)
    s = xp.where(bad[:, None], share[:, None] * step.s, step.s)
    return step._replace(s=s, value=xp.where(bad[:, None], known.sub.values(s), step.value))


def _promise(known: StepChoice, step: Step, here: Array) -> Array:
    """Eq. (1) of a step from a centre at logits here [B], which did not fail: [B].

    Steps that are likely to fail promise less than any other.
    """
    xp, z, foreseen = namespace(here), known.logits_of(step), known.foreseen(step)
    safe = bounded((1.0 + xp.exp(here)) / (1.0 + xp.exp(z)), 1e-9, 1.0) ** CAUTION
    promise = xp.where(foreseen > 0.0, foreseen * safe, foreseen / safe)
    return xp.where(z > xp.maximum(here + MOST_ROOM, zeros_like(z)), -1e300 * (1.0 + bounded(z, 0.0, 100.0)), promise)


def _last_safe(beyond: Array) -> Array:
    """The index [B] of the last point of a way that is not beyond a level, beyond [B, n]; -1: all of them are.

    Others before it may be: a centre on a border lies among failures, and what counts is where a step ends.
    """
    xp, count = namespace(beyond), beyond.shape[-1]
    numbers = xp.arange(count, dtype=xp.int64, device=beyond.device)[None, :]
    return xp.max(xp.where(beyond, -1, numbers), axis=-1)


def _cut_step(known: StepChoice, level: Array, solve: Callable[[Subproblem, Any], Step]) -> tuple[Step, Subproblem]:
    """The step whose end keeps to a level of logits [B] as planes tell, and its subproblem with the last plane.

    Each of at most PLANES planes linearises the logits where the way of the last step passes the level, or is that of
    the border. Where they have no slope there is no plane, and the step stays.
    """
    step, cut, model, xp = known.step, known.sub, known.model, namespace(level)
    centre, reach = known.region.centre, known.region.reach
    shares = xp.arange(WAY_POINTS + 1, dtype=step.s.dtype, device=step.s.device)[None, :, None] / WAY_POINTS
    for _ in range(PLANES):
        z = model.logits(centre[:, None, :] + shares * (reach * step.s)[:, None, :])  # [B, n]
        beyond = z > level[:, None] + 1e-9
        bad = beyond[:, -1]
        if not maybe_any(bad):
            break
        first = xp.clip(_last_safe(beyond), min=0)[:, None]
        at = (xp.astype(first, step.s.dtype) / WAY_POINTS) * step.s
        slope = model.slope(centre + reach * at, reach) * reach
        size = xp.sqrt(total(slope * slope))
        usable = bad & (size > 0.0)
        size = xp.where(usable, size, 1.0)
        normal = slope / size[:, None]
        distance = total(normal * at) + (level - rows(z, first)[:, 0]) / size
        if (border := model.border) is not None:
            usable = usable | (bad & border.there)
            along, most = border.plane(step.s, level)
            normal = xp.where(border.there[:, None], along, normal)
            distance = xp.where(border.there, most, distance)
        wide = usable[:, None]
        cut = cut._replace(normal=xp.where(wide, normal, cut.normal), distance=xp.where(usable, distance, cut.distance))
        step = _solve_some(usable, step, solve, cut, known.given)
    return step, cut


def _solve_some(
    usable: Array, step: Step, solve: Callable[[Subproblem, Any], Step], cut: Subproblem, given: Any
) -> Step:
    """The step, solved again in the runs that are usable [B]; the others need no programs."""
    if usable.any() and not usable.all():
        return put_runs(step, solve(*take_runs((cut, given), usable)), usable)
    return choose_runs(usable, solve(cut, given), step)


def radius_survives_failure(risk: Array, local: Array, failed_row: Array) -> Array:
    """Runs [B] whose radius does not shrink should the step fail, as it does with probability risk [B].

    Where failures have places, local [B]: LEAST_KEPT_RISK < risk <= LIKELY, since the next step will keep off. Where
    they come by chance: the last point did not fail, failed_row [B].
    """
    return (~local & (failed_row == 0)) | (local & (risk > LEAST_KEPT_RISK) & (risk <= LIKELY))


def pass_failures(step: Step, sub: Subproblem, region: Region, archive: PointArchive, failed_row: Array) -> Step:
    """The step, halved for every failure in a row, failed_row [B], but the first, and kept off points that failed.

    At most MOST_HALVINGS times. Then it is multiplied by SHORTENING, at most SHORTENINGS times, while its end lies
    within SAME_SHARE of its length of a point that failed: the same call would fail again.
    """
    xp = namespace(step.s)
    row = xp.clip(failed_row, max=MOST_HALVINGS + 1)
    s = step.s * 0.5 ** xp.astype(xp.clip(row - 1, min=0), step.s.dtype)[:, None]
    apart = (archive.x - region.centre[:, None, :]) / region.reach[:, None, :]
    apart = xp.where(archive.failed[..., None] & xp.isfinite(apart), apart, xp.inf)
    for _ in range(SHORTENINGS):
        near = xp.min(xp.max(xp.abs(apart - s[:, None, :]), axis=-1), axis=-1)
        s = xp.where((near < SAME_SHARE * xp.max(xp.abs(s), axis=-1))[:, None], SHORTENING * s, s)
    moved = xp.any(s != step.s, axis=-1, keepdims=True)
    return step._replace(s=s, value=xp.where(moved, sub.values(s), step.value))


def leave_border(known: StepChoice, chosen: Step, region: Region) -> Region:
    """The region; next_source is a restart where the chosen step keeps less than END_SHARE of the foreseen decrease.

    Only beside a border, and where a step was to come next: each further digit would cost failures.
    """
    whole, source = known.foreseen(known.step), region.next_source
    little = known.foreseen(chosen) < END_SHARE * whole
    ended = known.beside_border & (whole > 0.0) & little & (source == PointSource.STEP)
    return region._replace(next_source=namespace(whole).where(ended, PointSource.RESTART, source))


def touches_failure(archive: PointArchive, region: Region) -> Array:
    """Runs [B] with a point that failed within BORDER_RADII sqrt(D) radii of the centre."""
    xp = namespace(region.delta)
    apart = (archive.x - region.centre[:, None, :]) / region.reach[:, None, :]
    return xp.any(archive.failed & (total(apart * apart) < BORDER_RADII**2 * apart.shape[-1]), axis=-1)


def safe_restart(archive: PointArchive, width: Array, u: Array, low: Array, high: Array, runs: Array) -> Array:
    """Numbers in (0, 1) [B, D] whose point between low and high [B, D] is hardly likelier to fail than the safest.

    Of runs [B] in which something failed they are the first such of RESTART_TRIES in a Kronecker sequence that begins
    at u [B, D], so that nothing is drawn; of other runs u itself. Failures are measured in widths [B, D].
    """
    x, failed = recent_points(archive)
    runs = runs & failed.any(axis=-1)
    if not runs.any():
        return u
    made = u.copy()
    made[runs] = _find_safe_numbers(*take_runs((x, failed, width, u, low, high), runs))
    return made


def _find_safe_numbers(x: Array, failed: Array, width: Array, u: Array, low: Array, high: Array) -> Array:
    """Numbers in (0, 1) [B, D] whose point between low and high [B, D] is hardly likelier to fail than the safest.

    Failures are learnt from points x [B, n, D], of which some failed [B, n], in widths [B, D]. They are the first such
    of RESTART_TRIES in a Kronecker sequence that begins at u [B, D]: nothing is drawn.
    """
    xp, dim = namespace(u), u.shape[-1]
    ratio = _golden_ratio(dim)
    k = xp.arange(RESTART_TRIES, dtype=u.dtype, device=u.device)[None, :, None]
    powers = xp.stack([zeros_like(u[:, 0]) + ratio ** -(j + 1.0) for j in range(dim)], axis=-1)
    tries = u[:, None, :] + k * powers[:, None, :]
    tries = tries - xp.floor(tries)
    risk = fit_everywhere(x, failed, width).risks(low[:, None, :] + tries * (high - low)[:, None, :])
    most = xp.maximum(RESTART_FACTOR * xp.min(risk, axis=-1), zeros_like(risk[:, 0]) + RESTART_LIMIT)
    chosen = xp.argmax(xp.astype(risk <= most[:, None], xp.int64), axis=-1)[:, None]
    return rows(tries, chosen)[:, 0, :]


def shorten_risky_steps(tries: Array, model: FailureModel, region: Region) -> Array:
    """Steps [B, n, D] in radii; where failures have places, those with P(failure) > LIKELY are multiplied by 0.3."""
    xp = namespace(tries)
    risk = model.risks(region.centre[:, None, :] + region.reach[:, None, :] * tries)
    return xp.where((risk > LIKELY)[..., None] & model.local[:, None, None], 0.3 * tries, tries)


def _golden_ratio(dim: int) -> float:
    """The root of r^(D + 1) = r + 1 (Roberts 2018): powers of 1 / r spread points evenly."""
    root = 2.0
    for _ in range(40):
        root = (1.0 + root) ** (1.0 / (dim + 1))
    return root
