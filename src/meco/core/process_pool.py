"""Work spread over processes with one thread of linear algebra each, so that results do not depend on their number."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

GRACE_SECONDS = 1  # how long a process may take to end


class ProcessPool:
    """Fresh processes of this machine; they leave Ctrl-C to this one, and end when it is no more."""

    def __init__(self, count: int, variables: Mapping[str, str]) -> None:
        """Start count processes; variables are set in this process's environment too, until close() or abort()."""
        self.count = count
        self._before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)  # inherited by the processes; this one has read its own already
        self._others = {p.pid for p in multiprocessing.active_children()}
        self._start()

    def _start(self) -> None:
        """Begin with new processes, which start when they are first given work."""
        fresh = multiprocessing.get_context("spawn")  # a fork would inherit locks and BLAS threads
        self._pool = ProcessPoolExecutor(self.count, mp_context=fresh, initializer=_begin_worker)

    def submit(self, work: Callable[..., Any], task: Any) -> Future:
        """Have work(task) done in one of the processes; both must be picklable.

        An error comes with the Future's result.
        """
        return self._pool.submit(work, task)

    def renew(self) -> None:
        """End the processes at once and start others, after one was lost; results still awaited are lost too."""
        self._kill()
        self._start()

    def close(self) -> None:
        """Wait for the work that has begun, drop tasks that wait, end the processes and restore the environment."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._restore_environment()

    def abort(self) -> None:
        """End the processes at once, whatever they do, and restore the environment."""
        self._kill()
        self._restore_environment()

    def _restore_environment(self) -> None:
        """Set the environment's variables as they were before the pool."""
        for name, value in self._before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})

    def _kill(self) -> None:
        """End the processes of the pool at once, whatever they do; those of others stay.

        Waits GRACE_SECONDS at most for each.
        """
        ours = [p for p in multiprocessing.active_children() if p.pid not in self._others]
        for process in ours:
            process.terminate()
        for process in ours:
            process.join(GRACE_SECONDS)
            process.kill()  # a library in the middle of its work may not have heard
        self._pool.shutdown(wait=False, cancel_futures=True)


def _begin_worker() -> None:
    """In a process of the pool: leave Ctrl-C to the coordinator, and end when the coordinator is no more."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
