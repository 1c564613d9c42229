"""Run what the paper's tables lack of MeCO: every reading, the release's settings, ablations, gain, seeds, constants.

    MECO_POLICIES=policies python benchmarks/paper_runs.py --out results --workers 16 --seconds 520

policies is the folder of benchmarks/paper_training.py. The stored runs of --out count as done. The same command goes on
where a stopped one was; "all there" ends it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from meco.bench.plan.contender import is_removed
from meco.bench.plan.experiments import EXPERIMENTS

NAMES = (
    "table1", "transfer", "uav", "trajectories", "realworld", "actions", "ablation-state", "ablation-action",
    "ablation-reward", "training-gain", "printed-seeds", "constants",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", default="results", help="results folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no experiment after so long")
    args = parser.parse_args()
    end, code = time.monotonic() + args.seconds, 0
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in NAMES:
        labels = [c.label for c in EXPERIMENTS[name].contenders if c.method[:4] == "MeCO" and not is_removed(c.method)]
        words = ["reproduce", name, "--methods", *labels, "--out", args.out, "--workers", str(args.workers)]
        left = end - time.monotonic()
        if left < 5.0:
            print(f"stopped before {name}: run the same command again", flush=True)
            return code
        try:
            done = subprocess.run(
                [sys.executable, "-m", "meco", *words, "--no-report", "--quiet"], env=environment, timeout=left
            )
        except subprocess.TimeoutExpired:
            print(f"stopped in {name}: run the same command again", flush=True)
            return code
        code = code or done.returncode
        print(f"{name}: {'done' if done.returncode == 0 else f'exit code {done.returncode}'}", flush=True)
    print("all there" if not code else "some runs failed", flush=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
