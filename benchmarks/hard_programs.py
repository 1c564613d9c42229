"""Hard programs of many variables: how far their steps end above the least cost, and milliseconds for each.

    python benchmarks/hard_programs.py [--beside ../other/src] [--count 150] [--rows] >> results/large_programs.txt

Random programs of 60 to 250 variables whose curvature is next to none, indefinite, of few directions or spread over
twelve decades, with rows that are equal, sparse, of low rank or nearly bounds, as many as twice the variables; a row
costs 30 to 10^6 a unit (mixed), or 3 10^5 to 10^6 (dear). What a step costs above the least is at most its gap to the
bound that its duals prove. With --rows nearly linear programs of many rows are timed instead. Versions run in
processes of their own with one thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent
MANY_ROWS = (60, 260), (60, 1000), (100, 420), (200, 820), (300, 1000)
LIMITS = 1e-6, 1e-4, 1e-2  # gaps in units of the cost that are counted


def make_curvature(rng: np.random.Generator, dim: int) -> np.ndarray:
    """A symmetric matrix [D, D] of one of five kinds."""
    size, square = 10.0 ** rng.uniform(-3.0, 2.0), rng.normal(size=(dim, dim)) / np.sqrt(dim)
    few = rng.normal(size=(dim, 5))
    turned = np.linalg.qr(square)[0]
    return [
        1e-9 * size * np.eye(dim),
        size * (square + square.T),
        size * square @ square.T,
        (few * rng.normal(size=5) * 10.0 ** rng.uniform(-3.0, 3.0, 5)) @ few.T / dim,
        (turned * rng.choice([-1.0, 1.0], dim) * 10.0 ** rng.uniform(-8.0, 4.0, dim)) @ turned.T,
    ][rng.integers(5)]


def make_directions(rng: np.random.Generator, dim: int, count: int) -> np.ndarray:
    """Rows [C, D] of length one, or 0, of one of five kinds."""
    made = rng.normal(size=(count, dim))
    made = [
        made,
        made[rng.integers(0, max(1, count // 3), count)] if count else made,
        made * (rng.random((count, dim)) < 3.0 / dim),
        rng.normal(size=(count, 4)) @ rng.normal(size=(4, dim)),
        np.eye(dim)[rng.integers(0, dim, count)] + 1e-9 * made,
    ][rng.integers(5)]
    length = np.linalg.norm(made, axis=1, keepdims=True)
    return made / np.where(length > 0.0, length, 1.0)


def make_program(seed: int, *, dear: bool) -> tuple[Any, ...]:
    """Hessian, slope, parts of the rows and bounds of a program, without runs."""
    rng = np.random.default_rng(seed)
    dim = int(rng.choice([60, 80, 100, 150, 200, 250]))
    count = int(rng.choice([1, 5, 20, 60, dim + 10, 2 * dim]))
    low, high = -np.where(rng.random((2, dim)) < 0.3, rng.random((2, dim)), 1.0) * [[1.0], [-1.0]]
    matrix, inside = make_directions(rng, dim, count), low + rng.random(dim) * (high - low)
    equal, hard = rng.random(count) < 0.2, rng.random(count) < 0.1
    value = -matrix @ inside - np.where(equal, 0.0, rng.exponential(0.3, count)) + np.where(hard, 2.0, 0.0)
    decades = rng.uniform(5.5, 6.0, count) if dear else np.log10(30.0) + rng.uniform(0.0, 4.5, count)
    rows = matrix, value, np.where(equal, 0.0, -np.inf), np.zeros(count), 10.0**decades
    return make_curvature(rng, dim), rng.normal(size=dim) / np.sqrt(dim), rows, low, high


def solve(hessian: np.ndarray, slope: np.ndarray, parts: tuple[Any, ...], low: np.ndarray, high: np.ndarray) -> Any:
    """The cost of the step, its gap to what the duals prove, and seconds of CPU time."""
    from meco.tr.elastic_program import Rows
    from meco.tr.large_curvature import find_curvature
    from meco.tr.large_program import solve_large_program

    rows = Rows(*parts)
    with np.errstate(all="ignore"):
        bent = find_curvature(hessian[None], slope[None])
        start = time.process_time()
        found = solve_large_program(
            bent, slope[None], Rows(*(p[None] for p in rows)), low[None], high[None], 0.0 * rows.value[None]
        )
        seconds = time.process_time() - start
    s, y = found[0][0], found[1][0]
    bend, z = bent[0].times(s), rows.matrix @ s + rows.value
    broken = np.maximum(z - rows.high, 0.0) + np.maximum(rows.low - z, 0.0)
    y = np.where(np.isfinite(rows.low), y, np.maximum(y, 0.0))
    pull, end = slope + bend + y @ rows.matrix, np.where(y < 0.0, np.nan_to_num(rows.low), rows.high)
    gap = rows.price @ broken - y @ (z - end) - np.minimum(pull * (low - s), pull * (high - s)).sum()
    return float(slope @ s + 0.5 * (s @ bend) + rows.price @ broken), float(gap), seconds


def print_here(args: argparse.Namespace) -> None:
    """Lines of the library that is found first."""
    if args.rows:
        for dim, count in MANY_ROWS:
            rng = np.random.default_rng(dim + count)
            matrix = rng.normal(size=(count, dim)) / np.sqrt(dim)
            value = -matrix @ rng.uniform(-1.0, 1.0, dim) - rng.exponential(0.3, count)
            parts = matrix, value, np.full(count, -np.inf), np.zeros(count), 30.0 * 10.0 ** rng.uniform(0.0, 1.0, count)
            cost, gap, seconds = solve(1e-9 * np.eye(dim), rng.normal(size=dim), parts, -np.ones(dim), np.ones(dim))
            print(f"  {dim:4d} variables {count:5d} rows {1e3 * seconds:8.0f} ms   cost {cost:.6f}, gap {gap:.1e}")
        return
    for dear in (False, True):
        found = [solve(*make_program(seed, dear=dear)) for seed in range(args.count)]
        gaps = np.array([gap / (1e-3 + abs(cost)) for cost, gap, _ in found])
        over = ", ".join(f"{np.sum(~(gaps <= limit))} above {limit:g}" for limit in LIMITS)
        mean = 1e3 * np.mean([seconds for *_, seconds in found])
        print(f"  {'dear' if dear else 'mixed':6s} {args.count} programs, {mean:5.1f} ms each; relative gaps: {over}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", nargs="*", type=Path, default=[], help="folders of sources of other versions")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--rows", action="store_true", help="time programs of many rows")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        print_here(args)
        return
    for source in (HERE / "src", *args.beside):
        print(source.resolve().parent.name if source != HERE / "src" else "here", flush=True)
        pinned = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(source.resolve())}
        more = ["--rows"] if args.rows else []
        subprocess.run(
            [sys.executable, __file__, "--here", "--count", str(args.count), *more], env=os.environ | pinned, check=True
        )


if __name__ == "__main__":
    main()
