"""What kernels share: formulas on tiles, parts of one run that a block of threads keeps in its registers.

A tile cannot be indexed by a number; its rows and columns are taken by sums over a mask. Sizes are powers of two, with
zeros beyond the real ones.
"""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

_MOVED: dict[tuple[tuple[float, ...], str], torch.Tensor] = {}


def constants_on(numbers: tuple[float, ...], like: torch.Tensor) -> torch.Tensor:
    """Numbers [n] in float64 on the device of like, moved there once: a number that a kernel is given is a float32."""
    key = numbers, str(like.device)
    if key not in _MOVED:
        _MOVED[key] = torch.tensor(numbers, dtype=torch.float64, device=like.device)
    return _MOVED[key]


@triton.jit
def clip(x, low, high):
    """x cut to [low, high], and high where that is less; nan stays."""
    raised = tl.where(x < low, low, x)
    return tl.where(raised > high, high, raised)


@triton.jit
def sweep_inverse(matrix, size, block: tl.constexpr):
    """The inverse of a positive definite matrix [block, block], of which the first `size` rows and columns are swept.

    The sweep operator needs no other memory: a pivot takes its product off the rest, and its own row and column are
    divided by it. They are the same but for rounding, so the row stands for both: a sum along rows takes threads that
    have neighbouring columns several exchanges for each row. Rows beyond come out as they are, with the other sign.
    """
    i = tl.arange(0, block)
    for k in range(size):
        here = i == k
        row = tl.sum(tl.where(here[:, None], matrix, 0.0), axis=0)
        over = 1.0 / tl.sum(tl.where(here, row, 0.0), axis=0)
        row = tl.where(here, -1.0, row)
        rest = tl.where(here[:, None] | here[None, :], 0.0, matrix)
        matrix = rest - row[:, None] * (row * over)[None, :]
    return -matrix


@triton.jit
def _product_kernel(at, made_at, block: tl.constexpr):
    """The square of a matrix [block, block]."""
    i = tl.arange(0, block)
    place = i[:, None] * block + i[None, :]
    matrix = tl.load(at + place)
    tl.store(made_at + place, tl.dot(matrix, matrix, out_dtype=tl.float64))


def launch_small_product(device: str) -> torch.Tensor:
    """Start a kernel that multiplies matrices in float64, as others do: [16, 16]. Raises what the compiler raises."""
    matrix = torch.eye(16, dtype=torch.float64, device=device) * 2.0
    made = torch.empty_like(matrix)
    _product_kernel[(1,)](matrix, made, block=16, num_warps=1)
    return made
