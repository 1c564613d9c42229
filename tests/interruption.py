"""A run that is broken off in the middle of a call, as by Ctrl-C, or with its process killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any


def broken_off(fun: Callable[[Any], Any], after: int) -> Callable[[Any], Any]:
    """The function, interrupted in the call after so many; a run folder takes the two for the same function."""
    calls = []

    def breaks_off(x: Any) -> Any:
        calls.append(x)
        if len(calls) > after:
            raise KeyboardInterrupt
        return fun(x)

    breaks_off.__qualname__ = fun.__qualname__
    return breaks_off


def kill_run(run: Callable[[Callable[[Any], Any]], Any], fun: Callable[[Any], Any], after: int) -> None:
    """Fork a process that runs the function, and is killed without warning in the call after so many."""
    pid = os.fork()
    if pid == 0:
        calls = []

        def killed(x: Any) -> Any:
            calls.append(x)
            return os.kill(os.getpid(), signal.SIGKILL) if len(calls) > after else fun(x)

        killed.__qualname__ = getattr(fun, "__qualname__", type(fun).__qualname__)
        run(killed)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
