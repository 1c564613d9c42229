"""Timing several candidates in one process, in turns, so that a noisy machine treats all alike."""

from __future__ import annotations

import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def medians(candidates: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median CPU seconds of each candidate over interleaved rounds, after one warm-up of each.

    CPU time of this process, so that other programs on the machine disturb less.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(rounds + 1):
        for name, run in candidates.items():
            start = time.process_time()
            run()
            if turn:
                seconds[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def optional(module: str) -> bool:
    """Whether a peer is installed."""
    import importlib.util

    return importlib.util.find_spec(module) is not None


def machine() -> dict[str, str]:
    """What was measured, and on what: beside every output that is kept."""
    import numpy

    try:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        commit, cpu = "", platform.processor()
    return {
        "commit": commit, "cpu": cpu, "python": platform.python_version(),
        "numpy": numpy.__version__,
    }  # fmt: skip
