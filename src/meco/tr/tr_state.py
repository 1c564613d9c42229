"""What a trust-region search remembers from its first answers on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from meco.core.arrays import Array, largest, namespace, zeros_like
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.tr.archive import PointArchive
from meco.tr.merit import Weights
from meco.tr.noise import NoiseState, is_noisy
from meco.tr.point_models import Models, PointModels
from meco.tr.proposal_counts import add_points, zero_counts
from meco.tr.quadratic import Quadratic
from meco.tr.region import PointSource, Region
from meco.tr.roughness import Roughness

if TYPE_CHECKING:
    from meco.tr.working_set import WorkingSet

ARCHIVE_CAPACITY = 2000  # points kept, so that the cost of a step does not grow with the run


class Sizes(NamedTuple):
    """What many variables and very many constraints change; None: nothing."""

    model_points: int | None = None  # that models without matrices are fitted to
    capacity: int | None = None  # of the archive
    tolerance: Array | None = None  # [B, C] of the constraints that the search sees


USUAL_SIZES = Sizes()


def find_capacity(budget: int, count: int, batch: int) -> int:
    """Points that an archive of `count` first ones keeps, all of the budget up to ARCHIVE_CAPACITY or so."""
    return min(count + budget, max(ARCHIVE_CAPACITY, 2 * count, count + batch))


@dataclass(eq=False)
class TrState:
    """Points, region and counts of B runs in lockstep; the engine and its proposers write to it."""

    archive: PointArchive
    region: Region
    r2: tuple[Array, Array]  # leave-one-out R^2 of the models of f and of the worst constraint, [B] each
    counts: Array  # of the points told, by source and outcome: [B, 24]
    told: int  # evaluations told
    told_array: Array  # the same where the runs are: [1]
    first_width: Array  # [B, D] of the first region
    rough: Roughness  # of each function
    noise: NoiseState  # of the values
    failure_scale: tuple[Array, Array]  # length and amplitude of failures.py [B]; 0: not found yet
    failure_evidence: Array  # [B] that failures have places
    failed_row: Array  # [B] points in a row that failed last
    working: WorkingSet | None = None  # of very many constraints

    remembers = (
        "archive", "region", "r2", "counts", "told", "told_array", "first_width", "rough", "noise", "failure_scale",
        "failure_evidence", "failed_row", "working",
    )  # fmt: skip

    @classmethod
    def begin(
        cls,
        task: Task,
        x: Array,
        ev: Evaluation,
        radius: Array,
        batch: int,
        sizes: Sizes = USUAL_SIZES,
    ) -> TrState:
        """The state after the first points x [B, n, D] and their evaluation, with radii [B or 1, D] around them.

        `batch` points at a time follow. Nothing is fitted yet: the centre is the first point, models are 0. sizes are
        what large problems change. The task's noise and tolerances are asked for; nothing is drawn.
        """
        xp, (runs, count, dim) = namespace(x), x.shape
        widest = largest(radius)
        none = xp.zeros_like(x[:, 0, 0])
        restart_index = xp.astype(none, xp.int64)
        capacity = find_capacity(task.budget, count, batch) if sizes.capacity is None else sizes.capacity
        archive = PointArchive(x, ev, restart_index, capacity)
        constraints = ev.g.shape[-1] + ev.h.shape[-1]
        zeros = xp.zeros((runs, constraints), dtype=x.dtype, device=x.device)
        tolerance = task.tolerance(ev) if sizes.tolerance is None else sizes.tolerance
        weights = Weights.free(zeros, zeros, tolerance)
        shape = (runs, 1 + constraints, dim)
        models: Models = Quadratic.zero(shape, x)
        if sizes.model_points is not None:
            models = PointModels.zero(shape, sizes.model_points)
        region = Region(
            centre=x[:, 0, :],
            delta=none + widest[:, 0],
            width=xp.zeros_like(x[:, 0, :]) + radius / widest,
            models=models,
            multipliers=zeros,
            weights=weights,
            next_source=restart_index + PointSource.STEP,
            restart_index=restart_index,
            error=zeros + xp.inf,
            most=_farthest_reach(task, x),
        )
        sources = xp.zeros_like(ev.failed, dtype=restart_index.dtype) + PointSource.GEOMETRY
        counts = add_points(zero_counts(x), sources, ev.failed & ~ev.failed, ev)
        functions = xp.zeros((runs, 1 + constraints), dtype=x.dtype, device=x.device)
        return cls(
            archive, region, (none, none), counts, 0, none[:1], region.width, Roughness(functions, none),
            NoiseState.begin(none, functions, x[:, 0, :], is_noisy(task, archive.y)), (none, none), none,
            restart_index,
        )  # fmt: skip

    def reduce(self, ev: Evaluation) -> Evaluation:
        """The evaluation as the search sees it: of very many constraints the working set and the worst of the rest."""
        return ev if self.working is None else self.working.reduce(ev)

    def keep_and_reduce(self, ev: Evaluation) -> Evaluation:
        """The evaluation as the search sees it, of points that are added to the archive next.

        The working set, if there is one, keeps all of their values: call it once for each answer.
        """
        if self.working is not None:
            self.working.keep(ev, self.archive, self.region.centre)
        return self.reduce(ev)

    def count_points(self, points: int) -> None:
        """Count so many more points as told, on the host and where the runs are."""
        self.told_array = self.told_array + points
        self.told += points


def _farthest_reach(task: Task, like: Array) -> Array:
    """How far a region may go along each variable, [1, D] in the type of like; inf: without limit.

    Beside variables without a bound, whose regions may become huge, one with bounds has all of its range and no more.
    """
    xp = namespace(like)
    free = zeros_like(like[:1, 0, :]) + xp.inf
    return free if task.range is None else xp.where(task.range.infinite, free, 1.0)
