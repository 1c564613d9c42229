"""The state of a run while it goes on: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meco.core.progress_line import clock

if TYPE_CHECKING:
    from meco.run.session import Session


def reporter(progress: Any) -> Callable[[Session], None] | None:
    """What tells the user how far a run is, or None for silence; a function of the session may be given."""
    if not progress:
        return None
    if callable(progress):
        return progress
    return LiveTable() if sys.stderr.isatty() and _has_rich() else Lines()


def _has_rich() -> bool:
    try:
        import rich.live  # noqa: F401
    except ImportError:
        return False
    return True


class Lines:
    """A line now and then, on standard error."""

    every = 1.0  # seconds

    def __init__(self) -> None:
        self.begun, self.last, self.written = time.monotonic(), -1.0, ""

    def __call__(self, session: Session) -> None:
        now = time.monotonic()
        if now - self.last < self.every and session.evaluator.left > 0:
            return
        self.last = now
        row = situation(session, now - self.begun)
        line = "  ".join(f"{key} {value}" for key, value in row.items())
        if line != self.written:
            self.written = line
            self.show(row, line)

    def show(self, row: dict[str, str], line: str) -> None:
        """Write the line."""
        print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is held open."""


class LiveTable(Lines):
    """The same as a table that stays in place, drawn by rich."""

    every = 0.1

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live

        self.live = Live(console=Console(stderr=True), auto_refresh=False)  # no thread: workers may be forked
        self.live.start()

    def show(self, row: dict[str, str], line: str) -> None:
        from rich.table import Table

        grid = Table(*row, box=None, header_style="bold", padding=(0, 2))
        grid.add_row(*row.values())
        self.live.update(grid, refresh=True)

    def close(self) -> None:
        self.live.stop()


def situation(session: Session, elapsed: float) -> dict[str, str]:
    """Best feasible value, violation, evaluations and time left, in words."""
    held = session.evaluator.history.feasible_best.held
    spent, budget = len(session.log), session.request.budget
    feasible = held is not None and bool(held.feasible[0, 0])
    left = elapsed * (budget - spent) / max(spent, 1)
    deadline = session.stopping.deadline
    if deadline is not None:
        left = min(left, max(0.0, deadline - time.monotonic()))
    return {
        "best feasible": f"{float(held.f[0, 0]):.6g}" if held is not None and feasible else "none yet",
        "violation": f"{float(held.nu[0, 0]):.3g}" if held is not None else "-",
        "evaluations left": f"{budget - spent} of {budget}",
        "failed": str(sum(session.log.faults.values())),
        "time left": clock(left),
    }
