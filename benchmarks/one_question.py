"""A policy of one question, grown from runs that hold each profile throughout, chosen and confirmed on other families.

    python benchmarks/one_question.py grow FOLDER                       # train families: which question, and its worth
    python benchmarks/one_question.py choose FOLDER                     # choose families: trees, constants beside them
    python benchmarks/one_question.py confirm FOLDER --trees rough      # confirm families: what was chosen

Every profile is held from the first point on, with the same seeds, so that two runs differ by the profile alone; the
states of the default's runs are kept. A question (feature, cut) sends the states above its cut to one profile and all
others to the default: its worth is the mean lead over the default, and it is found without the family that it is
scored on. A tree asks at every decision; where it stays with the default its run is TR's, bit for bit, and the lead is
exactly 0. Runs are kept in the folder; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from _side_by_side import machine
from meco.core.process_pool import process_map
from meco.learn.profiles.comparison import ProfileComparison, compare_profiles
from meco.learn.profiles.rewards import quantiles_among
from meco.learn.profiles.rollouts import NEVER, PlannedResults, PlannedRuns, RolloutPlan, run_together
from meco.learn.profiles.tree import FittedTree, Question, tree_weights
from meco.learn.tr.quantile import Outcomes
from meco.learn.tr.training_problems import BudgetedProblem, list_problems, read_layout
from meco.policies.policy import ProfileTree
from meco.policies.profile_search import PROFILE_CONTROLS, PROFILE_FEATURES
from meco.tr.profile_features import PROFILE_FEATURE_NAMES
from meco.tr.profiles import complete_profiles
from steering import format_test

PROFILES = complete_profiles()
GROWN = ("default", "missions-3", "design-38", "all-18")  # profiles to grow from, the default first
CONSTANTS = ("default", "missions-3", "all-18", "others-7")  # that trees are compared with
LAYOUT = "5:50,10:20,10:50,20:20"  # D and evaluations a variable, to grow and to choose
WIDE_LAYOUT = "2:50,5:20,5:100,10:10,10:50,20:20,30:10"  # to confirm: that of steering.py's kept judgement
FAILING_BUDGET = 100  # of families that fail, at most: they cost most
SEEDS = 2  # runs of each way on a problem
FIRST_SEED = 777  # of the runs to grow from
MOMENTS = (0.1, 0.2, 0.3, 0.5)  # shares of the budget at which a question may be asked
CUTS = 20  # quantiles of a feature at which it may be cut
BUDGET = PROFILE_FEATURE_NAMES.index("budget spent")


# -- growing -----------------------------------------------------------------------------------------


def list_finite(family_set: str, layout: str, each: int) -> list[BudgetedProblem]:
    """Problems of a set, without those that fail and have more than FAILING_BUDGET evaluations."""
    found = list_problems(family_set, read_layout(layout), each)
    return [p for p in found if p.budget <= FAILING_BUDGET or p.problem.finite]


def plan_held_runs(problems: list[BudgetedProblem]) -> list[PlannedRuns]:
    """Runs that hold a profile throughout, a part for each of GROWN; those of the default keep every state."""
    number = np.repeat(np.arange(len(problems)), SEEDS)
    seeds = [FIRST_SEED + 1000 * int(i) + k for i, k in zip(number, np.tile(np.arange(SEEDS), len(problems)))]
    chosen, count = [problems[i] for i in number], len(number)
    places = [float(list(PROFILES).index(name)) for name in GROWN]
    plans = [RolloutPlan(np.full(count, place), np.full(count, NEVER), np.zeros(count)) for place in places]
    return [PlannedRuns(chosen, seeds, plan, PROFILES, (), plan is plans[0]) for plan in plans]


def held_quantiles(results: list[PlannedResults], problems: int) -> np.ndarray:
    """Final quantiles [problems, seeds, profiles] among all held runs of the same problem."""
    found = np.zeros((problems, SEEDS, len(results)))
    for number in range(problems):
        rows = slice(number * SEEDS, (number + 1) * SEEDS)
        runs = Outcomes(*(np.concatenate([getattr(r.final, k)[rows] for r in results]) for k in Outcomes._fields))
        found[number] = quantiles_among(runs, runs).reshape(len(results), SEEDS).T
    return found


def states_at(results: PlannedResults, moment: float) -> np.ndarray:
    """Features [N, F] of each run at its first decision after a share of the budget."""
    found = np.zeros((len(results.states), len(PROFILE_FEATURE_NAMES)))
    for rows, course, _ in results.courses:
        spent = course[:, :, BUDGET]  # [T, B]
        late = np.minimum((spent < moment).sum(axis=0), len(course) - 1)
        found[rows] = course[late, np.arange(len(rows))]
    return found


def find_question(s: np.ndarray, lead: np.ndarray) -> tuple[Question, float]:
    """The question whose yes gains most of leads [N] in states s [N, F], and the mean gain over all states."""
    best, most = Question(0, np.inf), 0.0
    for feature, column in enumerate(s.T):
        for cut in np.unique(np.quantile(column, np.linspace(0.0, 1.0, CUTS + 1))):
            gain = float(np.where(column > cut, lead, 0.0).mean())
            if gain > most:
                best, most = Question(feature, float(cut)), gain
    return best, most


def left_out_leads(s: np.ndarray, lead: np.ndarray, family: np.ndarray) -> np.ndarray:
    """The lead [N] of each run under the question that is found without its family."""
    found = np.zeros(len(lead))
    for each in np.unique(family):
        mine = family == each
        question, _ = find_question(s[~mine], lead[~mine])
        found[mine] = np.where(s[mine, question.feature] > question.cut, lead[mine], 0.0)
    return found


def grow(args: argparse.Namespace) -> None:
    """Print the worth of every profile held, by family, and of the best question for each profile and moment."""
    problems = list_finite("train", LAYOUT, 1)
    with process_map(args.processes) as call:
        results = run_together(plan_held_runs(problems), args.folder, call, until(args.minutes))
    if results is None:
        leave(args.folder)
    q = held_quantiles(results, len(problems))
    family = np.array([p.family for p in problems])
    print("  ".join(f"{k}: {v}" for k, v in machine().items()))
    print(f"{len(problems)} problems of {len(np.unique(family))} families, {SEEDS} seeds\n")
    for name, row in [("all", q)] + [(each, q[family == each]) for each in dict.fromkeys(family)]:
        print(f"{name:<18}" + "".join(f"{p} {v:.3f}   " for p, v in zip(GROWN, row.mean(axis=(0, 1)))))
    print("\nquestions: lead over the default on families left out of the fit, and on all")
    runs = np.repeat(family, SEEDS)
    for profile, moment, s in questions_of(results[0]):
        lead = (q[..., profile] - q[..., 0]).ravel()
        (question, gain), out = find_question(s, lead), left_out_leads(s, lead, runs)
        mean = out.reshape(-1, SEEDS).mean(axis=1)
        print(
            f"{GROWN[profile]:<12} after {moment:.0%}: {mean.mean():+.3f} +- {mean.std() / np.sqrt(len(mean)):.3f}, "
            f"{gain:+.3f}  {PROFILE_FEATURE_NAMES[question.feature]} > {question.cut:.3g}"
        )


def questions_of(default: PlannedResults) -> Iterator[tuple[int, float, np.ndarray]]:
    """Every profile but the default with every moment and the states there."""
    for profile in range(1, len(GROWN)):
        for moment in MOMENTS:
            yield profile, moment, states_at(default, moment)


# -- judging -----------------------------------------------------------------------------------------


def make_tree(constraint: float, f: float | None = None, other: str = "default") -> ProfileTree:
    """missions-3 where the roughest constraint's roughness, or that of f, is above a cut; else another profile."""
    names = list(dict.fromkeys(["default", other, "missions-3"]))
    stays, leaves = names.index(other), names.index("missions-3")
    about = PROFILE_FEATURE_NAMES.index
    first = Question(about("roughness of the roughest constraint"), constraint)
    second = None if f is None else Question(about("roughness of f"), f)
    taken = [stays, stays, leaves if f is not None else stays, leaves if f is not None else stays] + [leaves] * 4
    tree = FittedTree([first, second] + [None] * 5, taken, [0.0] * 8, 0.0, 1.0)
    metadata = {
        "features": PROFILE_FEATURES, "controls": PROFILE_CONTROLS, "kind": "profile-tree",
        "profiles": {name: PROFILES[name] for name in names},
    }  # fmt: skip
    return ProfileTree(tree_weights(tree, len(PROFILE_FEATURE_NAMES), len(names)), metadata)


TREES = {  # a roughness of 0.25 is eta = 1e-5, 0.6 is 2.5e-4
    "rough": make_tree(0.25),
    "rougher": make_tree(0.6),
    "rough or f": make_tree(0.25, f=0.6),
    "rough, else all-18": make_tree(0.25, other="all-18"),
}


def judge(args: argparse.Namespace, family_set: str, layout: str, each: int, seeds: int) -> None:
    """Print quantiles of trees and constants among the runs of the constants, and the leads over the default."""
    problems = list_finite(family_set, layout, each)
    trees = {name: TREES[name] for name in args.trees or TREES}
    constants = {name: PROFILES[name] for name in CONSTANTS}
    with process_map(args.processes) as call:
        found = compare_profiles(constants, trees, problems, seeds, args.folder, call, until(args.minutes))
    if found is None:
        leave(args.folder)
    print_judgement(found, list(trees))


def print_judgement(found: ProfileComparison, trees: list[str]) -> None:
    """Scores, leads of everyone over the default, of the first tree over everyone, and means by family."""
    family = np.array([p.family for p in found.problems])
    print("  ".join(f"{k}: {v}" for k, v in machine().items()))
    print(f"{len(family)} problems of {len(np.unique(family))} families\n")
    for name in sorted(found.names, key=lambda k: -found.scores[k]):
        other = np.mean(found.lead(name, "default") != 0.0)
        print(f"{found.scores[name]:.4f}  {name:<20} ahead of the default by {format_test(found, name, 'default')}")
        print(f"{'':<28}another result than the default's on {other:.0%} of the problems")
    print()
    for name in found.names:
        if name != trees[0]:
            print(f"{trees[0]} ahead of {name:<20} {format_test(found, trees[0], name)}")
    print(f"\n{'by family':<20}" + "  ".join(found.names))
    for each in dict.fromkeys(family):
        print(f"{each:<20}" + "  ".join(f"{v:.3f}" for v in found.quantiles[family == each].mean(axis=0)))


def until(minutes: float) -> Callable[[], bool]:
    """Whether so many minutes are over, as a function."""
    end = time.time() + 60.0 * minutes
    return lambda: time.time() > end


def leave(folder: Path) -> NoReturn:
    """Say how to go on, and exit."""
    print(f"stopped; the same command goes on with the runs in {folder}")
    raise SystemExit(130)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("grow", "choose", "confirm"))
    parser.add_argument("folder", type=Path, help="of kept runs")
    parser.add_argument("--trees", nargs="+", choices=list(TREES), help="all unless given")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=9.0)
    args = parser.parse_args()
    if args.what == "grow":
        grow(args)
    elif args.what == "choose":
        judge(args, "choose", LAYOUT, 1, SEEDS)
    else:
        judge(args, "confirm", WIDE_LAYOUT, 2, 1)


if __name__ == "__main__":
    main()
