"""Complete runs per second in lockstep against one run at a time, and memory per run.

    python benchmarks/lockstep.py [--method SHADE] [--dim 50] [--device cuda] [--runs 28672] [--plain]

One run is 50 D evaluations of CEC2017 problems (paper instances), each method at its own population.
With a device, all 28 problems run side by side on torch tensors with draws made on that device, and
the formulas are compiled beforehand unless --plain is given; a batch includes making and reading it.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import meco
from meco.batch_solve import run_batch
from meco.core.arrays import fusing
from meco.core.streams import DeviceStreams


def runs_per_second(action, runs: int) -> float:
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


def print_device_rates(method: str, dim: int, runs: int, device: str, plain: bool, rounds: int = 3) -> None:
    import torch

    problems = meco.get_suite("cec2017", dim=dim)
    batch = [p for p in problems for _ in range(runs // len(problems))]

    def batch_of(budget: int) -> None:
        run_batch(method, batch, budget, DeviceStreams(1, len(batch), device))
        torch.cuda.synchronize()

    with fusing(on=not plain):
        start = time.perf_counter()
        batch_of(200)  # a few generations, which compile all there is
        warm = time.perf_counter() - start
        torch.cuda.reset_peak_memory_stats()
        speed = sorted(runs_per_second(lambda: batch_of(50 * dim), len(batch)) for _ in range(rounds))[rounds // 2]
    peak = torch.cuda.max_memory_allocated() / len(batch) / 1e6
    print(
        f"{method}{', plain' if plain else ''}, all 28 problems, D = {dim}, {torch.cuda.get_device_name()}: "
        f"{speed:.0f} runs/s ({speed * 50 * dim / 1e6:.1f} million evaluations/s), {len(batch)} in flight, "
        f"{peak:.2f} MB per run; {warm:.0f} s to compile"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="SHADE")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--device", help="a torch device, e.g. cuda; without it the CPU is measured")
    parser.add_argument("--runs", type=int, default=28 * 1024)
    parser.add_argument("--plain", action="store_true", help="leave the formulas as they are")
    args = parser.parse_args()
    if args.device:
        print_device_rates(args.method, args.dim, args.runs, args.device, args.plain)
    else:
        print_cpu_rates(args.method, args.dim)


if __name__ == "__main__":
    main()
