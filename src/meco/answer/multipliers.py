"""Lagrange multipliers at an evaluated point, from the values around it: right, or not told.

Gradients come from a Gaussian process over quartics that is known at the point itself,

    K_ij = tau s + s^2 / 2 + kappa s^3 / 6 + kappa^2 s^4 / 24,   s = u_i . u_j,                       (1)

whose tau and kappa are the most likely ones of each function. Its posterior says how far a gradient may be off,
however the points lie and the function bends: far points count for little where it bends much. The multipliers are
those that bring

    r = grad f + sum_i lambda_i grad c_i + (bounds),   lambda_i >= 0 of inequalities,                  (2)

nearest to zero, over the constraints and bounds that the point is close to. The Karush-Kuhn-Tucker conditions hold
where r is small and leads nowhere by the curvature of the Lagrangian. A multiplier is told where the errors of the
gradients, r, and the way to the boundary move it by little, and where two sets of points tell the same, which differ
in more than one point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CLOSE = 1e-3  # of the unit cube: how far from a limit the point may be for the limit to be active
MOST_RESIDUAL = 0.02  # of the gradient of f: a larger r is no stationary point
FLAT_RESIDUAL = 1e-5  # of the gradient of f: a smaller part of r leads nowhere
MOST_STEP = 5e-3  # of the unit cube: where r leads further, the point is not stationary
FLAT_SLOPE = 1e-3  # of the usual slope of f: a smaller gradient is none
MOST_ERROR = 0.03  # of a multiplier: one that may be off by more is not told
NO_PRICE = 1e-3  # of the gradient of f: a multiplier that surely makes up less is none
DEVIATIONS = 4.0  # standard deviations of a gradient that count as its error
LEAST_DISTANCES = (1e-7, 1e-5, 1e-3)  # of the unit cube: nearer points tell of rounding, or of noise
POOL, POOL_NUMBERS = 3000, 3_000_000  # nearest points to choose from, and their values, at most
NEW_DIRECTION = 0.4  # the least part of a direction that others do not have, for it to count as new
MOST_POINTS = 400  # that gradients are fitted to, or 2 D + 1
MANY_VARIABLES, MOST_VARIABLES = 40, 300  # from which on less is tried, and nothing
MANY_EVALUATIONS = 1500  # from which on sets of points are cut, and two that say so suffice: it has not converged
RIDGE = 1e-11  # of the diagonal of K: rounding
TAUS = (1e-2, 1.0, 1e2, 1e4, 1e7)
KAPPAS = (1e-2, 1.0, 1e2)

NOT_STATIONARY = "the search has not converged here"
TOO_MANY_VARIABLES = f"there are more than {MOST_VARIABLES} variables"
TOO_FEW_POINTS = "there are too few points around it"
NOT_KNOWN_WELL = "the points around it do not tell the slopes well enough"
NOT_UNIQUE = "it repeats another limit, so that its own part cannot be told"


class LimitMultipliers(NamedTuple):
    """Multipliers of constraints [C] and of the lower and upper ends of variables [2, D], nan where one is not told.

    residual is the length of r as a share of the gradient of f. reasons says why one is not told, by index: constraints
    first, then lower ends, then upper ends.
    """

    constraints: np.ndarray
    bounds: np.ndarray
    residual: float
    reasons: dict[int, str]


class Slopes(NamedTuple):
    """Gradient [D], its covariance [D, D] and Hessian [D, D] of one function at the point."""

    gradient: np.ndarray
    covariance: np.ndarray
    hessian: np.ndarray


def find_multipliers(
    u: np.ndarray, y: np.ndarray, at: np.ndarray, value: np.ndarray, n_ineq: int, room: np.ndarray
) -> LimitMultipliers:
    """Multipliers at the point `at` [D] of the unit cube with f, g and h in value [1 + C], from points u [n, D] and y.

    y [n, 1 + C] are values of the same functions, all of them finite. room [2, D] is how far `at` is from the lower and
    the upper end of each variable, inf where there is none. The multipliers are in units of the cube.
    """
    n_constraints, dim = len(value) - 1, len(at)
    if dim > MOST_VARIABLES:
        return _tell_nothing(n_constraints, dim, TOO_MANY_VARIABLES)
    offset = u - at
    apart = np.sqrt((offset * offset).sum(axis=1))
    pool = min(POOL, max(MOST_POINTS, POOL_NUMBERS // (1 + n_constraints)))
    nearest = np.argsort(apart, kind="stable")[int((apart == 0.0).sum()) :]
    if len(nearest) < dim + 1:
        return _tell_nothing(n_constraints, dim, TOO_FEW_POINTS)
    usual_slope = float(np.median(np.abs(y[nearest, 0] - value[0]) / apart[nearest]))
    found: list[LimitMultipliers] = []
    sets: list[np.ndarray] = []  # which of all points [n] each set has
    for least in LEAST_DISTANCES:
        further = nearest[apart[nearest] >= least][:pool]
        offset, change = u[further] - at, y[further] - value
        turn = find_bases(offset, max(1, min(3 * (dim + 4), MOST_POINTS // (2 * dim))))
        for most_turns, size in _list_point_sets(len(offset), dim):
            near = (turn < most_turns) | (np.arange(len(offset)) < size)
            if len(u) >= MANY_EVALUATIONS:
                near &= np.cumsum(near) <= MOST_POINTS
            taken = np.zeros(len(u), dtype=bool)
            taken[further[near]] = True
            # of few points all sets are the same, but for one point perhaps, and agree on what is wrong
            if near.sum() > dim and all(np.count_nonzero(taken ^ other) > 1 for other in sets):
                sets.append(taken)
                found.append(_multipliers_from(offset[near], change[near], room, value, n_ineq, usual_slope))
                agreed = _join_agreeing(found)
                if agreed is not None and not agreed.reasons:
                    return agreed
                if len(u) >= MANY_EVALUATIONS and len(found) == 2 and all(map(_says_not_stationary, found)):
                    return found[0]
    return _join_agreeing(found) or _tell_nothing(n_constraints, dim, TOO_FEW_POINTS)


def _says_not_stationary(found: LimitMultipliers) -> bool:
    """Whether a set of points says of every limit that the search has not converged."""
    return bool(found.reasons) and all(reason == NOT_STATIONARY for reason in found.reasons.values())


def _join_agreeing(found: list[LimitMultipliers]) -> LimitMultipliers | None:
    """What two sets of points or more tell, and none contradicts; None of fewer than two."""
    if len(found) < 2:
        return None
    n_constraints = len(found[0].constraints)
    told = np.stack([np.concatenate([each.constraints, each.bounds.ravel()]) for each in found])  # [sets, C + 2 D]
    best = min(found, key=lambda each: (len(each.reasons), each.residual))
    count = np.isfinite(told).sum(axis=0)
    low, high = np.nanmin(np.where(count, told, 0.0), axis=0), np.nanmax(np.where(count, told, 0.0), axis=0)
    ordered = np.sort(np.where(count, told, 0.0), axis=0)  # nan last; np.nanmedian is slow on few long rows
    lower, upper = (
        np.take_along_axis(ordered, np.maximum(k, 0)[None], axis=0)[0] for k in ((count - 1) // 2, count // 2)
    )
    middle = 0.5 * (lower + upper)
    fits = (count >= 2) & (high - low <= MOST_ERROR * np.abs(middle))
    prices = np.where(fits, middle, np.nan)
    reasons = {int(k): best.reasons.get(int(k), NOT_KNOWN_WELL) for k in np.flatnonzero(~fits)}
    return LimitMultipliers(prices[:n_constraints], prices[n_constraints:].reshape(2, -1), best.residual, reasons)


def _list_point_sets(count: int, dim: int) -> list[tuple[int, int]]:
    """Sets of points to fit, the likeliest first: (number of bases for find_bases(), number of the nearest points)."""
    full, most = (dim + 1) * (dim + 2) // 2, max(MOST_POINTS, 2 * dim + 1)
    sets = [
        (dim + 4, full),
        (2 * dim + 8, 2 * dim),
        (3 * dim + 12, 2 * full),
        (4, 2 * full),
        (4, 2 * dim + 1),
        (4, most),
    ]
    return list(
        dict.fromkeys((turns, min(count, size, most)) for turns, size in sets[: 6 if dim <= MANY_VARIABLES else 2])
    )


def find_bases(offset: np.ndarray, rounds: int) -> np.ndarray:
    """The turn [n] in which each of the points [n, D], from near to far, told of a new direction; `rounds` if in none.

    In each turn the nearest points that are left and whose directions are new make up a basis.
    """
    dim = offset.shape[1]
    turn = np.full(len(offset), rounds)
    towards = offset / np.sqrt((offset * offset).sum(axis=1))[:, None]
    for this in range(rounds):
        waiting = turn == rounds
        left = towards.copy()  # the part of each direction that this basis does not have
        for _ in range(dim):
            new = waiting & ((left * left).sum(axis=1) >= NEW_DIRECTION**2)
            if not new.any():
                break
            first = int(new.argmax())
            turn[first] = this
            waiting[: first + 1] = False
            row = left[first] / np.sqrt(left[first] @ left[first])
            left = left - np.outer(left @ row, row)
    return turn


def _tell_nothing(n_constraints: int, dim: int, reason: str, residual: float = np.inf) -> LimitMultipliers:
    """No multiplier at all, nan for each limit, and why."""
    every = dict.fromkeys(range(n_constraints + 2 * dim), reason)
    return LimitMultipliers(np.full(n_constraints, np.nan), np.full((2, dim), np.nan), residual, every)


def _multipliers_from(
    u: np.ndarray, y: np.ndarray, room: np.ndarray, value: np.ndarray, n_ineq: int, usual_slope: float
) -> LimitMultipliers:
    """Multipliers from these points u [m, D] and changes y [m, 1 + C] alone; those not told are nan, with a reason.

    room [2, D] is to the walls, value [1 + C] at the point, usual_slope that of f farther off.
    """
    n_constraints, dim = len(value) - 1, room.shape[1]
    fits = QuarticFits(u)
    rough = fits.rough_gradients(y)  # [1 + C, D]
    length = np.sqrt((rough[1:] * rough[1:]).sum(axis=1))
    gap = np.abs(value[1:]) / np.where(length > 0.0, length, np.inf)
    is_equality = np.arange(n_constraints) >= n_ineq
    close = np.flatnonzero((length > 0.0) & ((gap <= CLOSE) | (value[1:] > 0.0) | is_equality))
    close = close[np.argsort(gap[close], kind="stable")][: 4 * dim + 20]
    if np.max(gap[close], initial=0.0) > CLOSE:
        return _tell_nothing(n_constraints, dim, NOT_STATIONARY)
    f, *slopes = fits.slopes(y[:, [0, *(1 + close)]])
    ends = room.reshape(-1)
    close_ends = np.flatnonzero(ends <= CLOSE)
    identity = np.eye(dim)
    normals = np.array(
        [*(each.gradient for each in slopes), *(-identity[j] if j < dim else identity[j - dim] for j in close_ends)]
    )
    normals = normals.reshape(-1, dim)
    gaps = np.concatenate([value[1 + close], -ends[close_ends]])
    free_sign = np.concatenate([is_equality[close], np.zeros(len(close_ends), dtype=bool)])
    nothing = np.zeros((dim, dim))
    slopes = [*slopes, *(Slopes(row, nothing, nothing) for row in normals[len(close) :])]
    index = np.concatenate([close, n_constraints + close_ends])
    solved = _solve_multipliers(f, slopes, normals, gaps, free_sign, usual_slope)
    if isinstance(solved, str):
        return _tell_nothing(n_constraints, dim, solved)
    prices, residual, reasons = solved
    told = np.zeros(n_constraints + 2 * dim)
    told[index] = prices
    return LimitMultipliers(
        told[:n_constraints],
        told[n_constraints:].reshape(2, dim),
        residual,
        {int(index[k]): reason for k, reason in reasons.items()},
    )


class QuarticFits:
    """Eq. (1) on points u [m, D], in units of their spread, for any number of functions."""

    def __init__(self, u: np.ndarray) -> None:
        """For points u [m, D] seen from the one to fit at, not all of them 0."""
        self.spread = float(np.sqrt((u * u).sum(axis=1).mean()))
        self.u = u / self.spread
        self._products = self.u @ self.u.T
        self._length = np.sqrt(self._products.diagonal())

    def _solve_kernel(self, tau: float, kappa: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """K^-1 y [m, F], K^-1 u [m, D] and half the logarithm of the determinant of K.

        LinAlgError where K is singular.
        """
        s = self._products
        kernel = s * (tau + s * (0.5 + kappa * s * (1 / 6 + kappa / 24 * s)))
        root = np.sqrt(kernel.diagonal())
        correlation = kernel / root[:, None] / root + RIDGE * np.eye(len(root))
        solved = np.linalg.solve(correlation, np.concatenate([y, self.u], axis=1) / root[:, None]) / root[:, None]
        half = 0.5 * float(np.linalg.slogdet(correlation)[1]) + float(np.log(root).sum())
        return solved[:, : y.shape[1]], solved[:, y.shape[1] :], half

    def rough_gradients(self, y: np.ndarray) -> np.ndarray:
        """Gradients [F, D] of all functions y [m, F] with one tau and kappa."""
        solved_u = self._solve_kernel(1e2, 1.0, y[:, :0])[1]
        return 1e2 * (y.T @ solved_u) / self.spread

    def slopes(self, y: np.ndarray) -> list[Slopes]:
        """Gradient, covariance and Hessian of each function y [m, F], with the tau and kappa likeliest for it."""
        count, functions = y.shape
        best = np.full(functions, -np.inf)
        found: list[Slopes | None] = [None] * functions
        for tau in TAUS:
            for kappa in KAPPAS:
                solved, solved_u, half_log = self._solve_kernel(tau, kappa, y)
                amplitude = (y * solved).sum(axis=0) / count  # [F]
                amplitude = np.where(amplitude > 0.0, amplitude, 1e-300)
                likelihood = -0.5 * count * np.log(amplitude) - half_log
                better = likelihood > best
                if not better.any():
                    continue
                best = np.where(better, likelihood, best)
                unknown = tau * (np.eye(self.u.shape[1]) - tau * (self.u.T @ solved_u)) / self.spread**2
                for k in np.flatnonzero(better):
                    gradient = tau * (solved[:, k] @ self.u) / self.spread
                    hessian = (self.u.T * solved[:, k]) @ self.u / self.spread**2
                    found[k] = Slopes(gradient, amplitude[k] * unknown, hessian)
        return [each for each in found if each is not None]


def _solve_multipliers(
    f: Slopes, slopes: list[Slopes], normals: np.ndarray, gaps: np.ndarray, free_sign: np.ndarray, usual_slope: float
) -> tuple[np.ndarray, float, dict[int, str]] | str:
    """Multipliers [K] of the close limits, the residual, and why some are not told, by index; or why none is.

    normals [K, D] are gradients of the limits, gaps [K] distances to them, free_sign [K] marks equalities.
    """
    slope = float(np.sqrt(f.gradient @ f.gradient))
    length = np.sqrt((normals * normals).sum(axis=1))
    scaled = normals / length[:, None]
    if not (np.isfinite(scaled).all() and np.isfinite(slope)):  # a close limit that is flat, or values without end
        return NOT_KNOWN_WELL
    prices = nonnegative_prices(scaled, f.gradient, free_sign)
    rest = f.gradient + prices @ scaled
    residual = float(np.sqrt(rest @ rest))
    most = max(MOST_RESIDUAL * slope, FLAT_SLOPE * usual_slope)
    if residual > most:
        return NOT_STATIONARY
    active = np.flatnonzero(prices != 0.0)
    rows = scaled[active]
    inverse = np.linalg.pinv(rows)  # [D, A]
    weight = prices[active] / length[active]
    doubt = f.covariance + sum(
        (w * w * slopes[k].covariance for w, k in zip(weight, active)), np.zeros_like(f.covariance)
    )
    bend = f.hessian + sum((w * slopes[k].hessian for w, k in zip(weight, active)), np.zeros_like(f.hessian))
    along = np.eye(len(f.gradient)) - inverse @ rows  # onto what the active limits leave free
    if DEVIATIONS * np.sqrt(max(np.trace(along @ doubt @ along), 0.0)) > most:
        return NOT_KNOWN_WELL
    sideways = _step_to_flat_gradient(along @ bend @ along, along @ rest, FLAT_RESIDUAL * slope)
    if np.sqrt(sideways @ sideways) > MOST_STEP:
        return NOT_STATIONARY
    to_boundary = -inverse @ (gaps[active] / length[active])
    moved = np.abs(inverse.T @ (bend @ to_boundary)) + np.abs(inverse.T @ (bend @ sideways))
    spread = np.sqrt(np.maximum(np.einsum("da,de,ea->a", inverse, doubt, inverse), 0.0))
    reach = np.sqrt((inverse * inverse).sum(axis=0))
    error = DEVIATIONS * spread + moved + reach * residual
    reasons: dict[int, str] = {}
    for place, k in enumerate(active):
        if abs(prices[k]) + error[place] <= NO_PRICE * slope:
            prices[k] = 0.0
        elif error[place] > MOST_ERROR * abs(prices[k]):
            reasons[int(k)] = NOT_KNOWN_WELL
    for k in np.setdiff1d(
        np.arange(len(prices)), active
    ):  # close, and without a price: because of its slope, or by accident
        part = scaled[k] @ inverse  # [A] how the active ones would make it up
        left = scaled[k] - part @ rows
        if left @ left < 1e-3:
            reasons[int(k)] = NOT_UNIQUE
            reasons |= {int(active[j]): NOT_UNIQUE for j in np.flatnonzero(np.abs(part) > 1e-3)}
    told = prices / length
    told[list(reasons)] = np.nan
    return told, residual / max(slope, 1e-300), reasons


def _step_to_flat_gradient(hessian: np.ndarray, gradient: np.ndarray, flat: float) -> np.ndarray:
    """The step [D] to where the gradient [D] is 0 by the Hessian [D, D]; 1 along directions that do not bend.

    Components of the gradient of at most `flat` count as 0.
    """
    bends, directions = np.linalg.eigh(0.5 * (hessian + hessian.T))
    slopes = directions.T @ gradient
    steps = np.where(bends > 0.0, -slopes / np.where(bends > 0.0, bends, 1.0), 1.0)
    return directions @ np.where(np.abs(slopes) <= flat, 0.0, steps)


def nonnegative_prices(normals: np.ndarray, gradient: np.ndarray, free_sign: np.ndarray) -> np.ndarray:
    """The prices [K] that bring gradient + prices . normals nearest to zero, >= 0 unless of free sign.

    Lawson and Hanson's active set method (1974); normals [K, D] are of unit length.
    """
    prices = np.zeros(len(normals))
    passive = free_sign.copy()
    blocked = np.zeros(len(normals), dtype=bool)
    if passive.any():
        prices[passive] = np.linalg.lstsq(normals[passive].T, -gradient, rcond=1e-8)[0]
    for _ in range(3 * len(normals) + 3):
        pull = -normals @ (gradient + prices @ normals)
        pull[passive | blocked] = -np.inf
        if not len(pull) or pull.max() <= 1e-12 * np.sqrt(gradient @ gradient):
            break
        entering = int(pull.argmax())
        passive[entering] = True
        while True:
            wanted = np.zeros_like(prices)
            wanted[passive] = np.linalg.lstsq(normals[passive].T, -gradient, rcond=1e-8)[0]
            wrong = passive & ~free_sign & (wanted <= 0.0)
            if not wrong.any():
                prices = wanted
                break
            share = prices[wrong] / np.where(prices[wrong] > wanted[wrong], prices[wrong] - wanted[wrong], 1.0)
            prices = prices + share.min() * (wanted - prices)
            leaving = wrong & (prices <= 1e-14)
            leaving = leaving if leaving.any() else wrong
            prices[leaving] = 0.0
            passive &= ~leaving
            if leaving[entering]:
                blocked[entering] = True
    return prices


# -- noise in slopes
#
# Whether noise explains that no price can be told: values around the answer, fitted by least squares.
#
# A quadratic through the nearest points has slopes whose standard errors follow from the noise of a call, and from what
# the quadratic misses. Of each of some sets of points the residual r of kkt.py (eq. 2) is asked. Where r is beyond its
# error in any set, the way on is seen in spite of noise; where in none, noise explains that nothing is told, if in one
# set at least noise is a large part of that error. Where that is the functions' own shape in all, it explains nothing.

SET_SIZES = (2, 4, 8)  # points for each coefficient
MOST_PRODUCTS = 12  # variables up to which products of two are fitted, and not only squares
NOISE_SHARE = 0.25  # of the squared error of r: the least part of it that noise must make up


def noise_explains(
    u: np.ndarray, y: np.ndarray, at: np.ndarray, deviations: np.ndarray, active: np.ndarray, free_sign: np.ndarray
) -> bool:
    """Whether the point `at` [D] of the unit cube may be stationary, as far as noise lets values y [n, 1 + C] tell.

    u [n, D] are points, deviations [1 + C] those of one call; active [A] says which constraints may hold the answer
    back, free_sign [A] which of these are equalities.
    """
    dim = len(at)
    if dim > MANY_VARIABLES or not np.any(deviations > 0.0):
        return False
    columns = (dim + 1) * (dim + 2) // 2 if dim <= MOST_PRODUCTS else 2 * dim + 1
    order = np.argsort(((u - at) ** 2).sum(axis=1), kind="stable")
    taken = np.concatenate([[0], 1 + active])
    explained = False
    for size in SET_SIZES:
        near = order[: size * columns]
        if len(near) < SET_SIZES[0] * columns:
            return explained
        try:
            found = _residual_and_errors(u[near] - at, y[np.ix_(near, taken)], deviations[taken], free_sign)
        except np.linalg.LinAlgError:  # points that coincide, or numbers without end
            continue
        if found is None:
            continue
        slope, residual, noise, error = found
        if residual > DEVIATIONS * error:
            return False
        hides = DEVIATIONS * noise >= FLAT_RESIDUAL * slope
        explained = explained or (hides and noise**2 >= NOISE_SHARE * error**2)
    return explained


def _residual_and_errors(
    offset: np.ndarray, y: np.ndarray, deviations: np.ndarray, free_sign: np.ndarray
) -> tuple[float, float, float, float] | None:
    """|grad f|, |r|, and the standard errors of r by noise alone and by all that the fit misses; None of no full rank.

    Slopes are known better in some directions than in others: |r| is weighed by its covariance, so that it counts in
    units of these errors. offset [m, D] and y [m, 1 + A] are points and values; deviations [1 + A] those of a call.
    """
    m, dim = offset.shape
    radius = float(np.sqrt((offset * offset).sum(axis=1).max()))
    if not radius > 0.0:
        return None
    v = offset / radius
    i, j = np.triu_indices(dim) if dim <= MOST_PRODUCTS else (np.arange(dim), np.arange(dim))
    design = np.concatenate([np.ones((m, 1)), v, v[:, i] * v[:, j]], axis=1)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    inverse = np.linalg.pinv(design)  # [columns, m]
    fitted = inverse @ y
    misfit = np.sqrt(((y - design @ fitted) ** 2).sum(axis=0) / (m - design.shape[1]))  # [1 + A]
    gradient = fitted[1 : 1 + dim].T / radius  # [1 + A, D]
    rows = inverse[1 : 1 + dim] / radius
    unit_error = float(np.sqrt((rows * rows).sum()))  # of a gradient, for values that are off by 1
    length = np.sqrt((gradient[1:] ** 2).sum(axis=1))
    normals = gradient[1:] / np.where(length > 0.0, length, 1.0)[:, None]
    prices = nonnegative_prices(normals, gradient[0], free_sign)
    rest = gradient[0] + prices @ normals
    weight = np.concatenate([[1.0], prices / np.where(length > 0.0, length, 1.0)])
    noise, error = (
        float(np.sqrt(((weight * size) ** 2).sum()) * unit_error)
        for size in (deviations, np.maximum(deviations, misfit))
    )
    residual = unit_error * float(np.sqrt(rest @ np.linalg.solve(rows @ rows.T, rest) / dim))
    return float(np.sqrt(gradient[0] @ gradient[0])), residual, noise, error
