"""Draw which profiles a policy holds over the run, by family.

python tools/draw_profiles.py meco-tr docs/images/profiles.png
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from meco.learn.profiles.rollouts import NEVER, RolloutBatch, RolloutPlan, run_rollouts
from meco.learn.tr.training_problems import BudgetedProblem, list_problems
from meco.policies.policy import Policy
from meco.policies.resolve import find_policy

FAMILIES = "wells-free,growth-growth,chain-mesh,chain-heavy,chain-pocket,switching-tube,wide-fan,dense-cross"
ROW = 4  # panels of a row


def find_held(policy: Policy, problems: Sequence[BudgetedProblem]) -> np.ndarray:
    """The profile, by number, that the policy holds from each decision on [T, B], in a run on each problem."""
    runs = len(problems)
    follow = RolloutPlan(np.full(runs, -1.0), np.full(runs, NEVER), np.zeros(runs))
    profiles = policy.metadata["profiles"]
    batch = RolloutBatch(list(problems), list(range(1, runs + 1)), follow, profiles, (policy,), "cpu")
    return run_rollouts(batch).taken


def draw_profiles(
    policy: Policy, families: Sequence[str], dim: int, per_variable: int, problems: int, to: Path
) -> None:
    """A panel for each family: shares of its runs that hold each profile."""
    names = list(policy.metadata["profiles"])
    rows = -(-len(families) // ROW)
    figure, axes = plt.subplots(rows, ROW, figsize=(11, 2.0 * rows + 0.8), sharex=True, sharey=True, squeeze=False)
    for axis, family in zip(axes.ravel(), families):
        chosen = list_problems("confirm", [(dim, per_variable)], problems, [family])
        held = find_held(policy, chosen)
        shares = [(held == k).mean(axis=1) for k in range(len(names))]
        axis.stackplot(
            np.linspace(0.0, 1.0, len(held)), shares, step="post", labels=names, colors=plt.get_cmap("tab10").colors
        )
        axis.set_title(f"{family}, D = {chosen[0].dim}", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.set(xlim=(0, 1), ylim=(0, 1))
    for axis in axes.ravel()[len(families) :]:
        axis.axis("off")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=5, fontsize=8, frameon=False)
    figure.supxlabel("share of the budget", fontsize=9, y=0.11)
    figure.supylabel("share of the runs", fontsize=9)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(to, dpi=100)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--families", default=FAMILIES, help="of the set confirm, by name")
    parser.add_argument("--dim", type=int, default=10, help="variables; missions have their own")
    parser.add_argument("--per-variable", type=int, default=50, help="evaluations for each variable")
    parser.add_argument("--problems", type=int, default=12, help="of each family, a run each")
    args = parser.parse_args()
    policy = find_policy(args.policy, [1])
    draw_profiles(policy, args.families.split(","), args.dim, args.per_variable, args.problems, args.picture)


if __name__ == "__main__":
    main()
