"""Time and memory of long runs, bare, with the log, and with log and callback.

`python benchmarks/long_runs.py` measures SHADE and TR up to 100,000 evaluations, each run in a process of
its own (`--jobs 4` of them at a time), and says at each mark what an evaluation costs. Then short runs, bare and with
log and callback in turn in one process, say how much these cost: beside other work only neighbours in time compare
(`--pairs 0` leaves them out). Time is that of the processor.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import meco

MARKS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
HOWS = ("bare", "log", "callback", "log+callback")
SHORT = {"SHADE": 10_000}  # evaluations of a run among pairs


class Watched:
    """A cheap function with two constraints that notes, at each mark, the time and the memory taken so far."""

    def __init__(self, say):
        self.say, self.calls, self.begun, self.memory = say, 0, time.process_time(), resident_memory()

    def __call__(self, x):
        self.calls += 1
        if self.calls in MARKS:
            each = (time.process_time() - self.begun) / self.calls * 1e6
            self.say(f"{self.calls:>8d}  {each:9.1f} us each  {(resident_memory() - self.memory) / 2**20:+7.1f} MB")
        return float(x @ x), [1.0 - x[0], x[1] - 2.0]


def resident_memory():
    """Memory in use, in bytes."""
    import resource

    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def time_run(method, evaluations, how, fun):
    """One run, with the log and the callback that it is to have; seconds of the processor."""
    options = {"callback": lambda result: result.fun < -1.0 or result.nfev < 0} if "callback" in how else {}
    with tempfile.TemporaryDirectory() as folder:
        options |= {"checkpoint": folder + "/r"} if "log" in how else {}
        begun = time.process_time()
        meco.minimize(fun, [(-5.0, 5.0)] * 5, method=method, budget=evaluations, seed=1, **options)
        return time.process_time() - begun


def print_marks(method, evaluations, how):
    """Run once, and print a line at each mark."""
    time_run(method, 60, how, lambda x: float(x @ x))  # warm
    time_run(method, evaluations, how, Watched(lambda text: print(f"{method:8s} {how:13s} {text}", flush=True)))


def print_comparison(method, pairs):
    """Run bare and with both in turn, and print how the times compare."""
    evaluations = SHORT.get(method, 500)
    times = [
        [time_run(method, evaluations, how, Watched(lambda text: None)) for how in HOWS[::3]] for _ in range(pairs + 1)
    ]
    bare, both = zip(*times[1:])  # the first pair is warm-up
    low, middle, high = statistics.quantiles([b / a for a, b in zip(bare, both)], n=4)
    each = [statistics.median(column) / evaluations * 1e6 for column in (bare, both)]
    print(
        f"{method:8s} {pairs} pairs of {evaluations}: {each[0]:.1f} us each bare, {each[1]:.1f} with both; "
        f"{middle:.2f} times bare (quartiles {low:.2f} and {high:.2f}; the quickest runs {min(both) / min(bare):.2f})",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--methods", nargs="+", default=["SHADE", "TR"])
    parser.add_argument("--how", nargs="*", default=HOWS, choices=HOWS, help="long runs; none: pairs alone")
    parser.add_argument("--pairs", type=int, default=15, help="short runs of each method, bare and with both in turn")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # in this process
    args = parser.parse_args()
    if args.one:
        return print_marks(args.methods[0], args.evaluations, args.how[0])
    words = [sys.executable, __file__, "--one", "--evaluations", str(args.evaluations)]
    runs = [[*words, "--methods", method, "--how", how] for method in args.methods for how in args.how]
    with ThreadPoolExecutor(args.jobs) as pool:
        for done in pool.map(lambda line: subprocess.run(line, stdout=subprocess.PIPE, text=True), runs):
            print(done.stdout, end="", flush=True)
    for method in args.methods if args.pairs else ():
        print_comparison(method, args.pairs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
