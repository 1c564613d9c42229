"""A program by its active set: rows that are guessed to hold with equality, until the guess proves right.

The primal-dual active set strategy (Hintermueller, Ito and Kunisch 2002) for the program of elastic_program.py. With
z = J s + c, duals y and a curvature u, each row is by w = z + y / u

    free      where w lies inside its interval: y = 0,                                                 (1)
    active    outside: z at the nearer end,
    broken    outside by price / u or more: y = +-price,

and the next s and y are those of the equality-constrained program, here with a penalty rho, so that rows which depend
on each other do no harm. A guess that repeats itself is the answer. There is no line search: from a similar
program's duals the guess is right after five solves or so, however many rows change; but it may go round in
circles. Such runs are left to program.py, as soon as more rows are active than there are variables.
"""

from __future__ import annotations

import numpy as np

from meco.core.arrays import add_to_diagonal, all_columns, known_all, largest, maybe_any, solve, total
from meco.tr.elastic_program import PENALTY, TOLERANCE, Program, multiply
from meco.tr.run_subsets import take_runs

GUESSES = 12  # of the active set: a search in fifty variables needs five in the mean, and rarely more than nine
GUESS_CURVATURE = 10.0  # u, in units of the program's curvature
ROW_TOLERANCE = 1e-13  # of an active row: a limit that is missed by more than rounding is not kept


def find_active_sets(p: Program, s: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps s [B, D] and duals y [B, k] of programs, from those of similar ones, and whether they were found [B].

    In NumPy, after at most GUESSES solves. Where found is False, s and y are those that were given, or worthless.
    """
    found_s, found_y, found, left = s.copy(), y.copy(), np.zeros(len(s), dtype=bool), np.arange(len(s))
    dim, u = s.shape[1], (GUESS_CURVATURE / PENALTY) * p.rho
    z, pull, most = multiply(p.matrix, s) + p.value, p.slope + multiply(p.hessian, s), p.price / u
    p = p._replace(slope=(), value=())  # they are in pull and z: nothing is taken along that is not read any more
    for _ in range(GUESSES):
        w = z + y / u
        end = np.minimum(np.maximum(w, p.low), p.high)
        out = w - end
        size = np.abs(out)
        active = (size > 0.0) & (size < most)
        wrong = np.where(active, z - end, np.minimum(np.maximum(u * out, -p.price), p.price) - y)
        limit = TOLERANCE * (1.0 + largest(np.abs(y)))
        done = all_columns(np.abs(wrong) <= np.where(active, ROW_TOLERANCE, limit))  # large duals excuse no distance
        if maybe_any(done):
            done = done & all_columns(np.abs(pull + multiply(p.matrix.mT, y)) <= limit)
        crowded = np.count_nonzero(active) > dim  # else no run has more active rows than variables
        stop = done | (total(active) > dim) if crowded else done
        if maybe_any(stop):
            if known_all(done) and len(done) == len(found):  # all of them at once, as one run is
                return s, y, done
            here, go = left[done], ~stop
            found_s[here], found_y[here], found[here] = s[done], y[done], True
            if not maybe_any(go):
                break
            left = left[go]
            p, s, y, z, u, pull, most, active, wrong = take_runs((p, s, y, z, u, pull, most, active, wrong), go)
        turned, lines = p.matrix.mT, p.matrix[:, dim:]
        stiff, y = active * p.rho, y + np.where(active, p.rho, 1.0) * wrong
        curvature = add_to_diagonal(p.hessian, stiff[:, :dim] + p.sigma)  # the bounds' rows are the identity
        curvature += lines.mT @ (stiff[:, dim:, None] * lines)
        d = -solve(curvature, (pull + multiply(turned, y))[..., None])
        q = (p.matrix @ d)[..., 0]
        s, y, z, pull = s + d[..., 0], y + stiff * q, z + q, pull + (p.hessian @ d)[..., 0]
    return found_s, found_y, found
