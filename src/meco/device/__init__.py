"""Everything that knows CUDA: recorded iterations and rounds, fused kernels, problems chosen on the device."""

from __future__ import annotations

import importlib.util
from typing import Any


def has_triton(values: Any) -> bool:
    """Whether an array lies on a CUDA device for which Triton, which comes with torch there, compiles kernels."""
    return bool(getattr(values, "is_cuda", False)) and importlib.util.find_spec("triton") is not None
