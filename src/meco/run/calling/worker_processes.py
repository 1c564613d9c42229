"""Worker processes that can be killed: one evaluation that hangs or crashes costs one evaluation.

Ours and not pebble's: NumPy alone must be enough at the door, the function is forked and need not be pickled, and a
timeout ends the whole process group, what the function itself started included. A pool of pebble kills its
worker alone, and takes functions that can be pickled.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from multiprocessing.util import Finalize
from typing import Any

import numpy as np

from meco.errors import InvalidInput
from meco.options import Stop
from meco.run.answer import Answer, Fault, make_failed_answer
from meco.run.calling.caller import CallJob, Stopping

PARENT_CHECK_SECONDS = 0.5  # seconds between a worker's looks at whether its parent still lives
WORKER_NAME = "meco-worker"


def start_method() -> str:
    """fork where it is safe: any function can then be used, without pickling and without a main guard."""
    return "fork" if sys.platform.startswith("linux") else "spawn"


class Worker:
    """One child process, the head of its own process group, that answers jobs one at a time."""

    def __init__(self, call: Any) -> None:
        """Start the process, which then waits for jobs."""
        context = multiprocessing.get_context(start_method())
        self.pipe, theirs = context.Pipe()
        forked = self.pipe if start_method() == "fork" else None  # its copy of our end would hide our end's end
        self.process = context.Process(  # type: ignore[attr-defined]
            target=_serve_jobs, args=(theirs, call, os.getpid(), forked), name=WORKER_NAME
        )
        self.process.start()
        theirs.close()
        self.index = -1  # of the job at hand
        self.size = 0
        self.until: float | None = None

    def send(self, index: int, job: CallJob, timeout: float | None) -> None:
        """Hand over a job, numbered by index; timeout in seconds begins now. OSError when the worker is gone."""
        self.pipe.send((index, job))
        self.index, self.size = index, len(job.points)
        self.until = None if timeout is None else time.monotonic() + timeout

    def receive(self) -> tuple[list[Answer], float] | None:
        """The answers, or None when the worker died over them, or what came is not its answer to this job."""
        try:
            index, process, answers, seconds = self.pipe.recv() if self.pipe.poll() else (-1, -1, [], 0.0)
        except Exception:  # the end of the pipe, or bytes that are no answer
            return None
        right = (index, process, len(answers)) == (self.index, self.process.pid, self.size)
        return (answers, seconds) if right else None

    def kill(self) -> None:
        """End the process and whatever it started, and wait for that."""
        with suppress(OSError, AttributeError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def end_when_idle(self) -> None:
        """Tell an idle process to end by itself; kill it after a second."""
        with suppress(OSError):
            self.pipe.send(None)
        self.process.join(timeout=1.0)
        self.kill()


def _serve_jobs(pipe: Connection, call: Any, parent: int, other: Connection | None) -> None:
    """The life of a worker: jobs in, answers out, until told to end or the parent dies."""
    if other is not None:
        other.close()
    me = os.getpid()
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # signals of the terminal go to the parent, which decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    while True:
        try:
            job = pipe.recv()
            if job is None:
                return
            answer = (job[0], me, *call(*job[1]))
            if os.getpid() != me:  # the function forked and both came back: one answer is enough
                os._exit(0)
            pipe.send(answer)
        except (EOFError, OSError):
            return
        except BaseException:  # what a function raises to end everything ends this worker; the parent says so
            os._exit(1)


def _watch_parent(parent: int) -> None:
    """In a thread of a worker: end this process and its children when the parent is gone."""
    while True:
        time.sleep(PARENT_CHECK_SECONDS)
        alive = os.getppid() == parent if os.name == "posix" else multiprocessing.parent_process().is_alive()  # type: ignore[union-attr]
        if not alive:
            if hasattr(os, "killpg"):
                os.killpg(0, signal.SIGKILL)
            os._exit(1)


def _kill_remaining_workers() -> None:
    """At exit: kill workers that whatever interrupted the way out has left, so that this process can end."""
    for process in multiprocessing.active_children():
        if process.name == WORKER_NAME:
            with suppress(OSError, AttributeError):
                os.killpg(process.pid, signal.SIGKILL)  # type: ignore[arg-type]
            process.kill()


Finalize(None, _kill_remaining_workers, exitpriority=100)  # before multiprocessing waits for its children


class WorkerPool:
    """`count` workers that take jobs in order; a job past `timeout` seconds ends its worker."""

    streams = True

    def __init__(self, call: Any, count: int, timeout: float | None = None) -> None:
        """No process is started before it is needed; timeout is in seconds, None for none."""
        self.call = call if start_method() == "fork" else PickledCall(call)
        self.count, self.timeout = count, timeout
        self.chunks = count
        self.idle: list[Worker] = []

    def run(self, jobs: Iterable[CallJob], stopping: Stopping) -> Iterator[tuple[int, list[Answer], float]]:
        """(index of job, answers, seconds) as they come; a signal lets calls at hand be finished.

        StopRun where the run is over.
        """
        waiting, busy, more = enumerate(jobs), list[Worker](), True
        try:
            while more or busy:
                if not busy:
                    stopping.raise_if_over()
                while more and len(busy) < self.count and not stopping.interrupted:
                    job = next(waiting, None)  # made only now, where jobs are made one by one
                    more = job is not None
                    busy += [] if job is None else [self._assign_job(*job)]
                if not busy:
                    continue
                self._wait_for_workers(busy, stopping)
                for worker in list(busy):
                    found = self._collect_answers(worker)
                    if found is not None:
                        busy.remove(worker)
                        yield worker.index, *found
        finally:
            for worker in busy:
                worker.kill()

    def _assign_job(self, index: int, job: CallJob) -> Worker:
        """A worker that has begun this job: an idle one, or a new one where that has died."""
        while True:
            worker = self.idle.pop() if self.idle else Worker(self.call)
            try:
                worker.send(index, job, self.timeout)
                return worker
            except OSError:
                worker.kill()

    def _wait_for_workers(self, busy: list[Worker], stopping: Stopping) -> None:
        """Wait until a worker has something to say, dies, or runs out of time; StopRun when the run's time is over."""
        ends = [w.until for w in busy if w.until is not None]
        wait(
            [w.pipe for w in busy] + [w.process.sentinel for w in busy], stopping.longest_wait(min(ends, default=None))
        )
        stopping.raise_if_late()

    def _collect_answers(self, worker: Worker) -> tuple[list[Answer], float] | None:
        """Answers and seconds that a worker has by now, failed ones where it died or is too late.

        None while it is at work.
        """
        if worker.pipe.poll() or not worker.process.is_alive():
            found = worker.receive()
            if found is not None:
                self.idle.append(worker)
                return found
            worker.kill()
            code = worker.process.exitcode
            return [
                make_failed_answer(Fault.WORKER_LOST, f"the worker process ended with code {code}")
            ] * worker.size, 0.0
        if worker.until is not None and time.monotonic() >= worker.until:
            worker.kill()
            return [make_failed_answer(Fault.TIMEOUT, f"no answer within {self.timeout:g} s")] * worker.size, float(
                self.timeout or 0
            )
        return None

    def close(self) -> None:
        """End the idle workers."""
        while self.idle:
            self.idle.pop().end_when_idle()


class TimedCall:
    """A call that runs in a killable process of its own, for workers that cannot be killed."""

    def __init__(self, call: Any, timeout: float) -> None:
        self.call, self.timeout = call, timeout

    def __call__(self, number: int, points: np.ndarray) -> tuple[list[Answer], float]:
        """As Call does, in a new process; a call past the timeout is killed, and its answers are failed ones."""
        pool = WorkerPool(self.call, 1, self.timeout)
        try:
            ((_, answers, seconds),) = pool.run([CallJob(number, points)], Stopping(Stop()))
            return answers, seconds
        finally:
            pool.close()


class PickledCall:
    """A call packed for another process by cloudpickle where that is installed, else by pickle."""

    def __init__(self, call: Callable[..., Any]) -> None:
        """Pickle the call now; InvalidInput where it cannot be."""
        try:
            import cloudpickle as packer
        except ImportError:
            packer = pickle
        try:
            self.content: bytes = packer.dumps(call)
            pickle.loads(self.content)
        except Exception as error:
            more = "" if packer is not pickle else ", install cloudpickle"
            raise InvalidInput(
                f"fun cannot be sent to worker processes ({type(error).__name__}: {error}); define it at the top level "
                f"of a module without open files or locks{more}, or pass a ThreadPoolExecutor as workers"
            ) from error

    def __call__(self, number: int, points: np.ndarray) -> tuple[list[Answer], float]:
        """As Call does, in whichever process this was sent to; failed answers where it cannot be unpacked there."""
        try:
            call = unpack_call(self.content)
        except Exception as error:
            return [make_failed_answer(Fault.RAISED, f"the worker cannot load fun: {error}")] * len(points), 0.0
        return call(number, points)


@lru_cache(maxsize=8)
def unpack_call(content: bytes) -> Callable[..., Any]:
    """The call in pickled bytes, unpacked once in each process; raises what unpickling raises."""
    return pickle.loads(content)
