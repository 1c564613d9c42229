"""Optuna's samplers with constraints: TPE and Gaussian processes (pip install optuna, for "gp" torch, too)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from peers import Target

MOST_REPEATS = 100  # trials at known points, before one of them is evaluated again


def optuna(target: Target, seed: int, sampler: str = "tpe", startup: int = 10) -> None:
    """Ask a study for one trial after another; a failed evaluation is a pruned trial, a known point costs nothing."""
    import optuna as library

    library.logging.set_verbosity(library.logging.CRITICAL)
    warnings.simplefilter("ignore")
    made = {"tpe": library.samplers.TPESampler, "gp": library.samplers.GPSampler}[sampler](
        seed=seed, n_startup_trials=startup, constraints_func=lambda trial: trial.user_attrs["excess"]
    )
    study, known = library.create_study(sampler=made), {}
    repeats, n_constraints = 0, target.problem.n_ineq + target.problem.n_eq
    while True:
        trial = study.ask()
        x = _suggest_point(trial, target)
        if x.tobytes() not in known or repeats == MOST_REPEATS:
            known[x.tobytes()], repeats = target(x), 0
        else:
            repeats += 1
        row = known[x.tobytes()]
        if row is None:
            trial.set_user_attr("excess", [float("inf")] * n_constraints)
            study.tell(trial, state=library.trial.TrialState.PRUNED)
        else:
            trial.set_user_attr("excess", target.excess(row).tolist())
            study.tell(trial, float(row[0]))


def _suggest_point(trial: Any, target: Target) -> np.ndarray:
    """The point [D] of a trial, integers as integers."""
    return np.array([
        trial.suggest_int(f"x{i}", int(np.ceil(low)), int(np.floor(high)))
        if target.integer[i]
        else trial.suggest_float(f"x{i}", low, high)
        for i, (low, high) in enumerate(zip(target.low, target.high))
    ], dtype=float)  # fmt: skip
