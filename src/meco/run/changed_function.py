"""Old answers of a function whose code has changed: whether the best of them still holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meco.errors import InvalidInput
from meco.evaluations import BestPoint, Evaluations
from meco.run.calling.caller import Backend, CallJob, Stopping
from meco.run.folder.reader import replay_recorded
from meco.run.log.equality_defaults import EqualityDefaults
from meco.run.log.evaluation_log import Entry, EvaluationLog
from meco.run.make_result import list_evaluations
from meco.run.request import Request

SAME_SHARE = 1e-9  # of the largest old value, by which two values of one function may differ
OTHER_CODE = "fun or a constraint is not the code that gave the old answers"
NOISE_ERRORS = 6.0  # standard deviations of a call by which two calls of one point may differ


def compare_best_answer(request: Request, recorded: Sequence[Entry], backend: Backend, stopping: Stopping) -> str:
    """Call the best of recorded and known points again, beyond the budget: a note where it gives the same values.

    The answer of a run is this point or a new one. InvalidInput where its values are others; StopRun where the run is
    over before.
    """
    named, equalities = len(request.constraint_names) or None, EqualityDefaults(request.known)
    log = EvaluationLog(request.budget + 1, named, equalities=equalities)
    if request.known is not None:
        log.declare_constraints(request.known.g.shape[1], request.known.h.shape[1])
    replay_recorded(log, recorded, asynchronous=False)
    every = list_evaluations(request, log, request.resolve_tolerances(log))
    if every.best is None or not every.best.usable:
        return f"{OTHER_CODE}; none of these was usable"
    ((_, (answer,), _),) = backend.run([CallJob(request.budget, every.best.x[None])], stopping)
    before, now = _join_values(every.best), _align_answer(log, Entry.of(request.budget, 0, 0, every.best.x, answer))
    deviations, names = request.resolve_noise(log), ("f", *log.constraint_names(request.constraint_names))
    allowed = _largest_difference(every) + (0.0 if deviations is None else NOISE_ERRORS * np.sqrt(2.0) * deviations)
    if now is not None and (np.abs(now - before) <= allowed).all():
        return f"{OTHER_CODE}; the best of them was called again, beyond the budget, and is the same"
    failed = f"the call failed{': ' if answer.reason else ''}{answer.reason}"
    said = (
        f"fun or a constraint has changed since the old answers were made: at {_show_point(request, every.best.x)} "
        f"they say {_name_values(names, before)}, and now {failed if now is None else _name_values(names, now)}; begin "
        "anew with another folder and without "
    )
    raise InvalidInput(f"{said}evaluated= (x0= may be that point), or put the function back").on_command_line(
        f"{said}--evaluated (--x0 may be that point), or put the function back"
    )


def _show_point(request: Request, x: np.ndarray) -> str:
    """A point x [D] in a line: by name where the variables have names, with categories by their values."""
    variables = request.variables
    if variables.names:
        return ", ".join(
            f"{name} = {each.show(value)}" for name, each, value in zip(variables.names, variables.each, x)
        )
    return f"x={variables.own_values(x) if variables.categorical.any() else np.array2string(x, threshold=8)}"


def _join_values(point: BestPoint | Entry) -> np.ndarray:
    """f, g and h [1 + p + q] of a point."""
    return np.concatenate([[point.f], point.g, point.h])


def _align_answer(log: EvaluationLog, entry: Entry) -> np.ndarray | None:
    """f, g and h [1 + p + q] of an answer in the order of the log, which enters it; None where it has not all."""
    log.add_recorded(entry)
    log.fix_constraints()
    kept = log.entries[entry.number]
    return _join_values(kept) if kept.good and np.isfinite(_join_values(kept)).all() else None


def _largest_difference(every: Evaluations) -> np.ndarray:
    """By how much two values of the same function may differ [1 + p + q]: rounding of the largest old one."""
    old = np.concatenate([every.f[:, None], every.g, every.h], axis=1)
    return SAME_SHARE * np.max(np.where(np.isfinite(old), np.abs(old), 0.0), axis=0)


def _name_values(names: Sequence[str], values: np.ndarray) -> str:
    """Values with their names, in a line."""
    return ", ".join(f"{name} = {value:.10g}" for name, value in zip(names, values.tolist()))
