"""Where calls are made when not in this process: in workers of our own, in an executor, or through a map."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from meco.blackbox.answers import Answer, Call, Fault, failed
from meco.blackbox.calls import Backend, CallJob, Found, Serial, Stopping, StopRun
from meco.blackbox.processes import Parcel, TimedCall, WorkerPool
from meco.errors import InvalidInput


def choose_backend(workers: Any, call: Call, timeout: float | None) -> Backend:
    """The backend that `workers` asks for: an int, an executor, or a map."""
    if timeout is not None and not timeout > 0:
        raise InvalidInput(f"eval_timeout must be a positive number of seconds; got {timeout!r}")
    if hasattr(workers, "submit"):
        return Executor(workers, _packed(call, timeout, isinstance(workers, ProcessPoolExecutor)))
    if callable(workers):
        return Mapped(workers, _packed(call, timeout, _pickles(workers)))
    if isinstance(workers, bool) or not hasattr(workers, "__index__"):
        raise InvalidInput(
            f"workers must be a number of processes (-1: all cores), an executor or a map; got {workers!r}"
        )
    count = (os.cpu_count() or 1) if int(workers) == -1 else int(workers)
    if count < 1:
        raise InvalidInput(f"workers must be 1 or more, or -1 for all cores; got {workers}")
    return Serial(call) if count == 1 and timeout is None else WorkerPool(call, count, timeout)


def _packed(call: Call, timeout: float | None, pickles: bool) -> Callable[..., Any]:
    timed = call if timeout is None else TimedCall(call, timeout)
    return Parcel(timed) if pickles else timed  # other libraries know best how to send a function


def _pickles(mapper: Any) -> bool:
    """Whether a map is that of a process pool of the standard library."""
    owner = getattr(mapper, "__self__", None)
    kinds = [f"{c.__module__}.{c.__name__}" for c in type(owner).__mro__]
    return isinstance(owner, ProcessPoolExecutor) or (
        "multiprocessing.pool.Pool" in kinds and "multiprocessing.pool.ThreadPool" not in kinds
    )


class Mapped:
    """A map-like function, such as pool.map; its results come in order."""

    chunks = 1

    def __init__(self, mapper: Callable[..., Any], call: Callable[..., Any]) -> None:
        self.mapper, self.call = mapper, call

    def run(self, jobs: list[CallJob], stopping: Stopping) -> Iterator[Found]:
        stopping.check()
        for index, found in enumerate(self.mapper(partial(_apply, self.call), jobs)):
            yield index, *found
            stopping.check()

    def close(self) -> None:
        pass


def _apply(call: Callable[..., Any], job: CallJob) -> tuple[list[Answer], float]:
    return call(*job)


class Executor:
    """A concurrent.futures executor, or anything with submit() whose futures call back when done.

    The executor stays the caller's: it is not shut down, and what runs when the run stops
    is left to finish.
    """

    chunks = 1

    def __init__(self, executor: Any, call: Callable[..., Any]) -> None:
        self.executor, self.call = executor, call

    def run(self, jobs: list[CallJob], stopping: Stopping) -> Iterator[Found]:
        done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        futures = []
        try:
            for index, job in enumerate(jobs):
                futures.append(self._submit(job))
                futures[-1].add_done_callback(lambda future, index=index: done.put((index, future)))
            for _ in jobs:
                index, future = _next(done, stopping)
                yield index, *self._answers(future, jobs[index])
        finally:
            for future in futures:
                future.cancel()

    def _submit(self, job: CallJob) -> Any:
        try:
            return self.executor.submit(self.call, *job)
        except (BrokenExecutor, RuntimeError) as error:  # broken, or shut down
            raise StopRun("workers", f"the executor takes no more work: {error}") from error

    def _answers(self, future: Any, job: CallJob) -> tuple[list[Answer], float]:
        """The call itself never raises: what does come up is the executor's own trouble."""
        try:
            return future.result()
        except BrokenExecutor as error:
            raise StopRun("workers", f"the executor broke: {error}") from error
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidInput(
                f"fun cannot be sent to the workers of {type(self.executor).__name__} ({error}); define it at the top "
                "level of a module, or pass workers=N or a ThreadPoolExecutor"
            ) from error
        except (Exception, CancelledError) as error:
            lost = failed(Fault.WORKER_LOST, f"{type(error).__name__}: {error}")
            return [lost] * len(job.points), 0.0

    def close(self) -> None:
        pass


def _next(done: SimpleQueue[tuple[int, Any]], stopping: Stopping) -> tuple[int, Any]:
    """The next finished future, waited for in short steps so that a signal is heard everywhere."""
    while True:
        stopping.check()
        try:
            return done.get(timeout=stopping.patience())
        except Empty:
            continue
