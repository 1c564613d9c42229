"""Environment variables that say how many threads linear algebra uses; results depend on it in their last bits."""

from __future__ import annotations

THREAD_VARIABLES = (  # what libraries of linear algebra read, those of one library before the one of all
    "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS",
)  # fmt: skip
ONE_THREAD = dict.fromkeys(THREAD_VARIABLES, "1")
