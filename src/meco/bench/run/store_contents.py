"""What a results folder holds, as a report reads it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from meco.bench.plan.experiment import Experiment
from meco.bench.plan.run import Run
from meco.bench.run.run_record import RunRecord

# What the digest of results is of, in this order.
NUMBERS = [f.name for f in fields(RunRecord) if f.name not in ("seed", "x", "curve", "actions", "seconds", "platform")]


@dataclass(frozen=True)
class StoreContents:
    """Runs, what could not be run, the plans that asked for them and the sessions that made them."""

    meco: str  # the version that ran them
    runs: dict[Run, RunRecord]
    failures: dict[Run, str] = field(default_factory=dict)  # why results are missing
    experiments: list[Experiment] = field(default_factory=list)  # in the order they were run
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)  # with what and where
    platforms: dict[str, dict[str, Any]] = field(default_factory=dict)  # what bits depend on, by digest

    @cached_property
    def digest(self) -> str:
        """A hash of the final numbers of every run: equal for campaigns that found the same, however they ran."""
        total = hashlib.sha256()
        for name, run in sorted((run.to_json(), run) for run in self.runs):
            kept = [getattr(self.runs[run], number) for number in NUMBERS]
            total.update(f"{name} {kept}".encode())
        return total.hexdigest()
