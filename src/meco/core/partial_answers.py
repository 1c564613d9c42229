"""Answers of which only a part is known: a simulation that stopped at its first violated stage has no objective.

What is known counts. A known violation orders a candidate among the infeasible ones; what is missing is taken for no
violation, and for the worst objective so far, so it is never better than a whole answer by what nobody knows. Where
nothing that is known is violated, the candidate has failed: it would be feasible for all that is known. Engines with
models of each function may learn from every number (Evaluation.partial).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from meco.core.evaluation import Evaluation


def has_gaps(f: np.ndarray, g: np.ndarray, h: np.ndarray) -> bool:
    """Whether some candidate has nan beside numbers: f [..., n], g [..., n, p], h [..., n, q]."""
    values = np.concatenate([f[..., None], g, h], axis=-1)
    missing = np.isnan(values)
    return bool(np.any(np.any(missing, axis=-1) & ~np.all(missing, axis=-1)))


def evaluate_partial(
    f: np.ndarray, g: np.ndarray, h: np.ndarray, ineq_tol: Any, eq_tol: Any, worst: float
) -> Evaluation:
    """An evaluation [B, N] of f [B, N], g [B, N, p] and h [B, N, q], of which some are nan.

    Worst is the largest f so far. A candidate known to violate a constraint is infeasible and kept in `partial`;
    other gaps and infinities fail.
    """
    values = np.concatenate([f[..., None], g, h], axis=-1)
    missing, broken = np.isnan(values), np.any(np.isinf(values), axis=-1)
    over = np.concatenate([g > ineq_tol, np.abs(h) > eq_tol], axis=-1)  # nan is over nothing
    violated = np.any(over, axis=-1)
    failed = np.all(missing, axis=-1) | broken | (np.any(missing, axis=-1) & ~violated)
    whole = ~np.any(missing, axis=-1) & ~broken
    filled = Evaluation(
        np.where(failed, np.nan, np.where(np.isnan(f), worst, f)),
        np.where(failed[..., None], np.nan, np.nan_to_num(g, nan=0.0)),
        np.where(failed[..., None], np.nan, np.nan_to_num(h, nan=0.0)),
        failed,
        whole & ~violated,
    )
    return replace(filled, partial=np.where(broken[..., None], np.nan, values))


def known_violation(g: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Sum of the violations that are known, [n] of g [n, p] and h [n, q]; inf where none is."""
    none = np.all(np.isnan(np.concatenate([g, h], axis=1)), axis=1)
    total = np.nansum(np.maximum(g, 0.0), axis=1) + np.nansum(np.abs(h), axis=1)
    return np.where(none, np.inf, total)
