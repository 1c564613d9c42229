"""Memory and time of long runs: `python tests/attack/large_runs.py --evaluations 100000`."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time

import meco


def fun(x):
    return float(x @ x), [1.0 - x[0], x[1] - 2.0]


def measured(method, evaluations, how):
    """Microseconds an evaluation, and megabytes more than at the start."""
    options = {}
    with tempfile.TemporaryDirectory() as folder:
        if "log" in how:
            options["checkpoint"] = folder + "/r"
        if "callback" in how:
            options["callback"] = lambda result: result.fun < -1.0 or result.nfev < 0
        meco.minimize(fun, [(-5.0, 5.0)] * 5, method=method, budget=60, seed=1)
        before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        result = meco.minimize(fun, [(-5.0, 5.0)] * 5, method=method, budget=evaluations, seed=1, **options)
        spent = (time.process_time() - begun) / result.nfev * 1e6
        return spent, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--methods", nargs="+", default=["SHADE", "TR-ES"])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # method, evaluations, how: in a fresh process
    args = parser.parse_args()
    if args.one:
        spent, more = measured(args.one[0], int(args.one[1]), args.one[2])
        print(f"{args.one[0]:8s} {args.one[1]:>8s} {args.one[2]:14s} {spent:9.1f} us each  {more:+7.1f} MB", flush=True)
        return
    for method in args.methods:
        many = args.evaluations
        for count, how in ((1000, "bare"), (many, "bare"), (many, "log"), (many, "log+callback")):
            subprocess.run([sys.executable, __file__, "--one", method, str(count), how], check=True)


if __name__ == "__main__":
    main()
