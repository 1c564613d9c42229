"""Distances to the evaluated points in one kernel: each point of an archive is read once and nothing else is written.

The formulas are _square_distances() of tr/model_fit.py and distances_to_nearest() of tr/archive.py, which as small
kernels write and read arrays as large as the archive several times. Memory bounds them: neighbouring threads read
neighbouring numbers, two each where points have an even number of them. Loaded only where tensors lie on a CUDA device,
see kernels.py.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from meco.device.operators import operator


class Tile(NamedTuple):
    """How a block of threads reads points: so many in one go, `lanes` variables of each beside each other."""

    rows: int
    lanes: int  # a power of two
    warps: int


@triton.jit
def _holds_point(at, row, count, dim):
    """Whether there is such a row in one run, and it is filled; an archive is filled from its first row on."""
    return tl.load(at + row * dim, mask=row < count, other=float("inf")) < float("inf")


@triton.jit
def _variables(lanes: tl.constexpr, parts: tl.constexpr):
    """Numbers of variables [1, parts, lanes]."""
    return (tl.arange(0, parts) * lanes)[None, :, None] + tl.arange(0, lanes)[None, None, :]


@triton.jit(do_not_specialize=["count", "steps"])
def _square_kernel(
    x_at, centre_at, width_at, made_at, count, steps,
    rows: tl.constexpr, lanes: tl.constexpr, parts: tl.constexpr, step: tl.constexpr,
):  # fmt: skip
    """Squared distances of `rows` points of one run to its centre, in widths; infinite if the first is not filled.

    A point has step * steps variables, in `parts` parts of at most `lanes`: tiles are [rows, parts, lanes].
    """
    run, first, dim = tl.program_id(0).to(tl.int64), tl.program_id(1) * rows, step * steps
    row, variable = first + tl.arange(0, rows), _variables(lanes, parts)
    real = variable < dim
    x_at += run * count * dim
    there = row < tl.where(_holds_point(x_at, first, count, dim), count, 0)
    place = row[:, None, None] * dim + variable
    x = tl.load(x_at + place, mask=there[:, None, None] & real, other=0.0)
    centre = tl.load(centre_at + run * dim + variable, mask=real, other=0.0)
    over = 1.0 / tl.load(width_at + run * dim + variable, mask=real, other=1.0)
    apart = (x - centre) * over
    square = tl.sum(tl.sum(apart * apart, axis=1), axis=1)
    tl.store(made_at + run * count + row, tl.where(there, square, float("inf")), mask=row < count)


@triton.jit(do_not_specialize=["count", "steps", "tries"])
def _nearest_kernel(
    x_at, point_at, reach_at, made_at, count, steps, tries,
    rows: tl.constexpr, lanes: tl.constexpr, parts: tl.constexpr, step: tl.constexpr,
):  # fmt: skip
    """The least distance of one point to those of its run, along the variable in which each is farthest, in reaches."""
    run, k, dim = tl.program_id(0).to(tl.int64), tl.program_id(1), step * steps
    variable = _variables(lanes, parts)
    real = variable < dim
    x_at += run * count * dim
    point = tl.load(point_at + (run * tries + k) * dim + variable, mask=real, other=0.0)
    over = 1.0 / tl.load(reach_at + run * dim + variable, mask=real, other=1.0)
    least = tl.full([rows], float("inf"), tl.float64)
    first = 0
    more = _holds_point(x_at, first, count, dim)
    while more:
        row = first + tl.arange(0, rows)
        there = row < count
        x = tl.load(x_at + (row[:, None, None] * dim + variable), mask=there[:, None, None] & real, other=0.0)
        first += rows
        more = _holds_point(x_at, first, count, dim)
        most = tl.max(tl.max(tl.abs(x - point) * over, axis=1), axis=1)
        least = tl.minimum(least, tl.where(there, most, float("inf")))
    tl.store(made_at + run * tries + k, tl.min(least, axis=0))


def choose_tiles(dim: int) -> tuple[Tile, Tile]:
    """The tiles for squared distances and for the nearest of points with so many variables.

    They were the fastest but for some hundredths of 13 in 10 and in 30 variables on an H200 (kernels_alone.py).
    """
    if dim > 16:
        return Tile(64, 16, 4), Tile(32, 16, 4)
    most = triton.next_power_of_2(dim)
    return Tile(128, most, 4), Tile(64, min(4, most), 2)


def measure_squares(x: torch.Tensor, centre: torch.Tensor, width: torch.Tensor, tile: Tile) -> torch.Tensor:
    """Squared distances of x [B, n, D] to centres [B, D], in widths [B, D]: [B, n]."""
    (runs, count, dim), made = x.shape, x.new_empty(x.shape[:2])
    given = [part.expand(runs, *part.shape[1:]).contiguous() for part in (x, centre, width)]
    sizes = _sizes(dim, tile)
    _square_kernel[(runs, triton.cdiv(count, tile.rows))](*given, made, count, dim // sizes["step"], **sizes)
    return made


def measure_nearest(x: torch.Tensor, points: torch.Tensor, reach: torch.Tensor, tile: Tile) -> torch.Tensor:
    """Least distances of points [B, k, D] to x [B, n, D], in reaches [B, D]: [B, k]."""
    (runs, count, dim), tries = x.shape, points.shape[1]
    made = x.new_empty(runs, tries)
    given = [part.expand(runs, *part.shape[1:]).contiguous() for part in (x, points, reach)]
    sizes = _sizes(dim, tile)
    _nearest_kernel[(runs, tries)](*given, made, count, dim // sizes["step"], tries, **sizes)
    return made


def _sizes(dim: int, tile: Tile) -> dict[str, int]:
    """What a kernel is made with for points with so many variables."""
    step = 2 if dim % 2 == 0 else 1  # numbers that a thread reads in one go
    return {
        "rows": tile.rows,
        "lanes": tile.lanes,
        "parts": max(1, triton.next_power_of_2(dim) // tile.lanes),
        "step": step,
        "num_warps": tile.warps,
    }


@operator("(Tensor x, Tensor centre, Tensor width) -> Tensor", lambda x, centre, width: x.new_empty(x.shape[:2]))
def square_distances_in_one_kernel(x: torch.Tensor, centre: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
    """_square_distances() of tr/model_fit.py: x [B, n, D], centre and width [B, D] -> [B, n]."""
    return measure_squares(x, centre, width, choose_tiles(x.shape[-1])[0])


@operator("(Tensor x, Tensor points, Tensor reach) -> Tensor", lambda x, points, reach: x.new_empty(points.shape[:2]))
def distances_in_one_kernel(x: torch.Tensor, points: torch.Tensor, reach: torch.Tensor) -> torch.Tensor:
    """distances_to_nearest() of tr/archive.py: x [B, n, D], points [B, k, D] and reach [B, D] -> [B, k]; no nan."""
    return measure_nearest(x, points, reach, choose_tiles(x.shape[-1])[1])
