"""Complete runs of TR or TR-ES per second on an accelerator, iterations replayed as CUDA graphs or made one by one.

    python benchmarks/device_iterations.py [--method TR-ES] [--dim 10] [--runs 16384] [--most 300] [--fused] [--profile]

Generated problems ("bowl-linear", six constraints), 50 D evaluations; the first iterations, which record, are left out.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext

from meco.core.arrays import fusing
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import DeviceStreams
from meco.device.cuda_graphs import find_recorder
from meco.problems.generated import make_batch
from meco.tr.engine import TrustRegion

PROBLEMS = 256  # different ones; the others repeat them with other random numbers
WARM_UP = 13, 2  # iterations before the clock starts, and how many more for each variable: two check models


def start_search(method: str, dim: int, runs: int, device: str, replayed: bool) -> Loop:
    """A search on the device, before its first iteration."""
    rng = DeviceStreams(1, runs, device)
    problems = make_batch("bowl-linear", [run % PROBLEMS for run in range(runs)], dim)
    evaluator = Evaluator.on(problems, 50 * dim, runs, rng.xp, device)
    engine = TrustRegion(Task.of(evaluator, rng), offspring=method == "TR-ES")  # type: ignore[arg-type]
    return Loop(engine, evaluator, find_recorder(rng) if replayed else None, traced=False)


def advance(loop: Loop, iterations: int) -> None:
    for _ in range(iterations):
        loop.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", choices=("TR", "TR-ES"), default="TR-ES")
    parser.add_argument("--most", type=int, help="iterations on the clock, at most: later ones have more points")
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--runs", type=int, default=16384)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--fused", action="store_true", help="iterations are compiled as a whole, which takes minutes")
    parser.add_argument("--plain", action="store_true", help="no recording")
    parser.add_argument("--profile", action="store_true", help="where the time of five plain iterations goes")
    args = parser.parse_args()
    with fusing() if args.fused else nullcontext():
        measure(args)


def measure(args: argparse.Namespace) -> None:
    """Time the iterations of a search, or tell where their time goes."""
    import torch

    loop = start_search(
        args.method, args.dim, args.runs, args.device, replayed=args.fused or not (args.plain or args.profile)
    )
    advance(loop, WARM_UP[0] + WARM_UP[1] * args.dim)
    torch.cuda.synchronize()
    if args.profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
            advance(loop, 5)
            torch.cuda.synchronize()
        print(seen.key_averages().table(sort_by="cuda_time_total", row_limit=30, max_name_column_width=60))
        return
    count, start = 0, time.perf_counter()
    while loop.evaluator.left > 0 and count != args.most:
        loop.step()
        count += 1
    torch.cuda.synchronize()
    each = (time.perf_counter() - start) / count
    print(
        f"{args.method}, D = {args.dim}, {args.runs} in flight, {torch.cuda.get_device_name()}: "
        f"{1e3 * each:.1f} ms an iteration, {args.runs / (each * 50 * args.dim):.0f} complete runs/s, "
        f"{torch.cuda.max_memory_allocated() / args.runs / 1e6:.2f} MB per run"
    )


if __name__ == "__main__":
    main()
