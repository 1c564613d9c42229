"""Groups of runs that go to one worker together, and what the worker does with them."""

from __future__ import annotations

import json
import math
import re
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from meco.batch_solve import solve
from meco.bench.plan.contender import PIN_DIGITS
from meco.bench.plan.experiment import load_problem
from meco.bench.plan.run import Run
from meco.bench.run.run_record import RunRecord
from meco.core.platform import Platform, describe_platform
from meco.errors import MecoError, MissingExtra, UnknownName, UnknownOption
from meco.files.modules import names_a_file
from meco.methods import METHODS

HOPELESS = (MissingExtra, UnknownName, UnknownOption)  # of a method: no problem and no seed can change them
LOCKSTEP_NUMBERS = 2000  # runs x variables of one lockstep group: some seconds, and cache-friendly
LOCKSTEP_RUNS = 60
LEAST_LOCKSTEP = 14  # smaller groups waste time
TASKS_PER_WORKER = 8
TASK_SECONDS = 8.0  # what a task of runs one after another should take


@dataclass(frozen=True)
class RunGroup:
    """Runs of one method on problems of equal D with equal budgets; only their policies may differ."""

    runs: tuple[Run, ...]
    files: tuple[tuple[str, str], ...] = ()  # user problems: (name, file)

    @property
    def method(self) -> str:
        """The method of all its runs."""
        return self.runs[0].method

    @property
    def guessed_seconds(self) -> float:
        """Seconds it may take, before anything was measured."""
        case = self.runs[0].case
        size = case.budget / 2500 * (0.5 + 0.5 * case.dim / 50)
        return len(self.runs) * size * METHODS[self.method].cost_seconds

    def split_in_halves(self) -> tuple[RunGroup, RunGroup]:
        """The same runs, two at least, as two tasks."""
        middle = len(self.runs) // 2
        return replace(self, runs=self.runs[:middle]), replace(self, runs=self.runs[middle:])


@dataclass(frozen=True)
class GroupOutcome:
    """What came back: a record for each run, or why there is none."""

    records: tuple[RunRecord, ...] = ()
    seconds: float = 0.0  # by the clock
    platform: Platform | None = None  # that of the worker, with its records
    error: str = ""
    hopeless: bool = False  # runs with the same options will fail everywhere


def make_groups(runs: Iterable[Run], files: Mapping[str, str] | None = None, workers: int = 1) -> list[RunGroup]:
    """Tasks of seconds to a minute, the longest first, and enough of them that no worker waits at the end.

    files are users' problems, name -> path; [] for no runs. Every run is in one task.
    """
    wanted = list(runs)
    fair = max(LEAST_LOCKSTEP, len(wanted) // (TASKS_PER_WORKER * workers))
    alike: dict[tuple, list[Run]] = {}
    for run in wanted:
        options, method = json.loads(run.options), METHODS[run.method]
        policy = options.get("policy")
        by_name = isinstance(policy, str) and not names_a_file(policy) and "hidden" not in options
        if by_name and method.lockstep and not method.models_functions:
            options.pop("policy")  # runs in lockstep may each have their own, if all are of one kind
        shared = run.case.problem if method.models_functions else ""  # such runs need equal numbers of constraints
        alike.setdefault((run.method, str(options), run.case.dim, run.case.budget, shared), []).append(run)
    used, tasks = files or {}, []
    for members in alike.values():
        count = math.ceil(len(members) / _group_size(members[0], fair))
        for i in range(count):  # parts of equal size
            part = members[i * len(members) // count : (i + 1) * len(members) // count]
            named = sorted({(r.case.problem, used[r.case.problem]) for r in part if r.case.problem in used})
            tasks.append(RunGroup(tuple(part), tuple(named)))
    return sorted(tasks, key=lambda task: -task.guessed_seconds)


def _group_size(one: Run, fair: int) -> int:
    """How many runs like this one a task holds, at least 1; fair is the most by which no worker waits at the end."""
    if METHODS[one.method].lockstep:
        return max(1, min(LOCKSTEP_RUNS, LOCKSTEP_NUMBERS // one.case.dim, fair))
    return max(1, int(TASK_SECONDS / RunGroup((one,)).guessed_seconds))


def run_group(task: RunGroup) -> GroupOutcome:
    """Records of the runs of a task, in the order of task.runs, which the runner relies on.

    Called in a worker: what loading a problem or running a method raises comes back as the outcome's error.
    """
    begin, start = time.perf_counter(), time.process_time()
    try:
        problems = [load_problem(run.case, dict(task.files)) for run in task.runs]
    except Exception as error:
        return GroupOutcome(error=_error_text(error))
    try:
        budget, seeds = task.runs[0].case.budget, [run.seed for run in task.runs]
        results = solve(task.method, problems, budget, seeds, **read_engine_options(task.runs))
    except Exception as error:
        return GroupOutcome(error=_error_text(error), hopeless=isinstance(error, HOPELESS))
    each = (time.process_time() - start) / len(task.runs)
    here = describe_platform()
    records = tuple(RunRecord.from_result(r, p, budget, each, here.digest) for r, p in zip(results, problems))
    return GroupOutcome(records, time.perf_counter() - begin, here)


def _error_text(error: Exception) -> str:
    """An error of ours in its own words, any other with its type and where it happened."""
    if isinstance(error, MecoError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.filename.rpartition('/')[2]}:{last.lineno})"


def read_engine_options(runs: tuple[Run, ...]) -> dict[str, Any]:
    """Options for the engine of runs that a group may hold: pins are dropped, differing policies become a list.

    Hidden features become a mask over the policy of the first run, which is loaded from its file.
    """
    options = json.loads(runs[0].options)
    hidden = options.pop("hidden", None)
    if not isinstance(options.get("policy"), str):  # none, or constants
        return options
    names = [re.sub(f"@[0-9a-f]{{{PIN_DIGITS}}}$", "", json.loads(run.options)["policy"]) for run in runs]
    policy: Any = names[0] if len(set(names)) == 1 else names
    if hidden:
        from meco.paper.policy import Masked
        from meco.paper.store import load_policy

        policy = Masked(load_policy(names[0]), tuple(hidden))
    return {**options, "policy": policy}
