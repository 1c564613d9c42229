"""The state of an Optimizer as others may hand it in: its columns checked, and its seal."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from meco.blackbox.evaluation_log import Known
from meco.errors import DamagedFile, MecoError
from meco.files.schema import Maybe, check, parse_json

STATE_FORMAT = 1
COLUMNS = ("x", "f", "g", "h")
INPUTS = {
    "lower": [float], "upper": [float], "budget": int, "method": str, "seed": int, "options": {str: object},
    "x0": Maybe([[float]]), "integrality": Maybe([bool]), "evaluated": Maybe({"count": int}),
    "constraint_names": [str], "ineq_tol": object, "eq_tol": object, "n_ineq": int, "n_eq": int, "out": int,
    "log": Maybe([bool]), "asynchronous": Maybe(bool),
}  # fmt: skip
REPEATED = (  # inputs that are JSON as they are
    "budget", "method", "seed", "x0", "integrality", "ineq_tol", "eq_tol", "log", "asynchronous",
)  # fmt: skip


def read_state(state: Mapping[str, Any]) -> tuple[dict[str, Any], np.ndarray, list[np.ndarray], Any]:
    """Inputs, numbers of the calls, their columns and what was known beforehand, each of them checked."""
    try:
        inputs = parse_json(str(state["inputs"]), "the state's inputs")
        check(inputs, {"format": int}, "the state's inputs")
        if inputs["format"] != STATE_FORMAT:
            raise DamagedFile(f"the state has format {inputs['format']}; this version reads {STATE_FORMAT}")
        check(inputs, INPUTS, "the state's inputs")
        if str(state["sha256"]) != seal(state):
            raise DamagedFile("the state was changed or damaged: it is not what state() gave")
        values = [np.array(state[key], dtype=np.float64) for key in COLUMNS]
        number = np.array(state["number"])
        known = tuple(np.array(state[f"known_{key}"]) for key in Known._fields) if inputs.get("evaluated") else None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        said = error if isinstance(error, MecoError) else repr(error)
        raise DamagedFile(f"this is not the state of an Optimizer: {said}") from error
    count, dim = len(number) if number.ndim == 1 else -1, len(inputs["lower"])
    shapes = [(count, dim), (count,), (count, inputs["n_ineq"]), (count, inputs["n_eq"])]
    rising = count >= 0 and number.dtype.kind in "iu" and bool((np.diff(number) > 0).all() and (number >= 0).all())
    if [v.shape for v in values] != shapes or not rising or len(inputs["upper"]) != dim:
        raise DamagedFile("this is not the state of an Optimizer: its columns do not fit together")
    return inputs, number, values, known


def seal(state: Mapping[str, Any]) -> str:
    """A hash of everything that a state holds."""
    total = hashlib.sha256()
    for key in sorted(k for k in state if k != "sha256"):
        value = str(state[key]) if key == "inputs" else np.ascontiguousarray(state[key], dtype="<f8")
        content = value.encode() if isinstance(value, str) else f"{value.shape}".encode() + value.tobytes()
        total.update(f"{key} {len(content)} ".encode() + content)
    return total.hexdigest()
