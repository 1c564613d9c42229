"""meco train-tr: train a policy over profiles of TR's controls by rollouts."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from meco.commands.train import EXIT_STOPPED, add_common_options, read_settings, refuse_to_overwrite, words_of_policy
from meco.core.signals import note_signals
from meco.errors import InvalidInput, MecoError
from meco.learn.profiles.training import ABLATIONS, ProfileConfig, train_profiles
from meco.learn.settings import check_device
from meco.policies.store import SUFFIX, load_policy


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco train-tr`."""
    add_common_options(parser, ProfileConfig)
    parser.add_argument("--ablations", action="store_true", help="also train without parts, with the first seed")
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="number of processes (default: 1); with more and a device eight others wait for that",
    )
    parser.add_argument("--seconds", type=float, help="stop after so long; the same command goes on")


def run(args: argparse.Namespace) -> int:
    """Train and write a policy for each seed, whose names say which where there are several; 0 or EXIT_STOPPED.

    InvalidInput for less than one process, and where a policy of another training has the name.
    """
    if args.processes < 1:
        raise InvalidInput(f"--processes must be at least 1; got {args.processes}")
    end = None if args.seconds is None else time.monotonic() + args.seconds
    report = (lambda line: None) if args.quiet else partial(print, file=sys.stderr, flush=True)
    command = shlex.join(["meco", *words_of_policy(sys.argv[1:])])
    configs = read_configs(args)
    if configs[0].device != "cpu":
        check_device(configs[0].device)
    for config in configs:
        _refuse_to_overwrite(config, args.out)
    with note_signals() as stop:
        stop_or_late = lambda: stop() or (end is not None and time.monotonic() > end)  # noqa: E731
        if not train_profiles(configs, args.out, args.processes, stop_or_late, report, command):
            print(f"stopped; the same command goes on with the runs in {args.out}", file=sys.stderr)
            return EXIT_STOPPED
    return 0


def _refuse_to_overwrite(config: ProfileConfig, folder: Path) -> None:
    """InvalidInput where the folder has a policy of this name that is of another training, or not ours."""
    path = folder / (config.name + SUFFIX)
    try:
        same = load_policy(path).metadata.get("training") == config.as_dict()
    except MecoError:
        same = False
    if not same:
        refuse_to_overwrite(path, config)


def read_configs(args: argparse.Namespace) -> list[ProfileConfig]:
    """A training for each seed, and for each ablation where they are asked for."""
    given = ProfileConfig(device=args.device or "cpu").with_texts(read_settings(args))
    named = [replace(given, seed=seed, name=f"{given.name}-seed{seed}") for seed in args.seeds]
    configs = named if len(named) > 1 else [replace(given, seed=args.seeds[0])]
    if args.ablations:
        first = replace(given, seed=args.seeds[0])
        configs += [replace(first, name=f"{given.name}-{name}", **change) for name, change in ABLATIONS.items()]
    return configs
