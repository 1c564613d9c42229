"""The state of an Optimizer as it comes back: its columns checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from meco.errors import DamagedFile, MecoError
from meco.files.schema import Maybe, check_form, parse_json
from meco.run.folder.reader import RUN_JSON_FORM

STATE_FORMAT = 1
COLUMNS = ("x", "f", "g", "h")  # of what was told and, as known_x ..., of PriorEvaluations: keys of the state
INPUTS = {
    **{
        key: RUN_JSON_FORM["inputs"][key]
        for key in ("variables", "variable_names", "budget", "method", "seed", "options", "x0")
    },
    "evaluated": Maybe({"count": int}),
    "tolerances": RUN_JSON_FORM["inputs"]["tolerances"],
    "cheap": RUN_JSON_FORM["inputs"]["cheap"],
    "n_ineq": int,
    "n_eq": int,
    "asynchronous": bool,
    "noise": RUN_JSON_FORM["inputs"]["noise"],
}


class ToldPoints(NamedTuple):
    """Calls by number [n], and in which order they were told; of outstanding points there are no values."""

    number: np.ndarray
    x: np.ndarray  # [n, D]
    f: np.ndarray = np.zeros(0)
    g: np.ndarray = np.zeros(0)
    h: np.ndarray = np.zeros(0)
    order: np.ndarray = np.zeros(0, dtype=np.int64)
    errors: np.ndarray = np.zeros(0)  # [n, 1 + p + q] standard errors, nan where not told; [n, 0] where none were

    @property
    def lost(self) -> np.ndarray:
        """Calls [n] that told nothing at all."""
        return ~np.isfinite(np.concatenate([self.f[:, None], self.g, self.h], axis=1)).any(axis=1)

    def errors_of(self, part: slice, n_ineq: int, n_eq: int) -> np.ndarray | None:
        """Standard errors [m, 1 + n_ineq + n_eq] of some calls, without those of cheap constraints.

        None where none were told.
        """
        if not self.errors.shape[1]:
            return None
        p = self.g.shape[1]
        every = self.errors[part]
        return np.concatenate([every[:, : 1 + n_ineq], every[:, 1 + p : 1 + p + n_eq]], axis=1)


class OptimizerState(NamedTuple):
    """What an Optimizer was made with, what it was told, what is outstanding and what was known beforehand."""

    inputs: dict[str, Any]
    told: ToldPoints
    outstanding: ToldPoints
    known: Any  # x, f, g, h of evaluated=, or None


def read_state(state: Mapping[str, Any]) -> OptimizerState:
    """The arrays and texts of Optimizer.state() as a record, each of them checked.

    DamagedFile where one is not right.
    """
    try:
        inputs = parse_json(str(state["inputs"]), "the state's inputs")
        check_form(inputs, {"format": int}, "the state's inputs")
        if inputs["format"] != STATE_FORMAT:
            raise DamagedFile(f"the state has format {inputs['format']}; this version reads {STATE_FORMAT}")
        check_form(inputs, INPUTS, "the state's inputs")
        values = [np.array(state[key], dtype=np.float64) for key in COLUMNS]
        number, order, waiting = (np.array(state[key]) for key in ("number", "order", "open_number"))
        errors = np.array(state["se"], dtype=np.float64) if "se" in state else np.zeros((len(values[0]), 0))
        outstanding = ToldPoints(waiting, np.array(state["open_x"], dtype=np.float64))
        known = tuple(np.array(state[f"known_{key}"]) for key in COLUMNS) if inputs.get("evaluated") else None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        said = error if isinstance(error, MecoError) else repr(error)
        raise DamagedFile(f"this is not the state of an Optimizer: {said}") from error
    count, dim = len(number) if number.ndim == 1 else -1, len(inputs["variables"])
    shapes = [(count, dim), (count,), (count, inputs["n_ineq"]), (count, inputs["n_eq"])]
    fits = [v.shape for v in values] == shapes and _are_rising(number) and _are_rising(waiting)
    width = (0, 1 + inputs["n_ineq"] + inputs["n_eq"])
    fits = fits and errors.ndim == 2 and len(errors) == count and errors.shape[1] in width
    fits = fits and not (np.isinf(errors) | (errors < 0.0)).any()
    if not fits or sorted(order.tolist()) != number.tolist() or outstanding.x.shape != (len(waiting), dim):
        raise DamagedFile("this is not the state of an Optimizer: its columns do not fit together")
    every = [*number.tolist(), *waiting.tolist()]
    if len(set(every)) != len(every) or max(every, default=-1) >= inputs["budget"]:
        raise DamagedFile("the state's answers and outstanding points do not fit together")
    x, f, g, h = values
    return OptimizerState(inputs, ToldPoints(number, x, f, g, h, order, errors), outstanding, known)


def _are_rising(numbers: np.ndarray) -> bool:
    """Whether these are whole numbers from 0 on, each above the one before."""
    return (
        numbers.ndim == 1 and numbers.dtype.kind in "iu" and bool((np.diff(numbers) > 0).all() and (numbers >= 0).all())
    )
