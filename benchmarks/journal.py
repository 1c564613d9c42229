"""What the log of a run costs: seconds per evaluation and per generation, at D = 50.

    python benchmarks/journal.py [folder]

Two measures: the log alone (encode, checksum, hand over to the system, state file), and complete
runs of minimize() with and without a checkpoint, side by side in one process. CPU time, the smallest of
several rounds; wall time where the disk is waited for.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import meco
from meco.run.answer import Fault
from meco.run.folder.run_folder import STATE_COST_FACTOR, RunFolder
from meco.run.log.evaluation_log import Entry
from meco.run.log.log_file import LogFile

DIM, SIZE, BUDGET, ROUNDS = 50, 50, 2500, 9


def trivial_function(x: np.ndarray):
    """Rows of points, two constraints."""
    return (x * x).sum(axis=1), 1.0 - x[:, :2]


def time_log(folder: Path, fsync: bool) -> tuple[float, float]:
    """Microseconds for appending one record, and for flushing a generation."""
    rng = np.random.default_rng(1)
    entries = [Entry(i, i // SIZE, 0, Fault.NONE, rng.random(DIM), 1.0, rng.random(2)) for i in range(BUDGET)]
    log = LogFile(folder / f"log-{fsync}-{time.monotonic_ns()}.bin", fsync=fsync)
    clock = time.perf_counter if fsync else time.process_time
    appending = flushing = 0.0
    for start in range(0, BUDGET, SIZE):
        begun = clock()
        for entry in entries[start : start + SIZE]:
            log.append(entry)
        between = clock()
        log.flush()
        appending += between - begun
        flushing += clock() - between
    log.close()
    return 1e6 * appending / BUDGET, 1e6 * flushing / (BUDGET // SIZE)


def time_run(checkpoint) -> float:
    """Seconds of CPU time for one run."""
    begun = time.process_time()
    meco.minimize(
        trivial_function,
        [(-5.0, 5.0)] * DIM,
        method=meco.Method("SHADE-FR", pop_size=SIZE),
        budget=BUDGET,
        seed=1,
        workers=meco.Workers(vectorized=True),
        checkpoint=checkpoint,
    )
    return time.process_time() - begun


def time_states(folder: Path) -> float:
    """Microseconds for taking and writing the state of a search, of a run that writes one after each generation."""
    taken, generation = [], RunFolder.generation

    def timed(self: RunFolder, state, last: bool = False) -> None:
        begun = time.process_time()
        generation(self, state, last=True)
        taken.append(time.process_time() - begun)

    RunFolder.generation = timed  # type: ignore[method-assign]
    try:
        time_run(folder / "states")
    finally:
        RunFolder.generation = generation  # type: ignore[method-assign]
    return 1e6 * statistics.median(taken)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        folder = Path(name)
        for fsync in (False, True):
            rounds = [time_log(folder, fsync) for _ in range(3 if fsync else ROUNDS)]
            record, flush = (min(column) for column in zip(*rounds))
            print(f"log alone, fsync {fsync!s:5}: {record:6.2f} us per evaluation, {flush:8.1f} us per generation")
        cost = time_states(folder)
        print(
            f"state file: {cost:8.1f} us, written when {STATE_COST_FACTOR} times as long has passed: "
            f"{100 / STATE_COST_FACTOR:.0f} %"
        )
        time_run(None)
        pairs = [(time_run(None), time_run(folder / f"run{i}")) for i in range(ROUNDS)]
        without, with_log = (min(column) for column in zip(*pairs))
        extra = 1e6 * (with_log - without) / BUDGET
        print(f"minimize(): {1e6 * without / BUDGET:.1f} us per evaluation, with a run folder {extra:+.1f} us")
        print("targets: 10 us per evaluation, 1000 us per generation")


if __name__ == "__main__":
    main()
