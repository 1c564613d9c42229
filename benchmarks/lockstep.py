"""Complete runs per second in lockstep against one run at a time, and memory per run.

    python benchmarks/lockstep.py [--method SHADE] [--dim 50] [--device cuda] [--runs 28672]

One run is 50 D evaluations of CEC2017 problems (paper instances), N = 50. With a device, all 28
problems run side by side on torch tensors with draws made on that device.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import meco
from meco.methods import run_batch
from meco.streams import DeviceStreams


def rate(action, runs: int) -> float:
    start = time.perf_counter()
    action()
    return runs / (time.perf_counter() - start)


def on_cpu(method: str, dim: int, rounds: int = 3) -> None:
    problem = meco.get_problem("C13", dim)
    meco.solve(method, problem, seeds=[0])
    alone, together = [], {size: [] for size in (8, 32, 128)}
    for _ in range(rounds):
        alone.append(rate(lambda: [meco.solve(method, problem, seeds=[s]) for s in range(8)], 8))
        for size, seen in together.items():
            seen.append(rate(lambda n=size: meco.solve(method, problem, seeds=range(n)), size))
    one = sorted(alone)[rounds // 2]
    print(f"{method}, C13, D = {dim}, one core: {one:.1f} runs/s one at a time")
    for size, seen in together.items():
        tracemalloc.start()
        meco.solve(method, problem, seeds=range(size))
        peak = tracemalloc.get_traced_memory()[1] / size / 1e6
        tracemalloc.stop()
        median = sorted(seen)[rounds // 2]
        print(f"  {size:4d} in lockstep: {median:7.1f} runs/s, {median / one:.2f}x, {peak:.2f} MB per run at the peak")


def on_device(method: str, dim: int, runs: int, device: str) -> None:
    import torch

    problems = meco.get_suite("cec2017", dim=dim)
    each = runs // len(problems)
    batch = [p for p in problems for _ in range(each)]
    run_batch(method, problems, 50 * dim, DeviceStreams(0, len(problems), device))  # warm up
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()

    def action() -> None:
        run_batch(method, batch, 50 * dim, DeviceStreams(1, len(batch), device))
        torch.cuda.synchronize()

    speed = rate(action, len(batch))
    peak = torch.cuda.max_memory_allocated() / len(batch) / 1e6
    print(
        f"{method}, all 28 problems, D = {dim}, {torch.cuda.get_device_name()}: {speed:.0f} runs/s "
        f"({speed * 50 * dim / 1e6:.1f} million evaluations/s), {len(batch)} in flight, {peak:.2f} MB per run"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="SHADE")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--device", help="a torch device, e.g. cuda; without it the CPU is measured")
    parser.add_argument("--runs", type=int, default=28 * 1024)
    args = parser.parse_args()
    if args.device:
        on_device(args.method, args.dim, args.runs, args.device)
    else:
        on_cpu(args.method, args.dim)


if __name__ == "__main__":
    main()
