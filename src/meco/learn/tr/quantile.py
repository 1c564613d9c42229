"""The quantile of a result among reference results of the same problem: a reward that is alike for every problem.

Reference runs (constant controls, the engine's own rule, random controls) leave their best point, feasibility first, at
each tenth of the budget. A run's quantile is the share of them that it beats, ties counting half:

    q = (worse + tied / 2) / R                            within the references
    q = 1 + (1 + log10(gap) / 6) / 2,  at most 1.5        beyond the best of them

The gap is what the run is ahead of the best reference, in shares of the references' span; below 1e-6 of it results
tie, and there the second line begins. A feasible point where no reference has one is 1.5. The reward of a decision is
the change of the quantile, so that an episode's return is its final quantile, whose mean over problems is an average
rank: it cannot be earned by loosening what counts as better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TENTHS = 10
TIE = 1e-6  # of the references' span
BEYOND = 0.5  # most that a result better than every reference earns
DECADES = 6.0  # of the gap, from a tie to the whole span


class Outcomes(NamedTuple):
    """The best points of runs, feasibility first, at some moments: f, nu and whether feasible, any one shape."""

    f: np.ndarray
    nu: np.ndarray
    feasible: np.ndarray


class Level(NamedTuple):
    """One number of each result, less is better, in one of two classes: feasible by f, infeasible by nu."""

    value: np.ndarray
    feasible: np.ndarray


def level(outcomes: Outcomes) -> Level:
    """What results are compared by; a run whose every point failed (nan) comes last."""
    value = np.where(outcomes.feasible, outcomes.f, outcomes.nu)
    return Level(np.where(np.isnan(value), np.inf, value), outcomes.feasible)


def span(value: np.ndarray) -> np.ndarray:
    """Largest less least finite value along the last axis; where these are equal, their size; 0 with none."""
    finite = np.isfinite(value)
    most = np.max(np.where(finite, value, -np.inf), axis=-1)
    least = np.min(np.where(finite, value, np.inf), axis=-1)
    size = np.where(most == least, np.abs(most), 0.0)
    return np.subtract(most, least, out=size, where=most > least)


def spans(references: Level) -> tuple[np.ndarray, np.ndarray]:
    """Of the feasible and of the infeasible references: values [..., R] -> [...] each."""
    value, feasible = references
    return span(np.where(feasible, value, np.nan)), span(np.where(feasible, np.nan, value))


def compared(run: Level, references: Level) -> tuple[np.ndarray, np.ndarray]:
    """Which references [..., R] are worse than a run [...], and which tie with it."""
    value, feasible = run.value[..., None], run.feasible[..., None]
    alike = feasible == references.feasible
    width = np.where(run.feasible, *spans(references))[..., None]
    with np.errstate(invalid="ignore"):
        ahead = np.where(np.isinf(value) & np.isinf(references.value), 0.0, references.value - value)
    tied = alike & (np.abs(ahead) <= TIE * width)
    worse = (feasible & ~references.feasible) | (alike & (ahead > 0.0) & ~tied)
    return worse, tied


def beyond(run: Level, references: Level) -> np.ndarray:
    """What being ahead of every reference adds to the quantile 1: [...] in [0, 0.5]."""
    alike = references.feasible == run.feasible[..., None]
    best = np.min(np.where(alike, references.value, np.inf), axis=-1)
    width = np.where(run.feasible, *spans(references))
    with np.errstate(all="ignore"):
        gap = (best - run.value) / width
        size = BEYOND * np.clip(1.0 + np.log10(gap) / DECADES, 0.0, 1.0)
    first = run.feasible & ~np.any(references.feasible, axis=-1)
    return np.where(first | (width == 0.0), BEYOND, size)  # no width: references at 0, and a run below


def quantile(run: Outcomes, references: Outcomes) -> np.ndarray:
    """Quantiles of runs [...] among references [..., R]: 0 worse than all, 1 better than all, up to 1.5 beyond."""
    mine, theirs = level(run), level(references)
    worse, tied = compared(mine, theirs)
    q = np.mean(worse + 0.5 * tied, axis=-1)
    return np.where(np.all(worse, axis=-1), 1.0 + beyond(mine, theirs), q)
