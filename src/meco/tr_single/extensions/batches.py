"""Batches: further points of an iteration, for functions that are evaluated at several points at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from meco.tr_single.extension import Extension
from meco.tr_single.geometry import restart_points
from meco.tr_single.search import TrustRegion
from meco.tr_single.subproblem import Step, Subproblem, relaxed_step

SHARES = 0.4, 0.15  # of the region, in which further steps are solved for


class Batches(Extension):
    """Adds points to the first one: steps in smaller regions and geometry points, in turns."""

    def __init__(self, size: int) -> None:
        self.further = size - 1

    def place(self, search: TrustRegion, sub: Subproblem, step: Step, x: np.ndarray) -> tuple[Step, np.ndarray]:
        """Add further points."""
        made, known = [step.s], search.least_known(sub, self.further)
        for k, s in enumerate(known):
            if k % 2 == 0 and k // 2 < len(SHARES):
                shorter = self._shorter_step(search, sub, SHARES[k // 2])
                if min(np.abs(shorter - other).max() for other in made) >= search.options.same_point:
                    s = shorter
            made.append(s)
        return step, np.array([*x, *(search.point(s) for s in made[1:])])

    @staticmethod
    def _shorter_step(search: TrustRegion, sub: Subproblem, share: float) -> np.ndarray:
        """The step [D] in a share of the region. The weights of the merit stay."""
        box = sub._replace(bottom=np.maximum(sub.bottom, -share), top=np.minimum(sub.top, share))
        return relaxed_step(box, search.region.multipliers, replace(search.merit), search.options).s

    def restart(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """Restart from several points."""
        u = search.rng.random((self.further, search.dim))
        return np.concatenate([x, restart_points(search.archive, search.merit, u, search.low, search.high)])
