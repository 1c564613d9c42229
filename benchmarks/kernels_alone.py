"""The kernels that measure distances to evaluated points, alone, with blocks of threads of several kinds; needs CUDA.

    python benchmarks/kernels_alone.py [--dim 10 30] [--seconds 50]

Archives have room for 50 D points and are filled in part. For each kind of block milliseconds of a call, the median,
and the share of 4.8 TB/s at which filled points were read; results are compared with the formulas in float64 on the
device.
"""

# mypy: ignore-errors

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import median

import torch
import triton
import triton.language as tl

from meco.device.archive_kernel import Tile, choose_tile, measure_nearest, measure_squares

RUNS = {10: 16384, 30: 8192}
SHARES = 0.2, 0.6, 1.0  # of the rows of an archive that are filled
FASTEST = 4.8e12  # bytes a second: an H200's memory by its data sheet
REPEATS = 9
TILES = {
    10: [
        Tile(128, 2, 4), Tile(256, 2, 4), Tile(64, 2, 2), Tile(128, 2, 2), Tile(128, 4, 4), Tile(64, 4, 2),
        Tile(256, 4, 8), Tile(64, 8, 4), Tile(128, 8, 4), Tile(32, 16, 2), Tile(64, 16, 4), Tile(128, 16, 4),
        Tile(128, 16, 8),
    ],
    30: [
        Tile(128, 2, 4), Tile(64, 4, 2), Tile(128, 4, 4), Tile(32, 8, 2), Tile(64, 8, 2), Tile(64, 8, 4),
        Tile(128, 8, 4), Tile(32, 16, 2), Tile(32, 16, 4), Tile(64, 16, 4), Tile(128, 16, 8), Tile(32, 32, 4),
        Tile(64, 32, 4),
    ],
}  # fmt: skip
Measure = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@triton.jit
def _are_filled(at, row, count, dim):
    first = tl.min(row, axis=0)
    filled = tl.load(at + first.to(tl.int64) * dim, mask=first < count, other=float("inf")) < float("inf")
    return (row < count) & filled


@triton.jit(do_not_specialize=["count", "dim"])
def _square_by_point(x_at, centre_at, width_at, made_at, count, dim, rows: tl.constexpr):
    """The form before: a thread takes a point."""
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
def _nearest_by_point(x_at, point_at, reach_at, made_at, count, dim, tries, rows: tl.constexpr):
    """The form before: a thread takes a point."""
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


def squares_before(x: torch.Tensor, centre: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
    (runs, count, dim), made = x.shape, x.new_empty(x.shape[:2])
    _square_by_point[(runs, triton.cdiv(count, 128))](x, centre, width, made, count, dim, rows=128, num_warps=4)
    return made


def nearest_before(x: torch.Tensor, points: torch.Tensor, reach: torch.Tensor) -> torch.Tensor:
    (runs, count, dim), made = x.shape, x.new_empty(points.shape[:2])
    _nearest_by_point[(runs, 1)](x, points, reach, made, count, dim, 1, rows=128, num_warps=4)
    return made


def formula_of_squares(x: torch.Tensor, centre: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
    """_square_distances() of tr/model_fit.py."""
    return (((x - centre[:, None, :]) / width[:, None, :]) ** 2).sum(dim=-1)


def formula_of_nearest(x: torch.Tensor, points: torch.Tensor, reach: torch.Tensor) -> torch.Tensor:
    """distances_to_nearest() of tr/archive.py."""
    return ((x - points).abs() / reach[:, None, :]).amax(dim=-1).amin(dim=1, keepdim=True)


def fill_archive(runs: int, dim: int, filled: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Points [B, 50 D, D], infinitely far away from row `filled` on, and a centre and a width [B, D] for each run."""
    generator = torch.Generator("cuda").manual_seed(seed)
    rand = partial(torch.rand, generator=generator, device="cuda", dtype=torch.float64)
    x = rand(runs, 50 * dim, dim)
    x[:, filled:] = torch.inf
    return x, rand(runs, dim), 0.1 + rand(runs, dim)


def check(found: torch.Tensor, known: torch.Tensor) -> float:
    """The largest relative difference; infinite where numbers are missing or not infinite where they should be."""
    alike = torch.isinf(found) == torch.isinf(known)
    apart = torch.where(torch.isinf(known), 0.0, (found - known).abs() / known.abs())
    return float(torch.where(alike & ~torch.isnan(found), apart, torch.inf).max())


def time_calls(call: Callable[[], torch.Tensor], repeats: int) -> float:
    """Milliseconds of a call on the device, the median; the host stays ahead."""
    call()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    torch.cuda._sleep(1_000_000)
    marks[0].record()
    for mark in marks[1:]:
        call()
        mark.record()
    torch.cuda.synchronize()
    return median(before.elapsed_time(after) for before, after in pairwise(marks))


def compare(dim: int, runs: int, until: float) -> None:
    """Print one line for each form of each kernel: how near to the formula, and times at all shares."""
    fills = [round(share * 50 * dim) for share in SHARES]
    archives = [fill_archive(runs, dim, filled, filled) for filled in fills]
    copy = time_calls(partial(torch.clone, archives[-1][0]), REPEATS)
    moved = 2 * archives[-1][0].nbytes / copy * 1e3
    print(f"D = {dim}, {runs} runs, {fills} of {50 * dim} rows filled; a copy moves {moved / 1e12:.2f} TB/s")
    kinds = [
        ("centre", measure_squares, squares_before, formula_of_squares, lambda c: c),
        ("nearest", measure_nearest, nearest_before, formula_of_nearest, lambda c: c[:, None, :].contiguous()),
    ]
    for name, measure, before, formula, shape in kinds:
        given = [(x, shape(centre), width) for x, centre, width in archives]
        few = [tuple(part[:512].contiguous() for part in each) for each in given[:2]]
        known = [formula(*each) for each in few]
        forms: list[tuple[str, Measure]] = [("before", before)]
        forms += [
            (f"{tile.rows:4d} rows {tile.lanes:2d} lanes {tile.warps} warps", partial(measure, tile=tile))
            for tile in TILES.get(dim, [choose_tile(dim)])
        ]
        times = {}
        for form, call in forms:
            if time.perf_counter() > until and len(times) > 1:
                print("   ... out of time")
                break
            error = max(check(call(*each), each_known) for each, each_known in zip(few, known))
            assert error < 1e-13, f"{name}, {form}: off by {error}"
            times[form] = [time_calls(partial(call, *each), REPEATS) for each in given]
        best = sorted(times, key=lambda form: sum(times[form]))
        for form in ["before", *[form for form in best if form != "before"]]:
            rates = [100 * runs * filled * dim * 8 / (ms * 1e-3) / FASTEST for filled, ms in zip(fills, times[form])]
            mark = " <- chosen now" if form == "{:4d} rows {:2d} lanes {} warps".format(*choose_tile(dim)) else ""
            print(
                f"   {name:8s} {form:26s} {'  '.join(f'{ms:6.3f}' for ms in times[form])} ms   "
                f"{' '.join(f'{rate:3.0f}' for rate in rates)} %{mark}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--seconds", type=float, default=50.0, help="of all forms; those that come later are left out")
    args = parser.parse_args()
    start = time.perf_counter()
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "triton", triton.__version__)
    for number, dim in enumerate(args.dim, 1):
        compare(dim, RUNS.get(dim, 8192), start + args.seconds * number / len(args.dim))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
