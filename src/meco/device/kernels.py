"""Which formulas run as one kernel: where tensors lie on a CUDA device and Triton, which comes with torch, is there.

A kernel computes what a function of NumPy says, and that function stays: it is what the kernel is tested against, and
what runs wherever no kernel does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec

from meco.core.arrays import Array

MOST_VARIABLES = 32  # up to which formulas run as one kernel: a block's registers hold a run, and tests go so far


class _KernelMode:
    """Whether kernels are used now, in this process; using_kernels() sets it."""

    on = True


@contextmanager
def using_kernels(*, on: bool = True) -> Iterator[None]:
    """Inside the block use kernels where there are any, or with on=False none, in the whole process."""
    before, _KernelMode.on = _KernelMode.on, on
    try:
        yield
    finally:
        _KernelMode.on = before


def has_kernels(x: Array) -> bool:
    """Whether formulas on x may run as one kernel: float64 on a CUDA device, with Triton."""
    return _KernelMode.on and bool(getattr(x, "is_cuda", False)) and str(x.dtype) == "torch.float64" and _has_triton()


@lru_cache(maxsize=1)
def _has_triton() -> bool:
    return find_spec("triton") is not None
