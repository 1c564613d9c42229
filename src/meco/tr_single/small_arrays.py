"""Array helpers that are several times faster than NumPy's own on arrays of a few numbers."""

from __future__ import annotations

import numpy as np


def lengths(rows: np.ndarray) -> np.ndarray:
    """Euclidean length of each row: [..., n, D] -> [..., n]."""
    return np.sqrt(np.vecdot(rows, rows))


def bounded(x: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    """np.clip(x, low, high) without its argument checks."""
    return np.minimum(np.maximum(x, low), high)
