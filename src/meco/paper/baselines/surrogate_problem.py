"""What COBRA asks of its surrogates: the best point that keeps the limits and some distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.engines.external import contain_warnings, load_library
from meco.paper.baselines.surrogate import Surrogate

NEAREST = 20  # points that the distance requirement looks at
SOFTNESS = 0.05
HOPELESS = 1e-3  # violation beyond which surrogate limits count as contradictory
ACCURACY = 1e-6  # in units of the first gradients: about the accuracy in x


@dataclass(frozen=True, eq=False)
class SurrogateProblem:
    """min s_f(x) with s_g(x) + margin <= 0, |s_h(x)| <= band and |x - x_i| >= rho, in [-1, 1]^D.

    Outputs of the surrogate are f, then n_ineq inequalities, then equalities.
    """

    surrogate: Surrogate
    n_ineq: int
    margin: float
    band: np.ndarray  # [q]
    rho: float = 0.0
    avoid: np.ndarray | None = None  # points beside the centres to keep away from, [k, D]
    only_limits: bool = False  # phase I: the squared violations take the objective's place

    def solve(self, start: np.ndarray, max_iter: int) -> np.ndarray:
        """A local solution [D] by SLSQP from start [D]; the least squared violation where limits cannot be kept.

        SLSQP spends all its iterations on limits that contradict each other, so a start that breaks them is first
        moved to where they are kept, if there is such a place nearby.
        """
        view = CachedProblem(self, start)
        if not self.only_limits and view.largest_excess(start) > HOPELESS:
            start = self.restore_feasibility(start)
            if view.largest_excess(start) > HOPELESS:
                return start
        limits = {"type": "ineq", "fun": view.limits, "jac": view.limit_slopes}
        given = limits if view.limits(start).size else ()
        found = _minimize_in_cube(view, start, "SLSQP", {"maxiter": max_iter, "ftol": ACCURACY}, constraints=given)
        if self.only_limits or view.largest_excess(found) <= 10.0 * ACCURACY:
            return found
        return self.restore_feasibility(found)

    def restore_feasibility(self, start: np.ndarray, max_iter: int = 100) -> np.ndarray:
        """A point [D] near the start of least squared violation of the limits; the objective is ignored."""
        view = CachedProblem(self, start, only_limits=True)
        return _minimize_in_cube(view, start, "L-BFGS-B", {"maxiter": max_iter})


class CachedProblem:
    """The subproblem at the last point asked for: SLSQP's four callbacks cost one evaluation of the surrogates.

    Every row is divided by the length of its gradient at the start, so that all are of order 1.
    """

    def __init__(self, sub: SurrogateProblem, start: np.ndarray, *, only_limits: bool = False) -> None:
        """Scale f and the limits by their slopes at a start [D]; only_limits leaves f out."""
        self.sub, self.only_limits = sub, only_limits or sub.only_limits
        slope = self._evaluate_rows(start)[1]
        length = np.sqrt(np.sum(slope * slope, axis=1))
        self.scale = np.where(length > 1e-100, length, 1.0)
        self.at = np.full_like(start, np.nan)  # the last point asked for; value, slope, keep and keep_slope are its own

    def _evaluate_rows(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f and values that must not be positive, [m] with m = 1 + p + 2 q, gradients [m, D], squared distances [n]."""
        sub = self.sub
        value, slope, square = sub.surrogate.evaluate(x)
        p = 1 + sub.n_ineq
        h = value[p:]
        value = np.concatenate([value[:1], value[1:p] + sub.margin, h - sub.band, -h - sub.band])
        return value, np.concatenate([slope, -slope[p:]]), square

    def _evaluate_once(self, x: np.ndarray) -> None:
        """Set value, slope, keep and keep_slope to those at x [D], unless it is the last point asked for."""
        if np.array_equal(x, self.at):
            return
        self.at = x.copy()
        value, slope, square = self._evaluate_rows(x)
        self.value, self.slope = value / self.scale, slope / self.scale[:, None]
        keep = np.empty(0) if self.only_limits else -self.value[1:]
        keep_slope = np.empty((0, x.size)) if self.only_limits else -self.slope[1:]
        if self.sub.rho > 0:
            spare, away = self._measure_clearance(x, square)
            keep, keep_slope = np.append(keep, spare), np.vstack([keep_slope, away])
        self.keep, self.keep_slope = keep, keep_slope

    def _measure_clearance(self, x: np.ndarray, square: np.ndarray) -> tuple[float, np.ndarray]:
        """Distance from x [D] to the nearest points beyond rho, in units of rho, with its gradient [D].

        A soft minimum over the nearest points: smooth where two are equally near, and never more than the true
        distance. square [n] are the squared distances to the surrogate's points.
        """
        others = self.sub.surrogate.x
        if len(others) > NEAREST:
            others = others[np.argpartition(square, NEAREST)[:NEAREST]]
        if self.sub.avoid is not None and len(self.sub.avoid):
            others = np.concatenate([others, self.sub.avoid])
        apart = x - others
        length = np.maximum(np.sqrt(np.einsum("ij,ij->i", apart, apart)), 1e-12)
        over = (length / self.sub.rho - 1.0) / SOFTNESS
        least = np.min(over)
        share = np.exp(least - over)
        total = np.sum(share)
        return SOFTNESS * float(least - np.log(total)), (share / (total * self.sub.rho * length)) @ apart

    def objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """What is minimised at x [D], the modelled f or the squared violation (only_limits), and its gradient [D]."""
        self._evaluate_once(x)
        if self.only_limits:
            over = np.maximum(self.value[1:], 0.0)
            return float(over @ over), 2.0 * (over @ self.slope[1:])
        return float(self.value[0]), self.slope[0]

    def limits(self, x: np.ndarray) -> np.ndarray:
        """What must not be negative at x [D]: limits to spare, then the distance to spare; [0] to [p + 2 q + 1]."""
        self._evaluate_once(x)
        return self.keep

    def limit_slopes(self, x: np.ndarray) -> np.ndarray:
        """Gradients of limits() at x [D]: a row for each."""
        self._evaluate_once(x)
        return self.keep_slope

    def largest_excess(self, x: np.ndarray) -> float:
        """The largest violation of a surrogate limit at x [D], in units of the first gradients.

        0 where none is broken.
        """
        self._evaluate_once(x)
        return float(np.max(self.value[1:], initial=0.0))


def _minimize_in_cube(
    view: CachedProblem, start: np.ndarray, method: str, options: dict[str, Any], **more: Any
) -> np.ndarray:
    """SciPy's answer from a start [D] in [-1, 1]^D; the start's value in variables where it has none."""
    optimize = load_library("scipy.optimize", "a surrogate method")
    box = optimize.Bounds(-np.ones(start.size), np.ones(start.size))
    with contain_warnings():
        found = optimize.minimize(view.objective, start, jac=True, method=method, bounds=box, options=options, **more).x
    return np.clip(np.where(np.isfinite(found), found, start), -1.0, 1.0)
