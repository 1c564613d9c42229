"""Five trainings of MeCO-TR's policy and one with the paper's reward, their runs in the same lockstep.

    python benchmarks/trainings.py FOLDER --device cuda --processes 8      # a policy for each, meco-tr-seed1 ...
    python benchmarks/learnt.py judge SEEDS.npz --device cuda --also FOLDER/*.safetensors     # on the confirm families
    python benchmarks/learnt.py kinds SEEDS.npz                            # the spread

The first five are those of `meco train --preset tr --seeds 1,2,3,4,5`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

from meco.training.holding_search import HoldingConfig
from meco.training.holding_together import produce_holding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5, help="trainings with the quantile reward")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="settings of all of them")
    args = parser.parse_args()
    usual = HoldingConfig(device=args.device).changed(dict(pair.split("=", 1) for pair in args.set))
    configs = [replace(usual, name=f"meco-tr-seed{seed}", seed=seed) for seed in range(1, args.seeds + 1)]
    configs.append(replace(usual, name="meco-tr-score", reward="score"))
    command = f"python benchmarks/trainings.py --seeds {args.seeds} " + " ".join(f"--set {pair}" for pair in args.set)
    produce_holding(configs, args.folder, args.processes, lambda: False, partial(print, flush=True), command.strip())


if __name__ == "__main__":
    main()
