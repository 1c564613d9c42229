"""Linear constraints: their models are the rows themselves, never fitted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace
from meco.core.known_limits import KnownLimits
from meco.tr.quadratic import Quadratic


class ExactRows(NamedTuple):
    """Which of F functions are linear rows [F], 0 being f, and their gradients [F, D]."""

    known: Array
    gradient: Array

    def into(self, models: Quadratic) -> Quadratic:
        """The models with the rows in their places."""
        xp, known = namespace(models.gradient), self.known[None, :, None]
        return Quadratic(
            xp.where(known, self.gradient[None], models.gradient),
            xp.where(known[..., None], 0.0, models.hessian),
        )


def exact_rows(limits: KnownLimits | None, models: Quadratic) -> ExactRows | None:
    """The rows in the places that the answers gave them; None where there are none."""
    if limits is None or not ((places := limits.places()) >= 0).any():
        return None
    known, gradient = np.zeros(models.gradient.shape[1]), np.zeros(models.gradient.shape[1:])
    for place, slope in zip(places, limits.slope):
        if place >= 0:
            known[1 + place], gradient[1 + place] = 1.0, slope
    return ExactRows(asarray_like(known, models.gradient) > 0.0, asarray_like(gradient, models.gradient))
