"""Campaigns and workers killed outright: the final store equals the undisturbed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.run.campaign_folder import STORE_FILE
from meco.bench.run.executors import RunExecutor
from meco.bench.run.result_store import ResultStore
from meco.bench.run.runner import run_campaign
from meco.errors import MecoError

SCRIPT = """
import os, sys, time
from meco.bench.run import groups, runner
from meco.bench.run.executors import start_executor
from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.run.result_store import ResultStore


def slowly(task):
    time.sleep(float(os.environ.get("SECONDS_OF_A_TASK", 0)))
    return groups.run_group(task)


if __name__ == "__main__":
    groups.LOCKSTEP_RUNS, runner.run_group = 2, slowly
    contenders = tuple(Contender(m, m) for m in ("SHADE", "SHADE-eps", "MeCO-rand", "MA-ES"))
    small = Experiment("small", "Small", contenders, ("C01", "C04", "C06"), dims=(10,), budget=200, runs=4)
    workers = start_executor(sys.argv[1], 2)
    try:
        with ResultStore.open_campaign(sys.argv[2]) as store:
            print(runner.run_campaign([small], store, workers, quiet=True).done, store.contents().digest, flush=True)
    finally:
        workers.close()
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    contenders = tuple(Contender(m, m) for m in ("SHADE", "SHADE-eps", "MeCO-rand", "MA-ES"))
    small = Experiment("small", "Small", contenders, ("C01", "C04", "C06"), dims=(10,), budget=200, runs=4)
    with ResultStore.open_campaign(tmp_path_factory.mktemp("whole")) as store:
        run_campaign([small], store, RunExecutor(), quiet=True)
        return store.contents().digest


def start(tmp_path, executor, pause=0.15):
    """A campaign of 24 tasks, each of which waits so many seconds first."""
    script = tmp_path / "campaign.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), executor, str(tmp_path / "out")]
    environment = {**os.environ, "SECONDS_OF_A_TASK": str(pause)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def stored(tmp_path) -> int:
    try:
        with ResultStore.open(tmp_path / "out") as store:
            return store.count_runs()
    except MecoError:
        return 0


def wait_for(tmp_path, process, count, seconds=120):
    end = time.monotonic() + seconds
    while stored(tmp_path) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as listed:
        found = [int(p) for p in listed.read().split()]
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
def test_a_campaign_killed_outright_goes_on_from_what_was_written(tmp_path, undisturbed):
    process = start(tmp_path, "processes", pause=1.0)  # it cannot end before it is killed
    wait_for(tmp_path, process, 4)
    orphans = worker_processes(process.pid)
    process.kill()
    process.wait()
    assert stored(tmp_path) < 48
    again = start(tmp_path, "processes", pause=0.0)
    out, _ = again.communicate(timeout=300)
    assert out.split() == ["48", undisturbed]
    end = time.monotonic() + 120
    while any(os.path.exists(f"/proc/{p}") for p in orphans) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(os.path.exists(f"/proc/{p}") for p in orphans)  # workers end with their coordinator


@linux
def test_a_killed_worker_process_loses_nothing(tmp_path, undisturbed):
    process = start(tmp_path, "processes")
    wait_for(tmp_path, process, 2)
    if workers := worker_processes(process.pid):
        os.kill(workers[-1], signal.SIGKILL)
    out, _ = process.communicate(timeout=300)
    assert out.split() == ["48", undisturbed]


@linux
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_kills_on_a_local_dask_cluster_lose_nothing(tmp_path, undisturbed, seed):
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
    out, err = start(tmp_path, "dask").communicate(timeout=300)
    assert out.split() == ["48", undisturbed], err


@linux
@pytest.mark.slow
def test_a_killed_dask_worker_loses_nothing(tmp_path, undisturbed):
    pytest.importorskip("distributed")
    process = start(tmp_path, "dask")
    wait_for(tmp_path, process, 2)
    if workers := worker_processes(process.pid):
        os.kill(workers[-1], signal.SIGKILL)
    out, err = process.communicate(timeout=300)
    assert out.split() == ["48", undisturbed], err


@linux
def test_sigterm_ends_the_command_cleanly_and_the_same_command_goes_on(tmp_path):
    command = [sys.executable, "-m", "meco", "bench", "--problem", "C01", "C04", "C06", "--methods", "SHADE", "MA-ES"]
    command += ["--dim", "30", "--runs", "30", "--out", str(tmp_path / "out"), "--no-report", "--workers", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(tmp_path, process, 1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "the same command goes on" in err
    kept = stored(tmp_path)
    assert 0 < kept < 180
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "180 of 180 runs" in done.stdout
    assert (tmp_path / "out" / STORE_FILE).is_file()
