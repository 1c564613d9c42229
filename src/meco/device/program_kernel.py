"""All iterations of a quadratic program in one kernel: what tr/program.py does in hundreds of small ones.

One block of threads keeps the matrix of one run in its registers. Loaded only where tensors lie on a CUDA device and
Triton, which comes with torch there, is installed; mypy and Windows never see it.
"""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _iterate_kernel(matrix, constant, low, high, most, v, times, size, keep: tl.constexpr, block: tl.constexpr):
    """v <- k + N (v - 2 e(v)) + keep v, eq. (2) of tr/program.py, as often as asked."""
    run = tl.program_id(0).to(tl.int64)
    row = tl.arange(0, block)
    inside = row < size
    both = inside[:, None] & inside[None, :]
    n = tl.load(matrix + run * size * size + row[:, None] * size + row[None, :], mask=both, other=0.0)
    at = run * size + row
    k = tl.load(constant + at, mask=inside, other=0.0)
    lower = tl.load(low + at, mask=inside, other=0.0)
    upper = tl.load(high + at, mask=inside, other=0.0)
    t = tl.load(most + at, mask=inside, other=0.0)
    x = tl.load(v + at, mask=inside, other=0.0)
    for _ in range(times):
        outside = x - tl.minimum(tl.maximum(x, lower), upper)
        e = tl.minimum(tl.maximum(outside, -t), t)
        x = k + tl.sum(n * (x - 2.0 * e)[None, :], axis=1) + keep * x
    tl.store(v + at, x, mask=inside)


def iterate_program(map_, v: torch.Tensor, times: int, keep: float) -> torch.Tensor:
    """Eq. (2) of tr/program.py as often as asked in one launch, for as many rows as registers hold."""
    runs, size = v.shape
    block = max(16, triton.next_power_of_2(size))
    v = v.clone()
    parts = [part.contiguous() for part in map_]
    _iterate_kernel[(runs,)](*parts, v, times, size, keep, block, num_warps=max(1, min(8, block * block // 1024)))
    return v
