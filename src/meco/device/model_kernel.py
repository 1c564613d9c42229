"""What a fit makes of models, before and after its weights: changes() and update_models() of tr/quadratic.py.

One block of threads takes one function of one run, whose Hessian stays in its registers. Loaded only where tensors lie
on a CUDA device, see kernels.py.
"""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

from meco.device.operators import operator

BLOCK = 16  # points that are multiplied in one go


@triton.jit
def _tile(at, first, rows, dim, block: tl.constexpr, wide: tl.constexpr):
    """Rows from `first` on of a matrix [rows, dim]: [block, wide], zeros beyond."""
    i, d = first + tl.arange(0, block), tl.arange(0, wide)
    return tl.load(at + i[:, None] * dim + d[None, :], mask=(i < rows)[:, None] & (d < dim)[None, :], other=0.0)


@triton.jit(do_not_specialize=["count", "dim", "functions"])
def _changes_kernel(
    gradient_at, hessian_at, u_at, made_at, count, dim, functions, block: tl.constexpr, wide: tl.constexpr
):
    """Values of one function of one run at its points, less that at the centre: [m]."""
    run, f, d = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.arange(0, wide)
    model = run * functions + f
    gradient = tl.load(gradient_at + model * dim + d, mask=d < dim, other=0.0)
    hessian = _tile(hessian_at + model * dim * dim, 0, dim, dim, wide, wide)
    for first in range(0, count, block):
        u = _tile(u_at + run * count * dim, first, count, dim, block, wide)
        bent = tl.dot(u, hessian, out_dtype=tl.float64)
        i = first + tl.arange(0, block)
        value = tl.sum((0.5 * bent + gradient[None, :]) * u, axis=1)
        tl.store(made_at + (run * count + i) * functions + f, value, mask=i < count)


@triton.jit(do_not_specialize=["count", "dim", "functions", "tau_step"])
def _update_kernel(
    gradient_at, hessian_at, u_at, w_at, kept_at, tau_at, new_gradient_at, new_hessian_at,
    count, dim, functions, tau_step, block: tl.constexpr, wide: tl.constexpr,
):  # fmt: skip
    """Gradient [D] and Hessian [D, D] of one function of one run, by eq. (2) of tr/quadratic.py."""
    run, f, d = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.arange(0, wide)
    model = run * functions + f
    kept, tau = tl.load(kept_at + model), tl.load(tau_at + run * tau_step)
    bent, slope = tl.zeros([wide, wide], tl.float64), tl.zeros([wide], tl.float64)
    for first in range(0, count, block):
        u = _tile(u_at + run * count * dim, first, count, dim, block, wide)
        i = first + tl.arange(0, block)
        w = tl.load(w_at + (run * count + i) * functions + f, mask=i < count, other=0.0)
        weighted = w[:, None] * u
        slope += tl.sum(weighted, axis=0)
        bent += tl.dot(tl.trans(u), weighted, out_dtype=tl.float64)
    gradient = tl.load(gradient_at + model * dim + d, mask=d < dim, other=0.0)
    tl.store(new_gradient_at + model * dim + d, gradient * kept + tau * slope, mask=d < dim)
    hessian = _tile(hessian_at + model * dim * dim, 0, dim, dim, wide, wide)
    place = new_hessian_at + model * dim * dim + d[:, None] * dim + d[None, :]
    tl.store(place, hessian * kept + bent, mask=(d < dim)[:, None] & (d < dim)[None, :])


def _empty(like: torch.Tensor) -> torch.Tensor:
    """Memory for as many float64 numbers, row after row."""
    return like.new_empty(like.shape, dtype=torch.float64)


def _width(dim: int) -> int:
    """Columns of a tile for so many variables: products of tiles need sixteen at least."""
    return max(16, triton.next_power_of_2(dim))


@operator(
    "(Tensor gradient, Tensor hessian, Tensor u) -> Tensor",
    lambda gradient, hessian, u: u.new_empty(gradient.shape[0], u.shape[1], gradient.shape[1]),
)
def changes_in_one_kernel(gradient: torch.Tensor, hessian: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Quadratic.changes() of tr/quadratic.py: gradient [B, F, D], hessian [B, F, D, D], u [B, m, D] -> [B, m, F]."""
    (runs, functions, dim), count = gradient.shape, u.shape[1]
    gradient, hessian, u = (part.contiguous() for part in (gradient, hessian, u.expand(runs, count, dim)))
    made = u.new_empty(runs, count, functions)
    _changes_kernel[(runs, functions)](
        gradient, hessian, u, made, count, dim, functions, block=BLOCK, wide=(wide := _width(dim)), num_warps=wide // 16
    )
    return made


@operator(
    "(Tensor gradient, Tensor hessian, Tensor u, Tensor w, Tensor kept, Tensor tau) -> (Tensor, Tensor)",
    lambda gradient, hessian, *fit: (_empty(gradient), _empty(hessian)),
)
def update_in_one_kernel(
    gradient: torch.Tensor, hessian: torch.Tensor, u: torch.Tensor, w: torch.Tensor, kept: torch.Tensor,
    tau: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """update_models() of tr/quadratic.py: gradient [B, F, D] and hessian [B, F, D, D] of the new models.

    u [B, m, D], w [B, m, F], kept [B, F], tau [B or 1].
    """
    (runs, functions, dim), count = gradient.shape, u.shape[1]
    given = [part.to(torch.float64).contiguous() for part in (gradient, hessian, u, w, kept, tau)]
    made = _empty(given[0]), _empty(given[1])
    _update_kernel[(runs, functions)](
        *given,
        *made,
        count,
        dim,
        functions,
        int(tau.shape[0] > 1),
        block=BLOCK,
        wide=(wide := _width(dim)),
        num_warps=wide // 16,
    )
    return made
