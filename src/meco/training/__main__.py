"""Direct search for a policy of TR-ES: python -m meco.training, with NumPy alone, or torch for --device cuda.

python -m meco.training --out policies --processes 16 --seconds 1500
python -m meco.training --out policies --device cuda --set pairs=4096 --set width=1024
python -m meco.training --out policies --processes 16 --resume
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from meco.signals import noted
from meco.training.produce import produce
from meco.training.search_config import SearchConfig


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m meco.training", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("policies"), help="folder of policy, log and references")
    parser.add_argument("--device", default="cpu", help="cpu (NumPy) or one of torch's")
    parser.add_argument("--processes", type=int, default=1, help="worker processes on cpu")
    parser.add_argument("--seconds", type=float, help="stop after so long, resumable, with the best policy so far")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="go on where a stopped training was")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="any setting of SearchConfig")
    args = parser.parse_args(arguments)
    config = SearchConfig(seed=args.seed, device=args.device).changed(dict(text.split("=", 1) for text in args.set))
    end = time.monotonic() + args.seconds if args.seconds else None
    with noted() as interrupted:
        done = produce(
            config,
            args.out,
            args.processes,
            args.resume,
            stop=lambda: interrupted() or (end is not None and time.monotonic() > end),
            say=lambda line: print(line, file=sys.stderr, flush=True),
            command="python -m meco.training " + " ".join(sys.argv[1:] if arguments is None else arguments),
        )
    return 0 if done else 130


if __name__ == "__main__":
    raise SystemExit(main())
