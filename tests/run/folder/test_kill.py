"""Runs killed without warning, at random moments, go on bit for bit."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from event_logs import what_happened
from meco.run.log import FILE_NAME

SCRIPT = """
import sys, time
import numpy as np
import meco

def fun(x):
    time.sleep(float(sys.argv[2]))
    if x[1] > 4:
        raise ValueError("no mesh")
    return float(x @ x), [1.0 - x[0], x[1] - 3.0], [x[0] - x[2]]

if __name__ == "__main__":
    result = meco.minimize(
        fun, [(-5.0, 5.0)] * 3, method=meco.Method(sys.argv[4], pop_size=8), budget=100, seed=7,
        workers=int(sys.argv[3]), checkpoint=meco.Checkpoint(sys.argv[1], resume=True),
    )
    e = result.evaluations
    np.savez(sys.argv[5], x=e.x, f=e.f, g=e.g, h=e.h, failed=e.failed, best=result.x, fun=result.fun)
"""


def run_script(tmp_path, folder, workers, method, output, pause="0.002"):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, str(script), str(folder), pause, str(workers), method, str(output)], env=environment
    )


def killed(process, log, draw):
    """Kill a run at a random moment after it began to write, or right away; whether it was still running."""
    before = log.stat().st_size if log.exists() else 0
    if draw.random() < 0.85:
        wait_until(lambda: process.poll() is not None or (log.exists() and log.stat().st_size > before))
        time.sleep(draw.uniform(0.0, 0.2))
    process.kill()
    return process.wait() != 0


def kills(tmp_path, count, seed):
    """Kill runs without warning, resume, and compare with runs that were left alone."""
    draw = random.Random(seed)
    done, number = 0, 0  # a run may end before it is killed: then none is done, but its folder is taken
    wholes = {}
    while done < count:
        number += 1
        workers, method = draw.choice([1, 2]), draw.choice(["SHADE-FR", "MeCO-rand"])
        if method not in wholes:
            wholes[method] = tmp_path / f"whole-{method}.npz"
            assert run_script(tmp_path, tmp_path / f"whole-{method}", 1, method, wholes[method], "0").wait() == 0
        folder, output = tmp_path / f"run{number}", tmp_path / f"run{number}.npz"
        while killed(run_script(tmp_path, folder, workers, method, output), folder / FILE_NAME, draw):
            done += 1
            if draw.random() < 0.4 or done >= count:
                assert run_script(tmp_path, folder, workers, method, output).wait() == 0
                break
        with np.load(wholes[method]) as whole, np.load(output) as found:
            for key in whole.files:
                assert_array_equal(whole[key], found[key])
        assert sorted(what_happened(folder), key=str) == sorted(what_happened(tmp_path / f"whole-{method}"), key=str)


def wait_until(condition):
    for _ in range(30_000):  # of a hundredth of a second: a guard against hanging
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited too long")


def test_a_killed_run_resumes_bit_for_bit(tmp_path):
    kills(tmp_path, 2, seed=1)


@pytest.mark.slow
def test_fifty_kills(tmp_path):
    kills(tmp_path, 50, seed=2)


def test_killed_workers_do_not_outlive_their_parent(tmp_path):
    script = tmp_path / "script.py"
    pids = tmp_path / "pids"
    pids.mkdir()
    script.write_text(
        textwrap.dedent(f"""
        import os, pathlib, time, meco
        def fun(x):
            (pathlib.Path({str(pids)!r}) / str(os.getpid())).touch()
            time.sleep(600)
        meco.minimize(fun, [(-5, 5)] * 2, method="SHADE-FR", budget=20, workers=2, seed=1)
    """)
    )
    process = subprocess.Popen([sys.executable, str(script)])
    wait_until(lambda: len(list(pids.iterdir())) == 2)
    process.kill()
    process.wait()
    wait_until(lambda: not any(os.path.exists(f"/proc/{path.name}") for path in pids.iterdir()))
