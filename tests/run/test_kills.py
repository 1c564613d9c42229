"""Processes killed at random moments: no answer is lost that a worker had handed over, nothing is called twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import time

import pytest

from event_logs import events_of, what_happened
from meco.run.log import FILE_NAME
from small_runs import posix

SCRIPT = """
import os, pathlib, sys, time
import meco

folder, calls, workers, asynchronous, output = sys.argv[1:6]

def fun(x, number):
    before = time.monotonic()
    while time.monotonic() - before < 0.004:
        pass
    with open(calls, "ab") as file:
        file.write(b"%d\\n" % number)
    if x[1] > 1.5:
        raise ValueError("no mesh")
    return float(x @ x), [0.5 - x[0]]

fun.numbered = True

if __name__ == "__main__":
    pool = meco.Workers(int(workers), 4 if asynchronous == "1" else None, asynchronous == "1")
    result = meco.minimize(
        fun, [(-2.0, 2.0)] * 3, method="TR" if asynchronous == "1" else meco.Method("SHADE", pop_size=8), budget=48,
        seed=7, workers=pool, checkpoint=meco.Checkpoint(folder, resume=True),
    )
    pathlib.Path(output).write_text(f"{result.nfev} {result.fun!r}")
"""


def start(place, script, workers, asynchronous):
    """A process that runs or resumes the run of a folder."""
    script.write_text(textwrap.dedent(SCRIPT))
    line = [sys.executable, script, place / "run", place / "calls", workers, int(asynchronous), place / "output"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(list(map(str, line)), env=environment)


def kill_until_it_ends(place, script, workers, asynchronous, draw, most):
    """Kill it at random moments, at most so often, and let it end: the number of kills."""
    place.mkdir()
    kills = 0
    while True:
        process = start(place, script, workers, asynchronous)
        log = place / "run" / FILE_NAME
        before = log.stat().st_size if log.exists() else 0
        while kills < most and process.poll() is None and (not log.exists() or log.stat().st_size == before):
            time.sleep(0.002)
            if draw.random() < 0.002:
                break  # while it is replayed, or before it begins
        if kills < most:
            time.sleep(draw.uniform(0.0, 0.15))
            if process.poll() is None:
                process.kill()
                kills += 1
        if process.wait() == 0:
            return kills


def check_folder(place, workers):
    """The budget is exact, every recorded call has one answer, and calls were made again only while pending."""
    events = events_of(place / "run")
    asked = [event[1] for event in events if event[0] == "ask"]
    told = [event[1] for event in events if event[0] == "tell"]
    assert sorted(asked) == sorted(told) == list(range(48))
    assert (place / "output").read_text().startswith("48 ")
    return [int(line) for line in (place / "calls").read_text().split()]


def kills(tmp_path, count, seed, cases):
    draw, done, number = random.Random(seed), 0, 0
    script = tmp_path / "script.py"
    wholes = {}
    while done < count:
        workers, asynchronous = cases[number % len(cases)]
        place = tmp_path / f"case{number}"
        number += 1
        made = kill_until_it_ends(place, script, workers, asynchronous, draw, min(4, count - done))
        calls = check_folder(place, workers)
        assert len(calls) <= 48 + made * workers  # only what was pending at a kill
        if not asynchronous or workers == 1:
            if (workers, asynchronous) not in wholes:
                whole = tmp_path / f"whole{workers}{asynchronous}"
                kill_until_it_ends(whole, script, workers, asynchronous, draw, 0)
                wholes[workers, asynchronous] = sorted(map(str, what_happened(whole / "run")))
            assert sorted(map(str, what_happened(place / "run"))) == wholes[workers, asynchronous]
        done += made


CASES = [(1, False), (3, False), (3, True), (8, False), (1, True), (8, True)]


@posix
def test_killed_processes_lose_nothing(tmp_path):
    kills(tmp_path, 6, 1, CASES[:3])


@pytest.mark.slow
@posix
def test_two_hundred_kills(tmp_path):
    kills(tmp_path, 200, 2, CASES)
