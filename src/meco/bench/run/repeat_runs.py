"""Stored runs made again, to see that a store is what its settings give."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from typing import Any

from meco.bench.plan.experiment import find_removed
from meco.bench.plan.run import Run
from meco.bench.run.executors import RunExecutor
from meco.bench.run.groups import GroupOutcome, RunGroup, run_group
from meco.bench.run.run_record import RunRecord
from meco.bench.run.store_contents import NUMBERS, StoreContents
from meco.errors import InvalidInput
from meco.methods import METHODS


def draw_runs(
    contents: StoreContents,
    count: int,
    seed: int = 0,
    methods: Sequence[str] | None = None,
    most_seconds: float | None = None,
) -> list[Run]:
    """Runs of a store drawn at random, each at most once, the same for the same seed; fewer where there are no more.

    methods and most_seconds leave others out. Less than 1, and a store without such runs, are errors.
    """
    if count < 1:
        raise InvalidInput(f"--runs must be at least 1; got {count}")
    wanted = None if methods is None else {METHODS.resolve(name) for name in methods}
    known = [
        run
        for run, record in contents.runs.items()
        if find_removed(run) is None
        and (wanted is None or run.method in wanted)
        and (most_seconds is None or record.seconds <= most_seconds)
    ]
    if not known:
        raise InvalidInput("the store holds no such runs")
    return random.Random(seed).sample(known, min(count, len(known)))


def repeat_runs(contents: StoreContents, runs: Sequence[Run], workers: RunExecutor) -> Iterator[tuple[Run, str]]:
    """Each of the runs, made again alone, with what differs from its record: "" where all numbers are equal.

    They come as they finish. Policies and users' files must be there as they were.
    """
    files = tuple((name, path) for e in contents.experiments for name, path in e.files.items())
    asked: dict[Future[Any], Run] = {}
    for run in runs:
        used = tuple(pair for pair in files if pair[0] == run.case.problem)
        asked[workers.submit(run_group, RunGroup((run,), used))] = run
    for future in as_completed(asked):
        run = asked[future]
        yield run, compare_outcome(contents, run, future.result())


def compare_outcome(contents: StoreContents, run: Run, outcome: GroupOutcome) -> str:
    """What differs between a stored run and the same run made again; "" where nothing does."""
    if not outcome.records:
        return f"could not be repeated: {outcome.error}"
    kept, made = contents.runs[run], outcome.records[0]
    differing = [name for name in NUMBERS if not _is_same(getattr(kept, name), getattr(made, name))]
    if not differing:
        return ""
    told = ", ".join(f"{name} {getattr(kept, name)!r} is {getattr(made, name)!r}" for name in differing[:3])
    return f"{told}{_describe_platform_changes(contents, kept, outcome)}"


def _describe_platform_changes(contents: StoreContents, kept: RunRecord, outcome: GroupOutcome) -> str:
    """Where the platforms differ, in words that follow a comparison; "" where they are the same."""
    here = {} if outcome.platform is None else dict(outcome.platform.facts)
    there = contents.platforms.get(kept.platform)
    if there is None:
        return "; its platform was not recorded"
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    return f"; platforms differ in {', '.join(names)}" if names else ""


def _is_same(kept: Any, made: Any) -> bool:
    """Whether two values of a record are equal in every bit; nan is itself."""
    both_nan = isinstance(kept, float) and isinstance(made, float) and math.isnan(kept) and math.isnan(made)
    return both_nan or kept == made
