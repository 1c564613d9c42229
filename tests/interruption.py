"""A run that is broken off in the middle of a call, as by Ctrl-C, or with its process killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any


def pass_for(fun: Callable[[Any], Any], stand_in: Any) -> Any:
    """The stand-in, which a run folder takes for the function from now on."""
    stand_in.__qualname__ = getattr(fun, "__qualname__", type(fun).__qualname__)
    stand_in.fingerprint_parts = lambda: [fun]
    return stand_in


def broken_off(fun: Callable[[Any], Any], after: int) -> Callable[[Any], Any]:
    """The function, interrupted in the call after so many; a run folder takes the two for the same function."""
    calls = []

    def breaks_off(x: Any) -> Any:
        calls.append(x)
        if len(calls) > after:
            raise KeyboardInterrupt
        return fun(x)

    return pass_for(fun, breaks_off)


def kill_run(run: Callable[[Callable[[Any], Any]], Any], fun: Callable[[Any], Any], after: int) -> None:
    """Fork a process that runs the function, and is killed without warning in the call after so many."""
    pid = os.fork()
    if pid == 0:
        calls = []

        def killed(x: Any) -> Any:
            calls.append(x)
            return os.kill(os.getpid(), signal.SIGKILL) if len(calls) > after else fun(x)

        run(pass_for(fun, killed))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
