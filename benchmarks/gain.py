"""What training gains: relative reduction of f + nu on the eight held-out problems, 30 paired runs.

    python benchmarks/gain.py [10 30 50 100] [--runs 30]

The shipped split policy against the controls of the paper's training-gain table, the paper's own training, and
the constant action 0.8. p is that of a paired Wilcoxon test over problem x seed that the shipped policy reduces more.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import wilcoxon

import meco
from meco.mdp import ConstantPolicy
from meco.training.presets import HELD_OUT


def reductions(method: str, dim: int, runs: int, **options) -> np.ndarray:
    """1 - (f + nu at the end) / (f + nu of the first population): [problem, run]."""
    found = []
    for name in HELD_OUT:
        problem = meco.get_problem(name, dim)
        results = meco.solve(method, problem, seeds=range(42, 42 + runs), **options)
        found.append([1 - r.score / r.trace["score"][0] for r in results])
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dims", nargs="*", type=int, default=[10, 30, 50, 100])
    parser.add_argument("--runs", type=int, default=30)
    args = parser.parse_args()
    print(f"held out: {' '.join(HELD_OUT)}; {args.runs} runs, seeds from 42")
    for dim in args.dims:
        rows = {
            "MeCO, shipped": reductions("MeCO", dim, args.runs, policy=f"meco-split-{dim}d"),
            "MeCO, paper's training": reductions("MeCO", dim, args.runs, policy=f"meco-paper-split-{dim}d"),
            "MeCO-u": reductions("MeCO-u", dim, args.runs),
            "MeCO-rand": reductions("MeCO-rand", dim, args.runs),
            "constant action 0.8": reductions("MeCO", dim, args.runs, policy=ConstantPolicy(8)),
        }
        ours = rows["MeCO, shipped"].ravel()
        for label, values in rows.items():
            p = (
                ""
                if label == "MeCO, shipped"
                else f"p {wilcoxon(ours, values.ravel(), alternative='greater').pvalue:.2g}"
            )
            each = " ".join(f"{v:.3f}" for v in values.mean(axis=1))
            print(f"{dim:4d}D  {label:24s} {values.mean():.4f}  {p:10s} | {each}", flush=True)


if __name__ == "__main__":
    main()
