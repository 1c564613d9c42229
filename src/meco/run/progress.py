"""How far a run is, while it goes on: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from meco.core.progress_line import format_duration
from meco.errors import UnknownName
from meco.result import Result, to_json_types

FORMS = ("text", "json")


class Progress:
    """A callback that tells on standard error how far the run is: minimize(..., callback=meco.Progress()).

    Progress("json") writes an object a line instead, for programs: its keys are those of make_progress_record().
    """

    def __init__(self, form: str = "text") -> None:
        """form is "text" or "json", UnknownName for others; the clock starts now."""
        if form not in FORMS:
            raise UnknownName("form of progress", form, FORMS)
        self._begun, self._last, self._written, self._json = time.monotonic(), -1.0, "", form == "json"
        self._table = _LiveTable() if sys.stderr.isatty() and not self._json and _has_rich() else None
        self._every = 1.0 if self._table is None else 0.1  # seconds

    def __call__(self, result: Result) -> None:
        """Write where the run is, if it is time for another line."""
        now = time.monotonic()
        if now - self._last < self._every and result.nfev < result.run.budget:
            return
        self._last = now
        if self._json:
            print(json.dumps(make_progress_record(result, now - self._begun)), file=sys.stderr, flush=True)
            return
        row = describe_progress(result, now - self._begun)
        line = "  ".join(f"{key} {value}" for key, value in row.items())
        if line != self._written:
            self._written = line
            if self._table is None:
                print(line, file=sys.stderr, flush=True)
            else:
                self._table.show(row)

    def close(self) -> None:
        """Let go of the terminal; called when the run ends."""
        if self._table is not None:
            self._table.close()


def _has_rich() -> bool:
    """Whether rich is installed; imports it."""
    try:
        import rich.live  # noqa: F401
    except ImportError:
        return False
    return True


class _LiveTable:
    """One row that is rewritten in place."""

    def __init__(self) -> None:
        """Take over the terminal until close()."""
        from rich.console import Console
        from rich.live import Live

        self._live: Any = Live(console=Console(stderr=True), auto_refresh=False)  # no thread: workers may be forked
        self._live.start()

    def show(self, row: dict[str, str]) -> None:
        """Rewrite the row, a cell for each name."""
        from rich.table import Table

        grid = Table(*row, box=None, header_style="bold", padding=(0, 2))
        grid.add_row(*row.values())
        self._live.update(grid, refresh=True)

    def close(self) -> None:
        """Leave the last row and let go of the terminal."""
        self._live.stop()


def make_progress_record(result: Result, elapsed: float) -> dict[str, Any]:
    """Where a run is, for programs: a number that is not known yet is None. elapsed is in seconds."""
    spent, budget = result.nfev, result.run.budget
    return {
        "nfev": spent,
        "budget": budget,
        "best": to_json_types(result.fun) if result.feasible else None,
        "feasible": result.feasible,
        "violation": to_json_types(result.nu),
        "failed": result.run.nfail,
        "elapsed": round(elapsed, 3),
        "left": round(elapsed * (budget - spent) / max(spent, 1), 3),
    }


def describe_progress(result: Result, elapsed: float) -> dict[str, str]:
    """Best feasible value, violation, evaluations and time left, in words by heading; elapsed is in seconds."""
    spent, budget = result.nfev, result.run.budget
    return {
        "best feasible": f"{result.fun:.6g}" if result.feasible else "none yet",
        "violation": f"{result.nu:.3g}" if result.status < 2 else "-",
        "evaluations left": f"{budget - spent} of {budget}",
        "failed": str(result.run.nfail),
        "time left": format_duration(elapsed * (budget - spent) / max(spent, 1)),
    }
