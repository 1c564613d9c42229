"""Which method to use on one problem: a table of the methods, and a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.errors import MissingExtra, load_extra
from meco.report import stats
from meco.report.frame import ExperimentRuns
from meco.report.tables import Table, mark_best

SAME = 1e-6  # relative difference of medians below which methods tie
NEAR = 1e-4  # relative distance from the best f of all runs within which a run has found it
ROUNDING = 1e-12  # of the range of f: smaller differences are rounding, also where the best f is 0
FEW = 4  # runs per method below which no test can tell methods apart
ENOUGH = 20  # runs per method from which on a difference that is not shown hardly matters


def make_advice_table(runs: ExperimentRuns, problem: str) -> Table:
    """The methods on one problem, best first; the caption says which one to use."""
    frame = rank_methods(runs, problem)
    shown = frame.assign(**{
        "feasible runs": [f"{n} of {of}" for n, of in zip(frame["feasible"], frame["runs"])],
        "runs near the best": [f"{n} of {of}" for n, of in zip(frame["near"], frame["runs"])],
        **{
            name: [f"{value:.{digits}g}" if np.isfinite(value) else "–" for value in frame[name]]
            for name, digits in (
                ("median f", 6), ("best f", 6), ("median violation", 3), ("evaluations to feasible", 6),
                ("seconds per run", 2),
            )
        },
    })  # fmt: skip
    columns = [
        "feasible runs", "median f", "best f", "runs near the best", "median violation", "evaluations to feasible",
        "seconds per run",
    ]  # fmt: skip
    numbers = frame.assign(**{
        "feasible runs": frame.feasible / frame.runs, "runs near the best": frame.near / frame.runs,
    })[[*columns, "runs"]]  # fmt: skip
    case = runs.cases[runs.problems.index(problem)]
    title = f"{problem} after {case.budget:,} evaluations{runs.title_suffix}"
    name = runs.name("choice" if len(runs.problems) == 1 else f"choice-{problem}")
    marks = shown[columns].map(lambda _: "")
    least = frame["median f"].iloc[0]
    values = [least if _ties(frame.iloc[0], row) else row["median f"] for _, row in frame.iterrows()]
    marks["median f"] = mark_best(np.where(np.isfinite(values), values, np.nan))
    return Table(name, title, numbers, give_advice(runs, problem), shown=shown[columns], marks=marks)


def rank_methods(runs: ExperimentRuns, problem: str) -> Any:
    """A frame with a row per method that ran on the problem, best first.

    An infeasible run counts as f = inf. Sorted by feasible runs, median f (equal where it is near the best f of
    all), runs near the best, and median violation.
    """
    pandas = load_extra("pandas", "report", "a table")
    table = runs.table[runs.table.problem == problem]
    f = table.f.where(table.feasible, np.inf)
    finite = f[np.isfinite(f)]
    best, margin = -np.inf, 0.0
    if len(finite):
        curve = runs.curves["f"][:, runs.problems.index(problem)]
        best, most = float(finite.min()), float(np.max(curve[np.isfinite(curve)], initial=finite.max()))
        margin = max(NEAR * abs(best), ROUNDING * (most - best))
    rows = {}
    for label, part in table.groupby("label", observed=True):
        values = f[part.index]
        soon = np.where(part.feasible, part.feasible_at.astype(float), np.inf)
        rows[label] = {
            "runs": len(part),
            "feasible": int(part.feasible.sum()),
            "median f": _upper_median(values),
            "best f": float(values.min()),
            "near": int((values <= best + margin).sum()),
            "median violation": float(part.nu.median()),
            "evaluations to feasible": _upper_median(soon),
            "seconds per run": float(part.seconds.mean()),
        }
    frame = pandas.DataFrame.from_dict(rows, orient="index").rename_axis("Method")
    frame = frame.assign(
        share=-frame.feasible / frame.runs,
        reached=frame["median f"].where(frame["median f"] > best + margin, best),
        close=-frame.near / frame.runs,
    ).sort_values(["share", "reached", "close", "median f", "median violation"], kind="stable")
    return frame.drop(columns=["share", "reached", "close"])


def _upper_median(values: Any) -> float:
    """The median; of two in the middle the upper one where it is infinite."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, high = ordered[[(len(ordered) - 1) // 2, len(ordered) // 2]]
    return float((low + high) / 2) if np.isfinite(high) else float(high)


def give_advice(runs: ExperimentRuns, problem: str) -> str:
    """Which method to use on a problem and how sure that is."""
    frame, case = rank_methods(runs, problem), runs.cases[runs.problems.index(problem)]
    best, others = frame.iloc[0], [frame.iloc[k] for k in range(1, len(frame))]
    after = f"after {case.budget:,} evaluations"
    if not frame.feasible.any():
        return _advise_infeasible(problem, after, best, others)
    ties = [other for other in others if _ties(best, other)]
    rest = [other for other in others if not _ties(best, other)]
    if ties:
        names = ", ".join([best.name, *(other.name for other in ties[:-1])]) + f" and {ties[-1].name}"
        few = min(int(row.runs) for row in (best, *ties)) < FEW
        sure = f"{_too_few()}." if few else "Any of them will do."
        said = f"{names} tie on {problem} {after}: {_describe(best)}. {sure}"
        return said + (f" Next: {rest[0].name} ({_describe(rest[0])})." if rest else "")
    said = f"Use {best.name} on {problem}: {_describe(best)} {after}."
    if not others:
        return said
    said += f" Next: {others[0].name} ({_describe(others[0])}). {_describe_certainty(runs, problem, best, others[0])}"
    return said + (f" Last: {others[-1].name} ({_describe(others[-1])})." if len(others) > 1 else "")


def _advise_infeasible(problem: str, after: str, best: Any, others: list[Any]) -> str:
    violation, said = best["median violation"], f"No method found a feasible point on {problem} {after}"
    if others and all(abs(other["median violation"] - violation) <= SAME * abs(violation) for other in others):
        return (
            f"{said}; all ended with the same violation ({violation:.3g}). The problem may have no feasible point: "
            "look at which constraint is violated."
        )
    nearest = f"{best.name} came nearest (median violation {violation:.3g})"
    return f"{said}; {nearest}. Try a larger --budget."


def _ties(best: Any, other: Any) -> bool:
    """Whether two methods were feasible and near the best equally often, with the same median f."""
    same = all(best[name] * other.runs == other[name] * best.runs for name in ("feasible", "near"))
    median = best["median f"]
    return bool(same and np.isfinite(median) and abs(other["median f"] - median) <= SAME * abs(median))


def _describe(row: Any) -> str:
    said = f"feasible in {int(row.feasible)} of {int(row.runs)} runs"
    if not row.feasible:
        return said
    median = f", median f {row['median f']:.6g}" if np.isfinite(row["median f"]) else ""
    return f"{said}{median}, {int(row.near)} of {int(row.runs)} within {100 * NEAR:g} % of the best f"


def _too_few() -> str:
    return "Too few runs to tell them apart: use --runs 10 or more"


def _describe_certainty(runs: ExperimentRuns, problem: str, first: Any, second: Any) -> str:
    """Whether chance can explain that the first method is ahead of the second."""
    order = stats.order_keys(runs, "first")[:, runs.problems.index(problem)]
    a, b = (order[runs.labels.index(row.name)] for row in (first, second))
    count = int(min(np.sum(~np.isnan(a)), np.sum(~np.isnan(b))))
    if count < FEW:
        return f"{_too_few()}."
    try:
        p = stats.rank_sum_p(a, b)
    except MissingExtra:
        return "A test of the difference needs SciPy."
    shown = "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"
    if p < stats.ALPHA:
        return f"The difference is significant (rank-sum test, {shown})."
    more = f"; {count} runs of each are few, use --runs {ENOUGH} or more" if count < ENOUGH else ""
    return f"The difference is not significant (rank-sum test, {shown}{more})."
