"""How much a relaxation can bring: every constant action on every problem, beside SHADE and the shipped policies.

    python benchmarks/constants.py [--dim 50] [--runs 10] > benchmarks/results/constants.txt

Mean least f + nu, MeCO on SHADE with an action held for the whole run. The last line is the mean over
problems of its logarithm; "hindsight" takes the best action of each problem.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from meco.mdp.policy import ConstantPolicy
from meco.problems.suite import CEC_NAMES
from meco.rules import GRID


def mean_score(method: str, problem: meco.Problem, runs: int, **options: object) -> float:
    """Mean of the least f + nu over runs with the seeds of the paper's authors."""
    return float(np.mean([r.score for r in meco.solve(method, problem, seeds=range(42, 42 + runs), **options)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    heads = [*(f"{k / 10:g}" for k in range(len(GRID))), "hindsight", "SHADE", "SHADE-FR", "MeCO"]
    print(f"D = {args.dim}, {args.runs} runs\n\n{'':5}" + "".join(f"{head:>10}" for head in heads))
    table = []
    for name in CEC_NAMES:
        problem = meco.get_problem(name, dim=args.dim)
        held = [mean_score("MeCO", problem, args.runs, policy=ConstantPolicy(k)) for k in range(len(GRID))]
        others = [mean_score(method, problem, args.runs) for method in ("SHADE", "SHADE-FR")]
        policy = f"meco-loo50-{name}" if args.dim == 50 else "meco-10d"
        row = [*held, min(held), *others, mean_score("MeCO", problem, args.runs, policy=policy)]
        table.append(row)
        print(f"{name:5}" + "".join(f"{value:10.4g}" for value in row), flush=True)
    logs = np.log(np.maximum(np.array(table), 1e-12)).mean(axis=0)
    print(f"{'log':5}" + "".join(f"{value:10.3f}" for value in logs))


if __name__ == "__main__":
    main()
