"""Train every policy that the paper's tables cite: `meco train` in several processes, stopped and resumed at any time.

    python benchmarks/paper_training.py --out policies --processes 16 --seconds 520

Prints the time it will take, then one line per training that ends. The same command goes on where a stopped one was;
it ends with "all trained" once every policy is there. Policies and their training logs are written into --out.

* loo50 and 10d under every reading of f_best, seeds 1 to 5; under other orders of the guides, seed 1
* split-10d to split-100d and the ablations as printed, seed 1
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from meco.paper.config import TrainingConfig
from meco.paper.presets import PRESETS, PRINTED_SEEDS
from meco.paper.store import SUFFIX

ONE_SEED = ("released", "split-100d", "split-50d", "split-30d", "split-10d", "ablation", "reading-relaxed-guides",
            "reading-feasible-guides")  # fmt: skip
ALL_SEEDS = ("loo50", "10d", "reading-feasible", "reading-relaxed", "reading-release")
KEPT = ("reading-relaxed", 1)  # policies of 0.3.0, in results/archive
FOLDS_TOGETHER = 14  # policies of one process: half of a leave-one-out
STEPS_PER_SECOND = {1: 450, FOLDS_TOGETHER: 1100}  # measured, of a process with one policy and with half of the folds
EXIT_STOPPED = 130  # of `meco train`, which can then be resumed


class Job(NamedTuple):
    """Policies that one process trains side by side."""

    preset: str
    seed: int
    configs: list[TrainingConfig]

    def missing(self, folder: Path) -> list[TrainingConfig]:
        """The policies that are not there yet."""
        return [c for c in self.configs if not (folder / (c.name + SUFFIX)).is_file()]

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        steps = sum(c.episodes * c.steps for c in self.configs)
        return steps / STEPS_PER_SECOND[FOLDS_TOGETHER if len(self.configs) == FOLDS_TOGETHER else 1]

    def run(self, folder: Path, end: float) -> int:
        """Train until done or until the clock (monotonic) says `end`; the exit code of `meco train`."""
        left = end - time.monotonic()
        if left < 5.0:
            return EXIT_STOPPED
        words = ["--preset", self.preset, "--seeds", str(self.seed), "--only", ",".join(c.name for c in self.configs)]
        how = ["--out", str(folder), "--resume", "--quiet", "--seconds", f"{left:.0f}"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "meco", "train", *words, *how], env=environment, capture_output=True, text=True
        )
        if done.returncode not in (0, EXIT_STOPPED):
            print(done.stderr, file=sys.stderr, flush=True)
        return done.returncode


def list_jobs() -> list[Job]:
    """All trainings, seed by seed, longest first."""
    wanted = [(preset, seed) for seed in PRINTED_SEEDS for preset in ALL_SEEDS if (preset, seed) != KEPT]
    wanted += [(preset, PRINTED_SEEDS[0]) for preset in ONE_SEED]
    found = []
    for preset, seed in wanted:
        configs = PRESETS[preset](seed)
        folds = [c for c in configs if "loo50" in c.name]
        found += [Job(preset, seed, folds[i : i + FOLDS_TOGETHER]) for i in range(0, len(folds), FOLDS_TOGETHER)]
        found += [Job(preset, seed, [c]) for c in configs if c not in folds]
    return sorted(found, key=lambda job: (job.seed, -job.seconds))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("policies"), help="folder of the policies")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long; the same command goes on")
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    args.out.mkdir(parents=True, exist_ok=True)
    jobs = [job for job in list_jobs() if job.missing(args.out)]
    minutes = sum(job.seconds for job in jobs) / args.processes / 60
    print(f"{len(jobs)} trainings to go, about {minutes:.0f} minutes in {args.processes} processes", flush=True)
    failed = 0
    with ThreadPoolExecutor(args.processes) as pool:
        running = {pool.submit(job.run, args.out, end): job for job in jobs}
        for future in as_completed(running):
            job, code = running[future], future.result()
            failed += code not in (0, EXIT_STOPPED)
            if code != EXIT_STOPPED:
                said = "done" if code == 0 else f"failed ({code})"
                print(f"{job.preset} seed {job.seed} {job.configs[0].name}: {said}", flush=True)
    left = sum(len(job.missing(args.out)) for job in jobs)
    print("all trained" if not left else f"{left} policies to go: run the same command again", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
