"""Every evaluation of a result as a table: a row for each call, a column for each variable, f and each constraint."""

from __future__ import annotations

import csv
import importlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.errors import InvalidInput, MissingExtra
from meco.result import NoEvaluations

if TYPE_CHECKING:
    from meco.result import Result

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # a text that begins with one is a formula to a spreadsheet


def evaluation_columns(result: Result) -> dict[str, np.ndarray]:
    """The table's columns [n] by name, calls in order; values of failed calls are nan.

    InvalidInput without evaluations.
    """
    every = result.evaluations
    if isinstance(every, NoEvaluations):
        raise InvalidInput("runs on benchmark problems keep no table of their evaluations")
    assert result.run.variables is not None  # as every result with evaluations has
    names = list(result.constraints) or [f"c{i + 1}" for i in range(every.g.shape[1] + every.h.shape[1])]
    values = dict(zip(names, np.concatenate([every.g, every.h], axis=1).T))
    marks = {name: getattr(every, name) for name in ("feasible", "failed", "known")}
    taken = {"f", *values, *marks}
    labels = [f"x_{name}" if name in taken else name for name in result.run.variables.labels()]
    columns = [_own_column(variable, column) for variable, column in zip(result.run.variables.each, every.x.T)]
    x = dict(zip(labels, columns))
    return x | {"f": every.f} | values | marks


def _own_column(variable: Any, column: np.ndarray) -> np.ndarray:
    """A column [n] of numbers as floats, integers, or the names of categories."""
    if variable.categories is None:
        return column.astype(np.int64) if variable.integer and np.isfinite(column).all() else column
    return np.array([variable.category_at(place) for place in column.tolist()], dtype=object)


def format_csv(result: Result) -> str:
    """The table as CSV text with a header; numbers to the last bit."""
    table = evaluation_columns(result)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in table])
    for row in zip(*(column.tolist() for column in table.values())):
        writer.writerow([csv_cell(value) for value in row])
    return text.getvalue()


def csv_cell(value: Any) -> Any:
    """A value as CSV: floats to the last bit, truth values as 0 and 1, texts that no spreadsheet takes for formulas."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_SIGNS) else value
    return int(value) if isinstance(value, bool) else repr(value)


def make_data_frame(result: Result) -> Any:
    """The table as a pandas DataFrame; MissingExtra without pandas."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise MissingExtra("to_frame() needs pandas: pip install pandas (to_csv() needs nothing)") from error
    return pandas.DataFrame(evaluation_columns(result))
