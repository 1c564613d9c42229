"""meco reproduce: a table or figure of the paper from our own runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from meco.errors import MissingData


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco reproduce`; the platform is pinned before NumPy is imported."""
    from meco.core.platform import pin_platform

    pin_platform()
    from meco.bench.plan.experiments import EXPERIMENTS
    from meco.commands.campaign import add_campaign_options

    parser.add_argument("experiment", metavar="ID", help=f"{', '.join(EXPERIMENTS)} or all")
    parser.add_argument("--quick", action="store_true", help="a look in a minute: fewer methods, 3 runs")
    add_campaign_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run the experiments of a name into a folder, with their report; 0 if every run was made, else 1.

    Contenders whose policies are not installed are left out and named; MissingData where none is left.
    """
    from meco.bench.plan.experiments import find_experiments, match_methods
    from meco.bench.plan.revise import adjust_experiment, without_missing_policies
    from meco.commands.campaign import check_campaign_options, run_and_report

    check_campaign_options(args)
    found = [(e, args.methods) for e in find_experiments(args.experiment)]
    if args.methods and len(found) > 1:  # a method that an experiment leaves out does not belong there
        found = match_methods([e for e, _ in found], args.methods)
    chosen = [adjust_experiment(e, args.runs, args.quick, methods, args.cobra_runs) for e, methods in found]
    there = [without_missing_policies(experiment) for experiment in chosen]
    for _, said in there:
        if said:
            print(f"meco: {said}", file=sys.stderr, flush=True)
    chosen = [experiment for experiment, _ in there if experiment.contenders]
    if not chosen:
        raise MissingData("nothing is left to run")
    return run_and_report(chosen, args.out or str(Path("runs") / args.experiment), args)
