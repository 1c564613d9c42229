"""|H| of each run in one kernel: convexify_by_products() of tr/curvature.py, whose products are 23 kernels and more.

One block of threads keeps the matrices of one run in its registers. Loaded only where tensors lie on a CUDA device, see
kernels.py.
"""

# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from meco.device.operators import operator
from meco.device.tiles import constants_on


@triton.jit(do_not_specialize=["dim", "steps"])
def _curvature_kernel(hessian_at, factor_at, made_at, dim, steps, most: tl.constexpr, block: tl.constexpr):
    """|H| [D, D] of one run from H [D, D]; factors [steps, 3] are those of the polynomials, one after the other."""
    run = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, block)
    both = (i < dim)[:, None] & (i < dim)[None, :]
    place = i[:, None] * dim + i[None, :]
    h = tl.load(hessian_at + run * dim * dim + place, mask=both, other=0.0)
    turned = tl.load(hessian_at + run * dim * dim + i[None, :] * dim + i[:, None], mask=both, other=0.0)
    h = 0.5 * (h + turned)
    eye = tl.where(i[:, None] == i[None, :], 1.0, 0.0).to(tl.float64)
    size = tl.sqrt(tl.sum(tl.sum(h * h, axis=1), axis=0))
    safe = tl.where(size > 0.0, size, 1.0)
    sign = h / safe
    for step in range(steps):
        a = tl.load(factor_at + 3 * step)
        b = tl.load(factor_at + 3 * step + 1)
        c = tl.load(factor_at + 3 * step + 2)
        square = tl.dot(sign, sign, out_dtype=tl.float64)
        fourth = tl.dot(square, square, out_dtype=tl.float64)
        sign = tl.dot(sign, a * eye + b * square + c * fourth, out_dtype=tl.float64)
    made = tl.dot(h, sign, out_dtype=tl.float64)
    made = 0.5 * (made + tl.trans(made))
    made = tl.where(size > most, made * (most / safe), made)
    tl.store(made_at + run * dim * dim + place, made, mask=both)


def convexify_in_one_kernel(
    hessian: torch.Tensor, schedule: Sequence[tuple[float, float, float]], most: float
) -> torch.Tensor:
    """convexify() of tr/curvature.py for Hessians [B, D, D], as it is computed on a device: [B, D, D].

    schedule and most are SCHEDULE and MAX_CURVATURE there.
    """
    return _convexify(hessian, [number for step in schedule for number in step], most)


@operator(
    "(Tensor hessian, float[] factors, float most) -> Tensor",
    lambda hessian, factors, most: hessian.new_empty(hessian.shape),
)
def _convexify(hessian: torch.Tensor, factors: Sequence[float], most: float) -> torch.Tensor:
    """|H| by polynomials with these factors, three for each step."""
    runs, dim = hessian.shape[:2]
    given = hessian.contiguous()
    made, block = torch.empty_like(given), max(16, triton.next_power_of_2(dim))
    numbers, steps = constants_on(tuple(factors), hessian), len(factors) // 3
    _curvature_kernel[(runs,)](
        given, numbers, made, dim, steps, most=most, block=block, num_warps=1 if block == 16 else 4
    )
    return made
