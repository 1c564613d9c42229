"""A seeded, resumable attack: `python tests/attack/attack.py --kind commands --tries 1000`, or all kinds at once.

Every try is a function of its seed alone, writes only inside a temporary folder of its own, and ends only processes
that it started. Outcomes are kept as JSON lines, so that a stopped attack goes on where it was, and in summary.txt;
a surprise is made again with `--kind KIND --only SEED`. `--jobs 16` shares the tries among processes, `--part 3/16`
is one of them, `--seconds 300` begins no try after that; all kinds advance together, so what there was no time for is
the same share of each.
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

KINDS = {  # module of each kind, and the tries of a whole attack
    "objectives": ("hostile_objectives", 2000),
    "interruptions": ("interrupted_runs", 1000),
    "terminations": ("terminated_commands", 200),
    "fields": ("changed_fields", 5000),
    "commands": ("fuzzed_commands", 10000),
    "foreign": ("foreign_files", 500),
    "scipy": ("scipy_objectives", 1000),
}


def one(kind, seed, shared):
    """The outcome of one try: "" when all is well, else what surprised."""
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        try:
            return importlib.import_module(KINDS[kind][0]).attempt(seed, folder)
        except Exception:
            return traceback.format_exc(limit=-3)


def attack(tries, shared, out=None, part="", seconds=float("inf")):
    """Make those of the tries (kind, seed) that the folder does not hold yet; what each said, as rows."""
    rows = [] if out is None else kept(out)
    known, begun = {(row["kind"], row["seed"]) for row in rows}, time.monotonic()
    for kind, seed in tries:
        if (kind, seed) in known:
            continue
        if time.monotonic() - begun > seconds:
            break
        at = time.monotonic()
        row = {"kind": kind, "seed": seed, "said": one(kind, seed, shared), "seconds": round(time.monotonic() - at, 3)}
        rows.append(row)
        if out is not None:
            with open(out / f"{kind}{part}.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    return rows


def kept(out):
    """Rows of earlier attacks; a line that a kill tore is a try that was not made."""
    rows = []
    for file in sorted(out.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
    return rows


def together(kinds, tries, first, i, n):
    """(kind, seed) of part i of n, every kind at the same pace."""
    seeds = {kind: range(first, first + (tries or KINDS[kind][1]))[i - 1 :: n] for kind in kinds}
    placed = [((k + 0.5) / len(some), kind, seed) for kind, some in seeds.items() for k, seed in enumerate(some)]
    return [(kind, seed) for _, kind, seed in sorted(placed)]


def summary(rows, wanted):
    """What was found, in words, and how many surprises there are."""
    lines, bad = [], 0
    for kind, count in wanted.items():
        mine = [row for row in rows if row["kind"] == kind]
        skipped = [row for row in mine if row["said"].startswith("SKIPPED")]
        wrong = [row for row in mine if row["said"] and row not in skipped]
        tried = len(mine) - len(skipped)
        loud = f", {len(skipped)} SKIPPED ({skipped[0]['said']})" if skipped else ""
        left = f", {count - len(mine)} not made" if len(mine) < count else ""
        took = [row["seconds"] for row in mine] or [0.0]
        lines.append(
            f"{kind}: {tried - len(wrong)} of {tried} well{loud}{left}; {sum(took):.0f} s, at most {max(took)}"
        )
        lines += [f"  {kind}, seed {row['seed']}: {row['said']}" for row in wrong]
        bad += len(wrong)
    return "\n".join(lines) + "\n", bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="all", choices=("all", *KINDS))
    parser.add_argument("--tries", type=int, help="of each kind (the numbers of a whole attack unless given)")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--only", type=int, help="one seed, shown in full and not kept")
    parser.add_argument("--out", type=Path, default=Path("out/attack"), help="folder of the outcomes")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the tries")
    parser.add_argument("--part", default="1/1", help="the tries of one of them, such as 3/16")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no try after this time")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background, and so by what is started
    kinds = list(KINDS) if args.kind == "all" else [args.kind]
    if args.only is not None:
        with tempfile.TemporaryDirectory(prefix="meco-attack-") as shared:
            for kind in kinds:
                print(f"{kind}, seed {args.only}: {one(kind, args.only, shared) or 'well'}")
        return 0
    args.out.mkdir(parents=True, exist_ok=True)
    i, n = map(int, args.part.split("/"))
    if args.jobs > 1:
        words = [sys.executable, str(HERE), *sys.argv[1:], "--jobs", "1", "--part"]
        parts = [subprocess.Popen([*words, f"{k}/{args.jobs}"]) for k in range(1, args.jobs + 1)]
        for part in parts:
            part.wait()
    else:
        with tempfile.TemporaryDirectory(prefix="meco-attack-") as shared:
            tries = together(kinds, args.tries, args.first, i, n)
            attack(tries, shared, args.out, f"-{i}of{n}" if n > 1 else "", args.seconds)
    if n > 1:
        return 0
    seeds = range(args.first, args.first + (args.tries or max(tries for _, tries in KINDS.values())))
    rows = [row for row in kept(args.out) if row["seed"] in seeds]
    text, bad = summary(rows, {kind: args.tries or KINDS[kind][1] for kind in kinds})
    (args.out / "summary.txt").write_text(text, encoding="utf-8")
    print(text, end="", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
