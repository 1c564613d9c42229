"""The elastic program of each run in one kernel: what solve_program() of tr/program.py does in a thousand small ones.

One block of threads keeps one run in its registers and makes the Newton steps of eq. (2) of tr/program.py until that
run is done; no other run waits for it. The formulas are those of _solve_one() there, which tests compare it with; all
constants are its arguments. Bounds of s are kept apart from the other rows: no price lets them be broken, and their
part of J is the identity. Loaded only where tensors lie on a CUDA device, see kernels.py.
"""

# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from meco.device.operators import operator
from meco.device.tiles import clip, sweep_inverse

# A sum over the threads of a warp leaves it in each of them, and they take the branches that follow from it together.
# Fused, a product and the first addition would round differently in each thread: then some take another branch, and
# what threads hand each other there, numbers of rows among it, is anything.
LAUNCH = {"enable_fp_fusion": False}
CONSTANTS = ("least", "penalty", "proximity", "tolerance", "line_tolerance")  # of tr/program.py, in order


@triton.jit
def _slope_at(
    length, start, steep, rho,
    wb, qb, eb, low_b, high_b,
    wr, qr, er, low_r, high_r, most,
):  # fmt: skip
    """slope_at() of find_least_point() in tr/program.py at lengths [n, 1]: [n]; bounds and rows are [1, n]."""
    at = wb + length * qb
    slope = tl.sum((at - clip(at, low_b, high_b) - eb) * qb, axis=1)
    at = wr + length * qr
    slope += tl.sum((clip(at - clip(at, low_r, high_r), -most, most) - er) * qr, axis=1)
    return start + tl.sum(length, axis=1) * steep + rho * slope


@triton.jit
def _narrow(
    left, right, end, w, q, start, steep, rho,
    wb, qb, eb, low_b, high_b,
    wr, qr, er, low_r, high_r, most,
):  # fmt: skip
    """The nearest corners below and above the zero of the derivative, those where w + length q meets end among them."""
    corner = (end - w) / tl.where(q != 0.0, q, 1.0)
    usable = (q != 0.0) & (corner > 0.0) & (corner < float("inf"))
    corner = tl.where(usable, corner, 0.0)
    slope = _slope_at(
        corner[:, None], start, steep, rho, wb, qb, eb, low_b, high_b, wr, qr, er, low_r, high_r, most
    )  # fmt: skip
    left = tl.maximum(left, tl.max(tl.where(slope <= 0.0, corner, 0.0), axis=0))
    right = tl.minimum(right, tl.min(tl.where(usable & (slope > 0.0), corner, float("inf")), axis=0))
    return left, right


@triton.jit(do_not_specialize=["dim", "count", "limit"])
def _program_kernel(
    hessian_at, slope_at, matrix_at, value_at, low_at, high_at, price_at, box_low_at, box_high_at, dual_at,
    s_at, found_at, solves_at, dim, count, limit,
    least: tl.constexpr, penalty: tl.constexpr, proximity: tl.constexpr,
    tolerance: tl.constexpr, line_tolerance: tl.constexpr,
    block: tl.constexpr, block_rows: tl.constexpr,
):  # fmt: skip
    """s [D], duals of the rows [C] and the systems solved, of one run of each array."""
    run = tl.program_id(0).to(tl.int64)
    i, r = tl.arange(0, block), tl.arange(0, block_rows)
    real, there = i < dim, r < count
    both, infinite = real[:, None] & real[None, :], float("inf")
    hessian = tl.load(hessian_at + run * dim * dim + i[:, None] * dim + i[None, :], mask=both, other=0.0)
    b = tl.load(slope_at + run * dim + i, mask=real, other=0.0)
    low_b = tl.load(box_low_at + run * dim + i, mask=real, other=0.0)
    high_b = tl.load(box_high_at + run * dim + i, mask=real, other=0.0)
    first = matrix_at + run * count * dim
    matrix = tl.load(first + r[:, None] * dim + i[None, :], mask=there[:, None] & real[None, :], other=0.0)
    value = tl.load(value_at + run * count + r, mask=there, other=0.0)
    low_r = tl.load(low_at + run * count + r, mask=there, other=-infinite)
    high_r = tl.load(high_at + run * count + r, mask=there, other=infinite)
    price = tl.load(price_at + run * count + r, mask=there, other=0.0)
    yr = tl.load(dual_at + run * count + r, mask=there, other=0.0)
    # make_program()
    size = tl.sqrt(tl.sum(tl.sum(hessian * hessian, axis=1), axis=0) / dim)
    size = tl.where(size > least, size, least)
    rho, sigma = penalty * size, proximity * size
    most = price / rho
    # _bound_duals(), at no step
    s = clip(tl.zeros([block], tl.float64), low_b, high_b)
    z = tl.sum(matrix * s[None, :], axis=1) + value
    bent = tl.sum(hessian * s[None, :], axis=1)
    pull = b + bent + tl.sum(matrix * yr[:, None], axis=0)
    held = ((s <= low_b) & (pull > 0.0)) | ((s >= high_b) & (pull < 0.0))
    yb = tl.where(held, -pull, 0.0)
    # _solve_one()
    anchor = s
    wb, wr = s + yb / rho, z + yr / rho
    eb = wb - clip(wb, low_b, high_b)
    out = wr - clip(wr, low_r, high_r)
    er = clip(out, -most, most)
    inverted = tl.zeros([block, block], tl.float64)
    known_b, known_r = i < 0, r < 0  # the active rows that inverted belongs to
    stale, done, number = True, False, 0
    for _ in range(limit):
        if not done:  # else nothing is left to do: a loop with its own end would upset the compiler
            gradient = b + bent + sigma * (s - anchor) + rho * (eb + tl.sum(matrix * er[:, None], axis=0))
            active_b, active_r = eb != 0.0, (out != 0.0) & (tl.abs(out) < most)
            changed = tl.sum((active_b != known_b).to(tl.int32), axis=0)
            changed += tl.sum((active_r != known_r).to(tl.int32), axis=0)
            if stale | (changed > 0):
                diagonal = tl.where(real, tl.where(active_b, rho, 0.0) + sigma, 1.0)
                made = hessian + tl.where(i[:, None] == i[None, :], diagonal[:, None], 0.0)
                row = tl.min(tl.where(active_r, r, block_rows), axis=0)
                while row < block_rows:
                    across = tl.load(first + row * dim + i[None, :], mask=real[None, :], other=0.0)
                    down = tl.load(first + row * dim + i[:, None], mask=real[:, None], other=0.0)
                    made += rho * (down * across)
                    row = tl.min(tl.where(active_r & (r > row), r, block_rows), axis=0)
                inverted = sweep_inverse(made, dim, block)
                known_b, known_r, stale = active_b, active_r, False
            d = -tl.sum(inverted * gradient[:, None], axis=0)  # both are symmetric
            q, bend = tl.sum(matrix * d[None, :], axis=1), tl.sum(hessian * d[:, None], axis=0)
            start, steep = tl.sum(gradient * d, axis=0), tl.sum(d * (bend + sigma * d), axis=0)
            length = tl.full([], 1.0, tl.float64)
            new_b, new_r = wb + d, wr + q
            rise_b = (new_b - clip(new_b, low_b, high_b) - eb) * d
            rise_r = (clip(new_r - clip(new_r, low_r, high_r), -most, most) - er) * q
            slope = start + steep + rho * (tl.sum(rise_b, axis=0) + tl.sum(rise_r, axis=0))
            if tl.abs(slope) > line_tolerance * tl.abs(start):
                left, right = tl.full([], 0.0, tl.float64), tl.full([], infinite, tl.float64)
                wb_, qb_, eb_, lb_, hb_ = wb[None, :], d[None, :], eb[None, :], low_b[None, :], high_b[None, :]
                wr_, qr_, er_, lr_, hr_ = wr[None, :], q[None, :], er[None, :], low_r[None, :], high_r[None, :]
                m_ = most[None, :]
                for corner in range(2):
                    end = tl.where(corner == 0, low_b, high_b)
                    left, right = _narrow(
                        left, right, end, wb, d, start, steep, rho, wb_, qb_, eb_, lb_, hb_, wr_, qr_, er_, lr_, hr_, m_
                    )
                for corner in range(4):
                    end = tl.where(corner < 2, low_r, high_r)
                    end = tl.where(corner == 0, end - most, tl.where(corner == 3, end + most, end))
                    left, right = _narrow(
                        left, right, end, wr, q, start, steep, rho, wb_, qb_, eb_, lb_, hb_, wr_, qr_, er_, lr_, hr_, m_
                    )
                right = tl.where(right < infinite, right, 2.0 * left + 1.0)
                two = tl.where(tl.arange(0, 2) == 0, left, right)
                at = _slope_at(
                    two[:, None], start, steep, rho, wb_, qb_, eb_, lb_, hb_, wr_, qr_, er_, lr_, hr_, m_
                )  # fmt: skip
                at_left = tl.sum(tl.where(tl.arange(0, 2) == 0, at, 0.0), axis=0)
                rise = tl.sum(at, axis=0) - 2.0 * at_left
                length = tl.where(rise > 0.0, left - at_left * (right - left) / tl.where(rise > 0.0, rise, 1.0), 1.0)
            s, z, bent = s + length * d, z + length * q, bent + length * bend
            wb, wr = wb + length * d, wr + length * q
            eb = wb - clip(wb, low_b, high_b)
            out = wr - clip(wr, low_r, high_r)
            er = clip(out, -most, most)
            # at the new point
            found_b, found_r = rho * eb, rho * er
            gradient = b + bent + found_b + tl.sum(matrix * found_r[:, None], axis=0)
            most_dual = tl.maximum(tl.max(tl.abs(found_b), axis=0), tl.max(tl.abs(found_r), axis=0))
            within = tolerance * (1.0 + most_dual)
            if tl.max(tl.abs(gradient + sigma * (s - anchor)), axis=0) <= within:
                yb, yr, anchor = found_b, found_r, s
                broken_b = s + yb - clip(s + yb, low_b, high_b) - yb
                broken_r = clip(z + yr - clip(z + yr, low_r, high_r), -price, price) - yr
                off = tl.maximum(tl.max(tl.abs(broken_b), axis=0), tl.max(tl.abs(broken_r), axis=0))
                done = tl.maximum(off, tl.max(tl.abs(gradient), axis=0)) <= within
                wb, wr = s + yb / rho, z + yr / rho
                eb = wb - clip(wb, low_b, high_b)
                out = wr - clip(wr, low_r, high_r)
                er = clip(out, -most, most)
            number += 1
    tl.store(s_at + run * dim + i, clip(s, low_b, high_b), mask=real)
    tl.store(found_at + run * count + r, clip(yr, -price, price), mask=there)
    tl.store(solves_at + run, tl.where(done, number, -number))


def solve_program_in_one_kernel(
    hessian: torch.Tensor, slope: torch.Tensor, rows: tuple[torch.Tensor, ...], low: torch.Tensor, high: torch.Tensor,
    duals: torch.Tensor, limit: int, constants: dict[str, float], warps: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """solve_program() of tr/program.py: s [B, D] and duals [B, C]; and how many systems were solved [B].

    rows are matrix [B, C, D], value, low, high and price [B, C]. A run that is not done after `limit` systems keeps
    what it has come to, and has a number below 0. constants are those of tr/program.py that the kernel is made with.
    """
    dim, count = slope.shape[1], rows[1].shape[1]
    block, block_rows = max(4, triton.next_power_of_2(dim)), max(4, triton.next_power_of_2(count))
    if warps is None:
        warps = max(1, max(block * block, block_rows * block_rows) // 512)  # more were slower in 10 and 30 variables
    given = [hessian, slope, *rows, low, high, duals]
    numbers = [constants[name] for name in CONSTANTS]
    return _solve_programs(given, limit, numbers, block, block_rows, min(warps, 8))


@operator(
    "(Tensor[] given, int limit, float[] constants, int block, int block_rows, int warps) -> (Tensor, Tensor, Tensor)",
    lambda given, *sizes: _empty_solutions(given),
)
def _solve_programs(
    given: Sequence[torch.Tensor], limit: int, constants: Sequence[float], block: int, block_rows: int, warps: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What solve_program_in_one_kernel() gives, from the arrays in the order in which the kernel takes them."""
    given = [part.contiguous() for part in given]
    made = _empty_solutions(given)
    (runs, dim), count = given[1].shape, given[3].shape[1]
    _program_kernel[(runs,)](
        *given, *made, dim, count, limit, **dict(zip(CONSTANTS, constants)),
        block=block, block_rows=block_rows, num_warps=warps, **LAUNCH,
    )  # fmt: skip
    return made


def _empty_solutions(given: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Memory for s [B, D], duals [B, C] and counts of systems [B] of programs."""
    slope, value = given[1], given[3]
    s, found = slope.new_empty(slope.shape), value.new_empty(value.shape)
    return s, found, slope.new_empty(slope.shape[0], dtype=torch.int32)
