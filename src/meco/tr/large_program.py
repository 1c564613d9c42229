"""The program of program.py in many variables: curvature by few directions, and a penalty that grows.

Beyond EXACT_VARIABLES, |L| of curvature.py is found in a Krylov space of DIRECTIONS dimensions, which has the curvature
that the gradient meets first. In all other directions it is one number, the root mean square of what is left:

    H = mu + Q (|T| - mu) Q'                                                                            (1)

Then a Newton step solves a diagonal matrix with a few rows and columns beside it,

    (mu + rho E + [Q A'] diag(|T| - mu, rho) [Q A']') d = - gradient,                                   (2)

E being the variables at a bound and A the rows at a limit, by the formula of Woodbury: D (r + n)^2 operations.

Most variables begin away from their bounds and end at one, while few rows do. So a program begins with what costs no
system at all: the Lagrangian of the last duals is minimised in the box by projected gradients, after twenty of which
nearly all bounds are right. From there active rows and bounds are guessed (active_set.py): variables at a bound are
moved to it, and (2) is solved for the others alone. Where guesses go round in circles, the method of multipliers of
program.py is left, with E. With a penalty of 1e5 times the curvature its line search ends at the first bounds that it
meets, again and again; so rho begins low, and grows with every update of the duals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, solve
from meco.tr.active_set import GUESS_CURVATURE, GUESSES
from meco.tr.curvature import MAX_CURVATURE, OVERFLOWING_CURVATURE
from meco.tr.elastic_program import LEAST_CURVATURE, PENALTY, Rows
from meco.tr.program import LINE_TOLERANCE, find_corners, find_ends, find_least_point

EXACT_VARIABLES = 150  # up to which all eigenvalues are found
DIRECTIONS = 60  # beyond: dimensions of the Krylov space
LEAST_BEND = 1e-6  # curvature of a direction, in units of the mean: a program without any has corners
LEAST_REST = 1e-3  # the same of all directions that are not looked at
FIRST_PENALTY = 100.0  # rho in units of the curvature
PENALTY_GROWTH = 30.0  # its factor with every update of the duals, up to PENALTY
PROJECTED_STEPS = 20  # of a gradient: ten leave a system more, sixty take as long as a system
TOLERANCE, LOOSE_TOLERANCE = 1e-8, 1e-2  # of the optimality conditions; before rho has grown
MAX_SOLVES = 100


class Curvature(NamedTuple):
    """H of eq. (1): directions Q [D, r], curvature along each of them [r] and in all others; size, the mean of it.

    matrix is H itself [D, D], where all directions are there, made once for all systems of a step; else None.
    """

    directions: np.ndarray
    along: np.ndarray
    rest: float
    size: float
    matrix: np.ndarray | None

    def times(self, s: np.ndarray) -> np.ndarray:
        """H s of a vector s [D]: [D]."""
        if self.matrix is not None:
            return self.matrix @ s
        return self.rest * s + self.directions @ ((self.along - self.rest) * (self.directions.T @ s))

    def among(self, free: np.ndarray) -> Curvature:
        """H among the variables where a mask [D] holds; its directions are not orthogonal any more."""
        part = None if self.matrix is None else self.matrix[free][:, free]
        return self._replace(directions=self.directions[free], matrix=part)

    def solve(self, right: np.ndarray, held: np.ndarray, a: np.ndarray, rho: float) -> np.ndarray:
        """d [D] of eq. (2) for a right-hand side [D], a mask [D] of variables at a bound, and active rows a [n, D]."""
        if self.matrix is not None:
            made = a.T @ a
            made *= rho
            made += self.matrix
            made[held, held] += rho
            return _solve_system(made, right)
        diagonal = np.where(held, self.rest + rho, self.rest)
        beside = np.concatenate([self.directions, a.T], axis=1)
        factor = np.concatenate([self.along - self.rest, np.full(len(a), rho)])
        over = beside / diagonal[:, None]
        small = beside.T @ over
        small *= factor[:, None]
        small += np.eye(len(factor))
        return right / diagonal - over @ _solve_system(small, factor * (over.T @ right))


def _solve_system(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """matrix^-1 right [n] of one system [n, n]; LinAlgError for a singular matrix."""
    return solve(matrix[None], right[None, :, None])[0, :, 0]


def find_curvature(hessian: Array, slope: Array) -> list[Curvature]:
    """Eq. (1) of Hessians [B, D, D], one for each run, in the Krylov space of its slope [B, D].

    Up to EXACT_VARIABLES all directions are there. nan counts as 0, huge numbers are cut, and no curvature is below
    LEAST_BEND of the mean.
    """
    found = []
    for h, g in zip(0.5 * (hessian + hessian.mT), slope):
        if not (h.max() < OVERFLOWING_CURVATURE and h.min() > -OVERFLOWING_CURVATURE):  # nan too
            h = np.clip(np.nan_to_num(h), -OVERFLOWING_CURVATURE, OVERFLOWING_CURVATURE)
        squares = (h * h).sum()
        size = max(float(np.sqrt(squares / len(h))), LEAST_CURVATURE)
        exact = len(h) <= EXACT_VARIABLES
        values, vectors = np.linalg.eigh(h) if exact else find_ritz_pairs(h, g, float(np.sqrt(squares)))
        along = np.clip(np.abs(values), LEAST_BEND * size, MAX_CURVATURE)
        left = max(float(squares - (values * values).sum()), 0.0) / max(len(h) - len(values), 1)
        rest = min(max(float(np.sqrt(left)), LEAST_REST * size), MAX_CURVATURE)
        whole = (vectors * along) @ vectors.T if exact else None
        found.append(Curvature(vectors, along, rest, min(size, MAX_CURVATURE), whole))
    return found


def find_ritz_pairs(h: np.ndarray, g: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues [r] and vectors [D, r] of h [D, D] in the Krylov space of g [D] (Lanczos, all kept orthogonal).

    r is DIRECTIONS, which must be at most D; size is the Frobenius norm of h. Where the space ends early, or g is 0 or
    not finite, it goes on from a fixed direction.
    """
    q, image = np.zeros((DIRECTIONS, len(g))), np.zeros((DIRECTIONS, len(g)))
    count = 0
    new = g if np.isfinite(g).all() else np.zeros_like(g)
    while count < DIRECTIONS:
        length = float(np.sqrt(new @ new))
        if length <= 1e-10 * size or length == 0.0:  # an invariant space, or no slope: go on from anywhere
            new = np.cos(np.arange(1.0, len(g) + 1.0) * (count + 1))
            new = new - q[:count].T @ (q[:count] @ new)
            length = float(np.sqrt(new @ new))
        q[count] = new / length
        image[count] = h @ q[count]
        count += 1
        new = image[count - 1]
        for _ in range(2):  # once leaves rounding
            new = new - q[:count].T @ (q[:count] @ new)
    small = q @ image.T
    values, vectors = np.linalg.eigh(0.5 * (small + small.T))
    return values, q.T @ vectors


def solve_large_program(
    bent: list[Curvature], slope: Array, rows: Rows, low: Array, high: Array, duals: Array
) -> tuple[Array, Array]:
    """The step s [B, D] of (1) in program.py within low and high [B, D], and the duals of the rows [B, C].

    In NumPy and run by run, with curvature `bent` of each, slope [B, D], and duals [B, C] to begin with. A run that is
    not solved after MAX_SOLVES solves keeps what it has come to.
    """
    made = []
    for b, h in enumerate(bent):
        given = h, slope[b], Rows(*(part[b] for part in rows)), low[b], high[b], duals[b]
        start = minimise_in_box(h, slope[b] + duals[b] @ rows.matrix[b], low[b], high[b])
        made.append(_guess_active_set(*given, start) or _solve_one(*given, start))
    s, y = (np.stack(part) for part in zip(*made))
    return np.minimum(np.maximum(s, low), high), np.minimum(np.maximum(y, -rows.price), rows.price)


def minimise_in_box(h: Curvature, slope: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A point [D] near the least of slope's + s'Hs/2 within low and high [D], without solving a system.

    At most PROJECTED_STEPS projected gradients with lengths of Barzilai and Borwein (Birgin, Martinez and Raydan 2000),
    each followed as far as it is downhill; so no step goes up.
    """
    s = np.minimum(np.maximum(np.zeros(len(slope)), low), high)
    gradient, length = slope + h.times(s), 1.0 / h.size
    for _ in range(PROJECTED_STEPS):
        d = np.minimum(np.maximum(s - length * gradient, low), high) - s
        fall, bent = float(-(gradient @ d)), h.times(d)
        bend = float(d @ bent)
        if not (fall > 0.0 and bend > 0.0):  # the least point, a step whose square vanishes, or nan
            break
        share = 1.0 if bend <= fall else fall / bend
        s, gradient = s + share * d, gradient + share * bent
        length = float(d @ d) / bend
    return s


def _guess_active_set(
    h: Curvature,
    slope: np.ndarray,
    rows: Rows,
    low: np.ndarray,
    high: np.ndarray,
    duals: np.ndarray,
    s: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    """s [D] and the duals of the rows [C] by the guesses of active_set.py; None where they go round in circles.

    duals [C] and s, in the box, are those to begin with. Variables that are guessed to be at a bound are put there, and
    what pushes them is their dual; rows have the penalty of active_set.py.
    """
    a, price, y, rho, u = rows.matrix, rows.price, duals, PENALTY * h.size, GUESS_CURVATURE * h.size
    z, pull = a @ s + rows.value, slope + h.times(s)
    push = pull + y @ a
    at_bound, most, last, tried = (s <= low) | (s >= high), price / u, b"", set[bytes]()
    for _ in range(GUESSES):
        w = np.where(at_bound, s - push / u, s)
        moved = np.minimum(np.maximum(w, low), high)
        side, held = np.sign(w - moved), w != moved
        moved = np.where(held, moved - s, 0.0)
        v = z + y / u
        end = np.minimum(np.maximum(v, rows.low), rows.high)
        out = v - end
        active = (out != 0.0) & (np.abs(out) < most)
        wrong = np.where(active, z - end, np.minimum(np.maximum(u * out, -price), price) - y)
        limit = TOLERANCE * (1.0 + max(float(np.abs(y).max(initial=0.0)), float(np.abs(push).max())))
        kept = (np.abs(wrong) <= np.where(active, TOLERANCE, limit)).all() and np.abs(moved).max() <= TOLERANCE
        if kept and np.abs(push[~held]).max(initial=0.0) <= limit:
            return s, y
        guess = np.concatenate([side, np.sign(out) * (1.0 + active)]).tobytes()  # who is held or broken, at which end
        crowded = np.count_nonzero(active) + np.count_nonzero(held) > len(s)
        if crowded or (guess in tried and guess != last):
            return None
        last = guess
        tried.add(guess)
        y, few, free = y + np.where(active, rho, 1.0) * wrong, a[active], ~held
        d = moved
        if free.any():
            right = pull + y @ a + h.times(moved) + rho * ((few @ moved) @ few)
            d[free] = -h.among(free).solve(right[free], held[free], few[:, free], rho)
        q = a @ d
        s, y, z, pull = s + d, y + np.where(active, rho, 0.0) * q, z + q, pull + h.times(d)
        push, at_bound = pull + y @ a, held
    return None


def _solve_one(
    h: Curvature,
    slope: np.ndarray,
    rows: Rows,
    low: np.ndarray,
    high: np.ndarray,
    duals: np.ndarray,
    near: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """s [D] and the duals of the rows [C] by the method of multipliers of program.py, after at most MAX_SOLVES solves.

    duals [C] are those to begin with, and so is near [D], unless no step at all is better. The answer may lie outside
    of bounds by a rounding; the caller clips it.
    """
    dim, a, rho, last = len(slope), rows.matrix, FIRST_PENALTY * h.size, PENALTY * h.size
    price = np.concatenate([np.full(dim, np.inf), rows.price])
    lower, upper, most = np.concatenate([low, rows.low]), np.concatenate([high, rows.high]), price / rho
    least, ends = -most, find_ends(lower, upper, most)

    def excess(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much w lies outside its interval, and the same at most what the price allows."""
        out = w - np.minimum(np.maximum(w, lower), upper)
        return out, np.minimum(np.maximum(out, least), most)

    def cost(s: np.ndarray) -> float:
        """Eq. (2) of program.py at s, but for the duals of bounds."""
        out, e = excess(np.concatenate([s, a @ s + rows.value + duals / rho]))
        return float(s @ (slope + 0.5 * h.times(s)) + rho * (e @ (out - 0.5 * e)))

    s = min(np.minimum(np.maximum(np.zeros(dim), low), high), near, key=cost)
    bend, z = h.times(s), np.concatenate([s, a @ s + rows.value])
    pull = slope + bend + duals @ a
    held = ((s <= low) & (pull > 0.0)) | ((s >= high) & (pull < 0.0))
    y = np.concatenate([np.where(held, -pull, 0.0), duals])
    shift = y / rho
    out, e = excess(z + shift)
    for _ in range(MAX_SOLVES):
        gradient = slope + bend + rho * (e[:dim] + e[dim:] @ a)
        active = (out != 0.0) & (np.abs(out) < most)
        d = -h.solve(gradient, active[:dim], a[active[dim:]], rho)
        q, bent = np.concatenate([d, a @ d]), h.times(d)
        start, steep = float(gradient @ d), float(d @ bent)
        length, (new_out, new_e) = 1.0, excess(z + shift + q)
        if abs(start + steep + rho * float((new_e - e) @ q)) > LINE_TOLERANCE * abs(start):
            corners = find_corners(ends, z + shift, q)
            length = find_least_point(corners, start, steep, rho, z + shift, q, e, excess)
            new_out, new_e = excess(z + shift + length * q)
        s, z, bend, out, e = s + length * d, z + length * q, bend + length * bent, new_out, new_e
        found = rho * e
        off = float(np.abs(slope + bend + found[:dim] + found[dim:] @ a).max())
        size = 1.0 + float(np.abs(found).max(initial=0.0))
        if off > size * (TOLERANCE if rho == last else LOOSE_TOLERANCE):
            continue
        y = found
        broken = z + y - np.minimum(np.maximum(z + y, lower), upper)
        broken = np.minimum(np.maximum(broken, -price), price) - y
        if max(off, float(np.abs(broken).max())) <= TOLERANCE * size:
            break
        rho = min(PENALTY_GROWTH * rho, last)
        most, shift = price / rho, y / rho
        least, ends = -most, find_ends(lower, upper, most)
        out, e = excess(z + shift)
    return s, y[dim:]
