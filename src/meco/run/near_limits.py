"""Of very many limits, those that the answer may be at: multipliers are looked for of no others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MOST_PRICED = 1000  # inequalities whose multipliers are looked for: those nearest to their limits
SPREAD_POINTS = 30  # nearest to the answer, that tell how near
SURELY_FAR = 0.02  # of what a constraint changes by among these, by which it is not at its limit
MANY_NEAR = f"it is one of more than {MOST_PRICED} limits that are as near"


class NearLimits(NamedTuple):
    """Numbers of the inequalities that are looked at [K], and which of all others are surely not met [p]."""

    numbers: np.ndarray
    far: np.ndarray


def find_near_limits(g: np.ndarray, rows: np.ndarray, offset: np.ndarray, at: np.ndarray) -> NearLimits:
    """The MOST_PRICED inequalities that are nearest to their limits where their values are at [p]; all, if no more.

    A constraint is as near as its value is small beside what it changes by among the nearest points: rows [m] of g
    [n, p], at offsets [m, D]. One that is the same at all of these has no slope, and cannot hold f back.
    """
    if at.size <= MOST_PRICED:
        return NearLimits(np.arange(at.size), np.zeros(at.size, dtype=bool))
    nearest = np.argsort((offset * offset).sum(axis=1), kind="stable")[:SPREAD_POINTS]
    values = g[rows[nearest]]
    width = np.max(values, axis=0, initial=-np.inf) - np.min(values, axis=0, initial=np.inf)
    slack = np.where(width > 0.0, -at / np.where(width > 0.0, width, 1.0), np.inf)
    order = np.lexsort((-width, slack))
    far = slack > max(float(slack[order[MOST_PRICED - 1]]), SURELY_FAR)
    return NearLimits(np.sort(order[:MOST_PRICED]), far | np.isinf(slack))
