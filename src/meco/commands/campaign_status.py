"""What there is to see of a campaign's folder, as plain numbers for a page; the folder is only read."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from meco.bench.plan.experiment import Experiment
from meco.bench.plan.run import Run
from meco.bench.run.campaign_folder import STORE_FILE
from meco.bench.run.result_store import read_results
from meco.bench.run.store_contents import StoreContents
from meco.report import stats
from meco.report.frame import read_runs

TOLD_FAILURES = 5  # failures told in words


def read_campaign_status(folder: Path) -> dict[str, Any]:
    """Everything the page shows of the campaign in a folder, now, for JSON; watch.js reads these keys.

    Reads the whole store; one that is missing or damaged is an error.
    """
    results = read_results(folder)
    wanted = list(dict.fromkeys(run for e in results.experiments for _, run in e.wanted_runs()))
    done = sum(run in results.runs for run in wanted)
    failed = [run for run in wanted if run in results.failures]
    reasons = Counter(f"{run.method}: {results.failures[run]}" for run in failed).most_common(TOLD_FAILURES)
    return {
        "kind": "campaign", "folder": folder.name, "over": done + len(failed) >= len(wanted),
        "done": done, "failed": len(failed), "wanted": len(wanted),
        "reasons": [f"{text} ({count} runs)" for text, count in reasons],
        "left": _seconds_left(results, wanted), "quiet": _seconds_since_result(folder),
        "experiments": [_describe_experiment(results, e, dim) for e in results.experiments for dim in e.dims],
    }  # fmt: skip


def _seconds_left(results: StoreContents, wanted: list[Run]) -> float | None:
    """Seconds that the missing runs take, by what finished ones of their method took, on the last session's workers.

    None before any has finished.
    """
    took: dict[str, list[float]] = {}
    for run, record in results.runs.items():
        took.setdefault(run.method, []).append(record.seconds)
    if not took:
        return None
    pace = {method: float(np.mean(values)) for method, values in took.items()}
    overall = float(np.mean(list(pace.values())))
    missing = [run for run in wanted if run not in results.runs and run not in results.failures]
    workers = max((int(facts.get("workers") or 1) for facts in list(results.sessions.values())[-1:]), default=1)
    return sum(pace.get(run.method, overall) for run in missing) / max(1, workers)


def _seconds_since_result(folder: Path) -> float | None:
    """Seconds since a result was kept in the store; None without one."""
    store = folder / STORE_FILE
    return max(0.0, time.time() - store.stat().st_mtime) if store.exists() else None


def _describe_experiment(results: StoreContents, experiment: Experiment, dim: int | None) -> dict[str, Any]:
    """Each contender at each problem, for JSON: runs made, and how they stand where all have begun."""
    cases = list(dict.fromkeys(experiment.cases(dim)))
    rank = _mean_ranks(results, experiment, dim)
    rows = []
    for contender in experiment.contenders:
        runs = [experiment.runs_of(contender, case) for case in cases]
        kept = [results.runs[run] for case in runs for run in case if run in results.runs]
        rows.append({
            "name": contender.label, "wanted": sum(map(len, runs)), "done": len(kept),
            "failed": sum(run in results.failures for case in runs for run in case),
            "feasible": sum(r.feasible for r in kept) / len(kept) if kept else None,
            "seconds": sum(r.seconds for r in kept) / len(kept) if kept else None,
            "rank": rank.get(contender.label),
            "cells": [sum(run in results.runs for run in case) / max(1, len(case)) for case in runs],
        })  # fmt: skip
    return {
        "title": experiment.title + (f", {dim}D" if dim is not None and len(experiment.dims) > 1 else ""),
        "problems": [case.problem for case in cases], "methods": rows,
    }  # fmt: skip


def _mean_ranks(results: StoreContents, experiment: Experiment, dim: int | None) -> dict[str, float]:
    """Mean rank of each method, feasibility first, over the problems that all methods have begun; {} without any."""
    runs = read_runs(results, experiment, dim)
    if runs is None:
        return {}
    ranks = stats.rank_cells(stats.summarize_feasibility(runs.table)).dropna()
    return dict(ranks.mean().round(2)) if len(ranks) else {}
