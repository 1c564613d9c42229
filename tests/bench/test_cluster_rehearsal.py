"""The recipe of docs/scale.md for campaigns beyond one machine, with processes of this one in the place of others.

The cluster has a scheduler process of its own, workers that come and go with the work, a memory limit beyond which
they spill, and a scratch folder. Whatever dies on the way, the final store equals the undisturbed one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.run import groups
from meco.bench.run.executors import RunExecutor, Unreachable, start_executor
from meco.bench.run.result_store import ResultStore
from meco.bench.run.runner import run_campaign

pytestmark = pytest.mark.slow
CLUSTER = """
import sys, time
import dask
from distributed import LocalCluster

if __name__ == "__main__":
    dask.config.set({
        "distributed.scheduler.allowed-failures": 100,
        "distributed.worker.memory.target": 0.6,
        "distributed.worker.memory.spill": 0.7,
    })
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, memory_limit="1GB", dashboard_address=None,
        local_directory=sys.argv[1],
    )
    cluster.adapt(minimum=1, maximum=3, interval="100ms", target_duration="1s")
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""
SMALL = Experiment(
    "small",
    "Small",
    tuple(Contender(m, m) for m in ("SHADE", "MA-ES", "TR")),
    ("C01", "C04"),
    dims=(10,),
    budget=150,
    runs=4,
)


@pytest.fixture
def start_cluster(tmp_path):
    """Start clusters; each is a process group that is ended with the test. Gives process, address and scratch."""
    pytest.importorskip("distributed")
    script, started = tmp_path / "cluster.py", []
    script.write_text(CLUSTER)

    def start():
        scratch = tmp_path / f"scratch{len(started)}"
        process = subprocess.Popen(
            [sys.executable, str(script), str(scratch)], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(process)
        return process, process.stdout.readline().strip(), scratch

    yield start
    for process in started:
        end(process)


def end(process):
    """End a cluster at once: scheduler and workers."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    with ResultStore.open_campaign(tmp_path_factory.mktemp("whole")) as store:
        run_campaign([SMALL], store, RunExecutor(), quiet=True)
        return store.read_contents().digest


def run_on(address, folder, watch=None):
    """The campaign on a cluster: done runs and digest; watch() is called after every task that is stored."""
    workers = start_executor(f"dask:{address}")
    try:
        with ResultStore.open_campaign(folder) as store:
            if watch is not None:
                add = store.add_runs

                def add_and_watch(*args, **kwargs):
                    add(*args, **kwargs)
                    watch(workers)

                store.add_runs = add_and_watch
            done = run_campaign([SMALL], store, workers, quiet=True).done
            return done, store.read_contents().digest
    finally:
        workers.close(now=True)


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch):
    monkeypatch.setattr(groups, "LOCKSTEP_RUNS", 2)


def test_workers_come_with_the_work_and_one_that_dies_costs_nothing(start_cluster, tmp_path, undisturbed):
    _, address, scratch = start_cluster()
    killed, most = [], []

    def kill_first(workers):
        pids = list(workers._client.run(os.getpid).values())
        most.append(len(pids))
        if not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    done, digest = run_on(address, tmp_path / "out", kill_first)
    assert (done, digest) == (24, undisturbed)
    assert killed
    assert scratch.is_dir()  # where workers spill to


def test_when_the_scheduler_dies_another_cluster_goes_on(start_cluster, tmp_path, undisturbed):
    process, address, _ = start_cluster()
    with pytest.raises(Unreachable, match="everything finished is kept"):
        run_on(address, tmp_path / "out", lambda workers: end(process))
    with ResultStore.open(tmp_path / "out") as store:
        kept = store.count_runs()
    assert 0 < kept < 24
    assert run_on(start_cluster()[1], tmp_path / "out") == (24, undisturbed)
