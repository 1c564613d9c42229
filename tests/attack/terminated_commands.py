"""`meco solve` ended by signals: soon, with the result, and with a folder that goes on."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

FUNCTION = """
import time
from pathlib import Path
bounds = [(-5, 5)] * 3
def fun(x):
    Path("called").touch()
    time.sleep({pause})
    return float(x @ x), [1 - x[0]]
"""
SOON = 5.0  # seconds


def attempt(seed, folder):
    """Start, signal, wait; what went wrong, or nothing."""
    if os.name != "posix":
        return "SKIPPED: signals of POSIX"
    draw, place = random.Random(f"terminated {seed}"), Path(folder)
    pause, workers = draw.choice([0.0, 0.0, 0.01, 0.3, 600]), draw.choice([1, 2])
    method = draw.choice(["SHADE-FR", "MeCO", "TR"])
    (place / "p.py").write_text(FUNCTION.format(pause=pause))
    words = ["solve", "p.py:fun", "--budget", "100000000", "--workers", str(workers), "--method", method, "--seed", "1"]
    line = [sys.executable, "-m", "meco", *words, "--checkpoint", "r", "--quiet", "--json"]
    process = subprocess.Popen(line, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: (place / "r" / "events.jsonl").exists() or process.poll() is not None)
        time.sleep(draw.uniform(0.3, 1.0))
        number = draw.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGINT])
        begun = time.monotonic()
        process.send_signal(number)
        for _ in range(draw.choice([0, 0, 1, 4])):
            time.sleep(draw.choice([0.003, 0.05]))
            if process.poll() is None:
                process.send_signal(number)
        while pause > 1 and process.poll() is None and time.monotonic() - begun < 60:
            time.sleep(0.6)  # the first lets the call at hand be finished: a later one abandons it
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - begun - (0.6 if pause > 1 else 0.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"hung ({method}, {workers} workers, calls of {pause} s)"
    called = (place / "called").exists()
    return judged(process.returncode, out, err, took, pause, called) or left_over(place)


def judged(code, out, err, took, pause, called):
    """What is wrong with how a command ended, or nothing; called: whether the function was, so that there is a run."""
    if code not in ((0, 2) if called else (0, 2, 130)) or "Traceback" in err:
        return f"exit {code}: {err[-300:]}"
    if code == 130:  # the signal came before the search had begun: there is nothing to tell
        return f"exit 130 and said {out[:60]!r}" if out else f"took {took:.1f} s" if took > SOON else ""
    result = json.loads(out)
    if result["stop_reason"] != "interrupt" or (pause < 1 and result["nfev"] == 0 and result["status"] != 2):
        return f"ended as {result['stop_reason']} after {result['nfev']} evaluations"
    return f"took {took:.1f} s" if took > SOON else ""


def left_over(place):
    """A worker that outlived its parent, or nothing."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        found = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if _works_in(pid, place)]
        if not found:
            return ""
        time.sleep(0.2)
    return f"processes {found} are left"


def _works_in(pid, place):
    try:
        return os.readlink(f"/proc/{pid}/cwd").startswith(str(place))
    except OSError:
        return False


def wait_until(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
