"""Runs that are killed, stopped, frozen or out of room at file calls and at random moments, and then resumed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SCRIPT = '''
import json, os, signal, sys, time
import numpy as np
import meco

order = json.loads(sys.argv[1])
calls = 0

def struck(name, original):
    """A file call before or after which the blow falls."""
    def call(*args, **options):
        global calls
        calls += 1
        if calls == order["at"] and os.getpid() == order["pid"]:
            if order["kind"] == "ENOSPC":
                raise OSError(28, "No space left on device")
            if order["after"]:
                value = original(*args, **options)
                os.kill(os.getpid(), getattr(signal, order["kind"]))
                return value
            os.kill(os.getpid(), getattr(signal, order["kind"]))
        return original(*args, **options)
    return call

def fun(x):
    time.sleep(order["pause"])
    if x[1] > 4:
        raise ValueError("no mesh")
    return {"f": float(x @ x), "g": {"a": 1.0 - x[0], "b": x[1] - 3.0}, "h": [x[0] - x[2]]}

if __name__ == "__main__":
    order["pid"] = os.getpid()
    if order["at"]:
        for name in ("write", "open", "replace", "fsync", "ftruncate", "close"):
            setattr(os, name, struck(name, getattr(os, name)))
    try:
        result = meco.minimize(
            fun, [(-5.0, 5.0)] * 3, method=order["method"], budget=order["budget"], seed=7, workers=order["workers"],
            checkpoint=meco.Checkpoint(order["folder"], fsync=order["fsync"]), resume=True,
        )
    except meco.errors.MecoError as error:
        print("meco:", error, file=sys.stderr)
        sys.exit(9)
    e = result.evaluations
    np.savez(order["output"], x=e.x, f=e.f, g=e.g, h=e.h, failed=e.failed, best=result.x, fun=result.fun)
'''
KINDS = ("SIGKILL", "SIGTERM", "SIGINT", "ENOSPC", "SIGSTOP")
METHODS = ("SHADE-FR", "MeCO", "TR-ES")
BUDGET = 60


def start(order, folder):
    script = Path(folder) / "script.py"
    script.write_text(SCRIPT)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, str(script), json.dumps(order)], **quiet)


def attempt(seed, folder):
    """Interrupt a run a few times, resume it, and compare with one that was left alone; what differs, or nothing."""
    if os.name != "posix":
        return "SKIPPED: signals of POSIX"
    draw, place = random.Random(f"interrupted {seed}"), Path(folder)
    method, workers = draw.choice(METHODS), draw.choice([1, 1, 2])
    common = {"method": method, "budget": BUDGET, "workers": workers, "pause": 0.0, "at": 0, "after": False, "kind": ""}
    common |= {"fsync": draw.random() < 0.3, "folder": str(place / "run"), "output": str(place / "out.npz")}
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(KINDS)
        at = draw.randint(1, 200) if kind == "ENOSPC" or draw.random() < 0.6 else 0
        order = common | {"kind": kind, "at": at, "after": draw.random() < 0.5, "pause": draw.choice([0.0, 0.002])}
        said = strike(start(order, folder), order, draw)
        if said:
            return f"{said} ({method}, {workers} workers, {kind} at {at or 'a random moment'})"
    if run_to_end(common, folder) != 0:
        return f"not resumed ({method}, {workers} workers)"
    whole = place.parent / f"whole-{method}"
    if not (whole / "out.npz").exists():
        whole.mkdir(exist_ok=True)
        run_to_end(common | {"workers": 1, "folder": str(whole / "run"), "output": str(whole / "out.npz")}, whole)
    return difference(whole, place)


def strike(process, order, draw):
    """Let the blow fall, and wait for the end; what went wrong, or nothing."""
    kind = order["kind"]
    if not order["at"]:
        time.sleep(draw.uniform(0.2, 1.5))
        for _ in range(draw.randint(1, 5) if kind in ("SIGTERM", "SIGINT") else 1):
            if process.poll() is None and kind != "ENOSPC":
                process.send_signal(getattr(signal, kind))
                time.sleep(draw.choice([0.0, 0.003, 0.1, 0.4]))
    if kind == "SIGSTOP":
        time.sleep(1.0)
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            process.send_signal(signal.SIGCONT)
            time.sleep(0.2)
    try:
        process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "hung"
    return ""


def run_to_end(order, folder):
    process = start(order, folder)
    try:
        process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode


def difference(whole, place):
    """In what a resumed run differs from one that was left alone, to the last bit."""
    with np.load(whole / "out.npz") as one, np.load(place / "out.npz") as other:
        for key in one.files:
            if not np.array_equal(one[key], other[key], equal_nan=True):
                return f"{key} differs after resuming"
    if (whole / "run" / "evals.bin").read_bytes() != (place / "run" / "evals.bin").read_bytes():
        return "the log differs after resuming"
    return ""
