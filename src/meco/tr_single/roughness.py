"""Roughness of a function: the share eta of its variance that no quadratic explains (docs/trust-region.md, section 3).

With e_i the error of the model at point i when fitted to the other points, and s_i its predicted variance,

    log p = - sum_i log(s_i) / 2 - m / 2 log(mean_i e_i^2 / s_i)                                        (3.4)

is the leave-one-out likelihood at the best amplitude (Sundararajan and Keerthi 2001). Smooth functions are most likely
with the least eta; steps, kinks and noise with a larger one. A larger eta is taken only if it is clearly more likely.
"""

from __future__ import annotations

import numpy as np

from meco.tr_single.quadratic import SMOOTH, Fit

LEVELS = (1e-6, 1e-4, 1e-2)
EVIDENCE = 0.1  # least gain of (3.4) per point for a larger eta


def find_roughness(fit: Fit) -> np.ndarray:
    """Most likely eta of each function of a fit: [F]."""
    eta, best = np.full(fit.y.shape[1], SMOOTH), _likelihood(fit, fit.matrix)
    for level in LEVELS:
        likely = _likelihood(fit, fit.with_ridge(SMOOTH, level))
        better = likely > best + EVIDENCE * np.count_nonzero(fit.u.any(axis=1))
        eta, best = np.where(better, level, eta), np.where(better, likely, best)
    return eta


def _likelihood(fit: Fit, matrix: np.ndarray) -> np.ndarray:
    """(3.4) for K [m, m], over all points but the centre: [F]; -inf where all errors are zero."""
    inverse = np.linalg.inv(matrix)
    taken = fit.u.any(axis=1)
    diagonal, missed = inverse.diagonal()[taken], (inverse @ fit.y)[taken]  # 1 / s, e / s
    mean = (missed * missed / diagonal[:, None]).sum(axis=0) / max(len(diagonal), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        likely = 0.5 * np.log(diagonal).sum() - 0.5 * len(diagonal) * np.log(mean)
    return np.where((mean > 0.0) & np.isfinite(mean), likely, -np.inf)
