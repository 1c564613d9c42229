"""A seeded, resumable attack: `python tests/attack/attack.py --kind commands --tries 1000` or --kind all.

Every try is a function of its seed alone, writes only inside a temporary folder of its own, and ends only processes
that it started. Outcomes are kept as JSON lines, so that a stopped attack goes on where it was; a surprise is made
again with `--kind KIND --only SEED`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

KINDS = {  # module of each kind, and the tries of a whole attack
    "objectives": ("hostile_objectives", 2000),
    "interruptions": ("interrupted_runs", 1000),
    "terminations": ("terminated_commands", 200),
    "fields": ("changed_fields", 5000),
    "commands": ("fuzzed_commands", 10000),
    "foreign": ("foreign_files", 500),
}


def one(kind, seed, shared):
    """The outcome of one try: "" when all is well, else what surprised."""
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        try:
            return importlib.import_module(KINDS[kind][0]).attempt(seed, folder)
        except Exception:
            return traceback.format_exc(limit=-3)


def attack(kind, seeds, shared, log=None, say=lambda text: None):
    """Outcomes by seed of the tries that the log does not hold yet, and of those that it holds."""
    known = {}
    if log is not None and log.exists():
        known = {row["seed"]: row["said"] for row in map(json.loads, log.read_text().splitlines())}
    for seed in seeds:
        if seed not in known:
            known[seed] = one(kind, seed, shared)
            if log is not None:
                with open(log, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"seed": seed, "said": known[seed]}) + "\n")
        if known[seed]:
            say(f"{kind}, seed {seed}: {known[seed]}")
    return {seed: known[seed] for seed in seeds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="all", choices=("all", *KINDS))
    parser.add_argument("--tries", type=int, help="of each kind (the numbers of a whole attack unless given)")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--only", type=int, help="one seed, shown in full and not kept")
    parser.add_argument("--out", type=Path, default=Path("out/attack"), help="folder of the outcomes")
    args = parser.parse_args()
    kinds = list(KINDS) if args.kind == "all" else [args.kind]
    with tempfile.TemporaryDirectory(prefix="meco-attack-") as shared:
        if args.only is not None:
            for kind in kinds:
                print(f"{kind}, seed {args.only}: {one(kind, args.only, shared) or 'well'}")
            return 0
        args.out.mkdir(parents=True, exist_ok=True)
        bad = 0
        for kind in kinds:
            begun = time.monotonic()
            seeds = range(args.first, args.first + (args.tries or KINDS[kind][1]))
            found = attack(kind, seeds, shared, args.out / f"{kind}.jsonl", print)
            skipped = sum(said.startswith("SKIPPED") for said in found.values())
            wrong = sum(bool(said) for said in found.values()) - skipped
            bad += wrong
            loud = f", {skipped} SKIPPED" if skipped else ""
            well, tried = len(found) - skipped - wrong, len(found) - skipped
            print(f"{kind}: {well} of {tried} well{loud}, {time.monotonic() - begun:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
