"""Solve the convex program of a step (docs/trust-region.md, section 5). It is elastic, so it always has a solution.

    minimise  b's + s'Hs/2 + sum_i price_i dist(c_i + a_i s, [low_i, high_i]),   bottom <= s <= top     (1)

Primal-dual active-set method (Hintermueller, Ito and Kunisch 2002). With z = A s + c, duals y and a positive number u,
the state of each row follows from w = z + y / u:

    0      inactive   w lies inside its interval: y = 0,
    +-1    active     w lies above or below: z at that end,                                             (2)
    +-2    violated   by price / u or more: y = +-price,

and that of each variable, free or held at a bound, from w = s - slope / u. Each iteration solves the equations of (2)
for all free variables and active rows. Where the number of changed states does not fall, the iteration may cycle; then
only the last row or variable that wants to change does (Murty 1974; Judice and Pires 1994). From the duals of a similar
program about three iterations are enough. Where they are not, because active rows are dependent, the interior-point
method of interior_point.py gives a better start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.tr_single.interior_point import approach
from meco.tr_single.small_arrays import bounded

ITERATIONS = 20
REPEATS = 2  # iterations without any change of state, after which the equations are solved as well as rounding allows
STATE_CURVATURE = 10.0  # u, in units of the program's curvature
LEAST_CURVATURE = 0.1  # the unit of u at least
RIDGE = 1e-9, 1e-10  # of variables and of rows, in units of the curvature: for vertices and for dependent rows
TOLERANCE = 1e-10  # of the optimality conditions, in units where rows and steps have length about one
ROW_TOLERANCE = 1e-13  # of an active row: it holds up to rounding


class Program(NamedTuple):
    """Data of (1): H [D, D], b, bottom and top [D], A [C, D], the others [C]."""

    hessian: np.ndarray
    slope: np.ndarray
    bottom: np.ndarray
    top: np.ndarray
    rows: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    price: np.ndarray

    def cost(self, s: np.ndarray) -> float:
        """Value of (1) at s [D]; inf in place of nan."""
        z = self.rows @ s + self.value
        violation = np.abs(z - bounded(z, self.low, self.high))
        cost = float(self.slope @ s + 0.5 * s @ self.hessian @ s + self.price @ violation)
        return np.inf if np.isnan(cost) else cost


def curvature(hessian: np.ndarray) -> float:
    """Root mean square eigenvalue of a Hessian [D, D], at least LEAST_CURVATURE."""
    flat = hessian.ravel()
    return max(float(flat @ flat / len(hessian)) ** 0.5, LEAST_CURVATURE)


def solve(program: Program, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve (1) for the step s [D] and the duals of its rows [C], starting from the duals of a similar program."""
    size, start = curvature(program.hessian), bounded(np.zeros_like(program.slope), program.bottom, program.top)
    found = _find_active_set(program, start, duals, size, STATE_CURVATURE * size)
    if found is None:
        inside = approach(program, start, size)
        found = _find_active_set(program, inside.held, inside.duals, size, size)
        near = [(inside.s, inside.duals), (start, duals)]
        found = min(near if found is None else [found, *near], key=lambda each: _nan_last(program, each[0]))
    s, y = found
    return bounded(s, program.bottom, program.top), bounded(y, -program.price, program.price)


def _nan_last(program: Program, s: np.ndarray) -> tuple[bool, float]:
    """A key that orders steps [D] by their cost, those with nan last."""
    return bool(np.isnan(s).any()), program.cost(s)


def _find_active_set(
    p: Program, s: np.ndarray, y: np.ndarray, size: float, u: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Iterate from s [D] and duals y [C] to the solution of p; None if ITERATIONS are not enough.

    size is the curvature of the program, u the number of (2).
    """
    dim, count = len(s), len(y)
    matrix = np.zeros((dim + count, dim + count))  # of the equations for all variables and all rows
    matrix[:dim, :dim], matrix[dim:, :dim], matrix[:dim, dim:] = p.hessian, p.rows, p.rows.T
    known, variable = np.concatenate([p.slope, p.value]), np.arange(dim + count) < dim
    ridge = np.where(variable, RIDGE[0] * size, -RIDGE[1] / size)
    low, high = np.concatenate([p.bottom, p.low]), np.concatenate([p.top, p.high])
    price = np.concatenate([np.zeros(dim), 0.5 * p.price])
    violated = np.concatenate([np.full(dim, np.inf), p.price / u])

    x = np.concatenate([s, y])
    off = known + matrix @ x  # gradient of the Lagrangian [D], and row values z [C]
    state, fewest, repeated = np.where(x <= low, -1.0, 1.0 * (x >= high)), dim + count + 1, 0
    state[dim:] = 0.0
    for _ in range(ITERATIONS):
        w = np.where(variable, x - np.where(state, off / u, 0.0), off + x / u)
        out = w - bounded(w, low, high)
        side = np.sign(out)
        new = side + side * (np.abs(out) >= violated)
        solved, missed = _equations(new, x, off, low, high, price, variable)
        most = np.abs(missed)
        optimal = most.max() <= TOLERANCE * (1.0 + np.abs(x[dim:]).max(initial=0.0))
        if optimal and (most[solved & ~variable] <= ROW_TOLERANCE).all():  # rows hold, however large the duals
            return x[:dim], x[dim:]
        changes = new - state
        changed = changes.nonzero()[0]
        repeated = repeated + 1 if not len(changed) else 0
        if repeated > REPEATS:  # nearly dependent rows hold no more closely than this
            return x[:dim], x[dim:]
        if len(changed):
            if len(changed) < fewest:
                fewest = len(changed)
            else:
                changes[changed[:-1]] = 0.0
            state = state + np.sign(changes)
            if (state != new).any():
                solved, missed = _equations(state, x, off, low, high, price, variable)
        step = np.where(solved, 0.0, missed)
        right = (matrix @ step + missed).compress(solved)
        part = matrix.compress(solved, 0).compress(solved, 1)
        part.flat[:: len(part) + 1] += ridge.compress(solved)
        try:
            step[solved] = np.linalg.solve(part, -right)
        except np.linalg.LinAlgError:
            return None
        x = x + step
        off = known + matrix @ x
    return None


def _equations(
    state: np.ndarray, x: np.ndarray, off: np.ndarray, low: np.ndarray, high: np.ndarray, price: np.ndarray,
    variable: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Select the unknowns x = (s, y) to solve for [D + C], and return the residual of each equation [D + C].

    Free variables and active rows are solved for; held variables and other duals have known values.
    """
    ends = np.where(state < 0, low, high)
    solved = (np.abs(state) == 1) != variable
    wanted = np.where(variable, 0.0, ends)
    target = np.where(variable, ends, state * price)
    return solved, np.where(solved, off - wanted, target - x)
