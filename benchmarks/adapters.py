"""MeCO through the doors of other libraries, beside their own methods, on their own problems.

python benchmarks/adapters.py pymoo     G-problems without the reserve, beam and pressure vessel at 100 D, five seeds
python benchmarks/adapters.py optuna    five constrained problems at 100 trials, five seeds
python benchmarks/adapters.py scipy     the constrained examples of SciPy's tutorial, to 1e-3
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from _side_by_side import optional
from reserve import without_reserve

SEEDS = [1, 2, 3, 4, 5]
CLOSE = 0.01  # share of the optimum within which a problem counts as solved


def median_run(runs: list[tuple[float, float]]) -> tuple[float, bool]:
    """f and feasibility of the median run: feasible before infeasible, then by f; runs are (f, violation)."""
    ranked = sorted(runs, key=lambda run: (run[1] > 0.0, run[1] if run[1] > 0.0 else run[0]))
    f, violation = ranked[len(ranked) // 2]
    return f, violation <= 0.0


def relative_gap(f: float, best: float) -> float:
    """How far f is above the optimum, as a share of it, or absolute near zero."""
    return (f - best) / max(abs(best), 1e-12) if abs(best) > 1e-6 else f - best


def format_cell(runs: list[tuple[float, float]], best: float) -> tuple[str, bool]:
    """The table's entry and whether the problem counts as solved."""
    f, feasible = median_run(runs)
    count = sum(violation <= 0.0 for _, violation in runs)
    if not feasible:
        return f"-  {count}/{len(runs)}", False
    share = relative_gap(f, best)
    return f"{100 * share:.2g} %  {count}/{len(runs)}", share <= CLOSE


def print_table(rows: dict[str, dict[str, list[tuple[float, float]]]], best: dict[str, float], heading: str) -> None:
    """One row a problem, one column a method: distance of the median run from the optimum, feasible runs."""
    methods = list(next(iter(rows.values())))
    print(f"\n{heading}\ndistance of the median run from the optimum (- where it is infeasible), feasible runs\n")
    print(f"{'':18}" + "".join(f"{name:>18}" for name in methods))
    solved = dict.fromkeys(methods, 0)
    for problem, found in rows.items():
        cells = {name: format_cell(runs, best[problem]) for name, runs in found.items()}
        solved = {name: solved[name] + cells[name][1] for name in methods}
        print(f"{problem:18}" + "".join(f"{cells[name][0] + ('' if cells[name][1] else ' '):>18}" for name in methods))
    print(f"{'within 1 %':18}" + "".join(f"{f'{solved[name]} of {len(rows)}':>18}" for name in methods))


def print_runs(problem: str, method: str, runs: list[tuple[float, float]], best: float) -> None:
    """Every run of a method on a problem in a line, as soon as they are there."""
    told = "  ".join(f"{f:.8g}{'' if v <= 0 else f' (nu {v:.1e})'}" for f, v in runs)
    print(f"# {problem:16} {method:7} {told}   optimum {best:.8g}", flush=True)


# ---- pymoo ------------------------------------------------------------------------------------------------------


def pymoo_problems() -> dict[str, Any]:
    """pymoo's constrained test problems with a known optimum."""
    from pymoo.problems.single import g
    from pymoo.problems.single.cantilevered_beam import CantileveredBeam
    from pymoo.problems.single.pressure_vessel import PressureVessel

    return {name: getattr(g, name)() for name in without_reserve("g", [f"G{i}" for i in range(1, 25)])} | {
        "CantileveredBeam": CantileveredBeam(),
        "PressureVessel": PressureVessel(),
    }


def pymoo_methods(dim: int) -> dict[str, Callable[[], Any]]:
    """Populations that suit 100 D evaluations: 10 D, at most the libraries' own 100 (ISRES: 200)."""
    from pymoo.algorithms.soo.nonconvex.cmaes import CMAES
    from pymoo.algorithms.soo.nonconvex.de import DE
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.algorithms.soo.nonconvex.isres import ISRES

    from meco.adapters.pymoo import MeCO

    size = min(max(10 * dim, 20), 100)
    return {
        "MeCO": MeCO,
        "GA": lambda: GA(pop_size=size),
        "DE": lambda: DE(pop_size=size),
        "ISRES": lambda: ISRES(n_offsprings=max(2 * size, 28), rule=1 / 7),
        "CMA-ES": CMAES,
    }


def run_pymoo(problem: Any, name: str, build: Callable[[], Any], seed: int) -> tuple[float, float]:
    """f and violation at the answer; CMA-ES knows no constraints, so it gets pymoo's penalty."""
    from pymoo.constraints.as_penalty import ConstraintsAsPenalty
    from pymoo.optimize import minimize

    asked = ConstraintsAsPenalty(problem, penalty=1e4) if name == "CMA-ES" else problem
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = minimize(asked, build(), ("n_eval", 100 * problem.n_var), seed=seed, return_least_infeasible=True)
    return judge_point(problem, found.opt[0].X)


def run_pymoo_lockstep(problem: Any) -> list[tuple[float, float]]:
    """The five runs of MeCO() side by side: meco.solve on a problem of pymoo is the same search, run for run."""
    from meco.batch_solve import solve
    from meco.methods import DEFAULT

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        runs = solve(DEFAULT, problem, budget=100 * problem.n_var, seeds=SEEDS)
    return [judge_point(problem, run.x) for run in runs]


def judge_point(problem: Any, x: Any) -> tuple[float, float]:
    """f and violation of a point, beyond pymoo's tolerance; what cannot be computed is not feasible."""
    f, g, h = pymoo_values(problem, np.asarray(x, dtype=np.float64))
    violation = float(np.maximum(g, 0.0).sum() + np.maximum(np.abs(h) - 1e-4, 0.0).sum())
    return f, violation if np.isfinite(violation) else np.inf


def pymoo_values(problem: Any, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    found = problem.evaluate(x[None], return_as_dictionary=True)
    g, h = (np.asarray(found.get(key, np.zeros((1, 0))))[0] for key in ("G", "H"))
    return float(np.ravel(found["F"])[0]), g, h


def print_pymoo(only: list[str] | None, names: list[str] | None) -> None:
    rows: dict[str, dict[str, list[tuple[float, float]]]] = {}
    best = {}
    for label, problem in pymoo_problems().items():
        if names and label not in names:
            continue
        best[label] = float(np.min(problem.pareto_front()))
        methods = pymoo_methods(problem.n_var)
        rows[label] = {
            name: run_pymoo_lockstep(problem)
            if name == "MeCO"
            else [run_pymoo(problem, name, build, seed) for seed in SEEDS]
            for name, build in methods.items()
            if not only or name in only
        }
        for name, runs in rows[label].items():
            print_runs(label, name, runs, best[label])
    print_table(rows, best, f"pymoo's own problems, 100 D evaluations, seeds {SEEDS[0]} to {SEEDS[-1]}")


# ---- Optuna -----------------------------------------------------------------------------------------------------


def optuna_problems() -> dict[str, Any]:
    """Five constrained problems of pymoo in 2 to 7 variables, none of the reserve."""
    every = pymoo_problems()
    return {name: every[name] for name in ("G6", "G9", "G12", "G24", "PressureVessel")}


def optuna_samplers(trials: int, seed: int) -> dict[str, Callable[[], Any]]:
    from optuna.samplers import CmaEsSampler, GPSampler, TPESampler

    from meco.adapters.optuna import MecoSampler

    known: dict[str, Callable[[], Any]] = {
        "MeCO": lambda: MecoSampler(budget=trials, seed=seed),
        "TPE": lambda: TPESampler(seed=seed),
        "GP": lambda: GPSampler(seed=seed),
    }
    if optional("cmaes"):  # it does not look at constraints
        known["CMA-ES"] = lambda: CmaEsSampler(seed=seed)
    return known


def run_optuna(problem: Any, sampler: Any, trials: int) -> tuple[float, float]:
    """f and violation of the best trial, feasible before infeasible."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        x = [trial.suggest_float(f"x{i}", a, b) for i, (a, b) in enumerate(zip(problem.xl, problem.xu))]
        f, g, _ = pymoo_values(problem, np.array(x))
        for i, value in enumerate(g):
            trial.set_constraint(f"g{i}", float(value))
        return f

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=trials)
    found = [(t.value, sum(max(c, 0.0) for c in t.constraints.values())) for t in study.trials]
    return min(found, key=lambda run: (run[1] > 0.0, run[1] if run[1] > 0.0 else run[0]))


def print_optuna(only: list[str] | None, names: list[str] | None) -> None:
    trials = 100
    rows: dict[str, dict[str, list[tuple[float, float]]]] = {}
    best, seconds = {}, dict.fromkeys(optuna_samplers(trials, 0), 0.0)
    for label, problem in optuna_problems().items():
        if names and label not in names:
            continue
        best[label], rows[label] = float(np.min(problem.pareto_front())), {}
        for name in seconds:
            if only and name not in only:
                continue
            start = time.process_time()
            rows[label][name] = [run_optuna(problem, optuna_samplers(trials, s)[name](), trials) for s in SEEDS]
            seconds[name] += time.process_time() - start
            print_runs(label, name, rows[label][name], best[label])
    print_table(rows, best, f"Optuna, {trials} trials, seeds {SEEDS[0]} to {SEEDS[-1]}")
    count = len(rows) * len(SEEDS)
    shown = "".join(f"{1000 * s / count / trials:>15.1f} ms" for s in seconds.values() if s)
    print(f"{'CPU of a trial':18}{shown}")


# ---- SciPy ------------------------------------------------------------------------------------------------------


def scipy_examples() -> dict[str, tuple[Any, ...]]:
    """The constrained examples of SciPy's tutorial, finite bounds added: fun, x0, bounds, constraints, answer x, f."""
    from scipy.optimize import LinearConstraint, NonlinearConstraint, linprog, milp

    inf = np.inf
    c, box = np.array([29.0, 45.0, 0.0, 0.0]), [(0, 100), (0, 6), (-100, 0.5), (-3, 100)]
    below, most = np.array([[1.0, -1.0, -3.0, 0.0], [-2.0, 3.0, 7.0, -3.0]]), np.array([5.0, -10.0])
    equal, value = np.array([[2.0, 8.0, 1.0, 0.0], [4.0, 4.0, 0.0, 1.0]]), np.array([60.0, 60.0])
    program = linprog(c, below, most, equal, value, bounds=box)
    sizes, worth = np.array([21, 11, 15, 9, 34, 25, 41, 52]), np.array([22, 12, 16, 10, 35, 26, 42, 53])
    room = LinearConstraint(sizes, 0, 100)
    planes = [
        {"type": "ineq", "fun": lambda x, a=a, b=b, c=c: a * x[0] + b * x[1] + c}
        for a, b, c in ((1, -2, 2), (-1, -2, 6), (-1, 2, 2))
    ]
    return {
        "Rosenbrock, linear and nonlinear": (
            lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, [0.5, 0], [(0, 1), (-0.5, 2)],
            [
                LinearConstraint([[1, 2], [2, 1]], [-inf, 1], [1, 1]),
                NonlinearConstraint(lambda x: [x[0] ** 2 + x[1], x[0] ** 2 - x[1]], -inf, 1),
            ],
            np.array([0.41494531, 0.17010937]), 0.34271757,
        ),
        "quadratic, half planes": (
            lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2, (2, 0), [(0, 10)] * 2, planes, np.array([1.4, 1.7]), 0.8,
        ),
        "linear program": (
            lambda x: c @ x, np.zeros(4), box,
            [LinearConstraint(below, -inf, most), LinearConstraint(equal, value, value)], program.x, program.fun,
        ),
        "knapsack, parts of things": (
            lambda x: -(worth @ x), np.zeros(8), [(0, 1)] * 8, room, None,
            milp(-worth, constraints=room, bounds=(0, 1)).fun,
        ),
        "knapsack, integer": (
            lambda x: -(worth @ x), np.zeros(8), [(0, 1)] * 8, room, None,
            milp(-worth, constraints=room, bounds=(0, 1), integrality=np.ones(8)).fun,
        ),
    }  # fmt: skip


def print_scipy(only: list[str] | None, names: list[str] | None) -> None:
    from scipy.optimize import minimize

    import meco

    seeds = f"seeds {SEEDS[0]} to {SEEDS[-1]}"
    print(f"\nSciPy's constrained examples through method=meco.scipy_method, {seeds}: relative error of f, and of x\n")
    for label, (fun, x0, bounds, constraints, x, f) in scipy_examples().items():
        more = {"integrality": True, "budget": 1600} if "integer" in label else {}
        runs = [
            minimize(
                fun, x0, method=meco.scipy_method, bounds=bounds, constraints=constraints, options={"seed": s, **more}
            )
            for s in SEEDS
        ]
        of_f = [abs(run.fun - f) / max(abs(f), 1.0) for run in runs]
        of_x = "" if x is None else f"x {max(np.abs(run.x - x).max() / max(np.abs(x).max(), 1.0) for run in runs):.1e}"
        kept = sum(run.success for run in runs)
        close = sum(e <= 1e-3 for e in of_f)
        print(
            f"{label:34} largest f {max(of_f):.1e}  {of_x:10}  feasible {kept} of 5, f to 1e-3 {close} of 5", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["pymoo", "optuna", "scipy"])
    parser.add_argument("--only", nargs="+", help="methods")
    parser.add_argument("--problems", nargs="+")
    parser.add_argument("--runs", type=int, default=len(SEEDS), help="of each, with consecutive seeds")
    parser.add_argument("--first-seed", type=int, default=1)
    given = parser.parse_args()
    SEEDS[:] = range(given.first_seed, given.first_seed + given.runs)
    start = time.process_time()
    parts = {"pymoo": print_pymoo, "optuna": print_optuna, "scipy": print_scipy}
    parts[given.part](given.only, given.problems)
    print(f"\n{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
