"""Evaluations as jobs of a batch queue, through Dask.

On a cluster replace LocalCluster by dask_jobqueue.SLURMCluster(queue="...", cores=1, memory="4 GB", walltime="1:00:00")
and cluster.scale(jobs=16): each evaluation then runs inside a job of the queue, and minimize() does not notice.
"""

import dask
from dask.distributed import Client, LocalCluster

import meco


def simulate(x):
    return float(x @ x), {"reach": 2.0 - x[0] - x[1]}


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})  # a design that kills its worker is not called again
    local = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with local as cluster, Client(cluster) as client:
        result = meco.minimize(simulate, [(-5, 5)] * 3, budget=200, workers=client.get_executor(), seed=1)
    print(result)
    assert result.feasible
