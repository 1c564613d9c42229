"""TR and TR-ES beside the methods that model functions or adapt a matrix, at 50 D evaluations.

    python benchmarks/trust_region_quality.py run runs.jsonl [--workers 2]   # resumes; hours on two cores
    python benchmarks/trust_region_quality.py table runs.jsonl > benchmarks/results/trust_region_quality.txt

CEC2017 instance 9 at D = 10 and 30 (instances 7 and 8 were used for tuning, 9 was looked at once), every method
through the same evaluator. A cell is a problem in a dimension: by f + nu its mean over runs, feasibility first the
share of feasible runs, then their mean f, else the mean violation.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import rankdata, wilcoxon

import meco

INSTANCE, DIMS = 9, (10, 30)
NAMES = [f"C{k:02d}" for k in range(1, 29)]
SEEDS = {"COBRA": {10: 2, 30: 1}, "SACOBRA": {10: 2, 30: 1}}  # three of every other method
METHODS = ("TR", "TR-ES", "COBYQA", "COBRA", "SACOBRA", "MA-ES", "CMA-ES-native")
CELLS = [(name, dim) for dim in DIMS for name in NAMES]


def runs(job: tuple[str, str, int]) -> dict[str, Any]:
    """The runs of one method on one cell."""
    method, name, dim = job
    seeds = range(SEEDS.get(method, {}).get(dim, 3))
    results = meco.solve(method, meco.get_problem(name, dim=dim, instance=INSTANCE), 50 * dim, seeds)
    numbers = [[r.score, r.feasible, r.f, r.nu] for r in results]
    return {"method": method, "problem": name, "dim": dim, "runs": numbers}


def run(path: Path, workers: int) -> None:
    """Every job that the file does not hold yet."""
    done = {(r["method"], r["problem"], r["dim"]) for r in read(path)} if path.exists() else set()
    jobs = [(m, name, dim) for m in METHODS for name, dim in CELLS if (m, name, dim) not in done]
    with ProcessPoolExecutor(workers) as pool, path.open("a") as file:
        for record in pool.map(runs, jobs):
            file.write(json.dumps(record) + "\n")
            file.flush()


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def score(numbers: list[list[float]]) -> tuple[float, ...]:
    """Mean f + nu of a cell's runs."""
    return (float(np.mean([n[0] for n in numbers])),)


def feasibility_first(numbers: list[list[float]]) -> tuple[float, ...]:
    """Share of infeasible runs, then mean f of the feasible ones, or mean violation."""
    feasible = [n[2] for n in numbers if n[1]]
    return 1.0 - len(feasible) / len(numbers), float(np.mean(feasible or [n[3] for n in numbers]))


def table(path: Path) -> None:
    """Average ranks by both metrics, wins and losses, and the signed-rank test over the cells."""
    found = {(r["method"], r["problem"], r["dim"]): r["runs"] for r in read(path)}
    for title, metric in (("f + nu", score), ("feasibility first", feasibility_first)):
        values = {m: [metric(found[m, name, dim]) for name, dim in CELLS] for m in METHODS}
        ranks = np.array([places([values[m][k] for m in METHODS]) for k in range(len(CELLS))])
        print(f"{title}\n\n{'':16}rank of {len(METHODS)}   TR: wins losses       p   TR-ES: wins losses       p")
        for j, method in enumerate(METHODS):
            against = "" if j < 2 else "   ".join(compared(values, metric, ours, method) for ours in METHODS[:2])
            print(f"{method:16}{ranks[:, j].mean():9.2f}   {against}")
        print()
    for method in METHODS:
        flags = [n[1] for name, dim in CELLS for n in found[method, name, dim]]
        print(f"{method:16}{np.mean(flags):6.1%} of {len(flags)} runs feasible")


def places(values: list[tuple[float, ...]]) -> np.ndarray:
    """Ranks of values that compare as tuples."""
    order = sorted(set(values))
    return rankdata([order.index(v) for v in values])


def compared(values: dict[str, Any], metric: Any, ours: str, theirs: str) -> str:
    """Cells won and lost, and p of the signed-rank test: on relative differences, or on ranks in the pair."""
    pairs = list(zip(values[ours], values[theirs]))
    if metric is score:
        gaps = [(b[0] - a[0]) / (max(abs(a[0]), abs(b[0])) + 1e-12) for a, b in pairs]
    else:
        every = [places([values[m][k] for m in METHODS]) for k in range(len(pairs))]
        i, j = METHODS.index(ours), METHODS.index(theirs)
        gaps = [float(r[j] - r[i]) for r in every]
    wins, losses = sum(g > 0 for g in gaps), sum(g < 0 for g in gaps)
    return f"{wins:8d}{losses:7d} {wilcoxon(gaps).pvalue:9.2g}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    run(args.path, args.workers) if args.what == "run" else table(args.path)
