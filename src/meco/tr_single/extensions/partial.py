"""Partial answers: each function is modelled from the points where its value is known.

Functions that are known at the same points share a fit. The centre is the best of the points where most functions are
known. Does nothing while no value is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from meco.tr_single.answers import Answers
from meco.tr_single.extension import Extension
from meco.tr_single.local_fit import LocalFit, fit_at, model_size
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.region import Prediction, Source
from meco.tr_single.search import TrustRegion
from meco.tr_single.small_arrays import lengths
from meco.tr_single.subproblem import Subproblem

MOST_EXCUSED = 2  # consecutive partial answers to steps that do not judge the region
NEAR_MISS = 0.3  # largest violation of such an answer, in the constraint's change across the region
LEAST_MARGIN = 0.02  # of each constraint, in the same unit


class Partial(Extension):
    """Fits, centre and verdicts for answers with missing values."""

    def __init__(self) -> None:
        self._largest = -math.inf

    def learn(self, search: TrustRegion, x: np.ndarray, answers: Answers) -> Answers:
        """Give points without f the largest known f, so that none is better for it."""
        self._largest = max(self._largest, *answers.y[~answers.missing[:, 0], 0], -math.inf)
        if not (answers.missing[:, 0] & ~answers.failed).any():
            return answers
        y = answers.y.copy()
        y[answers.missing[:, 0], 0] = self._worst
        return answers._replace(y=y)

    @property
    def _worst(self) -> float:
        """The largest known f, or 0."""
        return self._largest if self._largest > -math.inf else 0.0

    def fit(self, search: TrustRegion, fit: Callable[[], LocalFit]) -> LocalFit:
        """Fit each group of functions that are known at the same points; the fit of f stands for all."""
        archive, region = search.archive, search.region
        if not _has_gaps(search):
            return fit()
        archive.y[archive.missing[:, 0], 0] = self._worst
        usable = ~archive.failed & (archive.restart >= region.restart)
        known = np.where(usable, (~archive.missing).sum(axis=1), -1)
        row = int(np.argmin(np.where(known == known.max(), search.merit.of(archive.y), np.inf)))
        centre, value = archive.x[row].copy(), self._value(search, row)

        functions = len(value)
        gradient, hessian = np.zeros((functions, search.dim)), np.zeros((functions, search.dim, search.dim))
        span = np.zeros(functions)
        of_f = None
        for columns, missing in _group(archive.missing):
            rows = self._nearest(search, missing, centre)
            local = fit_at(archive.x[rows], archive.y[rows], centre, value, region, search.eta, search.options)
            gradient[columns], hessian[columns] = local.models.gradient[columns], local.models.hessian[columns]
            span[columns] = local.span[columns]
            of_f = local if of_f is None else of_f  # the first group holds f
        assert of_f is not None
        return of_f._replace(models=Quadratic(gradient, hessian), span=span)

    @staticmethod
    def _value(search: TrustRegion, row: int) -> np.ndarray:
        """Values [F] at a row of the archive, missing ones from the nearest point that has them, or 0."""
        archive = search.archive
        value, far = archive.y[row].copy(), ((archive.x - archive.x[row]) ** 2).sum(axis=1)
        for j in np.flatnonzero(archive.missing[row]):
            known = np.flatnonzero(~archive.missing[:, j])
            value[j] = archive.y[known[np.argmin(far[known])], j] if known.size else 0.0
        return value

    @staticmethod
    def _nearest(search: TrustRegion, missing: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Rows of the points nearest to a centre [D] where nothing is missing [n].

        As many as are as near as the model_size-th nearest of all, at least D + 2: far points would spoil the model.
        """
        apart = (search.archive.x - centre) / search.region.widths
        square, most = np.vecdot(apart, apart), model_size(search.dim)
        reach = np.sort(square)[min(most, len(square)) - 1]
        near = np.count_nonzero(~missing & (square <= reach))
        count = max(min(near, most), min(search.dim + 2, most))
        order = np.argsort(np.where(missing, np.inf, square), kind="stable")
        return order[: min(count, np.count_nonzero(~missing))]

    def shape(self, search: TrustRegion, sub: Subproblem) -> Subproblem:
        """Raise margins to LEAST_MARGIN: a step just outside would not show f."""
        if not _has_gaps(search):
            return sub
        return sub._replace(margin=np.maximum(sub.margin, LEAST_MARGIN * lengths(sub.models.gradient[1:])))

    def judge(
        self, search: TrustRegion, made: Prediction, answers: Answers, merits: np.ndarray
    ) -> tuple[Prediction, Answers, np.ndarray]:
        """Predicted values take the place of missing ones, and fewer known values count as no decrease.

        An answer with more known values than any before counts as good as predicted. A step that ended just outside of
        a constraint does not judge the region, but updates the errors of the models.
        """
        missing, archive = answers.missing, search.archive
        if not (missing & ~answers.failed[:, None]).any():
            return made, answers, merits
        left_out = archive.failed | (archive.restart < search.region.restart)
        most = np.where(left_out, -1, (~archive.missing).sum(axis=1)).max()
        known = np.where(answers.failed, -1, (~missing).sum(axis=1))
        merits = np.where((known < most) & ~answers.failed, np.maximum(merits, made.merit), merits)
        merits = np.where(known > most, made.merit - abs(made.decrease), merits)
        filled = np.where(missing & ~answers.failed[:, None], made.value, answers.y)
        if self._is_near_miss(search, made, answers):
            search.region.update_errors(made, filled[0, 1:])
            made = made._replace(source=Source.GEOMETRY)
        return made, answers._replace(y=filled), merits

    def _is_near_miss(self, search: TrustRegion, made: Prediction, answers: Answers) -> bool:
        """Whether the step's answer is partial and violates no constraint by much, after few other partial answers."""
        if made.source is not Source.STEP or answers.failed[0] or not answers.missing[0].any():
            return False
        gaps = search.archive.missing.any(axis=1)
        in_a_row = len(gaps) if gaps.all() else int(np.argmax(~gaps[::-1]))
        c, p = answers.y[0, 1:], answers.n_ineq
        violation = np.concatenate([np.maximum(c[:p], 0.0), np.abs(c[p:])])
        return bool(in_a_row < MOST_EXCUSED and (violation <= NEAR_MISS * made.changes).all())


def _has_gaps(search: TrustRegion) -> bool:
    """Whether some point has known and missing values."""
    missing = search.archive.missing
    return bool((missing.any(axis=1) & ~missing.all(axis=1)).any())


def _group(missing: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Functions with the same missing points [n, F]: their columns, and the mask [n], group by group."""
    columns: dict[bytes, list[int]] = {}
    for j in range(missing.shape[1]):
        columns.setdefault(missing[:, j].tobytes(), []).append(j)
    return [(np.array(each), missing[:, each[0]]) for each in columns.values()]
