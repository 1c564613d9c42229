"""Campaigns and workers killed outright: the final store equals the undisturbed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from meco.bench.run.campaign_folder import STORE_FILE
from meco.bench.run.result_store import ResultStore
from meco.errors import MecoError

GATED = """
import os, sys, time
from meco.bench.run import groups, runner


def gated(task):
    made = groups.__dict__.setdefault("MADE", [])  # of this process, also where this function is sent by value
    while len(made) >= 2 and not os.path.exists(os.environ["GATE"]):
        time.sleep(0.01)
    made.append(task)
    return groups.run_group(task)


if __name__ == "__main__":
    groups.LOCKSTEP_RUNS, runner.run_group = 2, gated
"""
SCRIPT = f"""{GATED}
    from meco.bench.run.executors import start_executor
    from meco.bench.plan.contender import Contender
    from meco.bench.plan.experiment import Experiment
    from meco.bench.run.result_store import ResultStore

    contenders = tuple(Contender(m, m) for m in ("SHADE", "SHADE-eps", "MeCO-rand", "MA-ES"))
    small = Experiment("small", "Small", contenders, ("C01", "C04", "C06"), dims=(10,), budget=100, runs=4)
    workers = start_executor(sys.argv[1], 2)
    try:
        with ResultStore.open_campaign(sys.argv[2]) as store:
            done = runner.run_campaign([small], store, workers, quiet=True).done
            print(done, store.read_contents().digest, flush=True)
    finally:
        workers.close()
"""
COMMAND = f"""{GATED}
    from meco.cli import main

    sys.exit(main(sys.argv[1:]))
"""


def start(tmp_path, executor):
    """A campaign of 24 tasks; each process makes two of them, and the others once the gate is open."""
    return start_gated(tmp_path, SCRIPT, executor, str(tmp_path / "out"))


def start_gated(tmp_path, code, *words):
    script = tmp_path / "campaign.py"
    script.write_text(code)
    environment = {**os.environ, "GATE": str(tmp_path / "gate")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, str(script), *words], env=environment, **pipes)


def open_gate(tmp_path):
    (tmp_path / "gate").touch()


def stored(tmp_path) -> int:
    try:
        with ResultStore.open(tmp_path / "out") as store:
            return store.count_runs()
    except MecoError:
        return 0


def wait_for(tmp_path, process, count, seconds=300):
    end = time.monotonic() + seconds
    while stored(tmp_path) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    """All processes that this one started, from whichever of its threads, and those that they started."""
    found = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has ended since
            found += map(int, listed.read_text().split())
    return found + [p for child in found for p in children(child)]


def worker_processes(pid: int) -> list[int]:
    found = []
    for child in children(pid):
        try:
            with open(f"/proc/{child}/cmdline", "rb") as line:
                words = line.read()
        except OSError:
            continue
        if b"spawn_main" in words or b"forkserver" in words:
            found.append(child)
    return found


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@linux
def test_a_campaign_killed_outright_goes_on_from_what_was_written(tmp_path, pinned):
    process = start(tmp_path, "processes")  # it cannot end before it is killed
    wait_for(tmp_path, process, 4)
    orphans = worker_processes(process.pid)
    process.kill()
    process.wait()
    assert stored(tmp_path) < 48
    open_gate(tmp_path)
    again = start(tmp_path, "processes")
    out, _ = again.communicate(timeout=300)
    assert out.split() == ["48", pinned]
    end = time.monotonic() + 120
    while any(os.path.exists(f"/proc/{p}") for p in orphans) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(os.path.exists(f"/proc/{p}") for p in orphans)  # workers end with their coordinator


@linux
@pytest.mark.parametrize("executor", ["processes", pytest.param("dask", marks=pytest.mark.slow)])
def test_a_killed_worker_process_loses_nothing(tmp_path, pinned, executor):
    if executor == "dask":
        pytest.importorskip("distributed")
    process = start(tmp_path, executor)
    wait_for(tmp_path, process, 2)
    os.kill(worker_processes(process.pid)[-1], signal.SIGKILL)
    open_gate(tmp_path)
    out, err = process.communicate(timeout=300)
    assert out.split() == ["48", pinned], err


@linux
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_kills_on_a_local_dask_cluster_lose_nothing(tmp_path, pinned, seed):
    pytest.importorskip("distributed")
    rng = np.random.default_rng(seed)
    for _ in range(2):  # kill a worker, then the coordinator, at random moments
        process = start(tmp_path, "dask")
        wait_for(tmp_path, process, stored(tmp_path) + 2)
        time.sleep(rng.uniform(0.0, 1.0))
        workers = worker_processes(process.pid)
        if workers and process.poll() is None:
            os.kill(int(rng.choice(workers)), signal.SIGKILL)
        wait_for(tmp_path, process, stored(tmp_path) + 2)
        time.sleep(rng.uniform(0.0, 1.0))
        process.kill()
        process.wait()
    open_gate(tmp_path)
    out, err = start(tmp_path, "dask").communicate(timeout=300)
    assert out.split() == ["48", pinned], err


@linux
def test_sigterm_ends_the_command_cleanly_and_the_same_command_goes_on(tmp_path):
    words = ["bench", "--problem", "C01", "C04", "C06", "--methods", "SHADE", "MA-ES", "--budget", "100", "--dim", "10"]
    words += ["--runs", "4", "--out", str(tmp_path / "out"), "--no-report", "--workers", "2"]
    process = start_gated(tmp_path, COMMAND, *words)
    wait_for(tmp_path, process, 1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "the same command goes on" in err
    assert 0 < stored(tmp_path) < 24
    open_gate(tmp_path)
    out, err = start_gated(tmp_path, COMMAND, *words).communicate(timeout=300)
    assert "24 of 24 runs" in out, err
    assert (tmp_path / "out" / STORE_FILE).is_file()
