"""How many threads NumPy's linear algebra uses: sums of another number of parts may differ in their last bits."""

from __future__ import annotations

import ctypes
import os

import numpy as np

from meco.core.thread_variables import THREAD_VARIABLES

THREAD_COUNT_FUNCTIONS = (  # of libraries of linear algebra
    "scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads", "openblas_get_num_threads64_",
    "openblas_get_num_threads", "MKL_Get_Max_Threads", "bli_thread_get_num_threads",
)  # fmt: skip


def count_blas_threads() -> int | None:
    """Threads of NumPy's linear algebra; None where neither the library nor the environment tells."""
    try:
        library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    except (OSError, AttributeError, TypeError):
        library = None
    for name in THREAD_COUNT_FUNCTIONS if library is not None else ():
        question = getattr(library, name, None)  # names are looked for in what the library itself loads, too
        if question is not None:
            question.restype = ctypes.c_int
            return int(question()) or None
    given = (os.environ.get(name, "").partition(",")[0] for name in THREAD_VARIABLES)
    return next((int(text) for text in given if text.isdigit() and int(text) > 0), None)
