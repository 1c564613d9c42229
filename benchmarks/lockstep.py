"""Complete runs per second in lockstep, and memory per run: on one CPU core, or on a GPU.

    python benchmarks/lockstep.py [--methods SHADE MA-ES MeCO] [--dim 50]
    python benchmarks/lockstep.py --device cuda [--batches 1000 10000 50000] [--seconds 180]

One run is 50 D evaluations of a CEC2017 problem (paper instances), each method at its own population. On a device all
28 problems run side by side, and reading every result counts. "draws of solve()" are made on the host, a stream for
each run, as solve(..., xp=torch, device=...) does it; "draws on the device" come from one generator there. A batch that
would end after --seconds, by the rate of the one before it, is left out.

The device part needs NumPy, torch and array-api-compat, which is pure Python: without pip, copy the folder
array_api_compat of its wheel beside this file's src, and run with PYTHONPATH=src.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import meco
from meco.batch_solve import run_batch
from meco.core.streams import DeviceStreams

METHODS = ("SHADE", "MA-ES", "MeCO")
BATCHES = (1_000, 10_000, 50_000)
WARM_UP = 300  # evaluations of a first small batch, after which libraries are loaded and memory is there


def runs_per_second(action: Callable[[], object], runs: int) -> float:
    start = time.perf_counter()
    action()
    return runs / (time.perf_counter() - start)


def print_cpu_rates(method: str, dim: int, rounds: int = 3) -> None:
    problem = meco.get_problem("C13", dim)
    meco.solve(method, problem, seeds=[0])
    alone, together = [], {size: [] for size in (8, 32, 128)}
    for _ in range(rounds):
        alone.append(runs_per_second(lambda: [meco.solve(method, problem, seeds=[s]) for s in range(8)], 8))
        for size, seen in together.items():
            seen.append(runs_per_second(lambda n=size: meco.solve(method, problem, seeds=range(n)), size))
    one = sorted(alone)[rounds // 2]
    print(f"{method}, C13, D = {dim}, one core: {one:.1f} runs/s one at a time")
    for size, seen in together.items():
        tracemalloc.start()
        meco.solve(method, problem, seeds=range(size))
        peak = tracemalloc.get_traced_memory()[1] / size / 1e6
        tracemalloc.stop()
        median = sorted(seen)[rounds // 2]
        print(f"  {size:4d} in lockstep: {median:7.1f} runs/s, {median / one:.2f}x, {peak:.2f} MB per run at the peak")


def print_device_rates(methods: list[str], dim: int, batches: list[int], device: str, seconds: float) -> None:
    import array_api_compat.torch as xp
    import torch

    suite, end = meco.get_suite("cec2017", dim=dim), time.perf_counter() + seconds

    def solve_on_host_draws(method: str, runs: int, budget: int) -> None:
        problems = [suite[k % len(suite)] for k in range(runs)]
        check(meco.solve(method, problems, budget, range(runs), xp=xp, device=device), budget)

    def solve_on_device_draws(method: str, runs: int, budget: int) -> None:
        problems = [suite[k % len(suite)] for k in range(runs)]
        results = run_batch(method, problems, budget, DeviceStreams(1, runs, device))
        check([results[b] for b in range(runs)], budget)

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, D = {dim}, {50 * dim} evaluations, 28 problems")
    print(f"{'method':8} {'draws':10} {'batch':>7} {'runs/s':>9} {'seconds':>8} {'MB per run':>11}")
    for draws, solve in (("device", solve_on_device_draws), ("solve()", solve_on_host_draws)):
        for method in methods:
            solve(method, len(suite), WARM_UP)
            rate = 0.0
            for runs in batches:
                begin = time.perf_counter()
                if rate and begin + runs / rate > end:
                    print(f"{method:8} {draws:10} {runs:7,}   left out: about {runs / rate:.0f} s")
                    continue
                torch.cuda.reset_peak_memory_stats()
                rate = runs_per_second(lambda s=solve, m=method, r=runs: s(m, r, 50 * dim), runs)
                peak = torch.cuda.max_memory_allocated() / runs / 1e6
                print(f"{method:8} {draws:10} {runs:7,} {rate:9,.0f} {runs / rate:8.1f} {peak:11.2f}", flush=True)
                torch.cuda.empty_cache()


def check(results: list[meco.Result], budget: int) -> None:
    """Every run must have spent its budget and found a point."""
    assert all(r.nfev == budget and r.score == r.score for r in results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--device", help="a CUDA device of torch, e.g. cuda; without it the CPU is measured")
    parser.add_argument("--batches", nargs="+", type=int, default=list(BATCHES), help="runs at once on the device")
    parser.add_argument("--seconds", type=float, default=180.0, help="of the device part")
    args = parser.parse_args()
    if args.device:
        print_device_rates(args.methods, args.dim, args.batches, args.device, args.seconds)
        return
    for method in args.methods:
        print_cpu_rates(method, args.dim)


if __name__ == "__main__":
    main()
