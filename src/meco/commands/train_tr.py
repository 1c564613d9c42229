"""meco train-tr: train the policy of MeCO-TR, from runs that hold their controls."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import replace
from functools import partial

from meco.commands.train import STOPPED, configure_any, lasting_words, settings
from meco.core.signals import noted
from meco.errors import InvalidInput
from meco.learn.settings import check_device
from meco.learn.tr.training import HoldingConfig, produce_holding


def configure(parser: argparse.ArgumentParser) -> None:
    configure_any(parser)
    parser.add_argument("--processes", type=int, default=1, help="that play at once (default: 1)")
    parser.add_argument("--seconds", type=float, help="stop after so long; the same command goes on")


def run(args: argparse.Namespace) -> int:
    """A policy for each seed; their names say which where there are several."""
    if args.processes < 1:
        raise InvalidInput(f"--processes must be at least 1; got {args.processes}")
    end = None if args.seconds is None else time.monotonic() + args.seconds
    say = (lambda line: None) if args.quiet else partial(print, file=sys.stderr, flush=True)
    command = shlex.join(["meco", *lasting_words(sys.argv[1:])])
    with noted() as stop:
        late = lambda: stop() or (end is not None and time.monotonic() > end)  # noqa: E731
        for seed in args.seeds:
            config = HoldingConfig(seed=seed, device=args.device or "cpu").changed(settings(args))
            config = config if len(args.seeds) == 1 else replace(config, name=f"{config.name}-seed{seed}")
            check_device(config.device)
            if not produce_holding(config, args.out, args.processes, late, say, command):
                print(f"stopped; the same command goes on with what was played (in {args.out})", file=sys.stderr)
                return STOPPED
    return 0
