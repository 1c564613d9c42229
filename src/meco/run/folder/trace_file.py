"""What a method did, a line now and then in the run folder: something to look at, never to continue from.

trace.jsonl has some two hundred lines whatever the budget, each with the evaluations so far and the numbers that the
engine gives of the generation (radius, theta, share, ...). A line is due by the evaluations alone, so that a run that
was killed and resumed leaves the same file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.errors import DamagedFile
from meco.files.atomic import write_text
from meco.files.regular_files import read_regular
from meco.files.schema import Maybe, check_form, parse_json

MOST_TRACE_ROWS = 200
TRACE_ROW_FORM = {"nfev": int, str: Maybe(float)}
LARGEST_TRACE_BYTES = 1 << 24  # bytes


class TraceFile:
    """The file of one run, open only while a line is written."""

    def __init__(self, path: Path, budget: int) -> None:
        """Go on after the rows of the file; one that was cut short in a row is written anew."""
        self.path, self.every = path, max(1, budget // MOST_TRACE_ROWS)
        rows = read_trace(path)
        self.due = rows[-1]["nfev"] + self.every if rows else 0
        if path.exists() and not read_regular(path, LARGEST_TRACE_BYTES).endswith(b"\n"):  # killed while it wrote
            write_text(path, "".join(map(_format_row, rows)))

    def note_if_due(self, nfev: int, trace: Callable[[], Mapping[str, Array]]) -> None:
        """Append what trace() says of this generation, single numbers alone, if a line is due."""
        if nfev < self.due:
            return
        self.due = nfev + self.every
        row = {name: _round_number(value) for name, value in trace().items() if np.size(value) == 1}
        if row:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(_format_row({"nfev": nfev, **row}))


def read_trace(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, in its order; none where there is none, and none of a line that was cut short."""
    rows = []
    text = read_regular(path, LARGEST_TRACE_BYTES).decode(errors="replace") if path.exists() else ""
    for line in text.splitlines():
        with suppress(DamagedFile):
            row = parse_json(line, str(path))
            check_form(row, TRACE_ROW_FORM, str(path))
            rows.append(row)
    return rows


def _format_row(row: Mapping[str, Any]) -> str:
    """A row as a line of the file."""
    return json.dumps(row) + "\n"


def _round_number(value: Array) -> float | None:
    """The one number in an array, to what an eye can see, or None for what JSON cannot say."""
    found = float(f"{np.asarray(value).item():.6g}")
    return found if math.isfinite(found) else None
