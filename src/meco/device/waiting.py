"""How a process waits for a CUDA device: asleep, so that others have its core, or looking all the time."""

from __future__ import annotations

import ctypes
from functools import lru_cache

BLOCKING_SYNC = 4  # CU_CTX_SCHED_BLOCKING_SYNC of the CUDA driver


@lru_cache(maxsize=8)
def sleep_while_waiting(device: str) -> None:
    """Let this process sleep whenever it waits for a device, "cuda" or "cuda:1"; call it before the device is used.

    Nothing happens where there is no driver of CUDA.
    """
    kind, _, number = device.partition(":")
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    if kind == "cuda" and driver.cuInit(0) == 0:
        driver.cuDevicePrimaryCtxSetFlags_v2(int(number or 0), BLOCKING_SYNC)
