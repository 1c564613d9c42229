"""Quality in 100 and 200 variables at few evaluations a variable: TR beside evolution strategies, SHADE and SLSQP.

    python benchmarks/many_variables.py [--dims 100] [--each 10 50] [--seeds 1] [--problems C01 C04 ...] [--workers 16]

CEC 2017 in 100 variables and one problem of every train family in 200, as both metrics see them: feasibility first, and
the least f + nu. SLSQP has forward differences, every one of which counts, and starts in the middle of the box, as TR
does. What was measured is kept in results/many_variables.json and not measured again; the table is of all of it.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from _side_by_side import machine
from meco.problems.generated import GENERATED, problem_name
from rough_families import ROUGH, get_problem

KEPT = Path(__file__).parent / "results" / "many_variables.json"
METHODS = ("TR", "MA-ES", "CMA-ES-native", "SHADE", "SLSQP")
CEC = tuple(f"C{k:02d}" for k in range(1, 29))


class BudgetSpent(Exception):
    """SLSQP has made all its calls."""


def run_slsqp(problem: meco.Problem, budget: int) -> dict[str, float]:
    """f and nu of the feasibility-first best of all calls, and their least f + nu."""
    from scipy.optimize import minimize

    low, high, calls = np.asarray(problem.lower), np.asarray(problem.upper), []
    last: dict[bytes, tuple[float, np.ndarray]] = {}

    def values(x: np.ndarray) -> tuple[float, np.ndarray]:
        """f and all constraints as SLSQP wants them, g first; a point that was just evaluated costs nothing."""
        x = np.clip(x, low, high)
        if (key := x.tobytes()) not in last:
            if len(calls) == budget:
                raise BudgetSpent
            f, g, h = (np.asarray(part, dtype=float) for part in problem.raw(x))
            over = np.concatenate(
                [np.where(g > problem.ineq_tol, g, 0.0), np.where(abs(h) > problem.eq_tol, abs(h), 0.0)]
            )
            calls.append((over.sum(), float(f), float(f) + np.maximum(g, 0.0).sum() + abs(h).sum()))
            last.clear()
            last[key] = float(f), np.concatenate([g, h])
        return last[key]

    n_ineq = problem.n_ineq
    limits = [{"type": "ineq", "fun": lambda x: -values(x)[1][:n_ineq]}] if n_ineq else []
    limits += [{"type": "eq", "fun": lambda x: values(x)[1][n_ineq:]}] if problem.n_eq else []

    def fun_and_slope(x: np.ndarray) -> tuple[float, np.ndarray]:
        return values(x)[0], slopes(x)[0]

    known: dict[bytes, np.ndarray] = {}

    def slopes(x: np.ndarray) -> np.ndarray:
        """Forward differences of f and all constraints from the same D calls: [1 + C, D]."""
        if (key := x.tobytes()) not in known:
            f, c = values(x)
            base, made = np.concatenate([[f], c]), []
            for j, step in enumerate(1e-7 * (high - low)):
                there = x.copy()
                there[j] += step if x[j] + step <= high[j] else -step
                f, c = values(there)
                made.append((np.concatenate([[f], c]) - base) / (there[j] - x[j]))
            known.clear()
            known[key] = np.array(made).T
        return known[key]

    for limit, part, sign in zip(limits, _parts(n_ineq, problem.n_eq), (-1.0, 1.0) if n_ineq else (1.0,)):
        limit["jac"] = lambda x, part=part, sign=sign: sign * slopes(x)[1:][part]
    try:
        with np.errstate(all="ignore"):
            minimize(fun_and_slope, (low + high) / 2, jac=True, bounds=list(zip(low, high)), constraints=limits,
                     method="SLSQP", options={"maxiter": budget, "ftol": 1e-12})  # fmt: skip
    except BudgetSpent:
        pass
    usable = [call for call in calls if np.isfinite(call).all()] or [(np.inf, np.inf, np.inf)]
    over, f, _ = min(usable)
    return {"f": f, "nu": float(over), "score": float(min(call[2] for call in usable))}


def train_problems() -> list[str]:
    """The first problem of each train family that has as many continuous variables as are asked for."""
    families = [f for f in (*GENERATED.values(), *ROUGH.values()) if f.set == "train"]
    return [problem_name(f.name, 1) for f in families if not (f.whole or getattr(f, "failing", None))]


def _parts(n_ineq: int, n_eq: int) -> list[slice]:
    """Where inequalities and equalities are among all constraints."""
    return ([slice(0, n_ineq)] if n_ineq else []) + ([slice(n_ineq, n_ineq + n_eq)] if n_eq else [])


def run(method: str, problem: meco.Problem, budget: int, seed: int) -> dict[str, float]:
    """Both metrics of one run."""
    if method == "SLSQP":
        return run_slsqp(problem, budget)
    found = meco.solve(method, problem, budget, [seed])[0]
    return {"f": float(found.f), "nu": float(found.nu), "score": float(found.score)}


def mean_ranks(kept: dict[str, dict[str, float]], each: int) -> dict[str, list[str]]:
    """Mean rank of every method by both metrics, over problems that all of them were run on, by D."""
    cells: dict[tuple[str, ...], dict[str, dict[str, float]]] = {}
    for name, found in kept.items():
        method, *cell = name.split(" ")
        cells.setdefault(tuple(cell), {})[method] = found
    lines: dict[str, list[str]] = {}
    for dim in sorted({cell[1] for cell in cells if cell[2] == str(each)}, key=int):
        full = [c for k, c in cells.items() if k[1:3] == (dim, str(each)) and len(c) == len(METHODS)]
        for method in METHODS:
            first = [sum((o["nu"], o["f"]) < (c[method]["nu"], c[method]["f"]) for o in c.values()) for c in full]
            score = [sum(o["score"] < c[method]["score"] for o in c.values()) for c in full]
            told = f"{1 + np.mean(first):.2f} {1 + np.mean(score):.2f} ({len(full)})" if full else "-"
            lines.setdefault(method, []).append(f"D = {dim}: {told}")
    return lines


def run_cell(cell: str) -> dict[str, float]:
    """run() by the name under which it is kept."""
    method, name, dim, each, seed = cell.split(" ")
    return run(method, get_problem(name, int(dim)), int(each) * int(dim), int(seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", nargs="+", type=int, default=[100, 200])
    parser.add_argument("--each", nargs="+", type=int, default=[10, 50], help="evaluations a variable")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--problems", nargs="+", help="all unless given")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    args = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"machine": machine(), "runs": {}}
    asked = [
        f"{method} {name} {dim} {each} {seed}"
        for each, dim in product(args.each, args.dims)
        for name in args.problems or (CEC if dim <= 100 else train_problems())
        for seed, method in product(args.seeds, args.methods)
    ]
    with ProcessPoolExecutor(args.workers) as pool:
        running = {pool.submit(run_cell, cell): cell for cell in asked if cell not in kept["runs"]}
        for done in as_completed(running):
            kept["runs"][running[done]] = done.result()
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
            print(running[done], done.result(), flush=True)
    for each in args.each:
        print(f"\n{each} evaluations a variable: mean rank, feasibility first and by f + nu (problems)")
        for method, told in mean_ranks(kept["runs"], each).items():
            print(f"{method:16s} {'   '.join(told)}")


if __name__ == "__main__":
    main()
