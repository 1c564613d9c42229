"""The fast benchmarks: ratios that hold on any machine, beside those that were kept.

    python benchmarks/bench.py [--keep]

Everything is measured in CPU time, in turns and in one process, and divided by a neighbour: SciPy, one run at a time,
the search without what is added to it. No absolute time is compared. What is more than 20 % above the kept ratio is
measured once more, and named if it still is. --keep writes results/bench.json, with machine and commit.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import meco
from _side_by_side import machine, medians, optional
from overhead import BUDGET, make_ours, make_scipy_de, make_trivial_problem
from trust_region import run_cobyqa

KEPT = Path(__file__).parent / "results" / "bench.json"
SLOWER = 1.2  # times the kept ratio
LOCKSTEP = 32  # runs that go together
Ratios = dict[str, float]


def ratios_to_scipy() -> Ratios:
    """One run of 2500 evaluations with two constraints, by SciPy's vectorised DE without any."""
    methods = {name: make_ours(name, 50, 2) for name in ("SHADE", "SHADE-FR", "MeCO", "MA-ES")}
    wider = {"SHADE, 20 constraints": make_ours("SHADE", 50, 20), "SHADE, D = 100": make_ours("SHADE", 100, 2)}
    seconds = medians({"SciPy": make_scipy_de(50), **methods, **wider}, 7)
    return {f"{name} / SciPy DE": seconds[name] / seconds["SciPy"] for name in (*methods, *wider)}


def lockstep_ratios() -> Ratios:
    """A run among others, by a run alone."""
    problem, runs = make_trivial_problem(10, 2), LOCKSTEP
    found = {}
    for name, budget in (("SHADE", 500), ("MA-ES", 500), ("MeCO", 500), ("TR", 60)):
        one, many = _make_solve(name, problem, budget, 1), _make_solve(name, problem, budget, runs)
        seconds = medians({"one": one, "many": many}, 3)
        found[f"{name}, {runs} in lockstep / alone"] = seconds["many"] / runs / seconds["one"]
    return found


def trust_region_ratios() -> Ratios:
    """TR, alone and a run of those in lockstep, by COBYQA: an evaluation with what the method spends on it."""
    found = {}
    for dim in (10, 30):
        problem = meco.get_problem("C05", dim=dim)
        budget = 10 * dim
        seconds = medians(
            {
                "TR": _make_solve("TR", problem, budget),
                "lockstep": _make_solve("TR", problem, budget, LOCKSTEP),
                "COBYQA": lambda p=problem, b=budget: run_cobyqa(p, b),
            },
            3,
        )
        peer = seconds["COBYQA"] / run_cobyqa(problem, budget)
        found[f"TR / COBYQA, D = {dim}"] = seconds["TR"] / budget / peer
        found[f"TR, {LOCKSTEP} in lockstep / COBYQA, D = {dim}"] = seconds["lockstep"] / budget / LOCKSTEP / peer
    return found


def scale_ratios() -> Ratios:
    """Steps of TR in many variables and with many constraints, by steps in ten variables with two."""
    cells = {"D = 100": (100, 2), "D = 300": (300, 2), "10,000 constraints": (10, 10_000)}
    runs = {name: _make_solve("TR", make_trivial_problem(*cell), 3 * cell[0] + 30) for name, cell in cells.items()}
    seconds = medians({"small": _make_solve("TR", make_trivial_problem(10, 2), 60), **runs}, 1)
    small = seconds["small"] / (60 - 21)  # the first 2 D + 1 points cost nothing
    return {f"TR step, {name} / D = 10": seconds[name] / (cells[name][0] + 29) / small for name in cells}


def minimize_ratios() -> Ratios:
    """minimize() by solve(), on the same search."""
    problem = make_trivial_problem(10, 2)
    box = list(zip(problem.lower, problem.upper))
    seconds = medians(
        {
            "minimize": lambda: meco.minimize(
                problem.raw, box, method="SHADE", budget=BUDGET, seed=1, workers=meco.Workers(vectorized=True)
            ),
            "solve": _make_solve("SHADE", problem, BUDGET),
        },
        5,
    )
    return {"minimize / solve": seconds["minimize"] / seconds["solve"]}


def training_ratios() -> Ratios:
    """A step of fourteen policies that learn, by a generation of their fourteen searches."""
    from meco.paper.presets import PRESETS
    from training import seconds_per_step

    folds = PRESETS["loo50"](1)[::2]
    problems = [meco.get_problem(config.task.problems[0], 50) for config in folds]
    step = seconds_per_step(folds, 98)
    seconds = medians({"search": lambda: meco.solve("SHADE", problems, BUDGET, range(len(problems)))}, 3)
    return {"training step / generation": step / (seconds["search"] / (BUDGET / 50))}


def _make_solve(method: str, problem: meco.Problem, budget: int, runs: int = 1) -> Callable[[], object]:
    return lambda: meco.solve(method, problem, budget, seeds=range(runs))


def measure_ratios() -> Ratios:
    """Every ratio; less is better."""
    parts = [ratios_to_scipy, lockstep_ratios, trust_region_ratios, scale_ratios, minimize_ratios] + (
        [training_ratios] if optional("torch") else []
    )
    found: Ratios = {}
    for part in parts:
        found |= part()
        print(f"  {part.__doc__.partition(chr(10))[0]}", flush=True)
    return found


def slower_ratios(found: Ratios, kept: Ratios) -> list[str]:
    """The ratios that are more than a fifth above what was kept."""
    return [name for name, ratio in found.items() if name in kept and ratio > SLOWER * kept[name]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep these ratios")
    args = parser.parse_args()
    found = measure_ratios()
    kept = json.loads(KEPT.read_text())["ratios"] if KEPT.exists() else {}
    if not args.keep and slower_ratios(found, kept):
        again = measure_ratios()
        found = {name: min(ratio, again[name]) for name, ratio in found.items()}
    print(f"\n{'':36s} {'now':>7s} {'kept':>7s}")
    for name, ratio in found.items():
        print(
            f"{name:36s} {ratio:7.3f} " + (f"{kept[name]:7.3f} {ratio / kept[name] - 1:+5.0%}" if name in kept else "")
        )
    if args.keep:
        KEPT.write_text(json.dumps({"machine": machine(), "ratios": found}, indent=1) + "\n")
        return
    worse = slower_ratios(found, kept)
    print(f"\nslower by more than {SLOWER - 1:.0%}: {', '.join(worse) or 'nothing'}")


if __name__ == "__main__":
    main()
