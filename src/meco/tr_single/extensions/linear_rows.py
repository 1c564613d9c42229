"""Linear constraints: known rows take the place of their models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from meco.tr_single.extension import Extension
from meco.tr_single.local_fit import LocalFit
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.search import TrustRegion

if TYPE_CHECKING:
    from meco.core.known_limits import KnownLimits


class LinearRows(Extension):
    """Uses the slopes of known linear constraints, which have no curvature, in place of fitted ones."""

    def __init__(self, limits: KnownLimits) -> None:
        self.limits = limits

    def fit(self, search: TrustRegion, fit: Callable[[], LocalFit]) -> LocalFit:
        """Replace the models of known rows. Rows that no answer has named yet are not among the constraints."""
        local, places = fit(), self.limits.places()
        rows = np.flatnonzero(places >= 0)
        if not len(rows):
            return local
        gradient, hessian = local.models.gradient.copy(), local.models.hessian.copy()
        gradient[1 + places[rows]], hessian[1 + places[rows]] = self.limits.slope[rows], 0.0
        return local._replace(models=Quadratic(gradient, hessian))
