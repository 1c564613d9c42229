"""The command line called inside this process: thousands of calls in minutes, each in a folder of its own."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import warnings

from meco.cli import main

DOCUMENTED = {0, 1, 2, 130}
PATIENCE = 60  # seconds


class TooLong(BaseException):
    pass


@contextlib.contextmanager
def alarm(seconds=PATIENCE):
    """An end to a call that does not end."""

    def stop(number, frame):
        raise TooLong

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def call(words, folder):
    """(exit code, what was said) of one call; anything that escapes main() is the code "escaped"."""
    out, err, path, here, stdin = io.StringIO(), io.StringIO(), list(sys.path), os.getcwd(), sys.stdin
    os.chdir(folder)
    sys.stdin = io.StringIO("")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings(), alarm():
            warnings.simplefilter("ignore")
            code = main(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except TooLong:
        code = "too long"
    except BaseException as error:
        code = f"escaped: {type(error).__name__}: {error}"
    finally:
        os.chdir(here)
        sys.path[:], sys.stdin = path, stdin
    return code, err.getvalue(), out.getvalue()


def complaint(code, said):
    """What is wrong with how a call ended, or nothing."""
    if code not in DOCUMENTED:
        return f"exit {code}: {said[-300:]}"
    if "Traceback" in said:
        return f"a traceback: {said[-300:]}"
    if code == 2 and said and not any(line.startswith("meco: ") for line in said.splitlines()):
        return f"exit 2 without a line: {said[-300:]}"
    return ""
