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

from meco.device.operators import operator

ROWS, WARPS = 128, 4  # points that a block of threads looks at in one go


@triton.jit
def _are_filled(at, row, count, dim):
    """Which of these rows [n] of one run to read; of an archive those from the first that is not filled are left out.

    Whether the first of them holds a point says it for all.
    """
    first = tl.min(row, axis=0)
    filled = tl.load(at + first.to(tl.int64) * dim, mask=first < count, other=float("inf")) < float("inf")
    return (row < count) & filled


@triton.jit(do_not_specialize=["count", "dim"])
def _square_kernel(x_at, centre_at, width_at, made_at, count, dim, rows: tl.constexpr):
    """Squared distances of `rows` points of one run to its centre, in widths; a thread takes a point."""
    run, row = tl.program_id(0).to(tl.int64), tl.program_id(1) * rows + tl.arange(0, rows)
    x_at += run * count * dim
    there = _are_filled(x_at, row, count, dim)
    square = tl.where(there, 0.0, float("inf")).to(tl.float64)
    for d in range(dim):
        centre, width = tl.load(centre_at + run * dim + d), tl.load(width_at + run * dim + d)
        apart = (tl.load(x_at + row.to(tl.int64) * dim + d, mask=there, other=0.0) - centre) / width
        square += apart * apart
    tl.store(made_at + run * count + row, square, mask=row < count)


@triton.jit(do_not_specialize=["count", "dim", "tries"])
def _nearest_kernel(x_at, point_at, reach_at, made_at, count, dim, tries, rows: tl.constexpr):
    """The least distance of one point to those of its run, along the variable in which each is farthest, in reaches."""
    run, k = tl.program_id(0).to(tl.int64), tl.program_id(1)
    x_at += run * count * dim
    least = tl.zeros([rows], tl.float64) + float("inf")
    for first in range(0, count, rows):
        row = first + tl.arange(0, rows)
        there = _are_filled(x_at, row, count, dim)
        most = tl.where(there, 0.0, float("inf")).to(tl.float64)
        for d in range(dim):
            point, reach = tl.load(point_at + (run * tries + k) * dim + d), tl.load(reach_at + run * dim + d)
            apart = tl.abs(tl.load(x_at + row.to(tl.int64) * dim + d, mask=there, other=0.0) - point) / reach
            most = tl.maximum(most, apart)
        least = tl.minimum(least, most)
    tl.store(made_at + run * tries + k, tl.min(least, axis=0))


@operator("(Tensor x, Tensor centre, Tensor width) -> Tensor", lambda x, centre, width: x.new_empty(x.shape[:2]))
def square_distances_in_one_kernel(x: torch.Tensor, centre: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
    """_square_distances() of tr/model_fit.py: x [B, n, D], centre and width [B, D] -> [B, n]."""
    (runs, count, dim), made = x.shape, x.new_empty(x.shape[:2])
    given = [part.expand(runs, *part.shape[1:]).contiguous() for part in (x, centre, width)]
    _square_kernel[(runs, triton.cdiv(count, ROWS))](*given, made, count, dim, rows=ROWS, num_warps=WARPS)
    return made


@operator("(Tensor x, Tensor points, Tensor reach) -> Tensor", lambda x, points, reach: x.new_empty(points.shape[:2]))
def distances_in_one_kernel(x: torch.Tensor, points: torch.Tensor, reach: torch.Tensor) -> torch.Tensor:
    """distances_to_nearest() of tr/archive.py: x [B, n, D], points [B, k, D] and reach [B, D] -> [B, k]; no nan."""
    (runs, count, dim), tries = x.shape, points.shape[1]
    made = x.new_empty(runs, tries)
    given = [part.expand(runs, *part.shape[1:]).contiguous() for part in (x, points, reach)]
    _nearest_kernel[(runs, tries)](*given, made, count, dim, tries, rows=ROWS, num_warps=WARPS)
    return made
