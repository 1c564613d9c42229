"""The engine's constants tuned together: settings of TR's controls on generated problems, compared by quantiles.

    python benchmarks/tuning.py try out/tuning.jsonl --set train --design 96 --more 64 --minutes 9 --processes 16
    python benchmarks/tuning.py try out/tuning.jsonl --set choose --only default,best
    python benchmarks/tuning.py show out/tuning.jsonl

A setting is a value for every control of TUNED. The first ones are the defaults and 0.2.0's constants; then a Latin
hypercube; then what TR itself proposes, sixteen at a time, from all that is known. The objective is the mean quantile
of a setting's best points after 10, 20 and 50 evaluations a variable among those of the hypercube: one scale for all
problems. A file keeps every run; begun again, the command goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

import meco
from _side_by_side import machine
from meco.learn.tr.quantile import Outcomes, quantile
from meco.learn.tr.training_problems import BudgetedProblem, list_problems
from meco.tr.controls import TR_CONTROLS

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
LAYOUT = ((5, 50), (10, 50))  # D and evaluations a variable
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


def run_one(name: str, setting: Mapping[str, float], which: BudgetedProblem, seed: int) -> dict[str, Any]:
    """The best points of one search at the moments, feasibility first; the name and setting beside."""
    began = time.process_time()
    result = meco.solve("TR", which.problem, which.budget, [seed], **setting)[0]
    trace, rows = result.trace, []
    for per in MOMENTS:
        last = max(int(np.searchsorted(trace["nfev"], per * which.dim, side="right")) - 1, 0)
        rows.append([float(trace["f"][last]), float(trace["nu"][last]), bool(trace["feasible"][last])])
    return {
        "name": name, "setting": dict(setting), "family": which.family, "number": which.seed, "dim": which.dim,
        "seed": seed, "best": rows, "seconds": round(time.process_time() - began, 2),
    }  # fmt: skip


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The runs that a file holds; a line that was cut is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def score(rows: Iterable[Mapping[str, Any]], pool: Sequence[str] = ()) -> dict[str, dict[str, float]]:
    """Mean quantile of each setting for each family, among the results of the settings of a pool (all unless given)."""
    by_problem: dict[tuple[Any, ...], dict[str, list[Any]]] = defaultdict(dict)
    for row in rows:
        by_problem[row["family"], row["number"], row["dim"], row["seed"]][row["name"]] = row["best"]
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (family, *_), results in by_problem.items():
        members = [name for name in results if not pool or name in pool]
        for moment in range(len(MOMENTS)):
            theirs = Outcomes(*(np.array([results[name][moment][i] for name in members]) for i in range(3)))
            for name, best in results.items():
                mine = Outcomes(*(np.array(best[moment][i]) for i in range(3)))
                found[name][family].append(min(float(quantile(mine, theirs)), 1.0))
    return {name: {family: float(np.mean(q)) for family, q in each.items()} for name, each in found.items()}


def mean_score(families: Mapping[str, float]) -> float:
    """One number of a setting: every family counts alike."""
    return float(np.mean(list(families.values())))


def propose(
    rows: Sequence[Mapping[str, Any]], pool: Sequence[str], complete: int, count: int
) -> list[dict[str, float]]:
    """Settings that TR would try next, from those that have been run on all problems."""
    ran: dict[str, int] = defaultdict(int)
    for row in rows:
        ran[row["name"]] += 1
    settings = {row["name"]: row["setting"] for row in rows if ran[row["name"]] >= complete}
    scores = score(rows, pool)
    names = list(settings)
    x = np.array([to_unit(settings[name]) for name in names])
    f = np.array([-mean_score(scores[name]) for name in names])
    method = meco.Method("TR", batch=count, roughness=1e-2, restart_radius=0.05)
    search = meco.Optimizer([(0.0, 1.0)] * len(TUNED), budget=10_000, method=method, seed=len(names), evaluated=(x, f))
    return [from_unit(u) for u in search.ask()]


def run_all(path: Path, jobs: list[tuple[Any, ...]], processes: int, until: float) -> None:
    """Run the jobs that the file lacks and add each to it as it ends; none is begun after a moment `until`."""
    have = {(r["name"], r["family"], r["number"], r["dim"], r["seed"]) for r in read_rows(path)}
    todo = [j for j in jobs if (j[0], j[2].family, j[2].seed, j[2].dim, j[3]) not in have]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(processes) as workers, path.open("a", encoding="utf-8") as kept:
        begun = [workers.submit(run_one, *job) for job in todo]
        for ended in as_completed(begun):
            if ended.cancelled():
                continue
            kept.write(json.dumps(ended.result()) + "\n")
            kept.flush()
            if time.time() > until:
                for waiting in begun:
                    waiting.cancel()


def try_settings(args: argparse.Namespace) -> None:
    """Run the design, then rounds of proposals, until time or settings are spent."""
    until = time.time() + 60.0 * args.minutes
    problems = list_problems(args.set, LAYOUT, args.each)
    default = {c.name: c.default for c in TR_CONTROLS if c.name in TUNED}
    settings = {"default": default, "before": default | BEFORE}
    settings |= {f"design-{i}": s for i, s in enumerate(design(args.design))}
    settings |= {name: row["setting"] for row in read_rows(args.file) if (name := row["name"]) not in settings}
    if args.also:
        settings |= json.loads(args.also)
    if args.only:
        settings = {name: settings[name] for name in args.only.split(",")}
    order = sorted(problems, key=lambda p: -p.cost)
    run_all(args.file, [(n, s, p, 1) for n, s in settings.items() for p in order], args.processes, until)
    pool = [f"design-{i}" for i in range(args.design)]
    done = sum(name.startswith("round") for name in settings)
    while done < args.more and time.time() < until:
        fresh = propose(read_rows(args.file), pool, len(problems), BATCH)
        fresh = {f"round-{done + i}": s for i, s in enumerate(fresh)}
        done += len(fresh)
        run_all(args.file, [(n, s, p, 1) for n, s in fresh.items() for p in order], args.processes, until)
    show(args.file)


def show(path: Path) -> None:
    """Print the settings that ran on every problem, the best first, and what each control is worth."""
    rows = read_rows(path)
    runs: dict[str, int] = defaultdict(int)
    for row in rows:
        runs[row["name"]] += 1
    settings = {row["name"]: row["setting"] for row in rows if runs[row["name"]] == max(runs.values())}
    rows = [row for row in rows if row["name"] in settings]
    scores = score(rows, [name for name in settings if name.startswith("design")])
    means = {name: split_by_kind(each) for name, each in scores.items()}
    print("  ".join(f"{k}: {v}" for k, v in machine().items()))
    print(f"{len(settings)} settings, {max(runs.values())} runs each; mean quantiles of all, missions, others")
    for name in sorted(means, key=lambda n: -means[n]["all"]):
        print("  ".join(f"{means[name][kind]:.3f}" for kind in ("all", "missions", "others")), f" {name}")
        print("       " + " ".join(f"{k}={v:g}" for k, v in settings[name].items()))
    u = np.array([to_unit(setting) for setting in settings.values()])
    print("\nwhat a control is worth from its least value to its most, by ridge regression")
    for kind in ("missions", "others"):
        slopes, explained = effects(u, np.array([means[name][kind] for name in settings]))
        order = sorted(zip(slopes, TUNED), key=lambda pair: -abs(pair[0]))
        print(f"{kind} (leave-one-out R^2 {explained:.2f}): " + ", ".join(f"{n} {s:+.3f}" for s, n in order))


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
    parser.add_argument("what", choices=("try", "show"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--set", default="train")
    parser.add_argument("--each", type=int, default=2, help="problems of a family and size")
    parser.add_argument("--design", type=int, default=96)
    parser.add_argument("--more", type=int, default=64)
    parser.add_argument("--only", default="")
    parser.add_argument("--also", default="", help='further settings: {"name": {"theta": 0.1}}')
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    show(args.file) if args.what == "show" else try_settings(args)


if __name__ == "__main__":
    main()
