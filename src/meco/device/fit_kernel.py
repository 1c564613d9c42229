"""The fit of all functions of each run in one kernel: fit_weights() and variance() of tr/quadratic.py.

And diagonals of K^-1, by which models are checked.

One block of threads factors K of eq. (1) there, K = L L', block by block of 16 points, and solves for all functions; L
stays in memory for the variance. Only the levels of roughness that some function of the run has are factored. A Schur
complement of K has no eigenvalue below its ridge, so no pivot is taken to be less: rounding leaves no root of a
negative number. Loaded only where tensors lie on a CUDA device, see kernels.py.
"""

# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from meco.device.operators import operator
from meco.device.tiles import constants_on

BLOCK = 16


@triton.jit
def _points(at, number, count, dim, block: tl.constexpr, wide: tl.constexpr):
    """Block `number` of the points of a run: [block, wide], zeros beyond."""
    i, d = number * block + tl.arange(0, block), tl.arange(0, wide)
    return tl.load(at + i[:, None] * dim + d[None, :], mask=(i < count)[:, None] & (d < dim)[None, :], other=0.0)


@triton.jit
def _place(row, column, blocks, block: tl.constexpr):
    """Where a block of L lies in memory, from the first number of its run on: [block, block]."""
    i = tl.arange(0, block)
    return ((row * block + i)[:, None] * blocks + column) * block + i[None, :]


@triton.jit
def _covariance(u, v, tau):
    """covariance() of tr/quadratic.py for points u [n, D] and v [k, D]: [n, k]."""
    product = tl.dot(u, tl.trans(v), out_dtype=tl.float64)
    return product * (0.5 * product + tau)


@triton.jit
def _invert_root(matrix, least, block: tl.constexpr):
    """L^-1 of a positive definite matrix L L' [block, block], whose pivots are at least `least`.

    Elimination in place: below its pivot a column has nothing left to do, and takes what undoes the elimination.
    """
    i = tl.arange(0, block)
    pivots = tl.zeros([block], tl.float64) + 1.0
    for k in range(block):
        here = i == k
        row = tl.sum(tl.where(here[:, None], matrix, 0.0), axis=0)
        column = tl.sum(tl.where(here[None, :], matrix, 0.0), axis=1)
        pivot = tl.sum(tl.where(here, row, 0.0), axis=0)
        pivot = tl.where(pivot < least, least, pivot)
        factor = tl.where(i > k, column / pivot, 0.0)
        row = tl.where(here, 1.0, row)
        matrix = tl.where((i > k)[:, None] & here[None, :], 0.0, matrix) - factor[:, None] * row[None, :]
        pivots = tl.where(here, pivot, pivots)
    lower = tl.where(i[:, None] > i[None, :], matrix, tl.where(i[:, None] == i[None, :], 1.0, 0.0))
    return lower / tl.sqrt(pivots)[:, None]


@triton.jit
def _factor(u_at, l_at, count, dim, blocks, tau, ridge, block: tl.constexpr, wide: tl.constexpr):
    """L of K = L L', written block by block; on the diagonal their inverses."""
    i = tl.arange(0, block)
    same = i[:, None] == i[None, :]
    for j in range(blocks):
        uj = _points(u_at, j, count, dim, block, wide)
        rest = _covariance(uj, uj, tau)
        rest += tl.where(same, tl.where(j * block + i < count, ridge, 1.0)[:, None], 0.0)
        for k in range(j):
            done = tl.load(l_at + _place(j, k, blocks, block))
            rest -= tl.dot(done, tl.trans(done), out_dtype=tl.float64)
        root = _invert_root(rest, tl.minimum(ridge, 1.0), block)
        tl.store(l_at + _place(j, j, blocks, block), root)
        for below in range(j + 1, blocks):
            rest = _covariance(_points(u_at, below, count, dim, block, wide), uj, tau)
            for k in range(j):
                left, right = (
                    tl.load(l_at + _place(below, k, blocks, block)),
                    tl.load(l_at + _place(j, k, blocks, block)),
                )
                rest -= tl.dot(left, tl.trans(right), out_dtype=tl.float64)
            tl.store(l_at + _place(below, j, blocks, block), tl.dot(rest, tl.trans(root), out_dtype=tl.float64))
        tl.debug_barrier()


@triton.jit
def _has_level(eta_at, rough_at, number, functions, levels, step):
    """Whether functions of these numbers [n] have the rough level number `step`, or none of them for step = levels."""
    there = number < functions
    eta = tl.load(eta_at + number, mask=there, other=0.0)
    found = number < 0
    for level in range(levels):
        same = eta == tl.load(rough_at + level)
        found = tl.where(step == levels, found | same, found | (same & (level == step)))
    return there & tl.where(step == levels, ~found, found)


@triton.jit(do_not_specialize=["count", "dim", "functions", "blocks", "levels", "tau_step", "smooth_step"])
def _weights_kernel(
    u_at, y_at, p_at, tau_at, smooth_at, rough_at, eta_at, l_at, rest_at, own_at, w_at, kept_at,
    count, dim, functions, blocks, levels, tau_step, smooth_step,
    likely: tl.constexpr, block: tl.constexpr, wide: tl.constexpr, many: tl.constexpr,
):  # fmt: skip
    """w [m, F] and what is kept [F] of one run; eta [F] is one of the rough levels [levels], or else smooth."""
    run = tl.program_id(0).to(tl.int64)
    i, f = tl.arange(0, block), tl.arange(0, many)
    tau = tl.load(tau_at + run * tau_step)
    u_at, l_at = u_at + run * count * dim, l_at + run * blocks * blocks * block * block
    values, solved = run * count * functions, run * blocks * block * many
    y_at, p_at, w_at = y_at + values, p_at + values, w_at + values
    rest_at, own_at = rest_at + solved, own_at + solved
    eta_at, kept_at = eta_at + run * functions, kept_at + run * functions
    for step in range(levels + 1):
        last = step == levels  # the smooth level, whose factors stay
        level = tl.load(smooth_at + run * smooth_step) if last else tl.load(rough_at + step)
        some = last
        for first in range(0, functions, many):
            mine = _has_level(eta_at, rough_at, first + f, functions, levels, step)
            some = some | (tl.sum(mine.to(tl.int32), axis=0) > 0)
        if some:
            ridge = level * (1.0 + tau)
            _factor(u_at, l_at, count, dim, blocks, tau, ridge, block, wide)
            for first in range(0, functions, many):
                there = first + f < functions
                mine = _has_level(eta_at, rough_at, first + f, functions, levels, step)
                if tl.sum(mine.to(tl.int32), axis=0) > 0:
                    for j in range(blocks):
                        rows = j * block + i
                        place = rows[:, None] * functions + first + f[None, :]
                        inside = (rows < count)[:, None] & there[None, :]
                        own = tl.load(p_at + place, mask=inside, other=0.0)
                        rest = tl.load(y_at + place, mask=inside, other=0.0) - own
                        for k in range(j):
                            part = tl.load(l_at + _place(j, k, blocks, block))
                            known = (k * block + i)[:, None] * many + f[None, :]
                            rest -= tl.dot(part, tl.load(rest_at + known), out_dtype=tl.float64)
                            own -= tl.dot(part, tl.load(own_at + known), out_dtype=tl.float64)
                        root = tl.load(l_at + _place(j, j, blocks, block))
                        here = rows[:, None] * many + f[None, :]
                        tl.store(rest_at + here, tl.dot(root, rest, out_dtype=tl.float64))
                        tl.store(own_at + here, tl.dot(root, own, out_dtype=tl.float64))
                        tl.debug_barrier()
                    size, gain = tl.zeros([many], tl.float64), tl.zeros([many], tl.float64)
                    for back in range(blocks):
                        j = blocks - 1 - back
                        rows = j * block + i
                        here = rows[:, None] * many + f[None, :]
                        rest, own = tl.load(rest_at + here), tl.load(own_at + here)
                        for k in range(j + 1, blocks):
                            part = tl.trans(tl.load(l_at + _place(k, j, blocks, block)))
                            known = (k * block + i)[:, None] * many + f[None, :]
                            rest -= tl.dot(part, tl.load(rest_at + known), out_dtype=tl.float64)
                            own -= tl.dot(part, tl.load(own_at + known), out_dtype=tl.float64)
                        root = tl.trans(tl.load(l_at + _place(j, j, blocks, block)))
                        rest = tl.dot(root, rest, out_dtype=tl.float64)
                        own = tl.dot(root, own, out_dtype=tl.float64)
                        tl.debug_barrier()
                        tl.store(rest_at + here, rest)
                        tl.store(own_at + here, own)
                        tl.debug_barrier()
                        place = rows[:, None] * functions + first + f[None, :]
                        p = tl.load(p_at + place, mask=(rows < count)[:, None] & there[None, :], other=0.0)
                        size += tl.sum(p * own, axis=0)
                        gain += tl.sum(p * rest, axis=0)
                    share = 1.0 + gain / tl.where(size > 0.0, size, 1.0)  # eq. (3)
                    known = (size > 0.0) & (tl.abs(share) < float("inf"))
                    share = tl.where(known, tl.where(share < 0.0, 0.0, tl.where(share > 1.0, 1.0, share)), 1.0)
                    share = tl.where((first + f == 0) & (share > likely), 1.0, share)
                    for j in range(blocks):
                        rows = j * block + i
                        here = rows[:, None] * many + f[None, :]
                        w = tl.load(rest_at + here) + (1.0 - share)[None, :] * tl.load(own_at + here)
                        place = rows[:, None] * functions + first + f[None, :]
                        tl.store(w_at + place, w, mask=(rows < count)[:, None] & mine[None, :])
                    tl.store(kept_at + first + f, share, mask=mine)
                    tl.debug_barrier()


@triton.jit(do_not_specialize=["count", "dim", "tries", "blocks", "tau_step"])
def _variance_kernel(
    u_at, v_at, tau_at, l_at, x_at, made_at, count, dim, tries, blocks, tau_step,
    block: tl.constexpr, wide: tl.constexpr, many: tl.constexpr,
):  # fmt: skip
    """variance() of tr/quadratic.py at `many` of the steps of one run: square (square / 2 + tau) - |L^-1 cross|^2."""
    run, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    i, n, d = tl.arange(0, block), part * many + tl.arange(0, many), tl.arange(0, wide)
    tau = tl.load(tau_at + run * tau_step)
    u_at, l_at = u_at + run * count * dim, l_at + run * blocks * blocks * block * block
    x_at += (run * tl.num_programs(1) + part) * blocks * block * many
    inside = (n < tries)[:, None] & (d < dim)[None, :]
    v = tl.load(v_at + (run * tries + n[:, None]) * dim + d[None, :], mask=inside, other=0.0)
    square = tl.sum(v * v, axis=1)
    explained, column = tl.zeros([many], tl.float64), tl.arange(0, many)
    for j in range(blocks):
        cross = _covariance(_points(u_at, j, count, dim, block, wide), v, tau)
        for k in range(j):
            known = (k * block + i)[:, None] * many + column[None, :]
            cross -= tl.dot(
                tl.load(l_at + _place(j, k, blocks, block)), tl.load(x_at + known), out_dtype=tl.float64
            )  # fmt: skip
        x = tl.dot(tl.load(l_at + _place(j, j, blocks, block)), cross, out_dtype=tl.float64)
        tl.store(x_at + (j * block + i)[:, None] * many + column[None, :], x)
        explained += tl.sum(x * x, axis=0)
        tl.debug_barrier()
    tl.store(made_at + run * tries + n, square * (0.5 * square + tau) - explained, mask=n < tries)


@triton.jit(do_not_specialize=["count", "blocks"])
def _diagonal_kernel(l_at, x_at, made_at, count, blocks, block: tl.constexpr):
    """The diagonal of K^-1 = X' X in one block of columns of X = L^-1, of one run: sums of squares of its columns."""
    run, column, i = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.arange(0, block)
    size = blocks * block
    l_at += run * size * size
    x_at += run * size * size + column * size * block
    place = i[:, None] * block + i[None, :]
    x = tl.load(l_at + _place(column, column, blocks, block))
    x = tl.where(i[:, None] >= i[None, :], x, 0.0)
    tl.store(x_at + column * block * block + place, x)
    total = tl.sum(x * x, axis=0)
    tl.debug_barrier()
    for j in range(column + 1, blocks):
        rest = tl.zeros([block, block], tl.float64)
        for k in range(column, j):
            known = tl.load(x_at + k * block * block + place)
            rest += tl.dot(tl.load(l_at + _place(j, k, blocks, block)), known, out_dtype=tl.float64)
        x = tl.dot(tl.load(l_at + _place(j, j, blocks, block)), rest, out_dtype=tl.float64)
        x = -x
        tl.store(x_at + j * block * block + place, x)
        total += tl.sum(x * x, axis=0)
        tl.debug_barrier()
    tl.store(made_at + run * count + column * block + i, total, mask=column * block + i < count)


def _empty_fit(u: torch.Tensor, y: torch.Tensor, *others: object) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Memory for weights [B, m, F], what is kept [B, F] and factors of whole blocks."""
    runs, size = u.shape[0], -(-u.shape[1] // BLOCK) * BLOCK
    shapes = y.shape, (runs, y.shape[-1]), (runs, size, size)
    return tuple(u.new_empty(shape, dtype=torch.float64) for shape in shapes)


@operator(
    "(Tensor u, Tensor y, Tensor p, Tensor tau, Tensor smooth, float[] rough, Tensor eta, float likely, int warps=1, "
    "int stages=1) -> (Tensor, Tensor, Tensor)",
    lambda u, y, *others, **launch: _empty_fit(u, y),
)
def fit_weights_in_one_kernel(
    u: torch.Tensor, y: torch.Tensor, p: torch.Tensor, tau: torch.Tensor, smooth: torch.Tensor,
    rough: Sequence[float], eta: torch.Tensor, likely: float, warps: int = 1, stages: int = 1,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """fit_weights() of tr/quadratic.py: weights [B, m, F], what is kept [B, F], and L of the smooth level.

    u [B, m, D], y and p [B, m, F], tau and smooth [B or 1]; rough are the other levels, eta [B, F] that of each
    function. likely is LIKELY_SHARE.
    """
    (runs, count, dim), functions = u.shape, y.shape[-1]
    u, y, p, eta, tau, smooth = (part.to(torch.float64).contiguous() for part in (u, y, p, eta, tau, smooth))
    blocks, many = -(-count // BLOCK), 16 if functions > 8 else 8
    w, kept, factors = _empty_fit(u, y)
    rest, own = u.new_empty(runs, blocks * BLOCK, many), u.new_empty(runs, blocks * BLOCK, many)
    levels = constants_on(tuple(rough), u) if rough else u.new_empty(0)
    _weights_kernel[(runs,)](
        u, y, p, tau, smooth, levels, eta, factors, rest, own, w, kept,
        count, dim, functions, blocks, len(rough), int(tau.shape[0] > 1), int(smooth.shape[0] > 1),
        likely=likely, block=BLOCK, wide=max(16, triton.next_power_of_2(dim)), many=many,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return w, kept, factors


@operator(
    "(Tensor u, Tensor v, Tensor tau, Tensor factors, int warps=1, int stages=1) -> Tensor",
    lambda u, v, *others, **launch: u.new_empty(u.shape[0], v.shape[1]),
)
def variance_in_one_kernel(
    u: torch.Tensor, v: torch.Tensor, tau: torch.Tensor, factors: torch.Tensor, warps: int = 1, stages: int = 1
) -> torch.Tensor:
    """variance() of tr/quadratic.py at steps v [B, n, D], with the factors that fit_weights_in_one_kernel() left."""
    (runs, count, dim), tries, many = u.shape, v.shape[1], 16
    u, v, tau = (part.to(torch.float64).contiguous() for part in (u, v, tau))
    blocks = factors.shape[1] // BLOCK
    parts = -(-tries // many)
    x, made = u.new_empty(runs, parts, blocks * BLOCK, many), u.new_empty(runs, tries)
    _variance_kernel[(runs, parts)](
        u, v, tau, factors, x, made, count, dim, tries, blocks, int(tau.shape[0] > 1),
        block=BLOCK, wide=max(16, triton.next_power_of_2(dim)), many=many, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return made


@operator("(Tensor factors, int count) -> Tensor", lambda factors, count: factors.new_empty(factors.shape[0], count))
def inverse_diagonal_in_one_kernel(factors: torch.Tensor, count: int) -> torch.Tensor:
    """Diagonals of K^-1 [B, m] for so many points, with the factors that fit_weights_in_one_kernel() left."""
    blocks = factors.shape[1] // BLOCK
    made = factors.new_empty(factors.shape[0], count)
    _diagonal_kernel[(factors.shape[0], blocks)](
        factors, torch.empty_like(factors), made, count, blocks, block=BLOCK, num_warps=1
    )
    return made
