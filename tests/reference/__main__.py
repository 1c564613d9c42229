"""Make the record, or compare with it: python -m tests.reference make|compare [KIND ..]."""

from __future__ import annotations

import argparse
import sys

from .kernels import pin_kernels

pin_kernels()  # before NumPy is imported

import meco

from . import record
from .points import BUDGET


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reference", description="Reference kit: see README.md.")
    parser.add_argument("what", choices=("make", "compare"))
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="methods, points, pairs, points/plain, .. (all)")
    parser.add_argument("--tolerance", type=float, default=0.0, help="by which points may differ (compare; default: 0)")
    parser.add_argument("--first", type=int, default=BUDGET, help="number of points to compare (default: all)")
    args = parser.parse_args()
    print(f"meco {meco.__version__} in {meco.__path__[0]}", file=sys.stderr)
    try:
        record.select_kinds(args.kinds)
        return make(args) if args.what == "make" else compare(args)
    except ValueError as error:
        parser.error(str(error))


def make(args: argparse.Namespace) -> int:
    """Record kinds."""
    for kind in record.make(args.kinds):
        print(kind, flush=True)
    return 0


def compare(args: argparse.Namespace) -> int:
    """Print how each kind differs: 0 where none does, 1 where one does, 2 where the arithmetic is another."""
    if not args.tolerance and (facts := record.arithmetic_differences()):
        print("This machine computes with other last bits than the record:", *facts, sep="\n  ")
        return 2
    compared, differing = record.select_kinds(args.kinds), 0
    for kind, found in record.compare(compared, args.tolerance, args.first):
        if found:
            differing += 1
            print(f"{kind}: {found}", flush=True)
    print(f"{len(compared)} kinds compared, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
