"""meco bench: compare methods on any problems, one's own included."""

from __future__ import annotations

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco bench`; the platform is pinned before NumPy is imported."""
    from meco.core.platform import pin_platform

    pin_platform()
    from meco.commands.campaign import add_campaign_options
    from meco.commands.console import parse_count
    from meco.problems.suite import SUITES

    parser.add_argument("--suite", metavar="NAME", help=", ".join(SUITES))
    parser.add_argument(
        "--problem",
        nargs="+",
        default=[],
        metavar="NAME",
        help="problems by name, or file.py:name: a function beside `bounds = [...]`, or a meco.Problem",
    )
    parser.add_argument("--dim", type=int, nargs="+", metavar="D", help="dimensions, where a problem has a choice")
    parser.add_argument("--instance", default="paper", help="paper, official or a number (CEC2017 only)")
    parser.add_argument("--budget", type=parse_count, metavar="N", help="evaluations of a run; 50 D unless given")
    add_campaign_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run what the folder lacks of the comparison that the options name, and write its report unless --no-report.

    The exit code is 0 where every run is there, 1 where some failed, and 128 + n after signal n, which leaves no
    report. MecoError for options that make no sense, and where nothing could be run.
    """
    from meco.bench.plan.comparison import folder_name, make_comparison
    from meco.commands.campaign import check_campaign_options, run_and_report

    check_campaign_options(args)
    experiment = make_comparison(
        args.suite, args.problem, args.methods, args.dim, args.instance, args.budget, args.runs, args.cobra_runs
    )
    return run_and_report([experiment], args.out or str(Path("runs") / folder_name(experiment.name)), args)
