"""Where calls are made when not in this process: in workers of our own, in an executor, or through a map."""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

from meco.errors import InvalidInput
from meco.options import Workers
from meco.run.answer import Answer, Fault, make_failed_answer
from meco.run.calling.call import Call
from meco.run.calling.caller import Backend, CallJob, JobAnswers, SerialBackend, Stopping, StopRun
from meco.run.calling.worker_processes import PickledCall, TimedCall, WorkerPool

GRACE_SECONDS = 30.0  # seconds beyond timeout after which futures of which nothing is heard are given up


def choose_backend(workers: Workers, call: Call, max_points: int | None = None) -> Backend:
    """The backend that the workers ask for: processes, an executor (given at most max_points at once), or a map."""
    n, timeout = workers.n, workers.timeout
    if hasattr(n, "submit"):
        packed = _pack_call(call, timeout, pickles=isinstance(n, ProcessPoolExecutor))
        return ExecutorBackend(n, packed, timeout, sys.maxsize if max_points is None else max_points)
    if callable(n):
        return MapBackend(n, _pack_call(call, timeout, pickles=_crosses_processes(n)))
    killable = timeout is not None or getattr(call.fun, "isolated", False)
    return WorkerPool(call, n, timeout) if n > 1 or killable else SerialBackend(call)


def _pack_call(call: Call, timeout: float | None, *, pickles: bool) -> Callable[..., Any]:
    """The call as workers get it: killable where there is a timeout, pickled here where their library would not."""
    timed = call if timeout is None else TimedCall(call, timeout)
    return PickledCall(timed) if pickles else timed  # other libraries know best how to send a function


def _crosses_processes(mapper: Any) -> bool:
    """Whether a map is that of a process pool of the standard library."""
    owner = getattr(mapper, "__self__", None)
    kinds = [f"{c.__module__}.{c.__name__}" for c in type(owner).__mro__]
    return isinstance(owner, ProcessPoolExecutor) or (
        "multiprocessing.pool.Pool" in kinds and "multiprocessing.pool.ThreadPool" not in kinds
    )


class MapBackend:
    """A map-like function, such as pool.map. Each result says of which job it is, so that none lands on another."""

    chunks, streams = 1, False

    def __init__(self, mapper: Callable[..., Any], call: Callable[..., Any]) -> None:
        self.mapper, self.call = mapper, call

    def run(self, jobs: Iterable[CallJob], stopping: Stopping) -> Iterator[JobAnswers]:
        """Answers of all jobs, which go to the map together; StopRun where it gives fewer results, or other ones."""
        stopping.raise_if_over()
        open_jobs = dict(enumerate(jobs))
        if not open_jobs:
            return
        count = len(open_jobs)
        results = self.mapper(partial(_apply_call, self.call), list(open_jobs.items()))
        if not isinstance(results, Iterable):
            raise InvalidInput(f"a map given as workers= must return the results in order; it returned {results!r:.60}")
        for found in results:
            job = open_jobs.pop(found[0], None) if isinstance(found, tuple) and len(found) == 3 else None
            if job is None or len(found[1]) != len(job.points):
                raise StopRun("workers", "the map returned something that is no result of a call, or one twice")
            stopping.raise_if_broken_off(found[1])
            yield found
            stopping.raise_if_over()
        if open_jobs:
            raise StopRun("workers", f"the map returned {count - len(open_jobs)} of {count} results")

    def close(self) -> None:
        """Nothing to end: the workers stay their owner's."""


def _apply_call(call: Callable[..., Any], numbered: tuple[int, CallJob]) -> JobAnswers:
    """The answers of (index, job), with the index: what a map runs in its workers."""
    return numbered[0], *call(*numbered[1])


class ExecutorBackend:
    """A concurrent.futures executor, or anything with submit() whose futures call back when done.

    The executor stays the caller's: it is not shut down, and what runs when the run stops
    is left to finish. With timeout at least one future must end within it: where none
    does, those still open are lost, and cost one evaluation each. max_points is how many futures there are at once.
    """

    chunks, streams = 1, True

    def __init__(
        self, executor: Any, call: Callable[..., Any], timeout: float | None = None, max_points: int = sys.maxsize
    ) -> None:
        """timeout in seconds makes lost futures noticed, None waits for ever; max_points are out at once."""
        self.executor, self.call, self.max_points = executor, call, max_points
        self.patience = None if timeout is None else timeout + GRACE_SECONDS

    def run(self, jobs: Iterable[CallJob], stopping: Stopping) -> Iterator[JobAnswers]:
        """Answers as futures end; at most max_points points are out at once."""
        done: SimpleQueue[int] = SimpleQueue()
        futures: dict[int, Any] = {}
        given: dict[int, CallJob] = {}
        waiting = enumerate(jobs)
        try:
            while True:
                for index, job in islice(waiting, self.max_points - len(futures)):
                    futures[index], given[index] = self._submit(job), job
                    futures[index].add_done_callback(lambda future, index=index: done.put(index))
                if not futures:
                    return
                ended = self._next_future(done, futures, stopping)
                if ended is None:
                    for lost in list(futures):
                        futures.pop(lost).cancel()
                        yield lost, *_make_lost_answers(given.pop(lost), "the executor lost it")
                elif ended in futures:
                    yield ended, *self._answers_of(futures.pop(ended), given.pop(ended))
        finally:
            for future in futures.values():
                future.cancel()

    def _next_future(self, done: SimpleQueue[int], futures: dict[int, Any], stopping: Stopping) -> int | None:
        """The index of the next finished future, or None when all are lost.

        Waited for in short steps so that a signal is heard; StopRun where the run is over.
        """
        until = None if self.patience is None else time.monotonic() + self.patience
        while True:
            stopping.raise_if_over()
            try:
                return done.get(timeout=stopping.longest_wait(until))
            except Empty:
                silent = next((i for i, future in futures.items() if future.done()), None)  # it never called back
                if silent is not None or (until is not None and time.monotonic() >= until):
                    return silent

    def _submit(self, job: CallJob) -> Any:
        """The future of a job; StopRun where the executor takes no more."""
        try:
            return self.executor.submit(self.call, *job)
        except (BrokenExecutor, RuntimeError) as error:  # broken, or shut down
            raise StopRun("workers", f"the executor takes no more work: {_without_full_stop(error)}") from error

    def _answers_of(self, future: Any, job: CallJob) -> tuple[list[Answer], float]:
        """Answers and seconds of a finished future; StopRun where the executor broke.

        The call itself never raises: what comes up is the executor's.
        """
        try:
            answers, spent = future.result()
            return (
                (answers, spent)
                if len(answers) == len(job.points)
                else _make_lost_answers(job, "it gave another call's answer")
            )
        except BrokenExecutor as error:
            raise StopRun("workers", f"the executor broke: {_without_full_stop(error)}") from error
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidInput(
                f"fun cannot be sent to the workers of {type(self.executor).__name__} ({error}); define it at the top "
                "level of a module, or pass workers=N or a ThreadPoolExecutor"
            ) from error
        except (Exception, CancelledError) as error:
            return _make_lost_answers(job, f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Nothing to end: the workers stay their owner's."""


def _without_full_stop(error: BaseException) -> str:
    """What an error says, as a part of a sentence."""
    return str(error).rstrip(". ")


def _make_lost_answers(job: CallJob, reason: str) -> tuple[list[Answer], float]:
    """A failed answer for each point of a job whose worker or answer is gone, and 0 seconds."""
    return [make_failed_answer(Fault.WORKER_LOST, reason)] * len(job.points), 0.0
