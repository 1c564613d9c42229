"""The quantile of a result among reference results of the same problem: a reward with one scale for all problems.

Reference runs (constant controls, the engine's own rule, random controls) leave their best point, feasibility first, at
each tenth of the budget. A run's quantile is the share of them that it beats, ties counting half:

    q = (worse + tied / 2) / R                            within the references
    q = 1 + (1 + log10(gap) / 6) / 2,  at most 1.5        beyond the best of them

The gap is the run's lead over the best reference, as a share of the references' span. Results closer than 1e-6 of the
span tie, and there the second line begins. A feasible point where no reference has one is 1.5. The reward of a decision
is the change of the quantile, so an episode returns its final quantile. Its mean over problems is an average rank: it
cannot be earned by loosening what counts as better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TENTHS = 10
TIE_TOLERANCE = 1e-6  # of the references' span
MAX_BONUS = 0.5  # so that quantiles end at 1.5; for a result better than every reference
BONUS_DECADES = 6.0  # of the gap, from a tie to the full span


class Outcomes(NamedTuple):
    """The best points of runs, feasibility first, at some moments: f, nu and whether feasible, any one shape.

    Stored rollouts hold them under these names.
    """

    f: np.ndarray
    nu: np.ndarray
    feasible: np.ndarray


class RankKey(NamedTuple):
    """What results are ranked by: feasible ones first, by f; the others by nu. Less is better."""

    value: np.ndarray
    feasible: np.ndarray


def rank_key(outcomes: Outcomes) -> RankKey:
    """The keys of results, any shape; a run whose every point failed (nan) comes last of its class."""
    value = np.where(outcomes.feasible, outcomes.f, outcomes.nu)
    return RankKey(np.where(np.isnan(value), np.inf, value), outcomes.feasible)


def finite_span(value: np.ndarray) -> np.ndarray:
    """Largest less least finite value along the last axis; where they are equal, their magnitude; 0 without any."""
    finite = np.isfinite(value)
    most = np.max(np.where(finite, value, -np.inf), axis=-1)
    least = np.min(np.where(finite, value, np.inf), axis=-1)
    size = np.where(most == least, np.abs(most), 0.0)
    return np.subtract(most, least, out=size, where=most > least)


def spans_by_class(references: RankKey) -> tuple[np.ndarray, np.ndarray]:
    """Spans of the feasible and of the infeasible references: values [..., R] -> [...] each."""
    value, feasible = references
    return finite_span(np.where(feasible, value, np.nan)), finite_span(np.where(feasible, np.nan, value))


def compare_with_references(run: RankKey, references: RankKey) -> tuple[np.ndarray, np.ndarray]:
    """Which references [..., R] are worse than a run [...], and which tie with it: [..., R] each.

    A feasible result is better than every other; ties are within TIE_TOLERANCE of the span of references of its class.
    """
    value, feasible = run.value[..., None], run.feasible[..., None]
    same_class = feasible == references.feasible
    width = np.where(run.feasible, *spans_by_class(references))[..., None]
    with np.errstate(invalid="ignore"):
        lead = np.where(np.isinf(value) & np.isinf(references.value), 0.0, references.value - value)
    tied = same_class & (np.abs(lead) <= TIE_TOLERANCE * width)
    worse = (feasible & ~references.feasible) | (same_class & (lead > 0.0) & ~tied)
    return worse, tied


def lead_bonus(run: RankKey, references: RankKey) -> np.ndarray:
    """What a lead of runs [...] over every reference [..., R] adds to the quantile 1: [...] in [0, 0.5].

    Means nothing for runs that do not lead; all of it where a run alone is feasible, or references have no span.
    """
    same_class = references.feasible == run.feasible[..., None]
    best = np.min(np.where(same_class, references.value, np.inf), axis=-1)
    width = np.where(run.feasible, *spans_by_class(references))
    with np.errstate(all="ignore"):
        gap = (best - run.value) / width
        bonus = MAX_BONUS * np.clip(1.0 + np.log10(gap) / BONUS_DECADES, 0.0, 1.0)
    first = run.feasible & ~np.any(references.feasible, axis=-1)
    return np.where(first | (width == 0.0), MAX_BONUS, bonus)  # no width: references at 0, and a run below


def quantile(run: Outcomes, references: Outcomes) -> np.ndarray:
    """Quantiles of runs [...] among references [..., R]: 0 worse than all, 1 better than all, up to 1.5 beyond.

    A tie counts half; infinite values of one class tie.
    """
    mine, theirs = rank_key(run), rank_key(references)
    worse, tied = compare_with_references(mine, theirs)
    q = np.mean(worse + 0.5 * tied, axis=-1)
    return np.where(np.all(worse, axis=-1), 1.0 + lead_bonus(mine, theirs), q)
