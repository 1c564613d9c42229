"""Draw what a policy of MeCO-TR does: theta and share over the run by family, and which features matter.

    python tools/draw_control.py meco-tr docs/images/control.png --set confirm --dim 10 --problems 8
    python tools/draw_control.py meco-tr docs/images/importance.png --importance RESULTS.jsonl

RESULTS.jsonl is what `benchmarks/control.py --importance --out` kept.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import meco
from meco.problems.generated import GENERATED, Family, make_batch

GRID = np.linspace(0.0, 1.0, 101)  # of the budget
COLOURS = {"theta": "C0", "share": "C1"}


def courses(policy: Any, family: str, dim: int, problems: int, first: int = 5001) -> dict[str, np.ndarray]:
    """Theta and share of each run at each hundredth of the budget: [runs, 101]."""
    kind = GENERATED[family]
    batch = make_batch(family, range(first, first + problems), dim if isinstance(kind, Family) else None)
    runs = meco.solve("MeCO-TR", list(batch), seeds=range(problems), policy=policy)
    found = {}
    for name in COLOURS:
        held = [np.searchsorted(r.trace["nfev"] / r.trace["nfev"][-1], GRID, side="left") for r in runs]
        found[name] = np.stack([r.trace[name][np.minimum(i, len(r.trace[name]) - 1)] for r, i in zip(runs, held)])
    return found


def draw_courses(policy: Any, chosen: str, dim: int, problems: int, picture: Path) -> None:
    """A panel for each family: means, and where the middle half of the runs lies; dotted what TR-ES would set."""
    families = [name for name, family in GENERATED.items() if family.set == chosen]
    columns = 5
    figure, axes = plt.subplots(
        -(-len(families) // columns), columns, figsize=(13, 2.6 * -(-len(families) // columns)), sharex=True,
        sharey=True, layout="constrained", squeeze=False,
    )  # fmt: skip
    for panel, family in zip(axes.flat, families):
        for name, values in courses(policy, family, dim, problems).items():
            low, high = np.quantile(values, [0.25, 0.75], axis=0)
            panel.fill_between(GRID, low, high, color=COLOURS[name], alpha=0.2, linewidth=0)
            panel.plot(GRID, values.mean(axis=0), color=COLOURS[name], label=name)
        panel.plot(GRID, 0.5 * (1.0 - GRID), ":", color=COLOURS["theta"], linewidth=0.8)
        panel.set_title(family, fontsize=9)
    for panel in axes.flat[len(families) :]:
        panel.set_axis_off()
    axes[0, 0].legend(fontsize=8)
    figure.supxlabel("share of the budget")
    figure.savefig(picture, dpi=110)


def draw_importance(results: Path, picture: Path) -> None:
    """What the mean quantile loses when a feature is that of another run."""
    rows = [json.loads(line)["quantile"] for line in results.read_text().splitlines()]
    mixed = {name: name.partition(", mixed ") for name in rows[0] if ", mixed " in name}
    if not mixed:
        raise SystemExit(f"{results} has no mixed features: make it with benchmarks/control.py --importance")
    loss = {}
    for name, (policy, _, feature) in mixed.items():
        change = np.array([row[policy] - row[name] for row in rows])
        loss[feature] = (change.mean(), change.std() / np.sqrt(len(change)))
    order = sorted(loss, key=lambda feature: loss[feature][0])
    figure, axes = plt.subplots(figsize=(7, 0.26 * len(order) + 1), layout="constrained")
    mean, error = zip(*(loss[feature] for feature in order))
    axes.barh(order, mean, xerr=error, color="C0", error_kw={"elinewidth": 0.8})
    axes.axvline(0.0, color="0.3", linewidth=0.8)
    axes.set_xlabel("mean final quantile lost without it")
    figure.savefig(picture, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--set", default="confirm")
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--problems", type=int, default=8)
    parser.add_argument("--importance", type=Path)
    args = parser.parse_args()
    if args.importance:
        draw_importance(args.importance, args.picture)
    else:
        draw_courses(args.policy, args.set, args.dim, args.problems, args.picture)


if __name__ == "__main__":
    main()
