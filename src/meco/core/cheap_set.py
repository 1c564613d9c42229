"""Constraints that cost nothing: the points of the unit cube that keep them, found and returned to without evaluations.

Values are asked for as often as one likes, slopes are differences of them. A point outside is moved by Newton's method
on the linearised constraints, each time to the nearest point that keeps these (Hildreth 1957); where that ends
elsewhere, towards points that are known to keep all of them. The same point is always moved to the same place.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from meco.core.box import Box
from meco.errors import InvalidInput

DIFFERENCE = 1e-6  # of the cube, over which slopes are taken
CURVATURE_DIFFERENCE = 1e-4  # of the cube, over which second derivatives are
SLACK = 1e-4  # of an equality, unless given
MARGIN = 1e-9  # by which a moved point lies inside, in units of what a constraint changes by across the cube
NEWTON_STEPS, SWEEPS = 25, 200
FIRST_SAMPLES, MOST_SAMPLES = 512, 16384  # random points among which a first inside one is looked for
ENOUGH = 24  # points inside that are kept to return to
POLISHED = 24  # of the best samples, which Newton's method starts from
GENERATIONS = 300  # of differential evolution on the violation, where samples have found nothing
SHARES = (0.98, 0.9, 0.75, 0.5, 0.25, 0.1, 0.03, 0.01)  # of the way from an inside point to one outside


class CheapSet:
    """c(x) <= 0, |c(x)| <= slack where equal, for the points of one box; values gives c [n, C] of points [n, D] in it.

    fixed [D] are variables that no slope moves: categories. start [n, D] are points to look at first, in the cube.
    """

    def __init__(
        self,
        values: Callable[[np.ndarray], np.ndarray],
        box: Box,
        equal: np.ndarray,
        slack: float | None,
        fixed: np.ndarray | None = None,
        names: Sequence[str] = (),
        start: np.ndarray | None = None,
    ) -> None:
        """Find points inside at once, which calls values; InvalidInput where none is found.

        Equal [C], fixed [D], start [n, D]. slack None: SLACK, or less where sampled values are below 1.
        """
        self._values, self.box, self.equal, self.names = values, box, equal, tuple(names)
        self._given_slack = slack
        self.slack: float | np.ndarray = SLACK if slack is None else slack  # of all, or [C]
        self.fixed = np.zeros(box.dim, dtype=bool) if fixed is None else fixed
        whole = np.zeros(box.dim, dtype=bool) if box.integer is None else np.asarray(box.integer)[0, 0]
        self.whole = whole & ~self.fixed  # ordered whole numbers
        lengths = np.where(box.lengths > 0.0, box.lengths, 1.0)
        self.spacing = np.where(whole, 1.0 / lengths, 0.0)
        self.walls = (0.0, 1.0) if box.range is None else (box.range.low, box.range.high)
        self.calls = 0  # points whose values were asked for
        self.moved = 0  # points that were moved before a call
        self.size = np.ones(equal.size)  # what each constraint changes by, to compare them by
        self.inside = np.zeros((0, box.dim))  # points that keep all of them
        self._find_inside(start)

    # -- values ------------------------------------------------------------------------------------

    def values(self, unit: np.ndarray) -> np.ndarray:
        """c [n, C] of points [n, D] of the cube; nan where the user's function fails. Counts its calls in `calls`."""
        self.calls += len(unit)
        return self._values(self.box.to_box(unit[None])[0])

    def violation(self, c: np.ndarray) -> np.ndarray:
        """By how much each of c [n, C] is broken, in units of its size: [n, C]; inf where it is nan."""
        over = np.where(self.equal, np.maximum(np.abs(c) - self.slack, 0.0), np.maximum(c, 0.0)) / self.size
        return np.where(np.isnan(over), np.inf, over)

    def satisfied_by(self, c: np.ndarray) -> np.ndarray:
        """Whether values c [n, C] keep all constraints: [n]; nan keeps none."""
        return np.all(np.where(self.equal, np.abs(c) <= self.slack, c <= 0.0), axis=-1)

    def contains(self, unit: np.ndarray) -> np.ndarray:
        """Whether points [n, D] of the cube keep all constraints: [n]. Calls the user's functions."""
        return self.satisfied_by(self.values(unit))

    def snap(self, unit: np.ndarray) -> np.ndarray:
        """Points [n, D] of the cube moved to the integers at which they are evaluated; themselves without integers."""
        if not np.any(self.spacing):
            return unit
        back = self.box.to_unit(self.box.to_box(unit[None])[0])
        return np.where(self.spacing > 0.0, back, unit)

    def linearise(self, unit: np.ndarray, *, wholes: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Values [C] and slopes [C, D] at a point [D] of the cube, by 1 + 2 D calls; nan where a call fails.

        Slopes along integers are 0, or with wholes=True differences over one of them.
        """
        low, high = self.walls
        reach = np.where(self.spacing > 0.0, self.spacing if wholes else 0.0, DIFFERENCE) * ~self.fixed
        up, down = np.minimum(unit + np.diag(reach), high), np.maximum(unit - np.diag(reach), low)
        c = self.values(np.concatenate([unit[None], up, down]))
        dim = unit.size
        width = np.diag(up - down)
        slopes = (c[1 : 1 + dim] - c[1 + dim :]) / np.where(width > 0.0, width, 1.0)[:, None]
        return c[0], np.where(np.isfinite(slopes), slopes, 0.0).T

    def curvature(self, unit: np.ndarray) -> np.ndarray:
        """Second derivatives [C, D, D] at a point [D], by differences of slopes.

        0 along integers and where not finite.
        """
        low, high = self.walls
        moving = np.flatnonzero((self.spacing == 0.0) & ~self.fixed)
        found = np.zeros((self.equal.size, unit.size, unit.size))
        for i in moving:
            ends = [unit.copy(), unit.copy()]
            ends[0][i] = np.minimum(unit[i] + CURVATURE_DIFFERENCE, np.broadcast_to(high, unit.shape)[i])
            ends[1][i] = np.maximum(unit[i] - CURVATURE_DIFFERENCE, np.broadcast_to(low, unit.shape)[i])
            if (width := ends[0][i] - ends[1][i]) > 0.0:
                found[:, :, i] = (self.linearise(ends[0])[1] - self.linearise(ends[1])[1]) / width
        found = 0.5 * (found + found.transpose(0, 2, 1))
        return np.where(np.isfinite(found), found, 0.0)

    # -- points outside ----------------------------------------------------------------------------

    def repair(self, unit: np.ndarray) -> np.ndarray:
        """Another array of points [n, D] in which those outside are moved to near ones inside.

        Counts them in `moved`.
        """
        outside = np.flatnonzero(~self.contains(unit))
        if not outside.size:
            return unit
        unit = unit.copy()
        for i in outside:
            unit[i] = self.nearest(unit[i])
        self.moved += len(outside)
        return unit

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """A point [D] that keeps all constraints, near x [D] of the cube but not always the nearest; never none."""
        x = np.clip(x, *self.walls)
        if (found := self._newton_rounded(x)) is not None:
            return found
        order = np.argsort(np.sum((self.inside - x) ** 2, axis=1))[:3]
        for anchor in self.inside[order]:
            way = self.snap(np.stack([anchor + share * (x - anchor) for share in SHARES]))
            kept = np.flatnonzero(self.contains(way))
            if kept.size and SHARES[kept[0]] >= 0.5:
                return way[kept[0]]
            half = self._newton_rounded(anchor + 0.5 * (x - anchor))
            if half is not None:
                return half
            if kept.size:
                return way[kept[0]]
        return self._sample_near(self.inside[order[0]], x)

    def _newton_rounded(self, x: np.ndarray) -> np.ndarray | None:
        """Where Newton's method from x [D] ends, with integers that are rounded; None where that is not inside."""
        found = self._newton_inside(self.snap(x[None])[0], wholes=False)
        if found is None and np.any(self.whole):
            near = self._newton_inside(x, wholes=True)
            found = None if near is None else self._newton_inside(self.snap(near[None])[0], wholes=False)
        return found

    def _newton_inside(self, x: np.ndarray, *, wholes: bool) -> np.ndarray | None:
        """Newton's method from x [D] to a point inside [D]; None where it does not get there or a call fails.

        With wholes integers move too, and stay unrounded.
        """
        best, least = x, np.inf
        for _ in range(NEWTON_STEPS):
            c, slopes = self.linearise(x, wholes=wholes)
            if not np.isfinite(c).all():
                return None
            if self.satisfied_by(c):
                return x
            worst = float(np.max(self.violation(c)))
            if worst < least:
                best, least = x, worst
            elif worst > 4.0 * least:
                x = 0.5 * (x + best)
                continue
            step = self._least_step(c, slopes, x)
            if not np.isfinite(step).all() or np.max(np.abs(step)) < 1e-14:
                return None
            x = np.clip(x + step, *self.walls)
        return x if self.contains(x[None])[0] else None

    def _least_step(self, c: np.ndarray, slopes: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The shortest step [D] from x [D] after which the linearised constraints hold, within the walls, or nearly so.

        c [C] are their values, slopes [C, D] as of linearise().
        """
        length = np.sqrt(np.sum(slopes * slopes, axis=1))
        used = length > 0.0
        normal = slopes[used] / length[used, None]
        aim = np.where(self.equal, 0.0, MARGIN * (self.size + length))
        level, equal = ((c + aim)[used] / length[used]), self.equal[used]
        low, high = (np.broadcast_to(wall, x.shape) - x for wall in self.walls)
        step, dual, gone = np.zeros(x.size), np.zeros(level.size), np.zeros(x.size)
        for _ in range(SWEEPS):
            before = step
            for i in range(level.size):
                over = level[i] + normal[i] @ step
                over = over if equal[i] else max(over, -dual[i])
                dual[i] += over
                step = step - over * normal[i]
            free = step + gone
            step = np.clip(free, low, high)
            gone = free - step
            if np.max(np.abs(step - before), initial=0.0) < 1e-13:
                break
        return step

    def _sample_near(self, anchor: np.ndarray, x: np.ndarray) -> np.ndarray:
        """A point inside [D] near an anchor [D] inside, which is given where none is found; x [D] seeds the draw."""
        draw = np.random.default_rng(zlib.crc32(np.ascontiguousarray(x).tobytes()))
        reach = np.abs(x - anchor) + 0.05
        for share in SHARES:
            tries = self.snap(np.clip(anchor + share * reach * draw.uniform(-1.0, 1.0, (16, x.size)), *self.walls))
            tries = np.where(self.fixed, anchor, tries)
            kept = np.flatnonzero(self.contains(tries))
            if kept.size:
                return tries[kept[0]]
        return anchor

    # -- the first points inside -------------------------------------------------------------------

    def _find_inside(self, start: np.ndarray | None) -> None:
        """Fill `inside` [m, D] and `size` [C] from given points [n, D], then samples, then a descent.

        Else InvalidInput.
        """
        draw, count = np.random.default_rng(0), FIRST_SAMPLES
        tried = np.zeros((0, self.box.dim)) if start is None else start
        middle = np.full((1, self.box.dim), 0.5)
        while True:
            sample = self.snap(np.concatenate([tried, middle, draw.random((count, self.box.dim))]))
            c = self.values(sample)
            spread = np.nanmedian(np.abs(np.where(np.isfinite(c), c, np.nan)), axis=0) if np.isfinite(c).any() else 1.0
            self.size = np.where(np.isfinite(spread) & (spread > 0.0), spread, 1.0) * np.ones(self.equal.size)
            if self._given_slack is None:
                self.slack = SLACK * np.minimum(self.size, 1.0)
            found = list(sample[self.satisfied_by(c)][:ENOUGH])
            worst = np.sum(np.minimum(self.violation(c), 1e6), axis=1)
            if len(found) < ENOUGH:
                starts = sample[np.argsort(worst, kind="stable")[: POLISHED + len(found)]]
                found += [y for y in map(self._newton_rounded, starts) if y is not None]
            self.inside = _drop_duplicates(np.array(found).reshape(-1, self.box.dim))
            if len(self.inside) or count >= MOST_SAMPLES:
                break
            tried, count = sample[np.argsort(worst, kind="stable")[:POLISHED]], 4 * count
        if not len(self.inside):
            self._minimise_violation(sample[np.argsort(worst, kind="stable")], draw)

    def _minimise_violation(self, population: np.ndarray, draw: np.random.Generator) -> None:
        """Fill `inside` by differential evolution of the violation from the best of a population [n, D].

        Raises InvalidInput, with the least violation found, where no point keeps all constraints.
        """
        size = min(max(20, 6 * self.box.dim), len(population))
        x = population[:size]
        worst = np.sum(np.minimum(self.violation(self.values(x)), 1e6), axis=1)
        for generation in range(GENERATIONS):
            a, b, c = (draw.integers(size, size=size) for _ in range(3))
            base = x[np.argmin(worst)] if generation % 2 else x[a]
            trial = x + 0.5 * (base - x) + draw.uniform(0.3, 0.9, (size, 1)) * (x[b] - x[c])
            trial = np.where(draw.random(x.shape) < 0.8, trial, x)
            trial = self.snap(np.clip(trial, *self.walls))
            new = np.sum(np.minimum(self.violation(self.values(trial)), 1e6), axis=1)
            x, worst = np.where((new <= worst)[:, None], trial, x), np.minimum(new, worst)
            if generation % 20 == 19 or np.min(worst) == 0.0:
                best = x[np.argsort(worst, kind="stable")[:4]]
                found = [y for y in map(self._newton_rounded, best) if y is not None]
                if found:
                    self.inside = np.array(found)
                    return
        best = x[np.argmin(worst)]
        over = self.violation(self.values(best[None]))[0]
        i = int(np.argmax(over))
        name = self.names[i] if i < len(self.names) else f"number {i + 1}"
        raise InvalidInput(
            f"no point was found that keeps the cheap constraints: after {self.calls} of their calls {name} is the "
            f"worst, over by {over[i] * self.size[i]:.6g}; give x0= with a point that keeps them, or look at it"
        )

    def centre(self) -> np.ndarray:
        """The point inside [D] nearest to the mean of those found: where a search begins."""
        middle = np.mean(self.inside, axis=0)
        found = self.nearest(self.snap(middle[None])[0])
        near = np.concatenate([found[None], self.inside])
        return near[np.argmin(np.sum((near - middle) ** 2, axis=1))]


def _drop_duplicates(points: np.ndarray) -> np.ndarray:
    """Points [n, D] without those within 1e-9 of earlier ones, in their order: [m, D]."""
    kept: list[np.ndarray] = []
    for x in points:
        if all(np.max(np.abs(x - y)) > 1e-9 for y in kept):
            kept.append(x)
    return np.array(kept).reshape(-1, points.shape[1])


class CheapLimits(NamedTuple):
    """What an engine is told of constraints that cost nothing: the set, and where its values stand among all."""

    inside: CheapSet
    places: Callable[[], np.ndarray]  # [C] each one's place among the constraints, -1 where it has none
