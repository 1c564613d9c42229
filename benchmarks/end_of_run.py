"""How long after its deadline a run with 100,000 constraints in three variables returns.

    python benchmarks/end_of_run.py [--cases plain noisy ...] [--seconds 3 8] >> results/end_of_run.txt

Each row is a call of minimize(..., stop=T) of a sum of squares under planes that costs next to nothing, by TR unless
the case names another method, in a process of its own with one thread. Told are its calls, the wall-clock and CPU
seconds from T after the call of minimize() to its return, and those of print(result) and print(result.limits). CPU
seconds are those of the process that searches, without its workers.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "src"
DIM = 3
CASES = {  # what is special about each
    "plain": "",
    "infeasible": "no point keeps every limit",
    "named": "answers are dicts by name",
    "partial": "answers that violate the first limit lack the last one",
    "cheap": "one limit more that costs nothing to ask",
    "known": "twenty points are known beforehand",
    "folder": "every call is kept in a run folder",
    "interrupted": "Ctrl-C at T in place of a deadline",
    "SHADE": "generations",
    "noisy": "noise=True, and calls differ",
    "noisy-SHADE": "noise=0.01, and calls differ",
    "asynchronous": "two workers that are never waited for",
    "unanswered": "the same, and the third call never answers",
    "unanswered-folder": "the same in a run folder",
}


class Planes:
    """A sum of squares under planes; picklable, so that workers can call it."""

    def __init__(self, constraints: int, case: str) -> None:
        self.planes = np.random.default_rng(1).standard_normal((DIM, constraints))
        self.right = 2.0 if case != "infeasible" else -0.1
        self.noise = np.random.default_rng(2) if case.startswith("noisy") else None
        self.names = [f"limit {i}" for i in range(constraints)] if case in ("named", "partial") else None
        self.partial, self.cheap, self.unanswered = case == "partial", case == "cheap", case.startswith("unanswered")
        self.numbered = True

    def limits(self, x: np.ndarray) -> np.ndarray:
        return x @ self.planes - self.right

    def __call__(self, x: np.ndarray, number: int) -> Any:
        if self.unanswered and number == 2:
            threading.Event().wait()
        f, g = float(((x - 1.0) ** 2).sum()), self.limits(x)
        if self.noise is not None:
            f, g = f + 0.01 * self.noise.standard_normal(), g + 0.01 * self.noise.standard_normal(g.size)
        if self.cheap:
            return f
        if self.names is None:
            return f, g
        left_out = 1 if self.partial and g[0] > 0.0 else 0  # a partial answer lacks the last of its limits
        return f, dict(zip(self.names, g[: g.size - left_out].tolist()))


def options_of(case: str, fun: Planes, folder: str) -> dict[str, Any]:
    """What minimize() is given in a case, beside what all cases share."""
    import meco

    rows = np.random.default_rng(3).uniform(-5.0, 5.0, (20, DIM))
    given: dict[str, dict[str, Any]] = {
        "cheap": {"cheap": {"plane": lambda x: x @ fun.planes[:, 0] - fun.right}, "constraints": [fun.limits]},
        "known": {"evaluated": (rows, ((rows - 1.0) ** 2).sum(axis=1), fun.limits(rows))},
        "noisy": {"noise": True},
        "noisy-SHADE": {"noise": 0.01},
    }
    options = given.get(case, {})
    if case.endswith("SHADE"):
        options["method"] = "SHADE"
    if case.endswith("folder"):
        options["checkpoint"] = folder
    if case.startswith(("asynchronous", "unanswered")):
        options["workers"] = meco.Workers(2, asynchronous=True)
    return options


def measure_case(case: str, seconds: float, constraints: int) -> str:
    """A row of the table."""
    import meco

    fun, busy_before = Planes(constraints, case), [float("nan")]

    def note_deadline() -> None:
        busy_before[0] = time.process_time()
        if case == "interrupted":
            os.kill(os.getpid(), signal.SIGINT)

    with tempfile.TemporaryDirectory() as folder:
        given = options_of(case, fun, folder)
        if case == "interrupted":  # which a shell may have told a program in the background not to hear
            signal.signal(signal.SIGINT, signal.default_int_handler)
        given |= {"stop": seconds + 20.0 if case == "interrupted" else seconds}
        watch = threading.Timer(seconds, note_deadline)
        watch.start()
        start = time.perf_counter()
        result = meco.minimize(fun, [(-5.0, 5.0)] * DIM, budget=1_000_000, seed=1, **given)
        late, busy = time.perf_counter() - start - seconds, time.process_time() - busy_before[0]
        watch.join()
    start = time.perf_counter()
    shown = str(result), str(result.limits)
    printed = time.perf_counter() - start if all(shown) else float("nan")
    return (
        f"{case:<18} {seconds:4g} {result.nfev:7d} {late:12.2f} {busy:10.2f} {printed:9.2f}  {result.run.stop_reason}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--seconds", nargs="+", type=float, default=[3.0, 8.0])
    parser.add_argument("--constraints", type=int, default=100_000)
    parser.add_argument("--source", type=Path, default=HERE, help="a folder of sources of another version")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(measure_case(args.one, args.seconds[0], args.constraints))
        return
    print(f"{'case':<18} {'T':>4} {'calls':>7} {'s after T':>12} {'CPU s':>10} {'print s':>9}  stopped by")
    pinned = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(args.source)}
    for case in args.cases:
        for seconds in args.seconds:
            command = [sys.executable, __file__, "--one", case, "--seconds", f"{seconds}"]
            command += ["--constraints", f"{args.constraints}"]
            subprocess.run(command, env=os.environ | pinned, check=True)


if __name__ == "__main__":
    main()
