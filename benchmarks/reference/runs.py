"""Runs of an engine on the suites of problems.py: one row of a CSV file for each problem and seed, resumable."""

from __future__ import annotations

import csv
import importlib
import io
import json
import lzma
import math
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reference import problems
from benchmarks.reference.problems import Case, Failed, Task

CHECKPOINTS = (5, 10, 20, 50)  # evaluations per variable; the last one that a budget reaches is its end
WITHIN = 0.01  # of the best f: what a price is paid for
FIELDS = (
    "suite", "problem", "dim", "seed", "budget", "evaluations", "ref", "scale", "empty",
    *(f"{kind}{k}" for k in CHECKPOINTS for kind in "fv"),  # best feasible f and least violation at a checkpoint
    "f_end", "v_end", "f_answer", "v_answer", "success",
    "failed", "failed_late",  # share of the calls that fail, of all and of the last third
    "outside",  # share of the calls outside of cheap constraints
    "price",  # paid until a feasible f within 1 % of the reference was found
    "seconds", "error",
)  # fmt: skip
Engine = Callable[..., Any]


class Spent(Exception):
    """An engine called more often than it may."""


class Recorder:
    """A task's function as an engine sees it: counts the calls and notes the truth about each point."""

    def __init__(self, task: Task, budget: int) -> None:
        self.task, self.budget = task, budget
        self.f: list[float] = []  # nan where the call failed
        self.v: list[float] = []
        self.outside: list[bool] = []
        self.price: list[float] = []

    def __call__(self, x: Any) -> Any:
        if len(self.f) >= self.budget:
            raise Spent
        f, v = self.judge(x)
        self.f.append(f)
        self.v.append(v)
        if self.task.cheap_violation is not None:
            self.outside.append(self.task.cheap_violation(x) > 0)
        if self.task.price is not None:
            self.price.append(self.task.price(x))
        return self.task.fun(x)

    def judge(self, x: Any) -> tuple[float, float]:
        """The true f and violation of a point; nan and infinity where the call fails."""
        try:
            f, v = self.task.truth(x)
        except (Failed, ValueError, RuntimeError, ZeroDivisionError, OverflowError):
            return math.nan, math.inf
        return (f, v) if math.isfinite(f) else (math.nan, math.inf)


def load_engine(text: str | None) -> Engine:
    """minimize(..., method="TR"), or the function of "module:function", which is called with the same arguments."""
    if text is None:
        import meco

        return lambda fun, bounds, **options: meco.minimize(fun, bounds, method="TR", **options)
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def run_case(case: Case, seed: int, engine: Engine) -> dict[str, Any]:
    """One run as a row."""
    task, budget = case.make(seed), case.per_variable * case.dim
    recorder, result, error = Recorder(task, budget), None, ""
    begun = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = engine(recorder, task.bounds, budget=budget, seed=seed, **task.options)
        except Exception as caught:  # the engine broke, or does not take such tasks: what it had counts
            error = f"{type(caught).__name__}: {caught}"[:200]
    row: dict[str, Any] = {
        "suite": case.suite, "problem": case.problem, "dim": case.dim, "seed": seed, "budget": budget,
        "evaluations": len(recorder.f), "ref": task.ref, "scale": task.scale, "empty": int(task.empty), "error": error,
        "seconds": round(time.process_time() - begun, 2),
    }  # fmt: skip
    f, v = np.array([*recorder.f, math.nan]), np.array([*recorder.v, math.inf])
    feasible = np.where(v <= 0, f, np.inf)
    ends = {str(k): k * case.dim for k in CHECKPOINTS if k <= case.per_variable} | {"_end": budget}
    for name, end in ends.items():
        row[f"f{name}"], row[f"v{name}"] = np.nanmin(feasible[:end], initial=np.inf), np.min(v[:end], initial=np.inf)
    if case.suite == "noise" and result is not None:
        row["f_answer"], row["v_answer"] = recorder.judge(result.x)
        row["success"] = bool(getattr(result, "success", False))
    if case.suite in ("designs", "failures"):
        failed = np.isnan(f[:-1])
        row["failed"], row["failed_late"] = (
            float(part.mean()) if part.size else 0.0 for part in (failed, failed[-(budget // 3) :])
        )
    if recorder.outside:
        row["outside"] = float(np.mean(recorder.outside))
    if recorder.price and task.goal is not None:
        there = np.flatnonzero(feasible[:-1] <= task.goal + WITHIN * abs(task.goal))
        row["price"] = float(np.sum(recorder.price[: there[0] + 1])) if there.size else math.inf
    return row


def to_cell(value: Any) -> str:
    """A value as text: floats with all digits, nothing for None and nan."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def read_runs(path: Path) -> dict[tuple[str, str, int], dict[str, str]]:
    """Rows by suite, problem and seed; of a file that is being written, whole lines alone."""
    content = path.read_bytes()
    text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode()
    rows = csv.DictReader(text[: text.rfind("\n") + 1].splitlines())
    found = [row for row in rows if None not in row.values() and None not in row]
    return {(row["suite"], row["problem"], int(row["seed"])): row for row in found}


def write_runs(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows, in the order of suites, problems and seeds, as CSV, under xz where the name ends so."""
    order = {suite: i for i, suite in enumerate(problems.SUITES)}
    kept = sorted(rows, key=lambda row: (order.get(row["suite"], len(order)), row["problem"], int(row["seed"])))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([[row.get(name, "") for name in FIELDS] for row in kept])
    content = text.getvalue().encode()
    path.write_bytes(lzma.compress(content, preset=9) if path.suffix == ".xz" else content)


def run_named(suite: str, problem: str, seed: int, engine: str | None) -> dict[str, str]:
    """One run by names, as a worker process makes it, in cells of text."""
    row = run_case(problems.find_cases(suite)[problem], seed, load_engine(engine))
    return {name: to_cell(row.get(name)) for name in FIELDS}


def run_all(
    path: Path,
    suites: Sequence[str],
    seeds: Sequence[int],
    engine: str | None,
    processes: int,
    only: Sequence[str] = (),
) -> None:
    """Append the runs that a file lacks, seed by seed."""
    done = read_runs(path) if path.exists() else {}
    cases = [c for s in problems.list_suites(suites) for c in problems.find_cases(s).values()]
    jobs = [(c.suite, c.problem, seed) for seed in seeds for c in cases if not only or c.problem in only]
    left = [job for job in jobs if job not in done]
    write_runs(path, done.values())  # drops a line that was cut
    print(f"{len(left)} of {len(jobs)} runs to make", file=sys.stderr, flush=True)
    with (
        open(path, "a", encoding="utf-8", newline="") as file,
        ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool,
    ):
        writer = csv.writer(file, lineterminator="\n")
        asked = {pool.submit(run_named, *job, engine): job for job in left}
        for i, future in enumerate(as_completed(asked), 1):
            job, broken = asked[future], future.exception()
            if broken is not None:
                print(f"LEFT OUT: {job}: {type(broken).__name__}: {broken}", file=sys.stderr, flush=True)
                continue
            writer.writerow([future.result()[name] for name in FIELDS])
            file.flush()
            if i % 50 == 0:
                print(f"{i} of {len(left)} runs", file=sys.stderr, flush=True)


# -- what is made once, with 0.3.0 -------------------------------------------------------------------


def measure_ranges(seeds: Sequence[int]) -> None:
    """Write the 10-90 % range of every function of the noisy problems over the second half of a run without noise."""
    import meco

    found = {}
    for kind, name, dim in problems.noisy_names():
        for seed in seeds:
            exact, _ = problems.unit_problem(kind, name, seed)
            told = meco.minimize(
                exact, [(0, 1)] * dim, method="TR", budget=50 * dim, seed=seed, noise=False
            ).evaluations
            late = slice(len(told) // 2, None)
            values = np.concatenate([told.f[late, None], told.g[late]], axis=1)
            low, high = np.nanquantile(values, [0.1, 0.9], axis=0)
            found[f"{name} {seed}"] = (high - low).tolist()
        print(name, file=sys.stderr, flush=True)
    text = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    problems.RANGES.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def search_reference(suite: str, problem: str) -> float:
    """The least feasible f of a long run: SHADE-FR with 1000 D calls, then TR from its answer with 100 D.

    With cheap constraints, which slow SHADE-FR down, of TR alone.
    """
    import meco

    case, best, first = problems.find_cases(suite)[problem], math.inf, None
    task = case.make(101)
    for method, per_variable in (("SHADE-FR", 1000), ("TR", 100))["cheap" in task.options :]:
        budget = per_variable * case.dim
        recorder = Recorder(task, budget)
        options = task.options if first is None else {**task.options, "x0": first}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            first = meco.minimize(recorder, task.bounds, method=method, budget=budget, seed=101, **options)
        best = min([best, *(f for f, v in zip(recorder.f, recorder.v) if v <= 0)])
    return best


def write_references(path: Path | None, suites: Sequence[str], processes: int) -> None:
    """Write the least f of problems whose task has no reference: of a long run, and of a file of runs.

    The long runs are skipped for problems that references.csv has.
    """
    known = dict(problems.read_references())
    cases = [c for s in problems.list_suites(suites) for c in problems.find_cases(s).values()]
    open_ones = [(c.suite, c.problem) for c in cases if (task := c.make(1)).ref is None and not task.empty]
    lacking = [key for key in open_ones if key not in known]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for key, least in zip(lacking, pool.map(search_reference, *zip(*lacking)) if lacking else ()):
            known[key] = least
            print(*key, least, file=sys.stderr, flush=True)
    for (suite, problem, _), row in (read_runs(path) if path is not None else {}).items():
        if (suite, problem) in open_ones:
            known[suite, problem] = min(known[suite, problem], float(row["f_end"]))
    for suite, problem in known:  # whole and partial answers are of one function
        if suite == "partial":
            name = problem.rpartition(" ")[0]
            known[suite, problem] = min(known.get((suite, f"{name} {kind}"), math.inf) for kind in ("whole", "partial"))
    with open(problems.REFERENCES, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["suite", "problem", "f"])
        writer.writerows([[*key, repr(f)] for key, f in sorted(known.items()) if math.isfinite(f)])
