"""meco resume: go on with a run that was interrupted, bit for bit."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from meco.commands.console import check_paths, parse_count
from meco.commands.solve import make_stop, make_workers, show_result
from meco.commands.sources import find_cheap, open_source
from meco.core.signals import treat_sigterm_as_interrupt
from meco.errors import DamagedFile, InvalidInput
from meco.files.modules import names_a_file
from meco.options import Checkpoint, Method
from meco.run.folder import fingerprint_folder, read_run, refuse_old
from meco.run.progress import FORMS, Progress
from meco.run.request import options_from_inputs, tolerances_from_inputs, variables_from_inputs


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco resume`."""
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--workers", type=int, help="processes that evaluate; may differ from before")
    parser.add_argument(
        "--budget", type=parse_count, help="evaluations in all, where the run is to go on with more of them"
    )
    parser.add_argument("--max-time", type=float, help="seconds, from now on")
    parser.add_argument("--target", type=float, dest="target_value", help="stop at a feasible f this low")
    parser.add_argument("--stop", choices=("feasible", "converged"))
    parser.add_argument("--fsync", action="store_true", help="wait for the disk after each answer")
    parser.add_argument("--plot", help="write a picture of the convergence")
    parser.add_argument("--report", help="write a page of the run")
    parser.add_argument("--title", default="", help="of the page")
    parser.add_argument("--author", default="", help="of the page")
    parser.add_argument("--notes", default="", help="to stand on the page, such as what the reader should know")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--progress", choices=FORMS, default="text", help="json: an object a line on standard error")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--yes", action="store_true", help="run what a folder from elsewhere names, without asking")


METHOD_OPTIONS = {"policy", "pop_size", "batch"}  # of the method, that a run of the command line may have


def run(args: argparse.Namespace) -> int:
    """Go on with the run of a folder as its log describes it, and show its result; workers and limits may be others.

    Changes to the folder that the run began in. A folder without a run of the command line is an error; one from
    elsewhere is run after a question alone.
    """
    from meco import minimize

    check_paths(args)
    folder = Path(args.run).absolute()
    refuse_old(folder)
    found = read_run(folder)
    if found is None:
        raise InvalidInput(f"{folder} is not the folder of a run: it has no events.jsonl")
    begin = found[0]
    source, inputs = begin.get("source"), begin["inputs"]
    if source is None:
        raise InvalidInput(
            f"the run in {folder} was started from Python; continue it there with "
            "minimize(..., checkpoint=Checkpoint(folder, resume=True))"
        )
    if not set(inputs["options"]) <= METHOD_OPTIONS:
        raise DamagedFile(f"{folder / 'events.jsonl'}: options of a run are {', '.join(sorted(METHOD_OPTIONS))}")
    _confirm_foreign_run(folder, begin, assume_yes=args.yes)
    try:
        os.chdir(source["folder"])  # relative paths mean what they meant
    except OSError as error:
        raise InvalidInput(f"the run began in {source['folder']}, which cannot be entered: {error.strerror}") from error
    fun = open_source(source, folder)
    fun.source = source
    options = dict(source["options"])
    if args.workers is not None:
        options["workers"] = args.workers
    method = options_from_inputs(inputs)
    batch = method.pop("batch", None)
    try:
        with treat_sigterm_as_interrupt():
            result = minimize(
                fun,
                variables_from_inputs(inputs),
                budget=inputs["budget"] if args.budget is None else args.budget,
                method=Method(inputs["method"], **method),
                x0=inputs["x0"],
                evaluated=inputs["evaluated"],
                seed=inputs["seed"],
                tolerances=tolerances_from_inputs(inputs),
                workers=make_workers(options, batch, asynchronous=bool(inputs.get("asynchronous"))),
                stop=make_stop(args),
                on_error=inputs["on_error"],
                cheap=find_cheap(source.get("cheap"), fun),
                callback=None if args.quiet else Progress(args.progress),
                checkpoint=Checkpoint(folder, resume=True, fsync=args.fsync),
            )
            return show_result(result, args)
    finally:
        fun.close()


def _confirm_foreign_run(folder: Path, begin: dict[str, Any], *, assume_yes: bool) -> None:
    """Ask before anything runs that a folder from elsewhere names; one that was made here is the user's own.

    InvalidInput where the answer is no, or nobody can be asked.
    """
    source, method = begin["source"], begin["inputs"]["method"]
    runs = {"command": source.get("command"), "file": f"{source.get('path')}:{source.get('function')}"}
    runs["benchmark"] = source.get("target") if names_a_file(str(source.get("target"))) else None
    cheap = source.get("cheap")
    named = [str(what) for what in (runs.get(source["kind"]), method if names_a_file(method) else None, cheap) if what]
    if assume_yes or not named or begin.get("place") == fingerprint_folder(folder):
        return
    said = f"{folder} was not made here, or was moved; resuming it runs {' and '.join(map(repr, named))}"
    if not sys.stdin.isatty():
        raise InvalidInput(f"{said}; add --yes if that is what you want")
    print(f"meco: {said}", file=sys.stderr)
    print("run it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidInput("not resumed")
