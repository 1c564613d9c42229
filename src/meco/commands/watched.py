"""What there is to see of a run folder, as plain numbers for a page; the folder is only read."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from meco.blackbox.answers import Fault
from meco.blackbox.runfolder import CLOCK
from meco.blackbox.runreader import load_run
from meco.blackbox.tolerances import recorded
from meco.errors import DamagedFile
from meco.files.plain import read_plain
from meco.files.schema import check, read_json
from meco.results import feasibility_first
from meco.rules.rule import order

LARGEST_FILE = 1 << 30  # bytes of the times of calls
POINTS = 300  # of a curve, at most
BEST = 20  # points drawn across the variables


def seen(folder: Path) -> dict[str, Any]:
    """Everything the page shows of the run in a folder, now; ready for JSON."""
    facts, log, _ = load_run(folder)
    inputs = facts["inputs"]
    tolerances = recorded(inputs, log)
    every = log.columns(len(inputs["lower"]), None, *tolerances)
    ended = _result(folder)
    shown = {
        "folder": folder.name, "fun": inputs["fun"], "method": inputs["method"], "seed": inputs["seed"],
        "budget": inputs["budget"], "nfev": len(every), "failures": _failures(every.fault),
        "variables": [f"x{i + 1}" for i in range(len(inputs["lower"]))],
        "lower": inputs["lower"], "upper": inputs["upper"],
        "message": None if ended is None else ended["message"], **_times(folder, len(every), inputs["budget"], ended),
    }  # fmt: skip
    if not len(every) or every.failed.all():
        return shown | {"curve": [], "best": None, "points": [], "constraints": []}
    ev = every.evaluation(*tolerances)
    ranked = [int(i) for i in order(feasibility_first(ev))[0] if not every.failed[i]]
    values = np.concatenate([every.g, every.h], axis=1)
    over = np.concatenate([np.maximum(every.g, 0.0), np.abs(every.h)], axis=1)
    top = ranked[0]
    names = log.names(inputs["constraint_names"])
    return shown | {
        "curve": _curve(every.f, over.sum(axis=1), every.feasible, every.failed),
        "best": {"x": every.x[top].tolist(), "f": float(every.f[top]), "feasible": bool(every.feasible[top])},
        "points": [{"x": every.x[i].tolist(), "feasible": bool(every.feasible[i])} for i in ranked[:BEST]],
        "constraints": [
            {"name": n, "value": float(v), "violation": float(c)} for n, v, c in zip(names, values[top], over[top])
        ],
    }


def _curve(f: np.ndarray, nu: np.ndarray, feasible: np.ndarray, failed: np.ndarray) -> list[list[float | None]]:
    """Evaluations, least feasible f so far (None before there is one) and least violation so far."""
    best = np.minimum.accumulate(np.where(feasible, f, np.inf))
    least = np.minimum.accumulate(np.where(failed, np.inf, nu))
    at = np.unique(np.linspace(0, len(f) - 1, POINTS).astype(int))
    return [[int(i) + 1, _finite(best[i]), _finite(least[i])] for i in at]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _failures(fault: np.ndarray) -> dict[str, int]:
    return {Fault(int(k)).name.lower(): n for k, n in sorted(Counter(fault.tolist()).items()) if k != Fault.NONE}


def _result(folder: Path) -> dict[str, Any] | None:
    """The result of the last session, if one has ended."""
    try:
        found = read_json(folder / "result.json")
        check(found, {"nfev": int, "message": str}, "result.json")
        return found
    except DamagedFile:
        return None


def _times(folder: Path, count: int, budget: int, ended: dict[str, Any] | None) -> dict[str, Any]:
    """Whether the run has ended, how old its last call is, and the seconds that the rest will take at this pace."""
    content = read_plain(folder / "times.bin", LARGEST_FILE) if (folder / "times.bin").exists() else b""
    whole = content[: len(content) // CLOCK.size * CLOCK.size]
    ends = [end for _, end, _ in CLOCK.iter_unpack(whole)]
    over = ended is not None and ended["nfev"] >= count
    pace = (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else None
    return {
        "over": over,
        "quiet": None if not ends else max(0.0, time.time() - ends[-1]),
        "left": None if over or pace is None else pace * max(0, budget - count),
    }
