"""One BLAS thread per process: a campaign is parallel by processes, and its numbers by threads of none."""

from __future__ import annotations

import os
import sys

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def single_threaded() -> None:
    """Ask for one thread; of use only before NumPy is loaded, which is where commands call it."""
    if "numpy" not in sys.modules:
        for key, value in ONE_THREAD.items():
            os.environ.setdefault(key, value)
