"""Models of answers with gaps: each function is fitted to the points that tell of it.

Functions that are known at the same points share a fit. Of points whose objective or constraints are missing the
others teach their models all the same. The centre is the best of the answers that tell most: a whole one as long as
there is one, before that one that came to the latest stage. In NumPy, of one run: B is 1 throughout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation, side_by_side
from meco.core.rule import best
from meco.tr.archive import PointArchive
from meco.tr.controls import ControlValues
from meco.tr.merit import MERIT, violated_at_all_points
from meco.tr.model_fit import LocalFit, nearest_points
from meco.tr.point_models import Models
from meco.tr.quadratic import Fit, Quadratic, least_change
from meco.tr.region import PointSource, Region
from meco.tr.roughness import levels_in_use

if TYPE_CHECKING:
    from meco.tr.expectation import Expectation


MOST_EXCUSED = 2  # answers with gaps in a row, of steps that are not judged
NEAR_MISS = 0.3  # violation of such a one, at most, in shares of what its constraint changes by across the region
OFF_GAPS = 0.02  # of what a constraint changes by across the region: its margin, at least


class KnownPart(NamedTuple):
    """EvaluatedPoints of one run: x [1, n, D], y [1, n, F]; failed [1, n] where functions are missing."""

    x: np.ndarray
    y: np.ndarray
    failed: np.ndarray


def group_functions(missing: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Functions grouped by the points where they are missing [n, F]: the columns and the mask [n] of each group."""
    columns: dict[bytes, list[int]] = {}
    for j in range(missing.shape[1]):
        columns.setdefault(missing[:, j].tobytes(), []).append(j)
    return [(np.array(each), missing[:, each[0]]) for each in columns.values()]


def choose_centre(archive: PointArchive, region: Region) -> tuple[int, np.ndarray]:
    """The row of the best of the answers that tell of most functions, and whether the run [1] has no answer at all.

    Failed ones and those of earlier restarts do not count, unless there are no others: then the row means nothing.
    """
    left_out = archive.failed | (archive.restart_index < region.restart_index[:, None])
    told = _count_told(archive.missing, left_out)
    key = MERIT.values(archive.evaluation(), region.weights)
    return int(best(key.last_where(told < np.max(told, axis=1, keepdims=True)))[0]), np.all(left_out, axis=1)


def _count_told(missing: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """The number of functions that each answer tells: missing [1, n, F] -> [1, n]; -1 where it is left out [1, n]."""
    return np.where(left_out, -1, np.sum(~missing, axis=-1))


def values_at(archive: PointArchive, row: int) -> np.ndarray:
    """Values [1, F] at a row; a function missing there has that of the nearest point that tells it, or 0."""
    missing, value = archive.missing[0], archive.y[:, row].copy()
    far = np.sum((archive.x[0] - archive.x[0][row]) ** 2, axis=1)
    for j in np.flatnonzero(missing[row]):
        known = np.flatnonzero(~missing[:, j])
        value[0, j] = archive.y[0, known[np.argmin(far[known])], j] if known.size else 0.0
    return value


class PartFit(NamedTuple):
    """The fit of functions that are known at the same points: their columns, and as in LocalFit."""

    columns: np.ndarray
    models: Quadratic  # of all functions; those of other columns mean nothing
    fit: Fit
    spread: np.ndarray  # [1]
    u: np.ndarray  # [1, m, D] of the points, from the centre on, in widths of the region
    values: np.ndarray  # [1, m, F]


def fit_models_with_gaps(
    archive: PointArchive, region: Region, points: int, controls: ControlValues, eta: np.ndarray
) -> tuple[Region, LocalFit]:
    """The region around the best-told point of least merit, and the fit around it, of an archive with gaps; B is 1.

    Each group of functions that are known at the same points has a fit of its own to at most `points` points; controls
    are [1] each, eta [1, F] is the roughness of each function. fit, spread and farthest of LocalFit are those of the
    group of f. A blind run is centred at 0.5; models are 0 where one of them is not finite.
    """
    row, blind = choose_centre(archive, region)
    centre = np.where(blind[:, None], 0.5, archive.x[:, row])
    value = values_at(archive, row)
    shape = region.models.gradient.shape
    gradient, hessian = np.zeros(shape), np.zeros((*shape, shape[-1]))
    span, unmet = np.zeros_like(value), np.zeros(value[:, 1:].shape, dtype=bool)
    parts = [
        _fit_part(archive, region, columns, gaps, centre, value, points, controls, eta)
        for columns, gaps in group_functions(archive.missing[0])
    ]
    for part in parts:
        columns, constraints = part.columns, part.columns[part.columns > 0] - 1
        gradient[:, columns], hessian[:, columns] = part.models.gradient[:, columns], part.models.hessian[:, columns]
        span[:, columns] = np.max(np.abs(part.values - value[:, None, :]), axis=1)[:, columns]
        over = violated_at_all_points(part.values[:, :, 1:], archive.n_ineq, region.weights.tolerance)
        unmet[:, constraints] = over[:, constraints]
    models = Quadratic(gradient, hessian)
    if not models.finite.all():
        models = Quadratic.zero(shape, centre)
    of_f = next(part for part in parts if 0 in part.columns)
    far = np.sqrt(np.max(np.sum(of_f.u * of_f.u, axis=-1), axis=-1))
    local = LocalFit(value, of_f.fit, of_f.spread, far, span, unmet, blind, None)
    return region._replace(centre=centre, models=models), local


def _fit_part(
    archive: PointArchive, region: Region, columns: np.ndarray, gaps: np.ndarray, centre: np.ndarray, value: np.ndarray,
    points: int, controls: ControlValues, eta: np.ndarray,
) -> PartFit:  # fmt: skip
    """Fit the functions in these columns to the points nearest to the centre [1, D], without those with gaps [n].

    value [1, F] is that at the centre, points the most that are fitted; eta [1, F] and controls as in a fit without
    gaps.
    """
    width = region.width_in_force
    known = KnownPart(archive.x, archive.y, gaps[None])
    few = _count_near(archive, gaps, centre[0], width[0], points)
    u, values, there = nearest_points(known, centre, value, few, width)
    spread = np.sqrt(np.sum(u * u, axis=(1, 2)) / np.maximum(there, 1.0))
    spread = np.where(spread > 0.0, spread, 1.0)
    unit = spread[:, None] * width
    prior = region.models.dense().shifted(centre - region.centre).rescaled(unit)
    tau, levels = controls.gradient_freedom, [controls.roughness, *levels_in_use(eta)]
    models, fit = least_change(prior, u / spread[:, None, None], values - value[:, None, :], tau, levels, eta)
    return PartFit(columns, models.rescaled(1.0 / unit), fit, spread, u, values)


def _count_near(archive: PointArchive, gaps: np.ndarray, centre: np.ndarray, width: np.ndarray, points: int) -> int:
    """How many points a function that is missing at gaps [n] is fitted to: at least D + 2, at most `points`.

    Between these, as many as lie within the distance of the `points`-th point of all.

    A model that met values far away, for want of near ones, would be wrong where the search is.
    """
    apart = np.sum(((archive.x[0] - centre) / width) ** 2, axis=1)
    reach = np.sort(apart)[min(points, len(apart)) - 1]
    near = int(np.sum(~gaps & (apart <= reach)))
    return max(min(near, points), min(centre.size + 2, points))


def keep_off_gaps(margin: np.ndarray, models: Models) -> np.ndarray:
    """Margins [1, C], at least OFF_GAPS of what each constraint changes by across the region.

    So a step does not end just outside of one, where f would not be told. models are in units of the region.
    """
    return np.maximum(margin, OFF_GAPS * np.sqrt(np.sum(models.gradient[:, 1:, :] ** 2, axis=-1)))


def excuse_near_misses(made: Expectation, ev: Evaluation, archive: PointArchive) -> Expectation:
    """The expectation; a step that went just outside becomes a geometry point, so that it is not judged.

    That is a step whose answer has gaps and is over no constraint by more than NEAR_MISS of its change across the
    region, while fewer than MOST_EXCUSED answers with gaps came in a row before.

    Its f is not told, so that nothing says whether it was good; the models of its constraints are better for it, and
    the next step from the same centre will keep them.
    """
    if made.source[0, 0] != PointSource.STEP or ev.failed[0, 0] or not np.isnan(side_by_side(ev)[0, 0]).any():
        return made
    gaps = np.any(archive.missing[0], axis=-1)
    last = int(np.argmax(~gaps[::-1])) if not gaps.all() else len(gaps)  # answers with gaps since a whole one
    if last >= MOST_EXCUSED or float(np.max(violation_share(made, ev))) > NEAR_MISS:
        return made
    return made._replace(
        source=np.concatenate([made.source[:, :1] * 0 + PointSource.GEOMETRY, made.source[:, 1:]], axis=1)
    )


def judge_told(merits: np.ndarray, made: Expectation, ev: Evaluation, archive: PointArchive) -> np.ndarray:
    """Merits [1, k] as a step is judged, where answers have gaps; the archive must not hold these answers yet.

    One that tells of fewer functions than the best-told before is no better than the centre, whatever it leaves out;
    one that tells of more is as good as was foreseen. Failed ones stay as they are.
    """
    if ev.partial is None:
        return merits
    left_out = archive.failed | (archive.restart_index < made.restart_index[:, :1])
    most = np.max(_count_told(archive.missing, left_out))
    told = _count_told(np.isnan(ev.partial), ev.failed)
    merits = np.where((told < most) & ~ev.failed, np.maximum(merits, made.merit[:, None]), merits)
    return np.where(told > most, (made.merit - np.abs(made.foreseen))[:, None], merits)


def violation_share(made: Expectation, ev: Evaluation) -> np.ndarray:
    """Violation of each constraint by the first answer [C], in units of what it changes by across the region."""
    return ev.c[0, 0] / made.change[0]


def fill_expected(y: np.ndarray, ev: Evaluation, expected: np.ndarray) -> np.ndarray:
    """Values y [1, k, F] of answers, with the expected ones [1, F] for what they do not tell: no error is seen.

    Of failed answers y stays as it is.
    """
    if ev.partial is None:
        return y
    return np.where(np.isnan(ev.partial) & ~ev.failed[..., None], expected[:, None, :], y)
