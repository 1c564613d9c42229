"""One run in a process of its own, which an order says how to hit: `python victim.py ORDER`, or forked.

A forked process is as real to a signal or a kill as a started one, and is there at once.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np

import meco
from meco.run.folder import run_folder as runfolder

HIT = ("write", "open", "replace", "fsync", "ftruncate", "close", "unlink")  # file calls, of os


class Objective:
    """A function with two named inequalities and an equality; some places cannot be evaluated."""

    def __init__(self, pause, fails):
        self.pause, self.fails = pause, fails

    def __call__(self, x):
        if self.pause:
            time.sleep(self.pause)
        if x[1] > self.fails:
            raise ValueError("no mesh")
        return {"f": float(x @ x), "g": {"a": 1.0 - x[0], "b": x[1] - 3.0}, "h": [x[0] - x[-1]]}


def hit_at_file_calls(order):
    """Let the blow fall before, after or instead of the file call of a certain number."""
    me, calls = os.getpid(), 0

    def struck(original):
        def call(*args, **options):
            nonlocal calls
            if os.getpid() != me:
                return original(*args, **options)
            calls += 1
            if calls != order["at"]:
                return original(*args, **options)
            if order["kind"] == "ENOSPC":
                raise OSError(28, "No space left on device")
            value = original(*args, **options) if order["after"] else None
            os.kill(me, getattr(signal, order["kind"]))
            return value if order["after"] else original(*args, **options)

        return call

    for name in HIT:
        setattr(os, name, struck(getattr(os, name)))


def run(order):
    """Make the run of an order; its exit code."""
    if order["eager"]:  # every state is written at once: more file calls to hit
        runfolder.STATE_COST_FACTOR = 0.0
    if order["at"]:
        hit_at_file_calls(order)
    warnings.simplefilter("ignore")
    seen = []
    try:
        result = meco.minimize(
            Objective(order["pause"], order["fails"]), [(-5.0, 5.0)] * order["dim"], budget=order["budget"],
            seed=order["seed"], workers=order["workers"], on_error=order["on_error"], callback=seen.append,
            checkpoint=meco.Checkpoint(order["folder"], resume=True, fsync=order["fsync"]),
            method=meco.Method(order["method"], **order["options"]),
        )  # fmt: skip
    except meco.errors.MecoError as error:
        print("meco:", error, file=sys.stderr)
        return 9
    e = result.evaluations
    np.savez(order["output"], x=e.x, f=e.f, g=e.g, h=e.h, failed=e.failed, best=result.x, fun=result.fun)
    return 0


def _forked(order):
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    sys.exit(run(order))


class Victim:
    """A process with a run in it, forked or started anew."""

    def __init__(self, order, fresh):
        if fresh:
            words = [sys.executable, __file__, json.dumps(order)]
            self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        else:
            self.process = multiprocessing.get_context("fork").Process(target=_forked, args=(order,))
            self.process.start()
        self.pid, self.fresh = self.process.pid, fresh

    def code(self, seconds=0.0):
        """Its exit code, or None when it has not ended within these seconds."""
        if self.fresh:
            try:
                return self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
        self.process.join(seconds)
        return self.process.exitcode

    def send(self, number):
        """A signal, unless it has ended."""
        if self.code() is None:
            os.kill(self.pid, number)


if __name__ == "__main__":
    sys.exit(run(json.loads(sys.argv[1])))
