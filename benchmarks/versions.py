"""What a new engine loses and gains: two versions of TR on the suites, each ranked among the same peers.

    python benchmarks/versions.py run now.jsonl --label now --methods TR,MA-ES,CMA-ES-native,SHADE --processes 16
    PYTHONPATH=older/src python benchmarks/versions.py run before.jsonl --label before --methods TR
    python benchmarks/versions.py run now.jsonl --label now --suites missions
    python benchmarks/versions.py show now.jsonl before.jsonl

Suites: CEC2017 instances 7 and 8 in 10 and 30 variables, 50 D evaluations; the eight engineering problems and the 16
missions, 2,500 evaluations; 38 real-world problems, 50 D and at most 2,500. `show` ranks means over seeds by both
metrics, f + nu and feasibility first, on the problems that all methods of a suite have: every version among the peers
of the first file, never beside another version. With the pair of versions it counts problems won and lost.

Only names that 0.2.0 has as well are imported. With --out in pieces: a second call goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco

CEC = [f"C{k:02d}" for k in range(1, 29)]
ENGINEERING = ["RC19", "RC20", "RC23", "RC24", "RC25", "RC27", "RC29", "RC32"]
REAL_WORLD = [f"RC{k:02d}" for k in (*range(1, 6), *range(8, 34), *range(44, 51))]
MISSIONS = [f"UAV-{k:02d}" for k in range(1, 17)]


class Job(NamedTuple):
    """A problem of a suite; instance is 0 where there is no choice, budget 0 for 50 D evaluations and at most 2,500."""

    suite: str
    problem: str
    dim: int | None
    instance: int = 0
    budget: int = 0


SUITES = {
    "cec-10": [Job("cec-10", name, 10, i) for name in CEC for i in (7, 8)],
    "cec-30": [Job("cec-30", name, 30, i) for name in CEC for i in (7, 8)],
    "engineering": [Job("engineering", name, None, budget=2500) for name in ENGINEERING],
    "realworld": [Job("realworld", name, None) for name in REAL_WORLD],
    "missions": [Job("missions", name, None, budget=2500) for name in MISSIONS],
}


def run(job: Job, method: str, seeds: Sequence[int], label: str) -> list[dict[str, Any]]:
    """One method on one problem, all seeds at once: a record for each seed."""
    problem = meco.get_problem(job.problem, job.dim, job.instance) if job.instance else meco.get_problem(job.problem)
    budget = job.budget or min(50 * problem.dim, 2500)
    begun = time.process_time()
    with np.errstate(all="ignore"):
        results = meco.solve(method, problem, budget, seeds)
    return [
        {
            "suite": job.suite, "problem": f"{job.problem}-{job.instance}", "method": method, "label": label,
            "seed": seed, "score": float(r.score), "f": float(r.f), "nu": float(r.nu), "feasible": bool(r.feasible),
            "seconds": round((time.process_time() - begun) / len(seeds), 2),
        }
        for seed, r in zip(seeds, results)
    ]  # fmt: skip


def run_all(args: argparse.Namespace) -> None:
    """Run what the file lacks, largest problems first, and add each as it ends."""
    rows = read_rows([args.files[0]]) if args.files[0].exists() else []
    done = {(row["problem"], row["suite"], row["method"], row["label"]) for row in rows}
    jobs = [
        (job, method)
        for suite in args.suites.split(",")
        for method in args.methods.split(",")
        for job in SUITES[suite]
        if (f"{job.problem}-{job.instance}", suite, method, args.label) not in done
    ]
    jobs.sort(key=lambda pair: -(pair[0].dim or 20))
    seeds = list(range(1, args.seeds + 1))
    until = time.time() + 60.0 * args.minutes
    with ProcessPoolExecutor(args.processes) as pool, args.files[0].open("a", encoding="utf-8") as kept:
        begun = [pool.submit(run, job, method, seeds, args.label) for job, method in jobs]
        for ended in as_completed(begun):
            if not ended.cancelled():
                kept.writelines(json.dumps(row) + "\n" for row in ended.result())
                kept.flush()
            if time.time() > until:
                for waiting in begun:
                    waiting.cancel()


def read_rows(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """All records of the files."""
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def round_value(value: float) -> float:
    """Six digits, and nothing below 1e-8, so that equal minima tie."""
    return 0.0 if abs(value) < 1e-8 else float(f"{value:.6g}")


def order_by_score(runs: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """The paper's metric: mean of the least f + nu."""
    return (round_value(np.mean([r["score"] for r in runs])),)


def order_by_feasibility(runs: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """More feasible runs first, then the smaller mean f of these, or the smaller violation where none is feasible."""
    kept = [r["f"] for r in runs if r["feasible"]]
    mean = np.mean(kept) if kept else np.mean([r["nu"] for r in runs])
    return -len(kept) / len(runs), round_value(mean)


def ranks(values: Sequence[tuple[float, ...]]) -> list[float]:
    """Ranks from 1; ties share the mean of their places."""
    return [1.0 + sum(v < mine for v in values) + 0.5 * (sum(v == mine for v in values) - 1) for mine in values]


METRICS = {"f+nu": order_by_score, "feasibility": order_by_feasibility}


def show(paths: Sequence[Path]) -> None:
    """Print, for each suite, the mean rank of every version of TR among the peers, and versions against each other."""
    tables: dict[str, dict[str, dict[str, list[Any]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in read_rows(paths):
        name = row["method"] if not row["method"].startswith("TR") else f"{row['method']}, {row['label']}"
        tables[row["suite"]][name][row["problem"]].append(row)
    for suite, methods in tables.items():
        common = sorted(set.intersection(*(set(problems) for problems in methods.values())))
        versions = [name for name in methods if name.startswith("TR")]
        peers = [name for name in methods if name not in versions]
        print(f"\n{suite}: {len(common)} problems, peers {', '.join(peers)}")
        for version in versions:
            field = [version, *peers]
            line = f"  {version:<20}"
            for metric, order in METRICS.items():
                places = [ranks([order(methods[name][p]) for name in field]) for p in common]
                line += f"{metric} rank {np.mean([place[0] for place in places]):.2f} of {len(field)}   "
            runs = [r for p in common for r in methods[version][p]]
            print(line + f"feasible {100 * np.mean([r['feasible'] for r in runs]):.1f} %")
        for i, first in enumerate(versions):
            for second in versions[i + 1 :]:
                for metric, order in METRICS.items():
                    pairs = [(order(methods[first][p]), order(methods[second][p])) for p in common]
                    won, lost = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
                    print(
                        f"  {first} against {second}, {metric}: {won} won, {lost} lost, {len(pairs) - won - lost} level"
                    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--label", default="now")
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--methods", default="TR")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=9.0)
    args = parser.parse_args()
    if args.what == "run":
        run_all(args)
    else:
        show(args.files)


if __name__ == "__main__":
    main()
