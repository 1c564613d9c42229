"""Policies over profiles judged on families that they have not seen, beside every profile, chance, and no training.

    python benchmarks/steering.py judge out/judge --policies tr-profiles-seed1,... \\
        --set confirm --each 2 --seeds 2 --device cuda --processes 16 --minutes 9

The scale is the quantile of a run's final best point, feasibility first, among the runs of all profiles of the
dictionary on the same problem; a problem's score is the mean over seeds. The default is the tuned constant: a policy
has to be ahead of it. Leads are tested over problems, by Wilcoxon's signed ranks and by 10,000 random signs, and with
random signs of whole families, which are fewer and say whether other kinds of problems would agree. Runs are kept in
the folder; the same command goes on where it was stopped, and prints when nothing is left to run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from _side_by_side import machine
from meco.bench.report.stats import wilcoxon_p
from meco.core.process_pool import process_map
from meco.learn.profiles.comparison import ProfileComparison, compare_profiles
from meco.learn.tr.training_problems import list_problems, read_layout
from meco.policies.network import NetworkShape, draw_weights
from meco.policies.policy import Policy, ProfileChoice, RandomPolicy
from meco.policies.store import load_policy
from meco.tr.profile_features import PROFILE_FEATURE_NAMES
from meco.tr.profiles import complete_profiles
from tuning import MISSIONS, hindsight_gap

LAYOUT = "2:50,5:20,5:50,10:10,10:50,20:20,30:10,5:200"  # D and evaluations a variable
UNTRAINED = 3  # networks without training
PHASES = (
    ("first tenth", 0.0, 0.1),
    ("to a third", 0.1, 0.33),
    ("to two thirds", 0.33, 0.67),
    ("last third", 0.67, 1.0),
)
SIGNS = 10_000  # random signs of a permutation test


def list_ways(paths: Sequence[str]) -> dict[str, Policy]:
    """The policies in files, each with its tree where that lies beside it, random profiles and untrained networks."""
    found: dict[str, Policy] = {}
    for path in paths:
        found[Path(path).stem] = load_policy(path)
        tree = Path(path).with_name(f"{Path(path).stem}-tree.safetensors")
        if tree.is_file():
            found[tree.stem] = load_policy(tree)
    found["random profiles"] = RandomPolicy()
    profiles = complete_profiles()
    shape = NetworkShape(len(PROFILE_FEATURE_NAMES), 32, len(profiles))
    for seed in range(1, UNTRAINED + 1):
        weights = draw_weights(np.random.default_rng(seed), shape)
        found[f"untrained {seed}"] = ProfileChoice(weights, {"features": "tr-search", "profiles": profiles})
    return found


def sign_p(lead: np.ndarray, group: np.ndarray | None = None) -> float:
    """How often random signs of leads [N], or of whole groups [N] of them, give a mean as far from 0."""
    rng = np.random.default_rng(1)
    sums = lead if group is None else np.array([lead[group == each].sum() for each in np.unique(group)])
    drawn = np.abs(rng.choice([-1.0, 1.0], size=(SIGNS, len(sums))) @ sums)
    return float((1 + np.count_nonzero(drawn >= np.abs(sums.sum()) * (1.0 - 1e-12))) / (SIGNS + 1))


def format_test(comparison: ProfileComparison, name: str, other: str) -> str:
    """The lead of one way over another: mean, error, three p."""
    lead, error = comparison.lead(name, other), comparison.lead_error(name, other)
    family = np.array([problem.family for problem in comparison.problems])
    p = wilcoxon_p(lead, np.zeros_like(lead))
    return (
        f"{lead.mean():+.4f} +- {error:.4f}  effect {lead.mean() / (lead.std() or 1.0):+.2f}  "
        f"p {p:.2g} (signs {sign_p(lead):.2g}, of families {sign_p(lead, family):.2g})"
    )


def print_comparison(comparison: ProfileComparison, policies: Sequence[str]) -> None:
    """Scores, the first policy's lead over all others, leads of the others over the default, and by family."""
    first, scores = policies[0], comparison.scores
    family = np.array([problem.family for problem in comparison.problems])
    sizes = np.array([f"{problem.dim}:{problem.budget // problem.dim}" for problem in comparison.problems])
    profiles = comparison.names[: len(complete_profiles())]
    print("  ".join(f"{k}: {v}" for k, v in machine().items()))
    print(f"{len(family)} problems of {len(np.unique(family))} families\n")
    for name in sorted(scores, key=lambda each: -scores[each]):
        test = "" if name == first else f"  {first} ahead by {format_test(comparison, first, name)}"
        print(f"{scores[name]:.4f}  {name:<36}{test}")
    print("\nahead of the default, the tuned constant")
    for name in policies:
        print(f"  {name:<36}{format_test(comparison, name, 'default')}")
    table = comparison.quantiles[:, : len(profiles)]
    print(f"\ngap of hindsight over the best single profile, by family: {hindsight_gap(table, family).mean():+.4f}")
    lead = comparison.lead(first, "default")
    for title, group in (("size", sizes), ("family", family)):
        rows = sorted(((lead[group == each].mean(), each) for each in np.unique(group)), reverse=True)
        print(f"{first} ahead of the default by {title}: " + ", ".join(f"{each} {mean:+.3f}" for mean, each in rows))
    rough = np.array([each.startswith(MISSIONS) for each in family])
    for title, which in (("missions", rough), ("other families", ~rough)):
        if which.any():
            print(f"{title}: {lead[which].mean():+.4f}")


def print_decisions(comparison: ProfileComparison, name: str) -> None:
    """Which profiles a policy holds, at the start, early, in the middle and late, over all and by family."""
    taken = comparison.taken[:, comparison.names.index(name)]  # [N, T]
    family = np.array([problem.family for problem in comparison.problems])
    names = (*complete_profiles(), "another")
    print(f"\nwhat {name} holds: shares of decisions")
    within = taken >= -1
    place = np.cumsum(within, axis=1) / within.sum(axis=1, keepdims=True)  # of the run
    for title, low, high in PHASES:
        print(f"  {title:<22}{_format_shares(taken[(place > low) & (place <= high) & within], names)}")
    for each in np.unique(family):
        mine = (family == each)[:, None] & within
        print(f"  {each:<22}{_format_shares(taken[mine], names)}")


def draw_decisions(comparison: ProfileComparison, name: str, path: Path) -> None:
    """Write a picture: shares of the profiles that a policy holds over the run, a panel for each family."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    taken = comparison.taken[:, comparison.names.index(name)]
    family = np.array([problem.family for problem in comparison.problems])
    families, names, moments = np.unique(family), tuple(complete_profiles()), np.linspace(0.0, 1.0, 51)
    rows = -(-len(families) // 5)
    figure, axes = plt.subplots(rows, 5, figsize=(15, 2.2 * rows), squeeze=False, sharex=True, sharey=True)
    for axis in axes.ravel()[len(families) :]:
        axis.axis("off")
    for axis, each in zip(axes.ravel(), families):
        runs = [run[run >= -1] for run in taken[family == each]]
        at = np.array([run[np.minimum((moments * len(run)).astype(int), len(run) - 1)] for run in runs])
        shares = [np.mean(at == k, axis=0) for k in range(len(names))]
        axis.stackplot(moments, shares, labels=names, colors=plt.get_cmap("tab10").colors)
        axis.set(title=each, xlim=(0, 1), ylim=(0, 1))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=5)
    for axis in axes[-1]:
        axis.set(xlabel="share of the run")
    figure.tight_layout(rect=(0, 0.5 / figure.get_size_inches()[1], 1, 1))
    figure.savefig(path, dpi=100)


def _format_shares(taken: np.ndarray, names: Sequence[str]) -> str:
    """The profiles that make more than a twentieth, the most frequent first."""
    counts = np.bincount(np.where(taken < 0, len(names) - 1, taken), minlength=len(names)) / max(1, taken.size)
    return ", ".join(f"{names[k]} {counts[k]:.0%}" for k in np.argsort(-counts) if counts[k] > 0.05)


def judge(args: argparse.Namespace) -> None:
    """Run what the folder lacks, and print what all of it says."""
    until = time.time() + 60.0 * args.minutes
    families = tuple(args.families.split(",")) if args.families else ()
    problems = list_problems(args.set, read_layout(args.layout), args.each, families, args.first)
    problems = [p for p in problems if p.budget <= args.failing_budget or p.problem.finite]
    paths = args.policies.split(",")
    ways = list_ways(paths)
    with process_map(args.processes) as call:
        found = compare_profiles(
            complete_profiles(), ways, problems, args.seeds, args.folder, call, lambda: time.time() > until,
            args.device, args.width,
        )  # fmt: skip
    if found is None:
        print(f"stopped; the same command goes on with the runs in {args.folder}")
        raise SystemExit(130)
    policies = [name for name in ways if name != "random profiles" and not name.startswith("untrained")]
    print_comparison(found, policies)
    print_decisions(found, Path(paths[0]).stem)
    if args.picture is not None:
        draw_decisions(found, Path(paths[0]).stem, args.picture)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("judge",))
    parser.add_argument("folder", type=Path, help="of kept runs")
    parser.add_argument("--policies", required=True, help="files, the first is the one to judge")
    parser.add_argument("--set", default="choose", choices=("train", "choose", "confirm"))
    parser.add_argument("--families", default="", help="some of the set")
    parser.add_argument("--layout", default=LAYOUT, help="D and evaluations a variable")
    parser.add_argument("--each", type=int, default=2, help="problems of a family and size")
    parser.add_argument("--first", type=int, default=1, help="number of the first problem of a family")
    parser.add_argument(
        "--failing-budget", type=int, default=250, help="of families that fail, at most: they cost most"
    )
    parser.add_argument("--seeds", type=int, default=2, help="runs of each way on a problem")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--width", type=int, default=1000, help="runs in lockstep on a device, at most")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--picture", type=Path, help="of the profiles that the first policy holds")
    parser.add_argument("--minutes", type=float, default=9.0)
    judge(parser.parse_args())


if __name__ == "__main__":
    main()
