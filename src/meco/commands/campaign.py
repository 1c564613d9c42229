"""What `meco reproduce` and `meco bench` share: their options, the campaign, and how it ends."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from meco.bench.plan.contender import LEAST_SURROGATE_RUNS
from meco.bench.plan.experiment import Experiment
from meco.bench.run.campaign_folder import STORE_FILE
from meco.bench.run.executors import start_executor
from meco.bench.run.result_store import ResultStore
from meco.bench.run.runner import CampaignStopped, Summary, raise_when_stopped, run_campaign
from meco.errors import InvalidInput, MecoError, load_extra


def add_campaign_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every campaign to a parser."""
    parser.add_argument(
        "--runs", type=int, metavar="N", help="runs of each method on each problem, with consecutive seeds"
    )
    parser.add_argument("--out", metavar="DIR", help="results folder; the same folder again runs only what is missing")
    parser.add_argument(
        "--executor", default="processes", metavar="WHERE", help="serial, processes, dask or dask:tcp://HOST:PORT"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes to use; one for each core unless given")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these, e.g. SHADE MeCO:policy=meco-10d")
    parser.add_argument(
        "--cobra-runs",
        type=int,
        metavar="N",
        help="runs of COBRA, SACOBRA and COBYQA, which take a minute or more each at 50D (3 or more)",
    )
    parser.add_argument("--no-report", action="store_true", help="run only; make the page later with meco report DIR")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def check_campaign_options(args: argparse.Namespace) -> None:
    """InvalidInput for numbers that make no sense, before anything is written."""
    if args.cobra_runs is not None and args.cobra_runs < LEAST_SURROGATE_RUNS:
        raise InvalidInput(f"--cobra-runs must be at least {LEAST_SURROGATE_RUNS}; got {args.cobra_runs}")


def run_and_report(experiments: Sequence[Experiment], folder: str, args: argparse.Namespace) -> int:
    """Run what the folder lacks, write its report, print how it ended; the exit code.

    0: every run is there; 1: some failed; 128 + n: stopped by signal n. MecoError where nothing could be run.
    """
    if not args.no_report:  # before hours of runs, not after them
        for package in ("pandas", "matplotlib", "jinja2", "scipy"):
            load_extra(package, "report", "the report (--no-report leaves it out)")
    try:
        with raise_when_stopped():
            summary = _run_missing(experiments, folder, args)
    except CampaignStopped as stop:
        name = signal.Signals(stop.number).name
        print(f"meco: stopped by {name}; finished runs are kept, the same command goes on from there", file=sys.stderr)
        return 128 + stop.number
    if summary.removed:
        print(f"meco: removed in 0.4, only stored runs are shown: {', '.join(summary.removed)}", file=sys.stderr)
    if summary.done == 0:
        reasons = list(dict.fromkeys(summary.failures.values())) or ["what was asked for was removed"]
        raise MecoError("nothing could be run: " + "; ".join(reasons))
    _print_summary(summary, folder)
    if not args.no_report:
        _write_report(folder)
    return 1 if summary.failures else 0


def _run_missing(experiments: Sequence[Experiment], folder: str, args: argparse.Namespace) -> Summary:
    """Run what is missing, with workers that are gone when this ends, however it ends."""
    workers = start_executor(args.executor, args.workers)
    at_once = True  # workers that still have work are ended
    try:
        with ResultStore.open_campaign(folder) as store:
            summary = run_campaign(experiments, store, workers, quiet=args.quiet)
            at_once = False
        return summary
    finally:
        workers.close(now=at_once)


def _print_summary(summary: Summary, folder: str) -> None:
    """Print how many runs there are, and to standard error why others are missing."""
    print(f"{summary.done} of {summary.wanted} runs are in {Path(folder) / STORE_FILE}")
    if not summary.failures:
        return
    print("missing:", file=sys.stderr)
    lacking: dict[str, set[str]] = {}
    for run, reason in summary.failures.items():
        lacking.setdefault(f"{summary.labels[run]}: {reason}", set()).add(run.case.problem)
    for reason, problems in lacking.items():
        print(f"  {reason} [{len(problems)} problems]", file=sys.stderr)


def _write_report(folder: str) -> None:
    """Write the report of a folder and print where it is."""
    from meco.report.page import write_campaign_report

    for line in write_campaign_report(folder).lines:
        print(line)
