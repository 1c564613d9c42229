"""meco reproduce: a table or figure of the paper from our own runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from meco.errors import InvalidInput, MissingData

if TYPE_CHECKING:
    from meco.bench.plan.experiment import Experiment


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco reproduce`; the platform is pinned before NumPy is imported."""
    from meco.core.platform import pin_platform

    pin_platform()
    from meco.bench.plan.experiments import EXPERIMENTS
    from meco.commands.campaign import add_campaign_options

    parser.add_argument("experiment", metavar="ID", nargs="?", help=f"{', '.join(EXPERIMENTS)}, headroom or all")
    parser.add_argument("--list", action="store_true", help="say what there is: the paper's experiments, then others")
    parser.add_argument("--quick", action="store_true", help="a look in a minute: fewer methods, 3 runs")
    parser.add_argument(
        "--estimate", action="store_true", help="run nothing: say what is missing and what it will cost"
    )
    parser.add_argument("--figures-from", metavar="DIR", help="with --estimate: a folder whose runs tell seconds")
    add_campaign_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run what the folder lacks of the experiments of a name, and write their report unless --no-report.

    The exit code is 0 where every run is there, 1 where some failed or were left out, and 128 + n after signal n, which
    leaves no report. With --estimate it only prints what that would cost, and gives 0. Contenders whose policies are
    not installed are left out and named, here and in the report; MissingData where none is left.
    """
    from meco.bench.plan.experiments import find_experiments, match_methods
    from meco.bench.plan.revise import adjust_experiment, without_missing_policies
    from meco.commands.campaign import check_campaign_options, run_and_report

    if args.list:
        print("\n".join(list_experiments()))
        return 0
    if args.experiment is None:
        raise InvalidInput("name an experiment; `meco reproduce --list` shows them")
    if args.experiment == "headroom":
        return _print_headroom(args)
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
    folder = args.out or str(Path("runs") / args.experiment)
    if args.estimate:
        return _print_estimate(chosen, folder, args)
    return run_and_report(chosen, folder, args) or int(any(said for _, said in there))


def list_experiments() -> list[str]:
    """Lines: the paper's experiments in its order with their table or figure, then the further ones."""
    from meco.bench.plan.experiments import EXPERIMENTS
    from meco.report.claims import CLAIMS

    lines = ["paper"]
    lines += [f"  {name:16s} {claim.place:11s} {EXPERIMENTS[name].title}" for name, claim in CLAIMS.items()]
    lines += [
        "further",
        f"  {'headroom':16s} {'':11s} What a policy could gain by choosing the relaxation",
    ]
    lines += [f"  {name:16s} {'':11s} {e.title}" for name, e in EXPERIMENTS.items() if name not in CLAIMS]
    return lines


def _print_headroom(args: argparse.Namespace) -> int:
    """Measure and print what choosing a relaxation could gain; 0."""
    from meco.bench.headroom import QUICK_PROBLEMS, format_headroom, measure_headroom

    problems = QUICK_PROBLEMS if args.quick else None
    for engine in ("shade", "maes"):
        for dim in (10,) if args.quick else (10, 30, 50):
            runs = args.runs or (3 if args.quick else 10)
            print("\n".join(format_headroom(measure_headroom(engine, dim, runs, problems, args.workers))), flush=True)
    return 0


def _print_estimate(experiments: Sequence[Experiment], folder: str, args: argparse.Namespace) -> int:
    """Print what the experiments still cost beyond the runs that a folder holds; 0. Nothing is written."""
    import os

    from meco.bench.plan.revise import pin_versions
    from meco.bench.run.campaign_folder import find_packed, has_store
    from meco.bench.run.estimate import CostModel, estimate_experiments, format_estimates
    from meco.bench.run.result_store import read_results

    there = has_store(Path(folder)) or find_packed(Path(folder)) is not None
    done = read_results(folder) if there else None
    told = read_results(args.figures_from) if args.figures_from else done
    found = estimate_experiments(map(pin_versions, experiments), done.runs if done else (), CostModel(told))
    print("\n".join(format_estimates(found, args.workers or os.cpu_count() or 1)))
    return 0
