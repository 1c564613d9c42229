"""Kernels of an iteration alone, with blocks of threads of several kinds, beside older sources of them; needs CUDA.

    python benchmarks/kernels_alone.py [--dim 10 30] [--seconds 40] [--before FOLDER]

FOLDER has other versions of archive_kernel.py, fit_kernel.py, program_kernel.py and tiles.py of meco/device.

Archives have room for 50 D points and are filled in part. For each kind of block milliseconds of a call, the median,
and the share of 4.8 TB/s at which filled points were read; results are compared with the formulas in float64 on the
device. Programs are random ones, of 7 rows; answers of other versions are compared with those of this one.
"""

# mypy: ignore-errors

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import ModuleType

import numpy as np
import torch
import triton

from meco.device import operators
from meco.device.archive_kernel import Tile, choose_tiles, measure_nearest, measure_squares
from meco.tr.program import kernel_constants, limit_of_kernel
from meco.tr.quadratic import LIKELY_SHARE
from meco.tr.roughness import ROUGH_LEVELS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tr"))
from reference_program import random_programs

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
ROWS, PROGRAMS = 7, 512  # of a program, and how many different ones
Measure = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


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


def load_modules(folder: Path | None) -> dict[str, ModuleType]:
    """The kernels' modules from a folder, which become no operators; those of this version without one."""
    names = ("tiles", "archive_kernel", "program_kernel", "fit_kernel")
    if folder is None:
        return {name: importlib.import_module(f"meco.device.{name}") for name in names}
    now, register, found = sys.modules["meco.device.tiles"], operators.operator, {}
    operators.operator = lambda schema, empty: lambda launch: launch
    try:
        for name in names:
            spec = importlib.util.spec_from_file_location(f"before_{name}", folder / f"{name}.py")
            found[name] = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = found[name]
            spec.loader.exec_module(found[name])
            if name == "tiles":  # which the others import
                sys.modules["meco.device.tiles"] = found[name]
    finally:
        sys.modules["meco.device.tiles"], operators.operator = now, register
    return found


def compare_programs(dim: int, runs: int, versions: dict[str, dict[str, ModuleType]]) -> None:
    """Print one line for each version of the program's kernel and each number of warps."""
    program = random_programs(np.random.default_rng(dim), PROGRAMS, dim, ROWS)
    moved = [
        torch.from_numpy(np.ascontiguousarray(part)).cuda().repeat(runs // PROGRAMS, *[1] * (part.ndim - 1))
        for part in (program[0], program[1], *program[2], *program[3:])
    ]
    given = moved[0], moved[1], tuple(moved[2:7]), *moved[7:]
    limit, known = limit_of_kernel(ROWS, dim), None
    for version, modules in versions.items():
        tried = (1, 2, 4) if dim <= 16 else (2, 4, 8)
        for warps in tried if version == "now" else tried[1:2]:
            solve = partial(
                modules["program_kernel"].solve_program_in_one_kernel,
                *given, torch.zeros_like(moved[3]), limit, kernel_constants(), warps=warps,
            )  # fmt: skip
            s, _, solves = solve()
            known = s if known is None else known
            apart = int(((s - known).abs().amax(dim=-1) > 1e-6).sum())
            print(
                f"   program  {version:8s} {warps} warps {time_calls(solve, REPEATS):6.3f} ms   "
                f"systems {solves.abs().double().mean():.2f}   unsolved {int((solves < 0).sum())}   "
                f"s differs by more than 1e-6 in {apart} runs"
            )


def compare_fits(dim: int, runs: int, versions: dict[str, dict[str, ModuleType]]) -> None:
    """Print one line for each version of the kernel that fits models."""
    count, functions = 3 * dim + 13, ROWS
    generator = torch.Generator("cuda").manual_seed(dim)
    normal = partial(torch.randn, generator=generator, device="cuda", dtype=torch.float64)
    u, y = normal(runs, count, dim) / dim**0.5, normal(runs, count, functions)
    u[:, 0] = 0.0
    eta = torch.full((runs, functions), 1e-9, device="cuda", dtype=torch.float64)
    eta[:, 1] = ROUGH_LEVELS[1]
    tau, smooth = (torch.tensor([number], device="cuda", dtype=torch.float64) for number in (100.0, 1e-9))
    known = None
    for version, modules in versions.items():
        fit = partial(
            modules["fit_kernel"].fit_weights_in_one_kernel,
            u, y, 0.5 * y, tau, smooth, list(ROUGH_LEVELS), eta, LIKELY_SHARE,
        )  # fmt: skip
        w = fit()[0]
        known = w if known is None else known
        off = float((w - known).abs().max() / known.abs().max())
        print(f"   weights  {version:8s} {time_calls(fit, REPEATS):6.3f} ms   differ by {off:.1e} of the largest")


def compare(dim: int, runs: int, until: float, before: ModuleType | None) -> None:
    """Print one line for each form of each kernel: how near to the formula, and times at all shares."""
    fills = [round(share * 50 * dim) for share in SHARES]
    archives = [fill_archive(runs, dim, filled, filled) for filled in fills]
    copy = time_calls(partial(torch.clone, archives[-1][0]), REPEATS)
    moved = 2 * archives[-1][0].nbytes / copy * 1e3
    print(f"D = {dim}, {runs} runs, {fills} of {50 * dim} rows filled; a copy moves {moved / 1e12:.2f} TB/s")
    wide, near = choose_tiles(dim)
    kinds = [
        ("centre", measure_squares, wide, "square_distances_in_one_kernel", formula_of_squares, lambda c: c),
        (
            "nearest",
            measure_nearest,
            near,
            "distances_in_one_kernel",
            formula_of_nearest,
            lambda c: c[:, None].contiguous(),
        ),
    ]
    for name, measure, chosen, old, formula, shape in kinds:
        given = [(x, shape(centre), width) for x, centre, width in archives]
        few = [tuple(part[:512].contiguous() for part in each) for each in given[:2]]
        known = [formula(*each) for each in few]
        forms: list[tuple[str, Measure]] = [("before", getattr(before, old))] if before is not None else []
        forms += [
            (f"{tile.rows:4d} rows {tile.lanes:2d} lanes {tile.warps} warps", partial(measure, tile=tile))
            for tile in TILES.get(dim, [chosen])
        ]
        times = {}
        for form, call in forms:
            if time.perf_counter() > until and len(times) > 1:
                print("   ... out of time")
                break
            error = max(check(call(*each), each_known) for each, each_known in zip(few, known))
            assert error < 1e-13, f"{name}, {form}: off by {error}"
            times[form] = [time_calls(partial(call, *each), REPEATS) for each in given]
        for form in sorted(times, key=lambda form: (form != "before", sum(times[form]))):
            rates = [100 * runs * filled * dim * 8 / (ms * 1e-3) / FASTEST for filled, ms in zip(fills, times[form])]
            mark = " <- chosen now" if form == "{:4d} rows {:2d} lanes {} warps".format(*chosen) else ""
            print(
                f"   {name:8s} {form:26s} {'  '.join(f'{ms:6.3f}' for ms in times[form])} ms   "
                f"{' '.join(f'{rate:3.0f}' for rate in rates)} %{mark}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--seconds", type=float, default=40.0, help="of distances; forms that come later are left out")
    parser.add_argument("--before", type=Path, help="a folder with other versions of the kernels")
    args = parser.parse_args()
    start = time.perf_counter()
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "triton", triton.__version__)
    versions = {"now": load_modules(None)} | ({"before": load_modules(args.before)} if args.before else {})
    before = versions["before"]["archive_kernel"] if args.before else None
    for number, dim in enumerate(args.dim, 1):
        runs = RUNS.get(dim, 8192)
        compare(dim, runs, start + args.seconds * number / len(args.dim), before)
        torch.cuda.empty_cache()
        compare_programs(dim, runs, versions)
        compare_fits(dim, runs, versions)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
