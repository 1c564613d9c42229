"""Draw what a policy of theta and share does over the run by family and D.

python tools/draw_control.py meco-tr-es docs/images/control.png
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from meco.core.arrays import Array
from meco.learn.tr.searches import run_searches
from meco.learn.tr.training_problems import BudgetedProblem, Layout, list_problems, read_layout
from meco.policies.controls import ControlSet
from meco.policies.features import FEATURES
from meco.policies.policy import Policy
from meco.policies.resolve import find_policy
from meco.tr.steered import SEARCH_FEATURES

FAMILIES = "wells-free,growth-growth,chain-mesh,chain-heavy,chain-pocket,dense-cross"
LAYOUT = "10:50,5:200"  # a row of panels each; missions have a D of their own
COLOURS = {"theta": "C0", "share": "C1"}
SPENT = FEATURES[SEARCH_FEATURES].names.index("budget spent")


@dataclass(frozen=True, eq=False)
class WatchedPolicy(Policy):
    """A policy that keeps when it decided, what it set, and what the engine's own rule would have set."""

    policy: Policy
    spent: list[float] = field(default_factory=list)
    values: list[dict[str, np.ndarray]] = field(default_factory=list)
    own: list[dict[str, np.ndarray]] = field(default_factory=list)

    @property
    def metadata(self):  # type: ignore[override]
        return self.policy.metadata

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        values = self.policy.decide(s, u, controls)
        self.spent.append(float(s[0, SPENT]))
        self.values.append({name: np.array(value) for name, value in values.items()})
        self.own.append({name: np.array(s[:, k - len(controls.names)]) for k, name in enumerate(controls.names)})
        return values


class ControlHistory(NamedTuple):
    """A control at each decision of some runs."""

    spent: np.ndarray  # [T], of the budget
    values: np.ndarray  # [T, B]
    own: np.ndarray  # [T, B]


def run_watched(policy: Policy, problems: Sequence[BudgetedProblem]) -> dict[str, ControlHistory]:
    """Theta and share over runs on problems of one shape, a run each."""
    watched = WatchedPolicy(policy)
    run_searches(problems, range(1, len(problems) + 1), watched)
    return {
        name: ControlHistory(
            np.array(watched.spent), *(np.stack([v[name] for v in each]) for each in (watched.values, watched.own))
        )
        for name in COLOURS
    }


def draw_controls(policy: Policy, families: list[str], layout: Layout, problems: int, picture: Path) -> None:
    """A panel for each family and size: means, and the middle half of the runs; dotted: what TR-ES would set."""
    inches = (2.15 * len(families), 1.9 * len(layout) + 0.4)
    figure, axes = plt.subplots(
        len(layout), len(families), figsize=inches, sharex=True, sharey=True, layout="constrained", squeeze=False
    )
    for row, size in zip(axes, layout):
        for panel, family in zip(row, families):
            chosen = list_problems("confirm", [size], problems, [family])
            for name, history in run_watched(policy, chosen).items():
                low, high = np.quantile(history.values, [0.25, 0.75], axis=1)
                panel.fill_between(history.spent, low, high, color=COLOURS[name], alpha=0.15, linewidth=0, step="post")
                panel.step(history.spent, history.values.mean(1), where="post", color=COLOURS[name], label=name)
                panel.plot(history.spent, history.own.mean(1), ":", color=COLOURS[name], linewidth=1.2)
            panel.set_title(f"{family}, D = {chosen[0].dim}, {size[1]} D evaluations", fontsize=7)
            panel.tick_params(labelsize=7)
            panel.set_xlim(0.0, 1.0)
            panel.set_ylim(0.0, 1.0)
    axes[0, 0].legend(fontsize=7, frameon=False)
    figure.supxlabel("share of the budget", fontsize=8)
    figure.savefig(picture, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--families", default=FAMILIES, help="of the set confirm, by name")
    parser.add_argument("--layout", default=LAYOUT, help="D and evaluations per variable")
    parser.add_argument("--problems", type=int, default=12)
    args = parser.parse_args()
    policy, layout = find_policy(args.policy, [1]), read_layout(args.layout)
    draw_controls(policy, args.families.split(","), layout, args.problems, args.picture)


if __name__ == "__main__":
    main()
