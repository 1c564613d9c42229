"""Distances to the evaluated points in one kernel: each point of an archive is read once and nothing else is written.

The formulas are _square_distances() of tr/model_fit.py and distances_to_nearest() of tr/archive.py, which as small
kernels write and read arrays as large as the archive several times. Loaded only where tensors lie on a CUDA device, see
kernels.py.
"""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

ROWS = 32  # points that a block of threads looks at in one go


@triton.jit
def _load_rows(at, row, count, dim, wide: tl.constexpr):
    """Points of one run at these rows [n]: [n, wide]; rows beyond the last are infinitely far away."""
    d = tl.arange(0, wide)
    there = (row < count)[:, None] & (d < dim)[None, :]
    far = tl.where((d < dim)[None, :], float("inf"), 0.0)
    return tl.load(at + row.to(tl.int64)[:, None] * dim + d[None, :], mask=there, other=0.0) + tl.where(there, 0.0, far)


@triton.jit(do_not_specialize=["count", "dim"])
def _square_kernel(x_at, centre_at, width_at, made_at, count, dim, rows: tl.constexpr, wide: tl.constexpr):
    """Squared distances of `rows` points of one run to its centre, in widths."""
    run, row, d = tl.program_id(0).to(tl.int64), tl.program_id(1) * rows + tl.arange(0, rows), tl.arange(0, wide)
    centre = tl.load(centre_at + run * dim + d, mask=d < dim, other=0.0)
    width = tl.load(width_at + run * dim + d, mask=d < dim, other=1.0)
    apart = (_load_rows(x_at + run * count * dim, row, count, dim, wide) - centre[None, :]) / width[None, :]
    tl.store(made_at + run * count + row, tl.sum(apart * apart, axis=1), mask=row < count)


@triton.jit(do_not_specialize=["count", "dim", "tries"])
def _nearest_kernel(x_at, point_at, reach_at, made_at, count, dim, tries, rows: tl.constexpr, wide: tl.constexpr):
    """The least distance of one point to those of its run, along the variable in which each is farthest, in reaches."""
    run, k, d = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.arange(0, wide)
    point = tl.load(point_at + (run * tries + k) * dim + d, mask=d < dim, other=0.0)
    reach = tl.load(reach_at + run * dim + d, mask=d < dim, other=1.0)
    least = tl.zeros([rows], tl.float64) + float("inf")
    for first in range(0, count, rows):
        row = first + tl.arange(0, rows)
        apart = tl.abs(_load_rows(x_at + run * count * dim, row, count, dim, wide) - point[None, :]) / reach[None, :]
        least = tl.minimum(least, tl.max(apart, axis=1))
    tl.store(made_at + run * tries + k, tl.min(least, axis=0))


def square_distances_in_one_kernel(x: torch.Tensor, centre: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
    """_square_distances() of tr/model_fit.py: x [B, n, D], centre and width [B, D] -> [B, n]."""
    (runs, count, dim), made = x.shape, x.new_empty(x.shape[:2])
    given = [part.expand(runs, *part.shape[1:]).contiguous() for part in (x, centre, width)]
    _square_kernel[(runs, triton.cdiv(count, ROWS))](
        *given, made, count, dim, rows=ROWS, wide=triton.next_power_of_2(dim), num_warps=1
    )
    return made


def distances_in_one_kernel(x: torch.Tensor, points: torch.Tensor, reach: torch.Tensor) -> torch.Tensor:
    """distances_to_nearest() of tr/archive.py: x [B, n, D], points [B, k, D] and reach [B, D] -> [B, k]; no nan."""
    (runs, count, dim), tries = x.shape, points.shape[1]
    made = x.new_empty(runs, tries)
    given = [part.expand(runs, *part.shape[1:]).contiguous() for part in (x, points, reach)]
    _nearest_kernel[(runs, tries)](
        *given, made, count, dim, tries, rows=ROWS, wide=triton.next_power_of_2(dim), num_warps=1
    )
    return made
