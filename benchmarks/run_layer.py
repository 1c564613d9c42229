"""What a run costs around its engine: time per evaluation, memory of a long run, reading and replaying a log.

python benchmarks/run_layer.py [--evaluations 1500] [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from meco.core.engine import Engine
from meco.run.log import FILE_NAME, read_events

LONG = 100_000


class Uniform(Engine):
    """An engine that costs next to nothing: a uniform point at a time."""

    def __init__(self, task) -> None:
        self.task, self.random = task, np.random.default_rng(0)

    def ask(self):
        return self.random.random((1, 1, self.task.dim))

    def tell(self, x, ev) -> None:
        self.generation += 1


def fun(x):
    return float(x @ x), [x[0] - 2.0, x[1] - 2.0]


def layer_milliseconds(evaluations: int, rounds: int, dim: int, *, folder: bool) -> float:
    """Median processor time of an evaluation in a run of this engine."""
    taken = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as place:
            checkpoint = Path(place) / "run" if folder else None
            begun = time.process_time()
            meco.minimize(fun, [(-2, 2)] * dim, budget=evaluations, method=Uniform, seed=1, checkpoint=checkpoint)
            taken.append(1e3 * (time.process_time() - begun) / evaluations)
    return float(np.median(taken))


def replay_milliseconds(evaluations: int, dim: int) -> float:
    """Processor time of an evaluation of TR when a finished run is resumed."""
    with tempfile.TemporaryDirectory() as place:
        options = {"budget": evaluations, "seed": 1, "checkpoint": meco.Checkpoint(Path(place) / "run", resume=True)}
        meco.minimize(fun, [(-2, 2)] * dim, **options)
        begun = time.process_time()
        meco.minimize(fun, [(-2, 2)] * dim, **options)
        return 1e3 * (time.process_time() - begun) / evaluations


def long_run() -> tuple[float, float, float]:
    """Largest memory in MB, microseconds of an evaluation, and seconds to read the log, of SHADE."""
    import resource

    with tempfile.TemporaryDirectory() as place:
        begun = time.process_time()
        meco.minimize(fun, [(-2, 2)] * 5, method="SHADE", budget=LONG, seed=1, checkpoint=Path(place) / "run")
        spent = 1e6 * (time.process_time() - begun) / LONG
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        begun = time.process_time()
        read_events(Path(place) / "run" / FILE_NAME)
        return memory, spent, time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    memory, spent, seconds = long_run()
    print(
        f"{LONG} evaluations of SHADE with a folder: {memory:.0f} MB, {spent:.0f} us each, log read in {seconds:.1f} s"
    )
    for dim in (5, 20, 50):
        plain, kept = (layer_milliseconds(args.evaluations, args.rounds, dim, folder=kept) for kept in (False, True))
        replayed = replay_milliseconds(20 * dim, dim)
        print(f"D = {dim}: {plain:.3f} ms, {kept:.3f} ms with a folder; replay of TR {replayed:.2f} ms")


if __name__ == "__main__":
    main()
