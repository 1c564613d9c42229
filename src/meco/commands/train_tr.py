"""meco train-tr: train the policy of MeCO-TR by rollouts."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import replace
from functools import partial

from meco.commands.train import EXIT_STOPPED, add_common_options, read_settings, words_of_policy
from meco.core.signals import note_signals
from meco.errors import InvalidInput
from meco.learn.settings import check_device
from meco.learn.tr.training import RolloutConfig, train_by_rollouts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco train-tr`."""
    add_common_options(parser)
    parser.add_argument("--processes", type=int, default=1, help="number of processes (default: 1)")
    parser.add_argument("--seconds", type=float, help="stop after so long; the same command goes on")


def run(args: argparse.Namespace) -> int:
    """Train and write a policy for each seed, whose names say which where there are several; 0 or EXIT_STOPPED.

    InvalidInput for less than one process.
    """
    if args.processes < 1:
        raise InvalidInput(f"--processes must be at least 1; got {args.processes}")
    end = None if args.seconds is None else time.monotonic() + args.seconds
    report = (lambda line: None) if args.quiet else partial(print, file=sys.stderr, flush=True)
    command = shlex.join(["meco", *words_of_policy(sys.argv[1:])])
    with note_signals() as stop:
        stop_or_late = lambda: stop() or (end is not None and time.monotonic() > end)  # noqa: E731
        for seed in args.seeds:
            config = RolloutConfig(seed=seed, device=args.device or "cpu").with_texts(read_settings(args))
            config = config if len(args.seeds) == 1 else replace(config, name=f"{config.name}-seed{seed}")
            check_device(config.device)
            if not train_by_rollouts(config, args.out, args.processes, stop_or_late, report, command):
                print(f"stopped; the same command goes on with the runs in {args.out}", file=sys.stderr)
                return EXIT_STOPPED
    return 0
