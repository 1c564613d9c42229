"""Which formulas run as one kernel: where tensors lie on a CUDA device and Triton, which comes with torch, works.

A kernel computes what a function of NumPy says, and that function stays: it is what the kernel is tested against, and
what runs wherever no kernel does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from meco.core.arrays import Array
from meco.errors import warn_user

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
    """Whether formulas on x may run as one kernel: float64 on a CUDA device, on which Triton can start one."""
    if not (_KernelMode.on and getattr(x, "is_cuda", False) and str(x.dtype) == "torch.float64"):
        return False
    return can_launch(str(x.device))


@lru_cache(maxsize=64)
def can_launch(device: str) -> bool:
    """Whether a small kernel compiles and starts on this device, tried once; a warning says why not.

    Triton may be installed and yet have no compiler of C, which it needs, or not know the GPU.
    """
    try:
        from meco.device.tiles import launch_small_product

        launch_small_product(device)
    except Exception as error:  # whatever a compiler may say, the formulas run without kernels
        reason = f"{type(error).__name__}: {error!s:.200}"
        warn_user(f"Triton starts no kernel on {device}, searches there are several times slower ({reason})")
        return False
    return True
