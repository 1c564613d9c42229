"""Compare two files of runs, paired by problem and seed: shares solved, medians that got worse, and other measures.

A run is solved to t where its best feasible f is at most ref + t max(scale, |ref|); with noise its answer is judged, by
its true values. A problem got worse where its median gap over seeds grew by more than a factor of two; gaps below 1e-8
count as 1e-8, runs without a feasible point are compared by their violation. Intervals are 95 % bootstraps over
problems.

A suite fails where a share solved is lower by more than 1 point (cutest) or 2 points (others), or where more than one
problem in twenty got worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.reference import problems
from benchmarks.reference.runs import read_runs

REFERENCE = Path(__file__).parent / "quality-0.3.0.csv.xz"
ACCURACIES = (1e-1, 1e-3, 1e-5, 1e-7)
LEAST_GAP, LEAST_VIOLATION = 1e-8, 1e-6
WORSE = 2.0  # factor of the median gap
ALLOWED = {"cutest": 1.0}  # points that a share solved may be lower; others 2
ALLOWED_WORSE = 1 / 20  # share of the problems
LEVEL = 0.05  # of a test
INFEASIBLE_GAP = 1e10  # in logarithms of gaps
DRAWS = 4000
Row = dict[str, str]


def number(row: Row, name: str) -> float:
    """A cell as a number; nan where it is empty."""
    return float(row[name]) if row.get(name) else math.nan


def least_known(row: Row) -> float:
    """The reference of a run's problem; nan where none is known."""
    if row["ref"]:
        return float(row["ref"])
    return problems.read_references().get((row["suite"], row["problem"]), math.nan)


def find_gap(row: Row, at: str = "end") -> float:
    """Gap to the reference in units of max(scale, |ref|); infinite where infeasible, nan without a reference."""
    name = "answer" if row["suite"] == "noise" else ("_end" if at == "end" else at)
    f, v = (number(row, f"{kind}_answer" if name == "answer" else f"{kind}{name}") for kind in "fv")
    ref = least_known(row)
    if math.isnan(ref) or row["empty"] == "1":
        return math.nan
    return (f - ref) / max(number(row, "scale"), abs(ref), 1e-300) if v <= 0 else math.inf


def find_violation(row: Row, at: str = "end") -> float:
    """Least violation of a run; with noise, of its answer."""
    value = number(row, "v_answer" if row["suite"] == "noise" else f"v_{at}" if at == "end" else f"v{at}")
    return math.inf if math.isnan(value) else value


def bootstrap(values: np.ndarray) -> tuple[float, float]:
    """A 95 % interval of the mean of values [P], over problems."""
    rng = np.random.default_rng(1)
    means = values[rng.integers(0, values.size, (DRAWS, values.size))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def by_problem(rows: list[tuple[Row, Row]], value: Callable[[Row], float]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Values of old and new runs [seeds] of every problem."""
    found: dict[str, list[tuple[float, float]]] = {}
    for old, new in rows:
        found.setdefault(old["problem"], []).append((value(old), value(new)))
    return {name: (np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])) for name, pairs in found.items()}


def compare(old_path: Path, new_path: Path, at: str = "end") -> int:
    """Print the comparison of two files of runs; 1 where a suite fails, else 0."""
    old, new = read_runs(old_path), read_runs(new_path)
    skipped = {key for key, row in new.items() if row["error"].startswith("NotImplementedError")}
    keys = [key for key in old if key in new and key not in skipped]
    print(f"old: {old_path}, {len(old)} runs; new: {new_path}, {len(new)} runs; {len(keys)} pairs")
    if skipped:
        print(f"left out: {len(skipped)} runs of tasks that the new engine does not take (NotImplementedError)")
    failed, chances = [], {}
    for suite in dict.fromkeys(key[0] for key in keys):
        rows = [(old[key], new[key]) for key in keys if key[0] == suite]
        if not compare_suite(suite, rows, at):
            failed.append(suite)
        chances[suite] = chance_of_better(rows, at)
    print("\nnew is better (signed-rank test over problems, one-sided, corrected by Holm):")
    for suite, p in correct_by_holm(chances).items():
        print(f"  {suite:<11} p = {p:.3g}{'  BETTER' if p < LEVEL else ''}")
    lacking = sorted({key[:2] for key in old if key not in new and key[0] in {k[0] for k in keys}})
    if lacking:
        print(f"\n{len(lacking)} problems lack runs in {new_path}: {', '.join(name for _, name in lacking[:10])}")
    print(f"\n{'FAILED: ' + ', '.join(failed) if failed else 'no suite fails'}")
    return int(bool(failed))


def compare_suite(suite: str, rows: list[tuple[Row, Row]], at: str) -> bool:
    """Print the comparison of a suite; whether it passes."""
    gaps = {k: v for k, v in by_problem(rows, lambda row: find_gap(row, at)).items() if not np.isnan(v[0]).any()}
    said = "of the answer" if suite == "noise" else f"after {at if at != 'end' else 'all'} evaluations"
    print(f"\n{suite}: {len(gaps)} problems, {len(rows)} pairs of runs, {said}{'' if at == 'end' else ' per variable'}")
    allowed, lower = ALLOWED.get(suite, 2.0), False
    if gaps:
        print(f"  {'solved to':<10}{'old':>8}{'new':>8}{'new - old':>11}   95 % interval")
        for t in ACCURACIES:
            solved = np.array([[100 * np.mean(a <= t), 100 * np.mean(b <= t)] for a, b in gaps.values()])
            change = solved[:, 1] - solved[:, 0]
            low, high = bootstrap(change)
            beyond = change.mean() < -allowed
            lower |= bool(beyond)
            mark = f"  LOWER BY MORE THAN {allowed:g}" if beyond else ""
            print(f"  {t:<10g}{solved[:, 0].mean():>7.1f}%{solved[:, 1].mean():>7.1f}%{change.mean():>+11.1f}"
                  f"   {low:+.1f} to {high:+.1f}{mark}")  # fmt: skip
    if gaps:
        middle = [float(np.median([np.median(pair[k]) for pair in gaps.values()])) for k in (0, 1)]
        factors = [max(np.median(b), LEAST_GAP) / max(np.median(a), LEAST_GAP) for a, b in gaps.values()
                   if np.isfinite([np.median(a), np.median(b)]).all()]  # fmt: skip
        mean = math.exp(np.mean(np.log(factors))) if factors else math.nan
        print(f"  median gap {middle[0]:.3g} -> {middle[1]:.3g}; by problem x {mean:.3g} in the geometric mean")
    for name, value in (("feasible", lambda row: 100.0 * (find_violation(row, at) <= 0)), *OTHERS.items()):
        show_measure(name, by_problem(rows, value))
    show_factor("price until within 1 %", by_problem(rows, lambda row: number(row, "price")))
    show_factor("CPU seconds", by_problem(rows, lambda row: number(row, "seconds")))
    changes = {name: median_change(name, rows, at) for name in dict.fromkeys(row["problem"] for row, _ in rows)}
    worse = {name: c for name, c in changes.items() if c[0] > WORSE}
    better = sum(c[0] < 1 / WORSE for c in changes.values())
    many = len(worse) > ALLOWED_WORSE * len(changes)
    print(f"  median worse by a factor of {WORSE:g}: {len(worse)} of {len(changes)} problems"
          f"{'  MORE THAN ONE IN TWENTY' if many else ''}; better by it: {better}")  # fmt: skip
    for name, (factor, text) in sorted(worse.items(), key=lambda item: -item[1][0]):
        print(f"    {name}: {text} (x {factor:.3g})")
    errors = [
        f"{new['problem']} seed {new['seed']}: {new['error']}" for old, new in rows if new["error"] and not old["error"]
    ]
    if errors:
        print(f"  {len(errors)} runs ended by an error that the old ones do not have: {'; '.join(errors[:3])}")
    return not (lower or many)


def median_change(problem: str, rows: list[tuple[Row, Row]], at: str) -> tuple[float, str]:
    """New by old median over seeds: of gaps, or of violations where a median is infeasible; and a text."""
    chosen = [(a, b) for a, b in rows if a["problem"] == problem]
    old, new = (np.array([find_gap(pair[k], at) for pair in chosen]) for k in (0, 1))
    medians = [float(np.median(v)) for v in (old, new)]
    if all(math.isfinite(m) for m in medians):
        a, b = (max(m, LEAST_GAP) for m in medians)
        return b / a, f"gap {medians[0]:.3g} -> {medians[1]:.3g}"
    if math.isinf(medians[0]) != math.isinf(medians[1]):
        return (math.inf, "feasible -> infeasible") if math.isinf(medians[1]) else (0.0, "infeasible -> feasible")
    a, b = (max(float(np.median([find_violation(pair[k], at) for pair in chosen])), LEAST_VIOLATION) for k in (0, 1))
    return (b / a if math.isfinite(b) else math.inf if math.isfinite(a) else 1.0), f"violation {a:.3g} -> {b:.3g}"


def share(name: str) -> Callable[[Row], float]:
    """A share in percent."""
    return lambda row: 100 * number(row, name)


def said_right(row: Row) -> float:
    """Whether success is False or the answer is truly feasible, in percent; with noise alone."""
    return math.nan if row["suite"] != "noise" else 100.0 * (row["success"] != "True" or number(row, "v_answer") <= 0)


OTHERS: dict[str, Callable[[Row], float]] = {
    "success is right": said_right,
    "failed calls": share("failed"),
    "failed, last third": share("failed_late"),
    "outside cheap": share("outside"),
}


def chance_of_better(rows: list[tuple[Row, Row]], at: str) -> float:
    """p of a one-sided signed-rank test that gaps, in logarithms averaged over seeds, are smaller in the new runs."""
    from scipy.stats import wilcoxon

    def height(row: Row) -> float:
        return math.log10(min(max(find_gap(row, at), LEAST_GAP), INFEASIBLE_GAP))

    rows = [pair for pair in rows if not math.isnan(find_gap(pair[0], at))]
    lead = np.array([float(np.mean(b - a)) for a, b in by_problem(rows, height).values()])
    return float(wilcoxon(lead, alternative="less").pvalue) if lead.any() else 1.0


def correct_by_holm(chances: dict[str, float]) -> dict[str, float]:
    """p-values corrected for their number, by suite."""
    found, least = {}, 0.0
    for k, suite in enumerate(sorted(chances, key=chances.__getitem__)):
        least = found[suite] = min(1.0, max(least, (len(chances) - k) * chances[suite]))
    return {suite: found[suite] for suite in chances}


def show_factor(name: str, values: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Print new by old of the medians over seeds, in the geometric mean over problems; nothing where none has it."""
    medians = np.array([[np.median(v) for v in pair] for pair in values.values()]).reshape(-1, 2)
    there = np.isfinite(medians).all(axis=1) & (medians > 0).all(axis=1)
    if there.any():
        factor = math.exp(np.mean(np.log(medians[there, 1] / medians[there, 0])))
        print(f"  {name}: x {factor:.3g} ({there.sum()} of {len(medians)} problems)")


def show_measure(name: str, values: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Print the means over problems of a share in percent, and their difference; nothing where no run has it."""
    means = np.array([[v.mean() for v in pair] for pair in values.values() if not np.isnan(np.concatenate(pair)).any()])
    if means.size:
        low, high = bootstrap(means[:, 1] - means[:, 0])
        old, new = means.mean(axis=0)
        print(f"  {name:<20}{old:>6.1f}%{new:>7.1f}%{new - old:>+8.1f}   {low:+.1f} to {high:+.1f}")


def show(path: Path) -> None:
    """Print the shares solved by suite, accuracy and evaluations per variable, and the other measures."""
    found = read_runs(path)
    print(f"{path.name}: {len(found)} runs")
    print(f"{'suite':<11}{'problems':>9}{'seeds':>6}   solved to " + "".join(f"{t:>22g}" for t in ACCURACIES))
    print(" " * 29 + "after" + "".join(f"{at:>6}" for _ in ACCURACIES for at in ("10", "20", "end"))[2:])
    for suite in dict.fromkeys(key[0] for key in found):
        rows = [row for key, row in found.items() if key[0] == suite]
        names, seeds = {row["problem"] for row in rows}, {row["seed"] for row in rows}
        cells = []
        for t in ACCURACIES:
            for at in ("10", "20", "end"):
                gaps = np.array([find_gap(row, at) for row in rows])
                there = gaps[~np.isnan(gaps)]
                cells.append(100 * np.mean(there <= t) if there.size else math.nan)
        print(f"{suite:<11}{len(names):>9}{len(seeds):>6}" + " " * 8 + "".join(f"{cell:>6.0f}" for cell in cells))
    for suite in dict.fromkeys(key[0] for key in found):
        rows = [row for key, row in found.items() if key[0] == suite]
        said = []
        for name, value in (("feasible", lambda row: 100.0 * (find_violation(row) <= 0)), *OTHERS.items()):
            values = np.array([value(row) for row in rows])
            if not np.isnan(values).all():
                said.append(f"{name} {np.nanmean(values):.1f} %")
        seconds = sum(number(row, "seconds") for row in rows)
        print(f"{suite}: {', '.join(said)}; {seconds:.0f} s")
