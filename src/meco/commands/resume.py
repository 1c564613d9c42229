"""meco resume: go on with a run that was interrupted, bit for bit."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from meco.blackbox.runfolder import Checkpoint
from meco.blackbox.runreader import read_facts
from meco.commands.solve import finish
from meco.commands.sources import open_source
from meco.errors import InvalidInput
from meco.signals import terminated_like_interrupted


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--workers", type=int, help="processes that evaluate; may differ from before")
    parser.add_argument("--max-time", type=float, help="seconds, from now on")
    parser.add_argument("--target", type=float, dest="target_value", help="stop at a feasible f this low")
    parser.add_argument("--stop", choices=("feasible",))
    parser.add_argument("--fsync", action="store_true", help="wait for the disk each generation")
    parser.add_argument("--plot", help="write a picture of the convergence")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    from meco.api import minimize

    folder = Path(args.run).absolute()
    facts = read_facts(folder)
    if facts is None:
        raise InvalidInput(f"{folder} is not the folder of a run: it has no run.json")
    source, inputs = facts.get("source"), facts["inputs"]
    if source is None:
        raise InvalidInput(
            f"the run in {folder} was started from Python; continue it there with minimize(..., resume=True)"
        )
    os.chdir(source["folder"])  # relative paths mean what they meant
    fun = open_source(source, folder)
    fun.source = source
    options = dict(source["options"])
    if args.workers is not None:
        options["workers"] = args.workers
    same = ("budget", "method", "seed", "x0", "integrality", "eq_tol", "ineq_tol", "on_error")
    try:
        with terminated_like_interrupted():
            result = minimize(
                fun, list(zip(inputs["lower"], inputs["upper"])), evaluated=source["evaluated"],
                constraint_names=inputs["constraint_names"] or None, max_time=args.max_time, target=args.target_value,
                stop=args.stop, progress=not args.quiet, checkpoint=Checkpoint(folder, args.fsync), resume=True,
                **{key: inputs[key] for key in same}, **inputs["options"], **options,
            )  # fmt: skip
            return finish(result, args)
    finally:
        fun.close()
