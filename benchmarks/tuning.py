"""The engine's constants tuned together: settings of TR's controls on generated problems, compared by quantiles.

    python benchmarks/tuning.py try out/tuning.jsonl --set train --design 96 --more 64 --minutes 9 --processes 16
    python benchmarks/tuning.py try out/tuning.jsonl --set train --design 512 --more 0 --minutes 9 --device cuda
    python benchmarks/tuning.py try out/tuning.jsonl --set choose --only default,best
    python benchmarks/tuning.py show out/tuning.jsonl
    python benchmarks/tuning.py gate out/tuning.jsonl

A setting is a value for every control of TUNED. The first ones are the defaults and 0.2.0's constants; then a Latin
hypercube; then what TR itself proposes, sixteen at a time, from all that is known. The objective is the mean quantile
of a setting's best points after 10, 20 and 50 evaluations a variable among those of the hypercube: one scale for all
problems. A file keeps every run; begun again, the command goes on where it was.

`gate` says what knowing the family of a problem beforehand would be worth: profiles (settings) are chosen on half of
the problems of every family and size, and compared on the other half with the one profile that is best on all. More
than that can be had only by telling problems of one family apart, or by changing profiles within a run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import meco
from _side_by_side import machine
from meco.core.arrays import asarray_like
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import DeviceStreams, Streams
from meco.device.cuda_graphs import find_recorder
from meco.learn.tr.quantile import Outcomes, quantile
from meco.learn.tr.training_problems import BudgetedProblem, group_by_shape, list_problems, read_layout
from meco.tr.controls import TR_CONTROLS
from meco.tr.engine import TrustRegion

TUNED: dict[str, tuple[float, float, bool]] = {  # least, most, whether in logarithms
    "theta": (0.0, 0.5, False),
    "margin": (0.02, 0.3, True),
    "caution": (0.1, 10.0, True),
    "roughness": (1e-11, 1e-5, True),
    "gradient_freedom": (10.0, 1000.0, True),
    "initial_radius": (0.1, 0.4, True),
    "restart_radius": (1e-7, 1e-2, True),
    "restart_distance": (0.1, 1.0, True),
    "radius_growth": (1.4, 3.5, True),
    "radius_shrinkage": (0.3, 0.7, False),
    "good_ratio": (0.2, 0.8, False),
    "poor_ratio": (0.01, 0.2, False),
    "far_radii": (1.2, 4.0, True),
    "kappa": (0.1, 1.0, True),
    "weight_decay": (0.2, 2.0, True),
    "multiplier_memory": (0.0, 0.7, False),
    "shaping": (0.0, 0.3, False),
}
BEFORE = {  # 0.2.0's constants, as far as the engine still has them
    "theta": 0.3, "caution": 10.0, "roughness": 1e-6, "restart_distance": 0.25, "radius_growth": 1.6,
    "radius_shrinkage": 0.6, "good_ratio": 0.7, "multiplier_memory": 0.5, "shaping": 0.0,
}  # fmt: skip
MOMENTS = (10, 20, 50)  # evaluations a variable after which the best point is looked at
MISSIONS = ("mission", "wide", "dense")  # families of missions begin so
BATCH = 16  # settings that TR proposes at a time


def from_unit(u: Sequence[float]) -> dict[str, float]:
    """The setting at a point [K] of the unit cube."""
    found = {}
    for share, (name, (low, high, log)) in zip(u, TUNED.items(), strict=True):
        found[name] = low * (high / low) ** share if log else low + share * (high - low)
    return {name: float(f"{value:.4g}") for name, value in found.items()}


def to_unit(setting: Mapping[str, float]) -> np.ndarray:
    """The point [K] of the unit cube of a setting; what it leaves out has its default."""
    default = {c.name: c.default for c in TR_CONTROLS} | dict(setting)
    found = []
    for name, (low, high, log) in TUNED.items():
        value = min(max(default[name], low), high)
        found.append(math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low))
    return np.array(found)


def design(count: int) -> list[dict[str, float]]:
    """So many settings: a Latin hypercube, the same whenever it is asked for."""
    rng = np.random.default_rng(1)
    u = np.stack([(rng.permutation(count) + rng.random(count)) / count for _ in TUNED], axis=1)
    return [from_unit(row) for row in u]


def run_lockstep(
    settings: Mapping[str, Mapping[str, float]], problems: Sequence[BudgetedProblem], seed: int, device: str
) -> list[dict[str, Any]]:
    """Every setting on every problem, all of one shape, at once: for each problem the settings' best points.

    On "cpu" each run has the stream of its seed, so that all settings see the same numbers; elsewhere one generator
    serves all runs.
    """
    runs = [problem for problem in problems for _ in settings]
    rng: Any = Streams([seed] * len(runs)) if device == "cpu" else DeviceStreams(seed, len(runs), device)
    evaluator = Evaluator.on([p.problem for p in runs], runs[0].budget, len(runs), rng.xp, rng.device, rng)
    engine = TrustRegion(Task.of(evaluator, rng))
    like = rng.uniform(1)[:, 0]
    columns = {name: [each[name] for each in settings.values()] * len(problems) for name in TUNED}
    engine.steer({name: asarray_like(np.array(column), like) for name, column in columns.items()})
    loop = Loop(engine, evaluator, find_recorder(rng), traced=False)
    found: list[list[list[Any]]] = [[] for _ in runs]
    with np.errstate(all="ignore"):
        for per in MOMENTS:
            while not evaluator.is_spent and evaluator.budget - evaluator.left < per * runs[0].dim:
                loop.step()
            best = evaluator.history.feasible_best.point_in_numpy()
            for row, f, nu, kept in zip(found, best.f[:, 0], best.nu[:, 0], best.feasible[:, 0]):
                row.append([float(f), float(nu), bool(kept)])
    parts = [found[k : k + len(settings)] for k in range(0, len(found), len(settings))]
    return [
        {"family": p.family, "number": p.seed, "dim": p.dim, "seed": seed, "best": dict(zip(settings, part))}
        for p, part in zip(problems, parts)
    ]


class Trials(NamedTuple):
    """What a file holds: settings by name, and the best points of settings on a problem, one record for each."""

    settings: dict[str, dict[str, float]]
    records: list[dict[str, Any]]

    def names_of(self, problem: BudgetedProblem, seed: int) -> set[str]:
        """The settings that have been run on a problem."""
        key = (problem.family, problem.seed, problem.dim, seed)
        mine = [r for r in self.records if (r["family"], r["number"], r["dim"], r["seed"]) == key]
        return {name for record in mine for name in record["best"]}


def read_trials(path: Path) -> Trials:
    """The trials in a file; a line that was cut is left out."""
    found = Trials({}, [])
    opened = gzip.open if path.suffix == ".gz" else open
    for line in opened(path, "rt", encoding="utf-8") if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "settings" in row:
            found.settings.update(row["settings"])
        else:
            found.records.append(row)
    return found


def score(records: Iterable[Mapping[str, Any]], pool: Sequence[str] = ()) -> dict[str, dict[str, float]]:
    """Mean quantile of each setting for each family, among the results of the settings of a pool (all unless given)."""
    by_problem: dict[tuple[Any, ...], dict[str, list[Any]]] = defaultdict(dict)
    for row in records:
        by_problem[row["family"], row["number"], row["dim"], row["seed"]] |= row["best"]
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (family, *_), results in by_problem.items():
        members = [name for name in results if not pool or name in pool]
        for moment in range(len(MOMENTS)):
            theirs = Outcomes(*(np.array([results[name][moment][i] for name in members]) for i in range(3)))
            mine = Outcomes(*(np.array([best[moment][i] for best in results.values()]) for i in range(3)))
            wide = Outcomes(*(np.broadcast_to(part, (len(results), len(members))) for part in theirs))
            for name, q in zip(results, np.minimum(quantile(mine, wide), 1.0)):
                found[name][family].append(float(q))
    return {name: {family: float(np.mean(q)) for family, q in each.items()} for name, each in found.items()}


def mean_score(families: Mapping[str, float]) -> float:
    """One number of a setting: every family counts alike."""
    return float(np.mean(list(families.values())))


def propose(trials: Trials, pool: Sequence[str], complete: int, count: int) -> list[dict[str, float]]:
    """Settings that TR would try next, from those that have been run on all problems."""
    names, scores = list_complete(trials, complete), score(trials.records, pool)
    x = np.array([to_unit(trials.settings[name]) for name in names])
    f = np.array([-mean_score(scores[name]) for name in names])
    method = meco.Method("TR", batch=count, roughness=1e-2, restart_radius=0.05)
    search = meco.Optimizer([(0.0, 1.0)] * len(TUNED), budget=10_000, method=method, seed=len(names), evaluated=(x, f))
    return [from_unit(u) for u in search.ask()]


def list_complete(trials: Trials, complete: int) -> list[str]:
    """The settings that have been run so many times."""
    ran: dict[str, int] = defaultdict(int)
    for record in trials.records:
        for name in record["best"]:
            ran[name] += 1
    return [name for name in trials.settings if ran[name] >= complete]


def run_all(
    path: Path,
    settings: Mapping[str, Mapping[str, float]],
    problems: Sequence[BudgetedProblem],
    args: Any,
    until: float,
) -> None:
    """Run what the file lacks and add it as it ends; nothing is begun after a moment `until`."""
    known, jobs = read_trials(path), []
    for group in group_by_shape(problems):
        todo: dict[tuple[str, ...], list[BudgetedProblem]] = defaultdict(list)
        for problem in (problems[i] for i in group):
            have = known.names_of(problem, args.seed)
            todo[tuple(name for name in settings if name not in have)].append(problem)
        for names, some in todo.items():
            for k in range(0, len(names), args.at_once):
                jobs.append(({name: settings[name] for name in names[k : k + args.at_once]}, some))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as kept:
        kept.write(json.dumps({"settings": {name: dict(setting) for name, setting in settings.items()}}) + "\n")
        for records in _each_result(jobs, args, until):
            kept.writelines(json.dumps(record) + "\n" for record in records)
            kept.flush()


def _each_result(jobs: list[Any], args: Any, until: float) -> Iterator[list[dict[str, Any]]]:
    """Records of the jobs as they end: one by one on a device, else on processes."""
    if args.device != "cpu":
        import torch

        for settings, problems in jobs:
            if time.time() > until:
                return
            began = time.time()
            yield run_lockstep(settings, problems, args.seed, args.device)
            torch.cuda.empty_cache()
            print(f"{problems[0].shape}: {len(settings)} x {len(problems)} runs in {time.time() - began:.1f} s")
        return
    with ProcessPoolExecutor(args.processes) as workers:
        begun = [workers.submit(run_lockstep, *job, args.seed, "cpu") for job in jobs]
        for ended in as_completed(begun):
            if not ended.cancelled():
                yield ended.result()
            if time.time() > until:
                for waiting in begun:
                    waiting.cancel()


def try_settings(args: argparse.Namespace) -> None:
    """Run the design, then rounds of proposals, until time or settings are spent."""
    until = time.time() + 60.0 * args.minutes
    problems = list_problems(args.set, read_layout(args.layout), args.each)
    if args.device != "cpu":  # where every search with one failure would model failures at every step
        problems = [problem for problem in problems if problem.problem.finite]
    default = {c.name: c.default for c in TR_CONTROLS if c.name in TUNED}
    settings: dict[str, Mapping[str, float]] = {"default": default, "before": default | BEFORE}
    settings |= {f"design-{i}": s for i, s in enumerate(design(args.design))}
    settings |= {n: s for n, s in read_trials(args.file).settings.items() if n not in settings}
    settings |= {name: default | setting for name, setting in json.loads(args.also or "{}").items()}
    if args.only:
        settings = {name: settings[name] for name in args.only.split(",")}
    run_all(args.file, settings, problems, args, until)
    pool = [f"design-{i}" for i in range(args.design)]
    done = sum(name.startswith("round") for name in settings)
    while done < args.more and time.time() < until:
        fresh = propose(read_trials(args.file), pool, len(problems), BATCH)
        named = {f"round-{done + i}": s for i, s in enumerate(fresh)}
        done += len(named)
        run_all(args.file, named, problems, args, until)
    show(args.file)


def show(path: Path) -> None:
    """Print the settings that ran on every problem, the best first, and what each control is worth."""
    trials = read_trials(path)
    most = max(sum(name in r["best"] for r in trials.records) for name in trials.settings)
    settings = {name: trials.settings[name] for name in list_complete(trials, most)}
    scores = score(trials.records, [name for name in settings if name.startswith("design")] or list(settings))
    means = {name: split_by_kind(scores[name]) for name in settings}
    print("  ".join(f"{k}: {v}" for k, v in machine().items()))
    print(f"{len(settings)} settings, {most} runs each; mean quantiles of all, missions, others")
    for name in sorted(means, key=lambda n: -means[n]["all"]):
        print("  ".join(f"{means[name][kind]:.3f}" for kind in ("all", "missions", "others")), f" {name}")
        print("       " + " ".join(f"{k}={v:g}" for k, v in settings[name].items()))
    u = np.array([to_unit(setting) for setting in settings.values()])
    print("\nwhat a control is worth from its least value to its most, by ridge regression")
    for kind in ("missions", "others"):
        slopes, explained = effects(u, np.array([means[name][kind] for name in settings]))
        order = sorted(zip(slopes, TUNED), key=lambda pair: -abs(pair[0]))
        print(f"{kind} (leave-one-out R^2 {explained:.2f}): " + ", ".join(f"{n} {s:+.3f}" for s, n in order))


def profile_scores(records: Sequence[Mapping[str, Any]], moments: Sequence[int]) -> tuple[list[str], np.ndarray]:
    """Names of the profiles that every record has, and their mean quantiles at the moments: [problems, profiles]."""
    names = [name for name in records[0]["best"] if all(name in record["best"] for record in records)]
    table = np.zeros((len(records), len(names)))
    for row, record in zip(table, records):
        for moment in moments:
            best = [record["best"][name][moment] for name in names]
            all_of_them = Outcomes(*(np.array([each[i] for each in best]) for i in range(3)))
            wide = Outcomes(*(np.broadcast_to(part, (len(names), len(names))) for part in all_of_them))
            row += np.minimum(quantile(all_of_them, wide), 1.0) / len(moments)
    return names, table


def hindsight_gap(table: np.ndarray, group: np.ndarray, splits: int = 400) -> np.ndarray:
    """What the best profile of a group [problems] is ahead of the best single one, where neither was chosen: [groups].

    Each split halves the problems of every group at random: profiles are chosen on one half, compared on the other.
    """
    rng, groups = np.random.default_rng(1), np.unique(group)
    gaps = np.zeros(len(groups))
    for _ in range(splits):
        half = np.zeros(len(group), dtype=bool)
        for each in groups:
            mine = rng.permutation(np.flatnonzero(group == each))
            half[mine[: len(mine) // 2]] = True
        chosen, kept = (
            np.array([table[(group == each) & side].mean(axis=0) for each in groups]) for side in (half, ~half)
        )
        single = chosen.mean(axis=0).argmax()
        gaps += kept[np.arange(len(groups)), chosen.argmax(axis=1)] - kept[:, single]
    return gaps / splits


def show_gate(path: Path) -> None:
    """Print the profiles' scores and the gap of hindsight, at all moments and at each, by family and size."""
    trials = read_trials(path)
    most = max(len(record["best"]) for record in trials.records)
    records = [record for record in trials.records if len(record["best"]) == most]
    family = np.array([f"{record['family']} {record['dim']}" for record in records])
    missions = np.array([record["family"].startswith(MISSIONS) for record in records])
    print("  ".join(f"{k}: {v}" for k, v in machine().items()))
    print(f"{len(records)} problems of {len(np.unique(family))} families and sizes, {most} profiles\n")
    for moments in ([0, 1, 2], [0], [1], [2]):
        names, table = profile_scores(records, moments)
        gaps = hindsight_gap(table, family)
        at = ", ".join(str(MOMENTS[moment]) for moment in moments)
        print(f"after {at} evaluations a variable: gap of hindsight {gaps.mean():+.3f}")
        if len(moments) > 1:
            means = np.array([table[family == each].mean(axis=0) for each in np.unique(family)])
            for k in np.argsort(-means.mean(axis=0)):
                print(
                    f"  {names[k]:<18}{means[:, k].mean():.3f}  missions {table[missions][:, k].mean():.3f}  "
                    f"others {table[~missions][:, k].mean():.3f}"
                )
            best = [names[k] for k in means.argmax(axis=1)]
            rows = sorted(zip(gaps, np.unique(family), best), reverse=True)
            print("  by family and D: " + ", ".join(f"{each} {gap:+.2f} ({name})" for gap, each, name in rows))
    print("\nprofiles")
    for name, setting in trials.settings.items():
        if name in records[0]["best"]:
            print(f"  {name}: " + " ".join(f"{k}={v:g}" for k, v in setting.items()))


def split_by_kind(families: Mapping[str, float]) -> dict[str, float]:
    """Mean quantile of all families, of missions, and of the others."""
    rough = [q for family, q in families.items() if family.startswith(MISSIONS)]
    smooth = [q for family, q in families.items() if not family.startswith(MISSIONS)]
    return {"all": mean_score(families), "missions": float(np.mean(rough)), "others": float(np.mean(smooth))}


def effects(u: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Slopes [K] of scores y [N] along the sides of the unit cube, u [N, K], and the leave-one-out R^2."""
    columns = np.column_stack([np.ones(len(u)), u - 0.5])
    ridge = np.diag([0.0, *np.ones(u.shape[1])])
    inverse = np.linalg.inv(columns.T @ columns + ridge)
    found = inverse @ columns.T @ y
    leverage = np.sum((columns @ inverse) * columns, axis=1)
    missed = (y - columns @ found) / (1.0 - leverage)
    return found[1:], float(1.0 - missed.var() / y.var())


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("try", "show", "gate"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--set", default="train")
    parser.add_argument("--each", type=int, default=2, help="problems of a family and size")
    parser.add_argument("--design", type=int, default=96)
    parser.add_argument("--more", type=int, default=64)
    parser.add_argument("--only", default="")
    parser.add_argument("--also", default="", help='further settings: {"name": {"theta": 0.1}}')
    parser.add_argument("--layout", default="5:50,10:50", help="D and evaluations a variable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=64, help="settings in lockstep")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    {"show": lambda: show(args.file), "gate": lambda: show_gate(args.file), "try": lambda: try_settings(args)}[
        args.what
    ]()


if __name__ == "__main__":
    main()
