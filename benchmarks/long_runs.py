"""Time and memory of long runs, bare, with the log, and with log and callback.

`python benchmarks/long_runs.py` measures SHADE, TR-ES and MeCO-TR up to 100,000 evaluations, each run in a process of
its own (`--jobs 4` of them at a time), and says at each mark what an evaluation costs. Time is that of the processor.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import meco

MARKS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
HOWS = ("bare", "log", "callback", "log+callback")


class Watched:
    """A cheap function with two constraints that notes, at each mark, the time and the memory taken so far."""

    def __init__(self, say):
        self.say, self.calls, self.begun, self.memory = say, 0, time.process_time(), resident()

    def __call__(self, x):
        self.calls += 1
        if self.calls in MARKS:
            each = (time.process_time() - self.begun) / self.calls * 1e6
            self.say(f"{self.calls:>8d}  {each:9.1f} us each  {(resident() - self.memory) / 2**20:+7.1f} MB")
        return float(x @ x), [1.0 - x[0], x[1] - 2.0]


def resident():
    """Memory in use, in bytes."""
    import resource

    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(method, evaluations, how):
    """Run once, and print a line at each mark."""
    options = {"callback": lambda result: result.fun < -1.0 or result.nfev < 0} if "callback" in how else {}
    with tempfile.TemporaryDirectory() as folder:
        options |= {"checkpoint": folder + "/r"} if "log" in how else {}
        meco.minimize(lambda x: float(x @ x), [(-5.0, 5.0)] * 5, method=method, budget=60, seed=1)  # warm
        fun = Watched(lambda text: print(f"{method:8s} {how:13s} {text}", flush=True))
        meco.minimize(fun, [(-5.0, 5.0)] * 5, method=method, budget=evaluations, seed=1, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--methods", nargs="+", default=["SHADE", "TR-ES", "MeCO-TR"])
    parser.add_argument("--how", nargs="+", default=HOWS, choices=HOWS)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # in this process
    args = parser.parse_args()
    if args.one:
        return measure(args.methods[0], args.evaluations, args.how[0])
    words = [sys.executable, __file__, "--one", "--evaluations", str(args.evaluations)]
    runs = [[*words, "--methods", method, "--how", how] for method in args.methods for how in args.how]
    with ThreadPoolExecutor(args.jobs) as pool:
        for done in pool.map(lambda line: subprocess.run(line, stdout=subprocess.PIPE, text=True), runs):
            print(done.stdout, end="", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
