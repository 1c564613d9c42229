"""MeCO beside SLSQP, COBYQA and COBYLA on the open CUTEst problems: how many each solves, and how soon.

    MECO_DATA=... python benchmarks/cutest.py [--methods TR,SLSQP,...] [--seeds 2] [--processes 2] [--out FILE.jsonl]
                                              [--as-stated] [--also '{"narrow": {"margin": 0.05}}']

Solved to t: feasible (g <= 1e-6, |h| <= 1e-4, the same for all) and f <= f_ref + t max(1, |f_ref|), with f_ref from
s2mpj_open.csv, within 5, 10, 20 and 50 evaluations per variable. One evaluation is f with every constraint; a point
that was seen before costs nothing. Every method starts at x0. Peers are started again from a uniform point of the box
until the budget is spent, in the problem's own units: SLSQP of SciPy (ftol 1e-9) and of NLopt with one set of forward
differences (step 1.5e-8) for f, g and h, n + 1 calls an iteration, all counted; COBYQA and COBYLA of SciPy with a first
radius of 1, at most a quarter of the narrowest side; SLSQP and COBYLA are the library's own methods (docs/methods). The
nonlinear problems with a reference are run, no others, and none of the reserve (reserve.py).

Most of these problems have infinite bounds, which problems/s2mpj.py replaces by a box around x0. With --as-stated every
method gets the bounds that the collection states; peers are still started again from points of that box.

With --picture FILE.svg nothing is counted: the gap still open of TR, COBYQA and SLSQP on a few problems is drawn.

With --out runs are kept as lines of JSON, and a second call goes on where the first one was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import s2mpj
from _side_by_side import machine, optional
from meco import METHODS, Method, Tolerances, minimize
from meco.core.problem import Problem
from meco.plot.style import COLOURS, make_figure, save, styled
from reserve import without_reserve

ACCURACIES = (1e-1, 1e-3, 1e-5, 1e-7)
PER_VARIABLE = (5, 10, 20, 50)
DIFFERENCE = 1.5e-8  # step of forward differences
OURS = ("TR",)
LEAST_GAP = 1e-12  # that a picture shows


class Spent(Exception):
    """The budget is spent."""


class Counter:
    """The problem as every method sees it: counts, remembers, and notes f of every feasible evaluation.

    lower and upper [D] are the bounds that methods are told, the problem's own unless as_stated.
    """

    def __init__(self, problem: Problem, budget: int, as_stated: bool = False) -> None:
        self.problem, self.budget = problem, budget
        self.lower, self.upper = s2mpj.read_true_bounds(problem.name) if as_stated else (problem.lower, problem.upper)
        self.known: dict[bytes, tuple[float, np.ndarray, np.ndarray]] = {}
        self.best: list[float] = []  # least feasible f after each evaluation; inf before there is one

    def __call__(self, x: Any) -> tuple[float, np.ndarray, np.ndarray]:
        x = np.clip(np.asarray(x, dtype=np.float64), self.lower, self.upper)
        key = x.tobytes()
        if key not in self.known:
            if len(self.best) >= self.budget:
                raise Spent
            f, g, h = (np.asarray(part) for part in self.problem.raw(x))
            self.known[key] = float(f), g, h
            kept = np.isfinite(f) and np.all(g <= self.problem.ineq_tol) and np.all(np.abs(h) <= self.problem.eq_tol)
            self.best.append(min([float(f)] * bool(kept) + self.best[-1:], default=np.inf))
        return self.known[key]


# -- peers -------------------------------------------------------------------------------------------


def restarted(start: Callable[[Counter, np.ndarray], None]) -> Callable[[Counter, int], None]:
    """From x0, then from uniform points of the box, until the budget is spent."""

    def run(counter: Counter, seed: int) -> None:
        problem, draw = counter.problem, np.random.default_rng(seed)
        x = problem.x0
        while True:
            start(counter, np.asarray(x))
            x = problem.lower + draw.random(problem.dim) * (problem.upper - problem.lower)

    return run


def differences(counter: Counter, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of f [n], g [p, n] and h [q, n] by forward differences, backward at an upper bound."""
    here = counter(x)
    steps = DIFFERENCE * np.maximum(1.0, np.abs(x))
    steps = np.where(x + steps <= counter.upper, steps, -steps)
    near = [counter(x + step * unit) for step, unit in zip(steps, np.eye(x.size))]
    f, g, h = (np.stack([(np.asarray(b[k]) - a) / s for b, s in zip(near, steps)], axis=-1) for k, a in enumerate(here))
    return f, g, h


def nlopt_slsqp(counter: Counter, x0: np.ndarray) -> None:
    import nlopt

    problem, ended = counter.problem, []

    def guarded(values: Callable[[], Any]) -> Any:
        try:
            return values()
        except Spent as error:  # NLopt shows its own error in the place of ours
            ended.append(error)
            raise nlopt.ForcedStop from error

    def objective(x: np.ndarray, gradient: np.ndarray) -> float:
        if gradient.size:
            gradient[:] = guarded(lambda: differences(counter, x.copy()))[0]
        return float(guarded(lambda: counter(x))[0])

    def constraint(part: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
        def values(result: np.ndarray, x: np.ndarray, gradient: np.ndarray) -> None:
            if gradient.size:
                gradient[:] = guarded(lambda: differences(counter, x.copy()))[part]
            result[:] = guarded(lambda: counter(x))[part]

        return values

    search = nlopt.opt(nlopt.LD_SLSQP, problem.dim)
    search.set_lower_bounds(counter.lower)
    search.set_upper_bounds(counter.upper)
    search.set_min_objective(objective)
    search.set_ftol_rel(1e-9)
    search.set_maxeval(1000)
    if problem.n_ineq:
        search.add_inequality_mconstraint(constraint(1), np.full(problem.n_ineq, 1e-8))
    if problem.n_eq:
        search.add_equality_mconstraint(constraint(2), np.full(problem.n_eq, 1e-8))
    try:
        search.optimize(np.clip(x0, counter.lower, counter.upper))
    except (RuntimeError, ValueError, nlopt.ForcedStop, nlopt.RoundoffLimited):
        counter(x0)  # known, so that it costs nothing
    if ended:
        raise Spent


def cobyqa(counter: Counter, x0: np.ndarray) -> None:
    from scipy.optimize import Bounds, NonlinearConstraint
    from scipy.optimize import minimize as scipy_minimize

    problem = counter.problem
    narrowest = float(np.min((counter.upper - counter.lower)[counter.upper > counter.lower], initial=np.inf))
    limits = []
    if problem.n_ineq:
        limits.append(NonlinearConstraint(lambda x: counter(x)[1], -np.inf, 0.0))
    if problem.n_eq:
        limits.append(NonlinearConstraint(lambda x: counter(x)[2], 0.0, 0.0))
    scipy_minimize(
        lambda x: counter(x)[0], x0, method="COBYQA", bounds=Bounds(counter.lower, counter.upper),
        constraints=limits, options={"initial_tr_radius": min(1.0, 0.25 * narrowest), "maxfev": 10**6},
    )  # fmt: skip


def by_minimize(method: str, **options: float) -> Callable[[Counter, int], None]:
    """The library's own method with these options."""

    def run(counter: Counter, seed: int) -> None:
        problem = counter.problem
        minimize(
            counter, list(zip(counter.lower, counter.upper)), x0=problem.x0, budget=counter.budget, seed=seed,
            method=Method(method, **options), tolerances=Tolerances(problem.ineq_tol, problem.eq_tol),
            on_error="penalize",
        )  # fmt: skip

    return run


PEERS: dict[str, tuple[str, Callable[[Counter, int], None]]] = {  # package, search
    "SLSQP": ("scipy", by_minimize("SLSQP")),
    "NLopt-SLSQP": ("nlopt", restarted(nlopt_slsqp)),
    "COBYQA": ("scipy", restarted(cobyqa)),
    "COBYLA": ("scipy", by_minimize("COBYLA")),
}


# -- runs --------------------------------------------------------------------------------------------


def run_one(
    method: str, name: str, seed: int, as_stated: bool = False, controls: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """One run: the relative gap to f_ref after each number of evaluations per variable, and what it cost.

    With controls the method's name is a label, and TR is run with these controls.
    """
    problem = s2mpj.make_problem(name)
    counter = Counter(problem, PER_VARIABLE[-1] * problem.dim, as_stated)
    search = PEERS[method][1] if method in PEERS else by_minimize(method)
    if controls is not None:
        search = by_minimize("TR", **controls)
    begun, failure = time.perf_counter(), ""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            search(counter, seed)
        except Spent:
            pass
        except Exception as error:  # a peer that breaks has what it had
            failure = f"{type(error).__name__}: {error}"[:200]
    assert problem.best_known is not None
    scale = max(1.0, abs(problem.best_known))
    best = [(counter.best[: k * problem.dim] or [np.inf])[-1] for k in PER_VARIABLE]
    gaps = [None if np.isinf(f) else (f - problem.best_known) / scale for f in best]
    return {
        "method": method, "problem": name, "seed": seed, "n": problem.dim, "nfev": len(counter.best), "gaps": gaps,
        "seconds": round(time.perf_counter() - begun, 3), "failure": failure, "as_stated": as_stated,
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """The share of problems, in %, that each method solves to each accuracy within each budget."""
    heads = "".join(f"{f'to {t:g}':^24}" for t in ACCURACIES)
    budgets = "".join(f"{f'{k}n':>6}" for _ in range(len(ACCURACIES) + 1) for k in PER_VARIABLE)
    lines = [f"{'solved, %':<14}{heads}feasible", " " * 14 + budgets]
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row["gaps"] for row in rows if row["method"] == method]
        cells = [[g[k] is not None and g[k] <= t for g in mine] for t in ACCURACIES for k in range(len(PER_VARIABLE))]
        cells += [[g[k] is not None for g in mine] for k in range(len(PER_VARIABLE))]
        lines.append(f"{method:<14}" + "".join(f"{100 * np.mean(cell):6.1f}" for cell in cells))
    return "\n".join(lines)


def draw_convergence(names: Sequence[str], path: Path) -> None:
    """Draw the gap to the reference, of the best feasible point so far, of three methods on each problem; one seed."""
    methods = ("TR", "COBYQA", "SLSQP")
    with styled():
        figure, axes = make_figure(3.3 * len(names), 3.2, 1, len(names))
        for name, ax in zip(names, axes[0]):
            problem = s2mpj.make_problem(s2mpj.PREFIX + name)
            assert problem.best_known is not None
            for method, colour in zip(methods, COLOURS):
                counter = Counter(problem, 30 * problem.dim)
                search = PEERS[method][1] if method in PEERS else by_minimize(method)
                with warnings.catch_warnings(), np.errstate(all="ignore"), suppress(Spent):
                    warnings.simplefilter("ignore")
                    search(counter, 1)
                gap = (np.array(counter.best) - problem.best_known) / max(1.0, abs(problem.best_known))
                per_variable = np.arange(1, gap.size + 1) / problem.dim
                ax.plot(per_variable, np.maximum(gap, LEAST_GAP), color=colour)
            ax.set(title=f"{name}, {problem.dim} variables", yscale="log", xlim=(0, 30), xlabel="evaluations / D")
        axes[0, 0].set_ylabel("gap of the best feasible f")
        figure.legend(methods, loc="outside lower center", ncols=len(methods))
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join([*OURS, *PEERS]))
    parser.add_argument("--problems", help="names without prefix; all nonlinear ones with a reference unless given")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--as-stated", action="store_true", help="with the collection's own, often infinite, bounds")
    parser.add_argument("--also", type=json.loads, default={}, help='TR with controls: {"label": {"margin": 0.05}}')
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw convergence on --problems instead")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.picture is not None:
        draw_convergence((args.problems or "HS43,HS71,HS113,HS117").split(","), args.picture)
        return
    methods = []
    for method in args.methods.split(","):
        if method in PEERS and not optional(PEERS[method][0]):
            print(f"{method} IS LEFT OUT: {PEERS[method][0]} is not installed")
        else:
            methods.append(method if method in PEERS else METHODS.resolve(method))
    methods += args.also
    open_ones = s2mpj.read_problem_table()
    chosen = [name for name, row in open_ones.items() if row["type"] == "n" and row["f_ref"]]
    chosen = without_reserve("cutest", args.problems.split(",") if args.problems else chosen)
    rows: list[dict[str, Any]] = []
    if args.out is not None and args.out.exists():
        kept = [json.loads(line) for line in args.out.read_text(encoding="utf-8").splitlines()]
        rows = [row for row in kept if row.get("as_stated", False) == args.as_stated]
    done = {(row["method"], row["problem"], row["seed"]) for row in rows}
    jobs = [(m, s2mpj.PREFIX + name, seed) for m in methods for seed in range(1, args.seeds + 1) for name in chosen]
    with ProcessPoolExecutor(args.processes) as pool:
        todo = [job for job in jobs if job not in done]
        begun = [pool.submit(run_one, *job, args.as_stated, args.also.get(job[0])) for job in todo]
        for future in as_completed(begun):
            rows.append(future.result())
            if args.out is not None:
                with open(args.out, "a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    order = {job: place for place, job in enumerate(jobs)}
    rows = [row for row in rows if (row["method"], row["problem"], row["seed"]) in order]
    rows.sort(key=lambda row: order[row["method"], row["problem"], row["seed"]])
    bounds = "bounds as stated" if args.as_stated else "in a box around x0"
    print(f"{len(chosen)} problems, {bounds}, {args.seeds} seeds; {machine()}")
    print(table(rows))
    for row in rows:
        if row["failure"]:
            print(f"{row['method']} on {row['problem']}, seed {row['seed']}: {row['failure']}")


if __name__ == "__main__":
    main()
