"""What there is to see of a run folder, as plain numbers for a page; the folder is only read."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from meco.core.metrics import feasibility_first
from meco.core.rule import order
from meco.errors import DamagedFile
from meco.evaluations import Evaluations
from meco.files.regular_files import read_regular
from meco.files.schema import check_form, parse_json, read_json
from meco.run.answer import Fault
from meco.run.folder.reader import load_run
from meco.run.folder.run_folder import DURATION_ROW
from meco.run.folder.trace_file import read_trace
from meco.run.log.evaluations_builder import Listing
from meco.run.request import variables_from_inputs
from meco.run.tolerances import resolve_recorded_tolerances
from meco.variables import Variables

LARGEST_FILE = 1 << 30  # bytes of the times of calls, or of the failures
CURVE_POINTS = 300  # of a curve, at most
DRAWN_POINTS = 20  # points drawn across the variables
RECENT_EVALUATIONS = 100  # evaluations over which a constraint's keeping is counted
TOLD_FAILURES = 5  # failures told in words
DISTINCT_SHARE = 0.01  # of the box in some variable: points that are closer are one design to an eye
STEERING = {  # what methods tell of themselves in the trace: its name on the page, and whether it is a share
    "theta": ("Theta, the violation that a step may leave", True),
    "share": ("Share of the evolution strategy", True),
    "action": ("Action of the policy", True),
    "delta": ("Radius of the trust region", False),
    "sigma": ("Step size of the evolution strategy", False),
}


def read_run_status(folder: Path) -> dict[str, Any]:
    """Everything the page shows of the run in a folder, now, for JSON; watch.js reads these keys.

    Reads the whole log; a folder without a run is an error.
    """
    run_json, log, _ = load_run(folder)
    inputs = run_json["inputs"]
    variables, tolerances = variables_from_inputs(inputs), resolve_recorded_tolerances(inputs, log)
    every = log.to_evaluations(Listing(len(variables.each), None, *tolerances))
    ended = _read_result(folder)
    shown = {
        "kind": "run", "folder": folder.name, "fun": inputs["fun"], "method": inputs["method"], "seed": inputs["seed"],
        "budget": inputs["budget"], "nfev": len(every), "failures": _count_failures(every.fault),
        "reasons": _read_latest_failures(folder), "partial": int(every.partial.sum()),
        "variables": variables.labels(units=True),
        "lower": [_finite_or_none(v) for v in variables.lower], "upper": [_finite_or_none(v) for v in variables.upper],
        "steering": _steering_curves(folder),
        "message": None if ended is None else ended["message"],
        **_describe_timing(folder, len(every), inputs["budget"], ended),
    }  # fmt: skip
    if not len(every) or every.failed.all():
        return shown | {"curve": [], "best": None, "points": [], "constraints": [], "drawn": []}
    ev = every.to_evaluation(*tolerances)
    strict = every.feasible & (every.g <= 0.0).all(axis=1)  # goes first, as for the answer
    ranked = [int(i) for i in order(feasibility_first(ev))[0] if not every.failed[i]]
    ranked.sort(key=lambda i: not strict[i])
    nu = np.where(every.feasible, 0.0, ev.nu[0])
    low, high = variables.shown_range(every.x[ranked])
    names = log.constraint_names(inputs["tolerances"]["names"])
    points = [_describe_point(every, ranked[i], variables) for i in _choose_distinct(every.x[ranked], high - low)]
    return shown | {
        "curve": _sample_curve(every.f, nu, every.feasible, every.failed),
        "best": _describe_point(every, ranked[0], variables),
        "points": points,
        "drawn": np.stack(variables.shown_range(np.array([each["x"] for each in points])), axis=1).tolist(),
        "constraints": _describe_constraints(every, ranked[0], names, tolerances),
    }


def _describe_point(every: Evaluations, i: int, variables: Variables) -> dict[str, Any]:
    """Row i of the evaluations as the page shows it; shown has the names of categories, null for numbers."""
    found = {"x": every.x[i].tolist(), "f": float(every.f[i]), "feasible": bool(every.feasible[i]), "number": i + 1}
    if not variables.categorical.any():
        return found
    return found | {
        "shown": [None if v.categories is None else v.show(place) for v, place in zip(variables.each, found["x"])]
    }


def _choose_distinct(x: np.ndarray, width: np.ndarray) -> list[int]:
    """Of points [n, D] from best to worst, the places of the best that differ from all better ones.

    At most DRAWN_POINTS; width [D] is the range to compare by.
    """
    unit = x / np.where(width > 0, width, 1.0)
    kept: list[int] = []
    near = np.zeros(len(x), dtype=bool)
    while len(kept) < DRAWN_POINTS and not near.all():
        first = int(np.argmin(near))
        kept.append(first)
        near |= np.abs(unit - unit[first]).max(axis=1) < DISTINCT_SHARE
    return kept


def _sample_curve(f: np.ndarray, nu: np.ndarray, feasible: np.ndarray, failed: np.ndarray) -> list[list[float | None]]:
    """Rows (evaluations, least feasible f, least violation so far) at CURVE_POINTS of n > 0 calls.

    None before there is one.
    """
    best = np.minimum.accumulate(np.where(feasible, f, np.inf))
    least = np.minimum.accumulate(np.where(failed, np.inf, nu))
    at = np.unique(np.linspace(0, len(f) - 1, CURVE_POINTS).astype(int))
    return [[int(i) + 1, _finite_or_none(best[i]), _finite_or_none(least[i])] for i in at]


def _describe_constraints(
    every: Evaluations, best: int, names: tuple[str, ...], tolerances: Any
) -> list[dict[str, Any]]:
    """Each constraint at the best point, the share of the latest answers that told of it, and of those that kept it.

    The latter is None where none told of it.
    """
    values = np.concatenate([every.g, every.h], axis=1)
    over = np.concatenate([np.maximum(every.g, 0.0), np.abs(every.h)], axis=1)
    allowed = np.concatenate([np.broadcast_to(t, v.shape[1]) for t, v in zip(tolerances, (every.g, every.h))])
    lately = over[~every.failed | every.partial][-RECENT_EVALUATIONS:]  # nan where it is not told
    told, kept = (np.sum(which, axis=0).tolist() for which in (~np.isnan(lately), lately <= allowed))
    return [
        {
            "name": n,
            "value": float(v),
            "violation": float(c) if c > tol else 0.0,
            "kept": k / t if t else None,
            "told": t / max(len(lately), 1),
        }
        for n, v, c, tol, k, t in zip(names, values[best], over[best], allowed, kept, told)
    ]


def _finite_or_none(value: float) -> float | None:
    """The number, or null of JSON for what it cannot say."""
    return float(value) if np.isfinite(value) else None


def _steering_curves(folder: Path) -> list[dict[str, Any]]:
    """What the method told of itself over the evaluations, a curve for each thing that is worth one."""
    rows = read_trace(folder / "trace.jsonl")
    return [
        {"name": name, "about": about, "share": share, "curve": [[row["nfev"], row.get(name)] for row in rows]}
        for name, (about, share) in STEERING.items()
        if any(row.get(name) is not None for row in rows)
    ]


def _count_failures(fault: np.ndarray) -> dict[str, int]:
    """How many calls failed in each way, by its name."""
    return {Fault(int(k)).name.lower(): n for k, n in sorted(Counter(fault.tolist()).items()) if k != Fault.NONE}


def _read_latest_failures(folder: Path) -> list[str]:
    """The latest failures of a run folder in words; [] where none was kept or the file cannot be read."""
    try:
        lines = (
            read_regular(folder / "failures.jsonl", LARGEST_FILE).decode(errors="replace").splitlines()[-TOLD_FAILURES:]
        )
        rows = [parse_json(line, "failures.jsonl") for line in lines]
        check_form(rows, [{"number": int, "reason": str}], "failures.jsonl")
    except (OSError, DamagedFile):
        return []
    return [f"evaluation {row['number'] + 1}: {row['reason']}" for row in rows]


def _read_result(folder: Path) -> dict[str, Any] | None:
    """The result of the last session; None where none has ended, or its file is damaged."""
    try:
        found = read_json(folder / "result.json")
        check_form(found, {"nfev": int, "message": str}, "result.json")
        return found
    except DamagedFile:
        return None


def _describe_timing(folder: Path, count: int, budget: int, ended: dict[str, Any] | None) -> dict[str, Any]:
    """Whether the run has ended, how old its last call is, and the seconds that the rest will take at this pace."""
    content = read_regular(folder / "times.bin", LARGEST_FILE) if (folder / "times.bin").exists() else b""
    whole = content[: len(content) // DURATION_ROW.size * DURATION_ROW.size]
    ends = [end for _, end, _ in DURATION_ROW.iter_unpack(whole)]
    over = ended is not None and ended["nfev"] >= count
    pace = (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else None
    return {
        "over": over,
        "spent": ends[-1] - ends[0] if ends else None,
        "quiet": None if not ends else max(0.0, time.time() - ends[-1]),
        "left": None if over or pace is None else pace * max(0, budget - count),
    }
