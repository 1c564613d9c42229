"""Run an engine on the reference problems, and compare it with TR of 0.3.0.

python -m benchmarks.reference run NEW.csv                                      # minimize(method="TR")
PYTHONPATH=other/src python -m benchmarks.reference run NEW.csv                 # of another source tree
python -m benchmarks.reference run NEW.csv --engine my_module:minimize_with_it  # of an engine not yet wired in
python -m benchmarks.reference compare NEW.csv                                  # with 0.3.0, paired by problem and seed
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
from pathlib import Path

from benchmarks.reference import compare, problems, runs


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reference", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="make the runs that a file lacks")
    run.add_argument("file", type=Path, metavar="NEW.csv")
    run.add_argument("--suites", nargs="+", default=list(problems.USUAL), choices=list(problems.SUITES))
    run.add_argument("--problems", nargs="+", default=[], help="these alone")
    run.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    run.add_argument("--processes", type=int, default=1)
    run.add_argument("--engine", metavar="MODULE:FUNCTION", help="called as minimize() is, without method")
    other = commands.add_parser("compare", help="compare a file of runs with that of 0.3.0")
    other.add_argument("file", type=Path, metavar="NEW.csv")
    other.add_argument("--old", type=Path, default=compare.REFERENCE, metavar="OLD.csv")
    other.add_argument("--at", default="end", choices=["5", "10", "20", "50", "end"], help="evaluations per variable")
    show = commands.add_parser("show", help="a table of a file of runs")
    show.add_argument("file", type=Path, nargs="?", default=compare.REFERENCE)
    pack = commands.add_parser("pack", help="sort a file of runs; under xz where the name ends in .xz")
    pack.add_argument("file", type=Path)
    pack.add_argument("packed", type=Path)
    least = commands.add_parser("references", help="long runs for the problems whose least f is not known")
    least.add_argument("file", type=Path, nargs="?", help="runs whose best values count, too")
    least.add_argument("--suites", nargs="+", default=list(problems.USUAL), choices=list(problems.SUITES))
    least.add_argument("--processes", type=int, default=1)
    commands.add_parser("ranges", help="measure the ranges of the functions that noise is added to")
    args = parser.parse_args()
    if args.command == "run":
        runs.run_all(args.file, args.suites, args.seeds, args.engine, args.processes, args.problems)
    elif args.command == "compare":
        return compare.compare(args.old, args.file, args.at)
    elif args.command == "show":
        compare.show(args.file)
    elif args.command == "pack":
        runs.write_runs(args.packed, runs.read_runs(args.file).values())
    elif args.command == "references":
        runs.write_references(args.file, args.suites, args.processes)
    else:
        runs.measure_ranges(range(1, 6))
    return 0


if __name__ == "__main__":
    sys.exit(main())
