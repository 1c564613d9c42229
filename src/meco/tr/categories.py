"""Categories in the model engine: one quadratic for every combination, alike where their categories are alike.

A variable without numbers has no slope. Values of a function at points a and b, with coordinates u of the other
variables and categories v, are taken for those of a Gaussian process with the covariance

    k(v_a, v_b) [lambda + tau u_a . u_b + (u_a . u_b)^2 / 2],   lambda = tau L^2,                         (1)

so that each combination of categories has a quadratic of its own, and learns from the others by their likeness

    k(v, w) = (mean_i S_i(v_i, w_i) + prod_i S_i(v_i, w_i)) / 2,                                        (2)

of which the mean lets the effect of one category be known from any combination. S_i is learnt: what exchanging two
values of variable i has changed in f and in the constraints so far places them in a space with an axis for each
function, and S_i falls with their distance there; before there are answers all are equally unlike, or as far apart as
their places where they are ordered. Nothing grows with the number of categories but the table S_i.

An exchange moves to another combination of one or two categories, where (1) expects least at its optimistic end. It
takes turns with steps, which keep the categories of the centre. For the one run of a task, in NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meco.core.engine import Task
from meco.core.rule import best
from meco.tr.archive import SAME_POINT, PointArchive, as_evaluation
from meco.tr.category_likeness import learn_likeness
from meco.tr.controls import ControlValues
from meco.tr.initial_design import star, star_size
from meco.tr.lattice import Lattice
from meco.tr.merit import MERIT, Weights, violated_at_all_points
from meco.tr.model_fit import LocalFit, model_size, nearest_points
from meco.tr.partial_answers import choose_centre, group_functions, values_at
from meco.tr.quadratic import Quadratic, least_change
from meco.tr.region import PointSource, Region
from meco.tr.step import Subproblem, merit, relaxed_step

MOST_POINTS = 260  # that models are fitted to
FAR_NOISE = 0.1  # share of its variance by which the value of a far point may be no quadratic's
LEVEL_LENGTH = 0.3  # of the cube: levels of two combinations differ by what a slope makes of that, whatever the region
OPTIMISM = 0.5  # standard errors by which an exchange is thought better than expected
REFINED = 4  # exchanges whose other variables are chosen by a program of their own
WIDEST = 0.15  # radius in which they are, at least
PARTIAL_WEIGHT = 10.0  # of constraints in an exchange where a violated one leaves f untold
MOST_PAIRS = 400  # of exchanges made together that are looked at
DRAWN = 40  # combinations drawn by chance that are, too
DRAWN_EXCHANGES = 3.0  # that such a one has, on average
LATIN_ARMS = 2  # times D: more single exchanges than that are made together in the first points


class CategoryFit(NamedTuple):
    """Points u [m, D] and places v [m, K] of a fit around a centre, its weights and inverse covariance."""

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray  # [m, F]
    inverse: np.ndarray  # [m, m]
    amplitude: np.ndarray  # [F] of each function's process
    likeness: list[np.ndarray]  # S_i [k_i, k_i]
    here: np.ndarray  # [K] of the centre
    unit: np.ndarray  # [D] of u in the cube
    tau: float
    level: float  # lambda of eq. (1)


class CategoryMoves:
    """Fits, steps and exchanges of a task with categories.

    fit() leaves fit_here, which the exchanges of the same iteration are made of; it is not saved with a search.
    """

    def __init__(self, task: Task, lattice: Lattice | None) -> None:
        """For a task with categories and its lattice, if it has one; nothing is fitted yet."""
        assert task.categories is not None
        self.task, self.lattice = task, lattice
        self.columns, self.counts, self.ordered = task.categories
        self.held = np.zeros(task.dim, dtype=bool)
        self.held[self.columns] = True
        self.fit_here: CategoryFit | None = None

    # -- places ------------------------------------------------------------------------------------

    def places(self, x: np.ndarray) -> np.ndarray:
        """The category of each of K variables at points x [n, D] of the cube, or the nearest: [n, K] integers."""
        return np.clip(np.round(x[:, self.columns] * (self.counts - 1)), 0, self.counts - 1).astype(int)

    def put_places(self, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Copies of points x [n, D] with the categories of places [n, K]."""
        x = x.copy()
        x[:, self.columns] = places / (self.counts - 1.0)
        return x

    def first_points(self, radii: np.ndarray) -> np.ndarray:
        """Given points or the middle, a star of radii [D] along other variables, and every category once: [n, D]."""
        task = self.task
        return self.first_points_around(np.full((1, task.dim), 0.5) if task.x0 is None else np.asarray(task.x0), radii)

    def first_points_around(self, given: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Given points [n, D], and a star of radii [D] and exchanges around the first of them: [m, D].

        Given points go to their nearest categories. Of more than 2 D of them these alone.
        """
        task, given = self.task, self.put_places(given, self.places(given))
        if len(given) > 2 * task.dim:
            return given
        free = np.flatnonzero(~self.held)
        arms = star(given[0], 2 * task.dim, radii, task.walls)
        arms = arms[np.isin(np.arange(2 * task.dim) % task.dim, free)]
        points = np.concatenate([arms[: len(free)], self._exchange_each(given[0]), arms[len(free) :]])
        return np.concatenate([given, points[: star_size(task.dim, task.budget - len(given)) * 2]])

    def _exchange_each(self, x: np.ndarray) -> np.ndarray:
        """A point x [D] with every other category once: [n, D].

        One category at a time, or one of each variable at once where there are more than LATIN_ARMS D of them.
        """
        here = self.places(x[None])[0]
        others = [[(here[i] + j) % k for j in range(1, k)] for i, k in enumerate(self.counts)]
        if sum(map(len, others)) <= LATIN_ARMS * self.task.dim:
            made = [np.where(np.arange(len(here)) == i, v, here) for i, each in enumerate(others) for v in each]
        else:
            made = [np.array([each[t % len(each)] for each in others]) for t in range(max(map(len, others)))]
        return self.put_places(np.repeat(x[None], len(made), axis=0), np.array(made))

    # -- likeness ----------------------------------------------------------------------------------

    def learn_likeness(self, archive: PointArchive) -> list[np.ndarray]:
        """S_i [k_i, k_i] of eq. (2) for each variable, from all answers that did not fail.

        From whole answers alone where these are more than a third.
        """
        ok = ~archive.failed[0]
        if archive.partial and np.sum(whole := ~np.any(archive.missing[0], axis=1)) > len(ok) // 3:
            ok = whole
        x, y = archive.x[0][ok], archive.y[0][ok]
        return learn_likeness(x[:, ~self.held], self.places(x), y, self.counts, self.ordered)

    def _likeness_between(self, likeness: list[np.ndarray], v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Eq. (2) by tables S_i [k_i, k_i] of every variable, for places v [m, K] and w [n, K]: [m, n]."""
        each = [s[np.ix_(v[:, i], w[:, i])] for i, s in enumerate(likeness)]
        product = np.ones_like(each[0])
        for one in each:
            product = product * one
        return 0.5 * (sum(each) / len(each) + product)

    def _covariance(self, fit: CategoryFit, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Eq. (1) of values at the fitted points and at u [n, D], v [n, K], each less the centre's: [m, n]."""
        inner = fit.u @ u.T
        here = fit.here[None]
        alike = self._likeness_between(fit.likeness, fit.v, v)
        level = (
            alike
            - self._likeness_between(fit.likeness, fit.v, here)
            - self._likeness_between(fit.likeness, here, v)
            + 1.0
        )
        return fit.level * level + alike * (inner * (0.5 * inner + fit.tau))

    # -- models ------------------------------------------------------------------------------------

    def fit(
        self, archive: PointArchive, region: Region, controls: ControlValues, eta: np.ndarray
    ) -> tuple[Region, LocalFit]:
        """The region around the point of least merit, with the quadratics of its combination, and the fit around it.

        controls are [1] each, eta [1, F] is the roughness of each function. Sets fit_here, which the exchanges of this
        iteration are made of. Where all points since the restart failed, the centre is the middle, but for its
        categories; models that are not finite become 0. Without any point to fit the span is 0 and nothing is unmet.
        """
        if archive.partial:
            chosen, blind = choose_centre(archive, region)
            value = values_at(archive, chosen)
        else:
            left_out = archive.failed | (archive.restart_index < region.restart_index[:, None])
            key, blind = MERIT.values(archive.evaluation(), region.weights), np.all(left_out, axis=1)
            chosen = int(best(key.last_where(left_out))[0])
            value = archive.y[:, chosen]
        centre = archive.x[:, chosen]
        if blind[0]:
            centre = self.put_places(np.full_like(centre, 0.5), self.places(centre))
        width = region.width_in_force
        tau = float(controls.gradient_freedom[0])
        few, spread, farthest = self._select_points(archive, centre[0], width[0])
        fit = self._fit_process(archive, few, centre[0], value[0], spread * width[0], tau, float(controls.roughness[0]))
        self.fit_here = fit
        models = self.quadratic_at(fit, fit.here).rescaled((1.0 / fit.unit)[None])
        if not models.finite.all():
            models = Quadratic.zero(models.gradient.shape, centre)
        own, own_spread = self._fit_own_combination(archive, region, centre, value, controls, eta, width)
        y = archive.y[0][few]
        span = np.max(np.abs(y - value), axis=0, initial=0.0, keepdims=True)
        unmet = np.zeros(value[:, 1:].shape, dtype=bool)
        if len(few):
            unmet = violated_at_all_points(y[None, :, 1:], archive.n_ineq, region.weights.tolerance)
        local = LocalFit(value, own, own_spread, np.array([farthest]), span, unmet, blind, None)
        return region._replace(centre=centre, models=models), local

    def _select_points(self, archive: PointArchive, centre: np.ndarray, width: np.ndarray) -> tuple[Any, float, float]:
        """Rows [m] of points to fit, nearest to a centre [D] first; their spread; their farthest distance.

        m is at most MOST_POINTS. Both distances are in widths [D], of those points that a quadratic needs; points of
        other categories count as farther, failed ones are left out. The spread is 1 where all points are one.
        """
        apart = (archive.x[0] - centre) / width
        apart = np.where(self.held, 0.0, apart)
        square = np.sum(apart * apart, axis=1)
        changed = np.sum(self.places(archive.x[0]) != self.places(centre[None]), axis=1)
        order = np.lexsort([square, np.where(archive.failed[0], np.inf, square * (1.0 + changed))])
        order = order[~archive.failed[0][order]][:MOST_POINTS]
        near = square[order[: model_size(int(np.sum(~self.held)))]]
        spread = float(np.sqrt(np.mean(near))) if near.size else 1.0
        return order, spread if spread > 0.0 else 1.0, float(np.sqrt(np.max(near, initial=0.0)))

    def _fit_process(
        self, archive: PointArchive, few: Any, centre: np.ndarray, value: np.ndarray, unit: np.ndarray, tau: float,
        smooth: float,
    ) -> CategoryFit:  # fmt: skip
        """Fit eq. (1) to the rows `few` of the archive, around a centre [D] with values [F], in units [D] of the cube.

        smooth is eta; far points are met roughly, up to FAR_NOISE of their variance. Functions that are missing at
        points are fitted without them.
        """
        x = archive.x[0][few]
        u = np.where(self.held, 0.0, (x - centre) / unit)
        v, here = self.places(x), self.places(centre[None])[0]
        y = archive.y[0][few] - value
        level = tau * (LEVEL_LENGTH / float(np.mean(unit[~self.held]))) ** 2 if not self.held.all() else tau
        blank = CategoryFit(u, v, y, u, value, self.learn_likeness(archive), here, unit, tau, level)
        k = self._covariance(blank, u, v)
        own = np.diag(k).copy()
        square = np.sum(u * u, axis=1)
        far = FAR_NOISE * np.maximum(0.0, 1.0 - 1.0 / np.maximum(square, 1e-300))
        k[np.diag_indices_from(k)] += smooth * (1.0 + tau) + far * own
        size = 1.0 / np.sqrt(np.diag(k))
        inverse = np.linalg.inv(k * np.outer(size, size) + 1e-12 * np.eye(len(k))) * np.outer(size, size)
        w = inverse @ y
        if archive.partial:
            w = _solve_gaps(w, y, k, archive.missing[0][few])
        amplitude = np.sqrt(np.maximum(np.sum(y * w, axis=0) / max(len(y), 1), 0.0))
        return blank._replace(w=w, inverse=inverse, amplitude=amplitude)

    def quadratic_at(self, fit: CategoryFit, places: np.ndarray) -> Quadratic:
        """Models [1, F] of a combination, places [K], around the centre in units of the fit, without its level."""
        alike = self._likeness_between(fit.likeness, fit.v, places[None])[:, 0]
        w = fit.w * alike[:, None]
        gradient = fit.tau * (w.T @ fit.u)
        hessian = np.einsum("mf,mi,mj->fij", w, fit.u, fit.u)
        return Quadratic(gradient[None], hessian[None])

    def predict_changes(self, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Changes from the centre that fit_here expects at u [n, D], v [n, K], and standard errors: [n, F] each."""
        fit = self.fit_here
        assert fit is not None
        cross = self._covariance(fit, u, v)
        inner = np.sum(u * u, axis=1)
        alike = self._likeness_between(fit.likeness, fit.here[None], v)[0]
        own = fit.level * 2.0 * (1.0 - alike) + inner * (0.5 * inner + fit.tau)
        variance = np.maximum(own - np.sum(cross * (fit.inverse @ cross), axis=0), 0.0)
        return cross.T @ fit.w, np.sqrt(variance)[:, None] * fit.amplitude

    def _fit_own_combination(
        self, archive: PointArchive, region: Region, centre: np.ndarray, value: np.ndarray, controls: ControlValues,
        eta: np.ndarray, width: np.ndarray,
    ) -> tuple[Any, np.ndarray]:  # fmt: skip
        """A fit to points of the categories of the centre [1, D] alone, in widths [1, D], and their spread [1].

        value [1, F] are those at the centre, eta [1, F] their roughness. Geometry points and checks of models are made
        of it; its models are not used.
        """
        same = np.all(self.places(archive.x[0]) == self.places(centre), axis=1)[None] & ~archive.failed
        few = _Subset(archive, ~same)
        u, y, there = nearest_points(few, centre, value, model_size(self.task.dim), width)
        u = np.where(self.held, 0.0, u)
        spread = np.sqrt(np.sum(u * u, axis=(1, 2)) / np.maximum(there, 1.0))
        spread = np.where(spread > 0.0, spread, 1.0)
        prior = Quadratic.zero(region.models.gradient.shape, centre)
        scaled = u / spread[:, None, None]
        _, fit = least_change(
            prior, scaled, y - value[:, None, :], controls.gradient_freedom, [controls.roughness], eta
        )
        return fit, spread

    def hold_categories(self, sub: Subproblem) -> Subproblem:
        """The subproblem of a step that keeps the categories of the centre: along them low and high [1, D] are 0."""
        return sub._replace(low=np.where(self.held, 0.0, sub.low), high=np.where(self.held, 0.0, sub.high))

    # -- exchanges ---------------------------------------------------------------------------------

    def take_turns(
        self, x: np.ndarray, source: np.ndarray, archive: PointArchive, sub: Subproblem, region: Region,
        weights: Weights, foreseen: float, told: int,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Points x [1, k, D] of an iteration and their sources [1, k], some of them replaced by exchanges; copies.

        Of a batch every second one; a single step after every second answer, told being their number. foreseen is the
        decrease of merit that an exchange must beat. Of a restart the first point gets other categories. Draws numbers
        where something is replaced.
        """
        count = x.shape[1]
        if source[0, 0] == PointSource.RESTART:
            return self._draw_restart(x), source
        turns = list(range(1, count, 2))
        if count == 1 and source[0, 0] == PointSource.STEP and told % 2 == 1:
            turns = [0]
        if not turns:
            return x, source
        found = self._find_exchanges(x[0], archive, sub, region, weights, foreseen, len(turns))
        x, source = x.copy(), source.copy()
        for k, point in zip(turns, found):
            x[0, k], source[0, k] = point, PointSource.GEOMETRY
        return x, source

    def _draw_combinations(self, here: np.ndarray) -> np.ndarray:
        """Other combinations [n, K], each once, than that of the centre, here [K].

        All with one exchange, up to MOST_PAIRS with two, and DRAWN random ones: one block of numbers is drawn.
        """
        kinds, u = len(here), self.task.rng.uniform(DRAWN, 2 * len(here))[0]
        single = [_exchange(here, {i: v}) for i, k in enumerate(self.counts) for v in range(k) if v != here[i]]
        pairs = [
            _exchange(a, {i: v})
            for a in single
            for i, k in enumerate(self.counts)
            for v in range(k)
            if v != here[i] and i > int(np.flatnonzero(a != here)[0])
        ]
        if len(pairs) > MOST_PAIRS:
            pairs = [pairs[int(j * len(pairs) / MOST_PAIRS)] for j in range(MOST_PAIRS)]
        drawn = np.where(u[:, :kinds] < DRAWN_EXCHANGES / kinds, np.floor(u[:, kinds:] * self.counts), here)
        every = np.unique(np.concatenate([single, *([pairs] if pairs else []), drawn]).astype(int), axis=0)
        return every[np.any(every != here, axis=1)]

    def _find_exchanges(
        self, points: np.ndarray, archive: PointArchive, sub: Subproblem, region: Region, weights: Weights,
        foreseen: float, count: int,
    ) -> list[np.ndarray]:  # fmt: skip
        """Up to `count` exchanges [D], the most hopeful first, that may be better than the step; [] without any.

        points [k, D] are those of the iteration, the step first. None lies where a point was evaluated before; foreseen
        is the decrease of merit to beat.
        """
        fit = self.fit_here
        assert fit is not None
        centre, weights = region.centre[0], _weigh_all(sub, weights, PARTIAL_WEIGHT if archive.partial else 1.0)
        every = self._draw_combinations(fit.here)
        step = np.where(self.held, 0.0, (points[0] - centre) / fit.unit)
        starts = [np.zeros_like(step), step]
        hopes = np.stack(
            [self._optimistic_merits(np.repeat(u[None], len(every), axis=0), every, sub, weights) for u in starts]
        )
        order = np.argsort(np.min(hopes, axis=0), kind="stable")
        now = float(merit(sub.value, sub.n_ineq, weights)[0])
        made: list[tuple[float, np.ndarray]] = []
        for i in order[: max(REFINED, count)]:
            u = self._refine_exchange(every[i], sub, region, weights)
            tried = np.stack([*starts, u])
            hope = self._optimistic_merits(tried, np.repeat(every[i][None], len(tried), axis=0), sub, weights)
            for j in np.argsort(hope, kind="stable"):
                x = self.put_places(np.clip(centre + tried[j] * fit.unit, *self.task.walls)[None], every[i][None])
                x = x if self.lattice is None else self.lattice.snap(x[None])[0]
                if np.min(np.max(np.abs(archive.x[0] - x), axis=1)) > SAME_POINT:
                    made.append((float(hope[j]), x[0]))
                    break
        made.sort(key=lambda pair: pair[0])
        return [x for hope, x in made[:count] if hope < now - max(foreseen, 0.0)]

    def _optimistic_merits(self, u: np.ndarray, v: np.ndarray, sub: Subproblem, weights: Weights) -> np.ndarray:
        """Merits [n] at u [n, D], v [n, K] if every function came out OPTIMISM standard errors better than expected."""
        change, error = self.predict_changes(u, v)
        y = sub.value + change
        f = y[:, :1] - OPTIMISM * error[:, :1]
        g = y[:, 1 : 1 + sub.n_ineq] - OPTIMISM * error[:, 1 : 1 + sub.n_ineq]
        h = y[:, 1 + sub.n_ineq :]
        h = np.sign(h) * np.maximum(np.abs(h) - OPTIMISM * error[:, 1 + sub.n_ineq :], 0.0)
        better = np.concatenate([f, g, h], axis=1)[None]
        ev = as_evaluation(better, sub.n_ineq, np.zeros(better.shape[:2], dtype=bool))
        return MERIT.values(ev, weights).minor[0]

    def _refine_exchange(self, places: np.ndarray, sub: Subproblem, region: Region, weights: Weights) -> np.ndarray:
        """Where the quadratics of a combination, places [K], have their step: u [D] in units of the fit.

        In the region, but at least WIDEST of the widths; 0 along categories.
        """
        fit = self.fit_here
        assert fit is not None
        level, _ = self.predict_changes(np.zeros((1, self.task.dim)), places[None])
        delta = max(float(region.delta[0]), WIDEST)
        reach = delta * region.width[0]
        low, high = ((np.broadcast_to(wall, reach.shape) - region.centre[0]) / reach for wall in self.task.walls)
        models = self.quadratic_at(fit, places).rescaled((reach / fit.unit)[None])
        there = sub._replace(
            models=models, value=sub.value + level, low=np.where(self.held, 0.0, np.maximum(low, -1.0))[None],
            high=np.where(self.held, 0.0, np.minimum(high, 1.0))[None], distance=np.full(1, np.inf),
            margin=0.0 * sub.margin,
        )  # fmt: skip
        step = relaxed_step(there, np.zeros(1), region.multipliers, weights)
        return np.nan_to_num(step.s[0]) * reach / fit.unit

    def _draw_restart(self, x: np.ndarray) -> np.ndarray:
        """A copy of points x [1, k, D] of which the first, to start again from, has half of its categories drawn anew.

        The others are those of the last centre. Draws one block of numbers.
        """
        x = x.copy()
        here = self.fit_here.here if self.fit_here is not None else self.places(x[0, :1])[0]
        u = self.task.rng.uniform(2, len(here))[0]
        x[0, :1] = self.put_places(x[0, :1], np.where(u[0] < 0.5, np.floor(u[1] * self.counts), here)[None])
        return x


class _Subset:
    """EvaluatedPoints of an archive, of which others count as failed [B, n]."""

    def __init__(self, archive: PointArchive, failed: np.ndarray) -> None:
        self.x, self.y, self.failed = archive.x, archive.y, failed


def _weigh_all(sub: Subproblem, weights: Weights, factor: float) -> Weights:
    """Weights [1, C] of at least `factor` times f's change over each constraint's among the fitted points.

    So constraints count that do not hold the centre back: elsewhere they may. One that does not change keeps its
    weight.
    """
    span = sub.span[:, 1:]
    return weights.raised(np.where(span > 0.0, factor * sub.span[:, :1] / np.where(span > 0.0, span, 1.0), 0.0))


def _solve_gaps(w: np.ndarray, y: np.ndarray, k: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Weights w [m, F] of values y [m, F] with covariance k [m, m], solved without those that are missing [m, F].

    They are 0 there, and everywhere for a function that is known nowhere. w itself is not changed.
    """
    w = w.copy()
    for columns, gaps in group_functions(missing):
        known = ~gaps
        if gaps.any():
            w[:, columns] = 0.0
            if known.any():
                w[np.ix_(known, columns)] = np.linalg.solve(k[np.ix_(known, known)], y[np.ix_(known, columns)])
    return w


def _exchange(places: np.ndarray, other: dict[int, int]) -> np.ndarray:
    """A copy of places [K] with those of some variables replaced, other: index -> place."""
    found = places.copy()
    found[list(other)] = list(other.values())
    return found


def make_category_moves(task: Task, lattice: Lattice | None) -> CategoryMoves | None:
    """Moves for the categories of a task; None where it has none."""
    return None if task.categories is None else CategoryMoves(task, lattice)
