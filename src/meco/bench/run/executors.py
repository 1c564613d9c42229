"""Where tasks run: in this process, in processes of this machine, or on a Dask cluster.

Each is a concurrent.futures executor with a few words more: how many tasks to hand out at
a time, which exceptions mean that a worker was lost, and how to go on after that.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from meco.core.platform import pinned_variables
from meco.core.process_pool import ProcessPool
from meco.errors import InvalidInput, MecoError, UnknownName, load_extra

REACH_SECONDS = 10  # how long a scheduler may take to answer


WENT_AWAY = "the Dask scheduler went away; everything finished is kept: give the same command to go on"


class Unreachable(MecoError, ConnectionError):
    """No Dask scheduler answers, or it went away."""

    def __str__(self) -> str:
        return str(self.args[0])


class RunExecutor:
    """Something that takes tasks; the base does them at once, in this process."""

    name = "serial"
    lost: tuple[type[BaseException], ...] = ()  # a worker died; the task can be done again
    gone: tuple[type[BaseException], ...] = ()  # all of it went away
    shared_fate = False  # whether one lost worker takes every task in hand with it
    _count = 1

    @property
    def worker_count(self) -> int:
        """How many tasks run at the same time."""
        return self._count

    @property
    def most_unfinished(self) -> int:
        """How many tasks may be handed out and unfinished at a time."""
        return 1

    def submit(self, work: Callable[..., Any], task: Any) -> Future:
        """Do work(task) now: a future that is finished; what it raises is raised here."""
        future: Future = Future()
        future.set_result(work(task))
        return future

    def replace_lost(self) -> None:
        """Replace workers that were lost; nothing where each is replaced by itself."""

    def close(self, *, now: bool = False) -> None:
        """End the workers; now: without waiting for what they do."""


class ProcessExecutor(RunExecutor):
    """Processes of this machine, pinned to one platform."""

    name = "processes"
    lost = (BrokenProcessPool,)
    shared_fate = True

    def __init__(self, count: int) -> None:
        self._count, self._pool = count, ProcessPool(count, pinned_variables())

    @property
    def most_unfinished(self) -> int:
        return self.worker_count + 1

    def submit(self, work: Callable[..., Any], task: Any) -> Future:
        """Hand out work(task); a pool that broke in between gives a future that failed, as a lost worker does."""
        try:
            return self._pool.submit(work, task)
        except BrokenProcessPool as error:  # it broke between two tasks
            future: Future = Future()
            future.set_exception(error)
            return future

    def replace_lost(self) -> None:
        self._pool.renew()

    def close(self, *, now: bool = False) -> None:
        self._pool.abort() if now else self._pool.close()


class DaskExecutor(RunExecutor):
    """A Dask cluster: a local one of our own, or one that is there already."""

    name = "dask"
    gone = (CancelledError,)

    def __init__(self, address: str, workers: int) -> None:
        """Connect to the scheduler at an address, or start a local cluster of processes where it is empty.

        Silences Dask's logs until close(). Raises Unreachable where no scheduler answers.
        """
        distributed = load_extra("distributed", "dask", "the dask executor")
        from distributed.scheduler import KilledWorker

        self.lost = (KilledWorker,)
        self._logs = {log: log.level for log in map(logging.getLogger, ("distributed", "distributed.client"))}
        for log in self._logs:  # what goes wrong is said in our own words
            log.setLevel(logging.CRITICAL)
        self._cluster = None if address else _start_local_cluster(distributed, workers)
        try:
            target = self._cluster or address
            self._client = distributed.Client(target, timeout=REACH_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise Unreachable(
                f"no Dask scheduler answers at {address} ({type(error).__name__}); "
                "start one with `dask scheduler`, or use --executor dask for a local cluster"
            ) from error
        self._pool: Executor = self._client.get_executor()

    @property
    def worker_count(self) -> int:
        """Threads of the cluster now, 1 at least; Unreachable where the scheduler went away."""
        try:
            return max(1, sum(self._client.nthreads().values()))
        except (OSError, ValueError, TimeoutError) as error:  # a client that has been closed raises a ValueError
            raise Unreachable(WENT_AWAY) from error

    @property
    def most_unfinished(self) -> int:
        return 4 * self.worker_count + 16

    def submit(self, work: Callable[..., Any], task: Any) -> Future:
        return self._pool.submit(work, task)

    def close(self, *, now: bool = False) -> None:
        """End client and a cluster of our own, and let Dask log as it did before; raises nothing."""
        with contextlib.suppress(Exception):
            self._pool.shutdown(wait=False)
        for part in filter(None, (self._client, self._cluster)):
            with contextlib.suppress(Exception):
                part.close(timeout=2 if now else 10)
        for log, level in self._logs.items():
            log.setLevel(level)


def _start_local_cluster(distributed: Any, workers: int) -> Any:
    """Start a Dask cluster of single-threaded, pinned processes on this machine; changes settings of Dask."""
    import dask

    dask.config.set({"distributed.scheduler.allowed-failures": 100})  # a killed worker is not the task's fault
    known = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    dask.config.set({"distributed.nanny.pre-spawn-environ": {**known, **pinned_variables()}})  # before NumPy is loaded
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=None,
        silence_logs=logging.CRITICAL, env=pinned_variables(),
    )  # fmt: skip


def start_executor(spec: str = "processes", workers: int | None = None) -> RunExecutor:
    """Start the workers that `--executor` names: serial, processes, dask or dask:tcp://host:port.

    workers None: one for each core that this process may use. Other names and less than 1 worker are errors.
    """
    if workers is not None and workers < 1:
        raise InvalidInput(f"--workers must be at least 1; got {workers}")
    kind, _, address = spec.partition(":")
    count = workers or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))
    if kind == "dask":
        if address and not re.fullmatch(r"(tcp|tls|ucx|ws|wss)://[^\s/]+:\d{1,5}", address):
            raise InvalidInput(f"--executor dask:tcp://HOST:PORT names a scheduler; got {spec!r:.60}")
        return DaskExecutor(address, count)
    if spec == "serial":
        return RunExecutor()
    if spec == "processes":
        return ProcessExecutor(count)
    raise UnknownName("executor", spec, ["serial", "processes", "dask", "dask:tcp://HOST:PORT"])
