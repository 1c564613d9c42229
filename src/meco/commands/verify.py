"""meco verify: repeat stored runs and compare them bit for bit."""

from __future__ import annotations

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco verify`; the platform is pinned before NumPy is imported."""
    from meco.core.platform import pin_platform

    pin_platform()
    parser.add_argument("folder", metavar="DIR", help="a folder that meco reproduce or meco bench wrote")
    parser.add_argument("--runs", type=int, default=30, metavar="N", help="runs to draw at random; 30 unless given")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the draw")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="draw among these alone")
    parser.add_argument("--most-seconds", type=float, metavar="S", help="leave out runs that took longer than this")
    parser.add_argument("--workers", type=int, metavar="N", help="processes to use; one for each core unless given")


def run(args: argparse.Namespace) -> int:
    """Draw runs, repeat them in processes of the pinned platform and print how they compare; 0 if all are equal."""
    from meco.bench.run.executors import start_executor
    from meco.bench.run.repeat_runs import draw_runs, repeat_runs
    from meco.bench.run.result_store import read_results
    from meco.files.names import escape_for_terminal

    contents = read_results(args.folder)
    drawn = draw_runs(contents, args.runs, args.seed, args.methods, args.most_seconds)
    workers = start_executor("processes", args.workers)
    equal = 0
    try:
        for run, said in repeat_runs(contents, drawn, workers):
            equal += not said
            where = f"{run.case.problem}, D = {run.case.dim}, {run.case.budget} evaluations"
            print(escape_for_terminal(f"{run.method} on {where}, seed {run.seed}: {said or 'equal'}"), flush=True)
    finally:
        workers.close(now=True)
    print(f"{equal} of {len(drawn)} runs repeat bit for bit")
    return 0 if equal == len(drawn) else 1
