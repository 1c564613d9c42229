"""How long a campaign takes, and what a second core brings.

    python benchmarks/campaign.py [--runs 3] [--workers 1 2]

The SHADE family and MeCO on the 28 problems at 50D (the quick look of table1), without the report.
Wall-clock seconds, so the machine should be idle.
"""

from __future__ import annotations

import argparse
import tempfile
import time

from meco.bench.plan.experiments import EXPERIMENTS
from meco.bench.plan.revise import adjust_experiment
from meco.bench.run.executors import start_executor
from meco.bench.run.result_store import ResultStore
from meco.bench.run.runner import run_campaign


def time_campaign(runs: int, workers: int) -> tuple[float, str]:
    """Time and digest of one campaign from nothing."""
    experiment = adjust_experiment(EXPERIMENTS["table1"], runs, quick=True)
    with tempfile.TemporaryDirectory() as folder:
        crew = start_executor("processes", workers)
        start = time.perf_counter()
        with ResultStore.open_campaign(folder) as store:
            run_campaign([experiment], store, crew, quiet=True)
            spent = time.perf_counter() - start
            digest = store.read_contents().digest
        crew.close()
    return spent, digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    base = None
    for workers in args.workers:
        spent, digest = time_campaign(args.runs, workers)
        base = base or spent
        print(f"{workers} workers: {spent:6.1f} s, {base / spent:.2f}x, results {digest[:12]}")


if __name__ == "__main__":
    main()
