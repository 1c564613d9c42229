"""A campaign: hand out what is missing, keep what comes back, survive what dies."""

from __future__ import annotations

import contextlib
import os
import platform
import time
import uuid
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meco import __version__
from meco.bench.plan.experiment import Experiment, find_removed
from meco.bench.plan.revise import pin_versions
from meco.bench.plan.run import Run
from meco.bench.run.campaign_progress import CampaignProgress
from meco.bench.run.executors import WENT_AWAY, RunExecutor, Unreachable
from meco.bench.run.groups import GroupOutcome, RunGroup, make_groups, run_group
from meco.bench.run.result_store import ResultStore
from meco.core.platform import PACKAGES, installed_versions
from meco.core.signals import raise_on_signals

MOST_LOSSES = 5  # a task whose worker dies this often, with nothing else running, is given up


class CampaignStopped(Exception):
    """Ctrl-C or SIGTERM; everything finished is in the store."""

    def __init__(self, number: int) -> None:
        self.number = number


@dataclass
class Summary:
    """How a campaign ended."""

    done: int  # runs in the store that belong to it
    wanted: int
    failures: dict[Run, str] = field(default_factory=dict)  # what could not be run, and why
    seconds: float = 0.0
    labels: dict[Run, str] = field(default_factory=dict)  # what the contenders of wanted runs are called
    removed: tuple[str, ...] = ()  # methods and problems whose missing runs cannot be made any more


def run_campaign(
    experiments: Sequence[Experiment], store: ResultStore, workers: RunExecutor, *, quiet: bool = False
) -> Summary:
    """Run whatever of the experiments the store does not hold yet, and add it there as it comes.

    The experiments and this session are noted in the store too. Runs that fail are in the summary and the store.
    """
    experiments = [pin_versions(e) for e in experiments]
    labels = {run: contender.label for e in experiments for contender, run in e.wanted_runs()}
    there = store.read_runs()
    removed = {run: name for run in labels if run not in there and (name := find_removed(run)) is not None}
    wanted = [run for run in labels if run not in removed]
    files = {name: path for e in experiments for name, path in e.files.items()}
    missing = [run for run in wanted if run not in there]
    for experiment in experiments:
        store.add_experiment(experiment)
    tasks = make_groups(missing, files, workers.worker_count)
    progress = CampaignProgress(tasks, len(wanted) - len(missing), workers.worker_count, quiet=quiet)
    campaign = _Campaign(store, workers, progress)
    name, facts = describe_session(experiments, workers, len(missing))
    try:
        if tasks:
            store.add_session(name, facts)
            campaign.run_all(tasks)
    finally:
        progress.show(last=True)
        if tasks:
            store.add_session(name, facts | {"seconds": round(time.monotonic() - campaign.begin, 1)})
    done, seconds = len(store.read_runs().intersection(wanted)), time.monotonic() - campaign.begin
    return Summary(done, len(wanted), campaign.failures, seconds, labels, tuple(dict.fromkeys(removed.values())))


class _Campaign:
    """The coordinator's loop."""

    def __init__(self, store: ResultStore, workers: RunExecutor, progress: CampaignProgress) -> None:
        """Nothing is handed out before run_all()."""
        self.store, self.workers, self.progress = store, workers, progress
        self.failures: dict[Run, str] = {}
        self.begin = time.monotonic()
        self._waiting: deque[RunGroup] = deque()
        self._suspects: deque[RunGroup] = deque()  # their worker died: done one at a time, to see whose fault it is
        self._losses: dict[RunGroup, int] = {}
        self._hopeless: dict[tuple[str, str], str] = {}  # method and options -> why

    def run_all(self, tasks: list[RunGroup]) -> None:
        """Hand out tasks as workers become free and store what comes back, as it comes, until none is left."""
        self._waiting.extend(tasks)
        active: dict[Future, RunGroup] = {}
        while self._waiting or self._suspects or active:
            self._hand_out(active)
            finished, _ = wait(active, timeout=1.0, return_when=FIRST_COMPLETED)
            lost = [task for future in finished if not self._store_finished(future, task := active.pop(future))]
            if lost:
                if self.workers.shared_fate:
                    wait(active, timeout=10.0)
                    lost += [
                        task
                        for future, task in active.items()
                        if not (future.done() and self._store_finished(future, task))
                    ]
                    active.clear()
                self._retry_lost(lost)
            self.progress.set_workers(self.workers.worker_count)
            self.progress.show()

    def _hand_out(self, active: dict[Future, RunGroup]) -> None:
        """Fill the free workers from what waits, one task at a time while a task is suspected of killing its worker.

        active gets the future of each.
        """
        room = 1 if self._suspects else self.workers.most_unfinished
        while len(active) < room and (self._suspects or self._waiting):
            task = (self._suspects or self._waiting).popleft()
            reason = self._hopeless.get((task.method, task.runs[0].options))
            if reason is not None and len({run.options for run in task.runs}) == 1:
                self._give_up_task(task, reason)
            else:
                active[self.workers.submit(run_group, task)] = task

    def _store_finished(self, future: Future, task: RunGroup) -> bool:
        """Store what a finished task brought; False where its worker was lost. Unreachable where all of them are."""
        try:
            outcome = future.result()
        except self.workers.lost:
            return False
        except self.workers.gone as error:
            raise Unreachable(WENT_AWAY) from error
        except Exception as error:  # the task never began, e.g. the worker cannot import meco
            outcome = GroupOutcome(error=f"{type(error).__name__}: {error}")
        self._keep_outcome(task, outcome)
        return True

    def _keep_outcome(self, task: RunGroup, outcome: GroupOutcome) -> None:
        """Store the records of a task; one that failed is halved and waits again, or is given up where it cannot be."""
        alike = len({run.options for run in task.runs}) == 1
        if outcome.records:
            assert outcome.platform is not None, "workers say where they compute"
            self.store.add_platform(outcome.platform)
            self.store.add_runs(zip(task.runs, outcome.records, strict=True))
            self.progress.count_finished(task, outcome.seconds)
        elif len(task.runs) > 1 and not (outcome.hopeless and alike):
            self._waiting.extend(task.split_in_halves())  # one bad run must not take its neighbours along
        else:
            if outcome.hopeless:
                self._hopeless[task.method, task.runs[0].options] = outcome.error
            self._give_up_task(task, outcome.error)

    def _give_up_task(self, task: RunGroup, reason: str) -> None:
        """Store why the runs of a task have no result, and count it as finished."""
        self.failures.update(dict.fromkeys(task.runs, reason))
        self.store.add_failures(task.runs, reason)
        self.progress.count_finished(task, 0.0)

    def _retry_lost(self, lost: list[RunGroup]) -> None:
        """Suspect the tasks of lost workers; one that was alone and died MOST_LOSSES times is given up."""
        alone = len(lost) == 1
        for task in lost:
            self._losses[task] = self._losses.get(task, 0) + alone
            if self._losses[task] >= MOST_LOSSES:
                why = f"its worker died {MOST_LOSSES} times; perhaps it needs more memory than there is"
                self._give_up_task(task, why)
            else:
                self._suspects.append(task)
        self.workers.replace_lost()


def raise_when_stopped() -> contextlib.AbstractContextManager[None]:
    """A context in which Ctrl-C and SIGTERM both raise CampaignStopped, once."""
    return raise_on_signals(CampaignStopped)


def describe_session(experiments: Sequence[Experiment], workers: RunExecutor, runs: int) -> tuple[str, dict[str, Any]]:
    """A name for this session, and with what and on what it runs: facts and versions."""
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return f"{started}-{uuid.uuid4().hex[:6]}", {
        "started": started,
        "experiments": [e.name for e in experiments],
        "runs": runs,
        "meco": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        **installed_versions(PACKAGES[1:]),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _find_processor_name(),
        "cores": os.cpu_count(),
        "executor": workers.name,
        "workers": workers.worker_count,
    }


def _find_processor_name() -> str:
    """What the system calls its processor; "unknown" where it does not say."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
