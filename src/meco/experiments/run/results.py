"""What a results folder holds, as a report reads it: from the store where there is one, else from the compact file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from meco.experiments.plan.experiment import Experiment, Run
from meco.experiments.run.record import Record


@dataclass(frozen=True)
class Results:
    """Runs, what could not be run, the plans that asked for them and the sessions that made them."""

    meco: str  # the version that ran them
    runs: dict[Run, Record]
    failures: dict[Run, str] = field(default_factory=dict)  # why results are missing
    experiments: list[Experiment] = field(default_factory=list)  # in the order they were run
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)  # with what and where
    digest: str = ""  # a hash of every result, as the store has it
