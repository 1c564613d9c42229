"""Where the function is called: here, in processes that can be killed, in an executor, or through a map.

Each has submit(number, points), collect(stopping), free and close(). `free` is how many calls it takes now; collect()
waits for an answer and gives every finished call as (number, answers, seconds). A call whose worker died is a failed
one. Where the workers themselves are gone, StopRun ends the run, and what was under way stays pending.
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
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from multiprocessing.util import Finalize
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np

from meco.errors import InvalidInput
from meco.options import Stop, Workers
from meco.run.answer import Answer, Fault, make_failed_answer
from meco.run.call import Call, Done, Serial
from meco.run.stop import Stopping, StopRun

GRACE_SECONDS = 30.0  # beyond the timeout, after which a future of which nothing is heard is given up
PARENT_CHECK_SECONDS = 0.5  # between a worker's looks at whether its parent still lives
WORKER_NAME = "meco-worker"


class Pool(Protocol):
    """Whatever calls the function."""

    chunks: int  # calls into which the points of a vectorized function are split
    streams: bool  # whether calls can be submitted while others are under way

    @property
    def free(self) -> int:
        """How many further calls it takes."""
        ...

    def submit(self, number: int, points: np.ndarray) -> None:
        """Begin a call of points [m, D]; number is that of the first."""
        ...

    def collect(self, stopping: Stopping) -> list[Done]:
        """Finished calls, at least one; StopRun where the run is over."""
        ...

    def close(self) -> None:
        """End what was started for this run."""
        ...


def make_workers(workers: Workers, call: Call, most: int | None = None) -> Pool:
    """The pool that the user asked for; most is how many points an executor gets at once. Starts no process yet."""
    n, timeout = workers.n, workers.timeout
    if hasattr(n, "submit"):
        packed = _pack_call(call, timeout, pickles=isinstance(n, ProcessPoolExecutor))
        return Futures(n, packed, timeout, sys.maxsize if most is None else most)
    if callable(n):
        return Mapped(n, _pack_call(call, timeout, pickles=_crosses_processes(n)))
    killable = timeout is not None or getattr(call.fun, "isolated", False)
    return Processes(call, n, timeout) if n > 1 or killable else Serial(call)


class Mapped:
    """Calls through a map such as pool.map. Each result names its job, so that none lands on another."""

    chunks, streams = 1, False

    def __init__(self, mapper: Callable[..., Any], call: Callable[..., Any]) -> None:
        self.mapper, self.call = mapper, call
        self.jobs: dict[int, np.ndarray] = {}
        self.results: Iterator[Any] | None = None

    @property
    def free(self) -> int:
        return sys.maxsize if self.results is None else 0

    def submit(self, number: int, points: np.ndarray) -> None:
        self.jobs[number] = points

    def collect(self, stopping: Stopping) -> list[Done]:
        stopping.raise_if_over()
        if self.results is None:
            self.count = len(self.jobs)
            results = self.mapper(_NumberedCall(self.call), list(self.jobs.items()))
            if not isinstance(results, Iterable):
                raise InvalidInput(
                    f"a map given as workers= must return the results in order; it returned {results!r:.60}"
                )
            self.results = iter(results)
        found = next(self.results, None)
        if found is None:
            raise StopRun("workers", f"the map returned {self.count - len(self.jobs)} of {self.count} results")
        points = self.jobs.pop(found[0], None) if isinstance(found, tuple) and len(found) == 3 else None
        if points is None or len(found[1]) != len(points):
            raise StopRun("workers", "the map returned something that is no result of a call, or one twice")
        stopping.raise_if_broken_off(found[1])
        if not self.jobs:
            self.results = None
        return [found]

    def close(self) -> None:
        """Nothing to end: the workers stay their owner's."""


class _NumberedCall:
    """(number, points) -> (number, answers, seconds): what a map runs in its workers."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call

    def __call__(self, job: tuple[int, np.ndarray]) -> Done:
        return job[0], *self.call(*job)


class Futures:
    """A concurrent.futures executor, or anything with submit() whose futures call back; it stays the caller's.

    With a timeout, a future of which nothing is heard for GRACE_SECONDS beyond it is lost: a failed call where others
    were answered in the meantime, else the executor is gone.
    """

    chunks, streams = 1, True

    def __init__(
        self, executor: Any, call: Callable[..., Any], timeout: float | None = None, most: int = sys.maxsize
    ) -> None:
        """timeout in seconds; None waits for ever. most is how many futures there are at once."""
        self.executor, self.call, self.most = executor, call, most
        self.patience = None if timeout is None else timeout + GRACE_SECONDS
        self.futures: dict[int, tuple[Any, int, int]] = {}  # by number: future, points, answers heard before it
        self.done: SimpleQueue[int] = SimpleQueue()
        self.heard, self.since = 0, 0.0
        self.broken: StopRun | None = None  # raised once every finished call was collected

    @property
    def free(self) -> int:
        return 0 if self.broken else self.most - len(self.futures)

    def submit(self, number: int, points: np.ndarray) -> None:
        if self.broken:
            return
        try:
            future = self.executor.submit(self.call, number, points)
            future.add_done_callback(lambda _: self.done.put(number))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise _cannot_send(type(self.executor).__name__, error) from error
        except Exception as error:  # broken, shut down, or without its scheduler
            self.broken = StopRun("workers", f"the executor takes no more work: {_describe(error)}")
            return
        self.futures[number] = future, len(points), self.heard
        self.since = time.monotonic()

    def collect(self, stopping: Stopping) -> list[Done]:
        while True:
            found = self._collect_finished()
            if found:
                return found
            if self.broken:
                raise self.broken
            number = self._wait(stopping)
            if number is None:
                return self._give_up()
            self.done.put(number)

    def _collect_finished(self) -> list[Done]:
        """Every finished call."""
        found: list[Done] = []
        with suppress(Empty):
            while True:
                number = self.done.get_nowait()
                if number not in self.futures:
                    continue
                try:
                    found.append(self._take(number))
                except StopRun as stop:
                    self.broken = stop
        return found

    def _wait(self, stopping: Stopping) -> int | None:
        """The number of a finished call; None where all that are out are lost."""
        until = None if self.patience is None else self.since + self.patience
        while True:
            stopping.raise_if_over()
            with suppress(Empty):
                number = self.done.get(timeout=stopping.longest_wait(until))
                if number in self.futures:
                    return number
                continue
            silent = next((n for n, (future, _, _) in self.futures.items() if future.done()), None)
            if silent is not None or (until is not None and time.monotonic() >= until):
                return silent

    def _give_up(self) -> list[Done]:
        """Failed calls in place of lost futures; StopRun where the executor has answered nothing since they began."""
        if all(heard == self.heard for _, _, heard in self.futures.values()):
            raise StopRun("workers", f"the executor gave no answer within {self.patience:g} s")
        lost, self.futures = self.futures, {}
        for future, _, _ in lost.values():
            future.cancel()
        return [(number, *_lose(size, "the executor lost it")) for number, (_, size, _) in lost.items()]

    def _take(self, number: int) -> Done:
        """The answers of a finished call; StopRun where the executor broke. What a call raises is the executor's."""
        future, size, _ = self.futures.pop(number)
        self.heard, self.since = self.heard + 1, time.monotonic()
        try:
            answers, seconds = future.result()
        except (BrokenExecutor, CancelledError) as error:
            raise StopRun("workers", f"the executor broke: {_describe(error)}") from error
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise _cannot_send(type(self.executor).__name__, error) from error
        except Exception as error:
            if _lost_connection(error):
                raise StopRun("workers", f"the executor broke: {_describe(error)}") from error
            return number, *_lose(size, f"{type(error).__name__}: {error}")
        if len(answers) != size:
            return number, *_lose(size, "it gave another call's answer")
        return number, answers, seconds

    def close(self) -> None:
        """Cancel what has not begun; the executor stays its owner's."""
        for future, _, _ in self.futures.values():
            with suppress(Exception):
                future.cancel()


def _lost_connection(error: BaseException) -> bool:
    """Whether workers or the connection to them are gone: Dask's errors of a scheduler that left, or the network's."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError) or any("Cancel" in name or "Closed" in name for name in names)


def _describe(error: BaseException) -> str:
    """What an error says, as a part of a sentence."""
    return str(error).rstrip(". ") or type(error).__name__


def _cannot_send(owner: str, error: Exception) -> InvalidInput:
    """The error of a function that cannot be sent to other processes."""
    return InvalidInput(
        f"fun cannot be sent to the workers of {owner} ({str(error)[:200]}); define it at the top level of a module "
        "without open files or locks, or pass workers=N or a ThreadPoolExecutor"
    )


def _lose(size: int, reason: str) -> tuple[list[Answer], float]:
    """Failed answers of a call whose worker is gone, and 0 seconds."""
    return [make_failed_answer(Fault.WORKER_LOST, reason)] * size, 0.0


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


# -- processes that can be killed ----------------------------------------------------------------------


def start_method() -> str:
    """fork where it is safe: any function can then be used, without pickling and without a main guard."""
    return "fork" if sys.platform.startswith("linux") else "spawn"


@contextmanager
def _allow_children() -> Iterator[None]:
    """Inside the block a daemonic process, such as one of a Pool or of Dask's nanny, may start processes."""
    config = getattr(multiprocessing.current_process(), "_config", {})
    before = config.get("daemon")
    config["daemon"] = False
    try:
        yield
    finally:
        if before is None:
            config.pop("daemon", None)
        else:
            config["daemon"] = before


class Worker:
    """A child process, head of its own process group, that answers one call at a time."""

    def __init__(self, call: Any) -> None:
        """Start the process, which then waits for calls."""
        context = multiprocessing.get_context(start_method())
        self.pipe, theirs = context.Pipe()
        forked = self.pipe if start_method() == "fork" else None  # its copy of our end would hide our end's end
        self.process = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(theirs, call, os.getpid(), forked), name=WORKER_NAME
        )
        try:
            with _allow_children():
                self.process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()
        self.number = -1  # of the call at hand
        self.size = 0
        self.until: float | None = None

    def send(self, number: int, points: np.ndarray, timeout: float | None) -> None:
        """Hand over a call; timeout in seconds begins now. OSError where the worker is gone."""
        self.pipe.send((number, points))
        self.number, self.size = number, len(points)
        self.until = None if timeout is None else time.monotonic() + timeout

    def receive(self) -> Done | None:
        """The finished call; None where the worker died over it, or what came is not its answer."""
        try:
            number, process, answers, seconds = self.pipe.recv() if self.pipe.poll() else (-1, -1, [], 0.0)
        except Exception:  # the end of the pipe, or bytes that are no answer
            return None
        right = (number, process, len(answers)) == (self.number, self.process.pid, self.size)
        return (number, answers, seconds) if right else None

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


def _serve(pipe: Connection, call: Any, parent: int, other: Connection | None) -> None:
    """The life of a worker: calls in, answers out, until told to end or the parent dies."""
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
            answer = (job[0], me, *call(*job))
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


class Processes:
    """`width` workers; a call past `timeout` seconds ends its worker. A signal lets calls at hand be finished."""

    streams = True

    def __init__(self, call: Any, width: int, timeout: float | None = None) -> None:
        """No process is started before it is needed; timeout is in seconds, None for none."""
        self.call = call if start_method() == "fork" else PickledCall(call)
        self.chunks = self.width = width
        self.timeout = timeout
        self.idle, self.busy = list[Worker](), list[Worker]()

    @property
    def free(self) -> int:
        return self.width - len(self.busy)

    def submit(self, number: int, points: np.ndarray) -> None:
        while True:
            try:
                worker = self.idle.pop() if self.idle else Worker(self.call)
            except OSError as error:
                raise StopRun("workers", f"no worker process could be started ({error.strerror or error})") from error
            try:
                worker.send(number, points, self.timeout)
                self.busy.append(worker)
                return
            except OSError:
                worker.kill()

    def collect(self, stopping: Stopping) -> list[Done]:
        while not (found := [done for worker in list(self.busy) if (done := self._collect_from(worker)) is not None]):
            stopping.raise_if_late()
            ends = [worker.until for worker in self.busy if worker.until is not None]
            handles = [handle for worker in self.busy for handle in (worker.pipe, worker.process.sentinel)]
            wait(handles, stopping.longest_wait(min(ends, default=None)))
        return found

    def _collect_from(self, worker: Worker) -> Done | None:
        """A worker's finished call, a failed one where it died or is too late; None while it is at work."""
        late = worker.until is not None and time.monotonic() >= worker.until
        if not (worker.pipe.poll() or not worker.process.is_alive() or late):
            return None
        self.busy.remove(worker)
        if worker.pipe.poll() or not worker.process.is_alive():
            found = worker.receive()
            if found is not None:
                self.idle.append(worker)
                return found
            worker.kill()
            return worker.number, *_lose(worker.size, f"the worker process ended with code {worker.process.exitcode}")
        worker.kill()
        answer = make_failed_answer(Fault.TIMEOUT, f"no answer within {self.timeout:g} s")
        return worker.number, [answer] * worker.size, float(self.timeout or 0)

    def close(self) -> None:
        """End the workers: idle ones by themselves, others at once."""
        while self.busy:
            self.busy.pop().kill()
        while self.idle:
            self.idle.pop().end_when_idle()


class TimedCall:
    """A call that runs in a killable process of its own, for workers that cannot be killed."""

    def __init__(self, call: Any, timeout: float) -> None:
        self.call, self.timeout = call, timeout

    def __call__(self, number: int, points: np.ndarray) -> tuple[list[Answer], float]:
        """As Call does, in a new process; a call past the timeout is killed, and its answers are failed ones."""
        pool = Processes(self.call, 1, self.timeout)
        try:
            pool.submit(number, points)
            ((_, answers, seconds),) = pool.collect(Stopping(Stop()))
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
