"""What a campaign will cost before it is run: seconds of one core for each run, from figures per evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from meco.bench.plan.experiment import Experiment, find_removed
from meco.bench.plan.run import Run
from meco.bench.run.groups import RunGroup
from meco.bench.run.store_contents import StoreContents
from meco.core.progress_line import format_duration

PIECE_SECONDS = 600.0  # of all cores together: campaigns are resumable, so any pieces will do


class CostModel:
    """Seconds of one core for a run: as stored runs of its method took, else as its record says.

    Seconds per evaluation of the stored runs of nearest D, times the quotient of the D where runs in lockstep or models
    make the difference; a method that was never run is told by MethodRecord.cost_seconds.
    """

    def __init__(self, contents: StoreContents | None = None) -> None:
        """Learn from the runs of these contents that took time; without any, methods' records alone tell."""
        seen: dict[str, dict[int, list[float]]] = {}
        for run, record in (contents.runs if contents is not None else {}).items():
            if record.seconds > 0 and record.nfev > 0:
                seen.setdefault(run.method, {}).setdefault(run.case.dim, []).append(record.seconds / record.nfev)
        self._each = {method: {dim: median(v) for dim, v in dims.items()} for method, dims in seen.items()}

    def seconds(self, run: Run) -> float:
        """Seconds that a run will take on one core, as stored runs of its method took or its record says."""
        known = self._each.get(run.method)
        if not known:
            return RunGroup((run,)).guessed_seconds
        nearest = min(known, key=lambda dim: abs(dim - run.case.dim))
        return known[nearest] * run.case.budget * max(1.0, run.case.dim / nearest)


@dataclass(frozen=True)
class Estimate:
    """What an experiment still costs."""

    name: str
    wanted: int  # runs
    missing: int
    seconds: float  # of one core, for those that are missing
    longest: float  # seconds of its longest run: below it no number of cores helps
    costliest: str  # method


def estimate_experiments(
    experiments: Iterable[Experiment], done: Iterable[Run] = (), costs: CostModel | None = None
) -> list[Estimate]:
    """What each experiment costs in that order; a run that two share is counted with the first, done ones nowhere."""
    costs, seen, found = costs or CostModel(), set(done), []
    for experiment in experiments:
        wanted = list(dict.fromkeys(run for _, run in experiment.wanted_runs() if find_removed(run) is None))
        missing = [run for run in wanted if run not in seen]
        seen.update(missing)
        by_method: dict[str, float] = {}
        longest = 0.0
        for run in missing:
            seconds = costs.seconds(run)
            by_method[run.method] = by_method.get(run.method, 0.0) + seconds
            longest = max(longest, seconds)
        costliest = max(by_method, key=by_method.__getitem__, default="")
        total = sum(by_method.values())
        found.append(Estimate(experiment.name, len(wanted), len(missing), total, longest, costliest))
    return found


def format_estimates(found: Sequence[Estimate], cores: int) -> list[str]:
    """The estimates with their sum as lines of a table; a piece is ten minutes on so many cores."""
    whole = Estimate(
        "all", sum(e.wanted for e in found), sum(e.missing for e in found), sum(e.seconds for e in found),
        max((e.longest for e in found), default=0.0), "",
    )  # fmt: skip
    rows = [("experiment", "runs", "missing", "one core", f"{cores} cores", "pieces", "longest run", "most for")]
    for e in [*found, whole]:
        spread = max(e.seconds / cores, e.longest)
        times = format_duration(e.seconds), format_duration(spread), f"{spread / PIECE_SECONDS:.1f}"
        rows.append((e.name, f"{e.wanted:,}", f"{e.missing:,}", *times, format_duration(e.longest), e.costliest))
    wide = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([f"{row[0]:<{wide[0]}}", *map(str.rjust, row[1:], wide[1:])]).rstrip() for row in rows]
    caption = f"Pieces of {PIECE_SECONDS / 60:.0f} minutes on {cores} cores; the same command continues with the next."
    return [*lines, "", caption]
