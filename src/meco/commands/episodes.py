"""meco episodes: record episodes of TR-ES whose theta and share are steered, as an offline data set."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from meco.errors import InvalidInput
from meco.learn.challenge.agents import Agent, OwnRuleAgent, PolicyAgent
from meco.learn.challenge.judging import SHIPPED_NAME, SetSize, list_generated_set, make_controls
from meco.learn.challenge.offline import record_episodes
from meco.learn.tr.constant_controls import OWN_RULE_NAME
from meco.learn.tr.training_problems import read_layout
from meco.policies.policy import RandomPolicy

BEHAVIOURS = ("random", OWN_RULE_NAME, SHIPPED_NAME, "constants")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco episodes`."""
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the files")
    parser.add_argument("--set", default="train", choices=("train", "choose"), help="families of generated problems")
    parser.add_argument("--layout", default="5:50,10:20", help='D and evaluations per variable, such as "5:50,10:100"')
    parser.add_argument("--problems", type=int, default=4, metavar="N", help="problems of each family at each size")
    parser.add_argument(
        "--behaviours", default=",".join(BEHAVIOURS), help=f"who controls the searches: any of {', '.join(BEHAVIOURS)}"
    )
    parser.add_argument("--sets", action="store_true", help="points and constraints too, as sets of tokens")
    parser.add_argument("--seed", type=int, default=1, help="of the first episode, and of the first problem")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(args: argparse.Namespace) -> int:
    """Record every problem under every behaviour into files of a folder; 0. Unknown behaviours are errors."""
    wanted = [name.strip() for name in args.behaviours.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in BEHAVIOURS]
    if unknown or not wanted:
        raise InvalidInput(f"--behaviours takes any of {', '.join(BEHAVIOURS)}; got {args.behaviours!r}")
    if args.problems < 1:
        raise InvalidInput(f"--problems must be at least 1; got {args.problems}")
    ways: list[tuple[str, Agent]] = []
    controls = make_controls(quick=True)
    for name in wanted:
        if name == "constants":
            ways += [(each, agent) for each, agent in controls.items() if each.startswith("theta")]
        else:
            made = {"random": PolicyAgent(RandomPolicy()), OWN_RULE_NAME: OwnRuleAgent()}.get(name)
            ways.append((name, made or controls[SHIPPED_NAME]))
    size = SetSize(tuple(read_layout(args.layout)), args.problems, 1)
    report = (lambda line: None) if args.quiet else lambda line: print(line, file=sys.stderr, flush=True)
    files = record_episodes(
        Path(args.out), list_generated_set(args.set, size, args.seed), ways, args.seed, sets=args.sets, report=report
    )
    print(f"{len(files)} files and episodes.json in {args.out}")
    return 0
