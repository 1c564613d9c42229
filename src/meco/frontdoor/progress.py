"""The state of a run while it goes on: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meco.frontdoor.session import Session

EVERY = 0.5  # seconds between two plain lines


def reporter(progress: Any) -> Callable[[Session], None] | None:
    """What tells the user how far a run is, or None for silence."""
    if not progress:
        return None
    return progress if callable(progress) else Lines()


class Lines:
    """One line at a time, on standard error."""

    def __init__(self, stream: Any = None) -> None:
        self.stream, self.begun, self.last = stream, time.monotonic(), 0.0

    def __call__(self, session: Session) -> None:
        now = time.monotonic()
        if now - self.last < EVERY and session.evaluator.left > 0:
            return
        self.last = now
        row = situation(session, now - self.begun)
        print("  ".join(f"{key} {value}" for key, value in row.items()), file=self.stream or sys.stderr, flush=True)


def situation(session: Session, elapsed: float) -> dict[str, str]:
    """Best feasible value, violation, evaluations and time left, in words."""
    held = session.evaluator.feasible_best.held
    spent, budget = len(session.ledger), session.request.budget
    feasible = held is not None and bool(held.feasible[0, 0])
    left = elapsed * (budget - spent) / max(spent, 1)
    deadline = session.stopping.deadline
    if deadline is not None:
        left = min(left, max(0.0, deadline - time.monotonic()))
    return {
        "best feasible f": f"{float(held.f[0, 0]):.6g}" if held is not None and feasible else "none yet",
        "violation": f"{float(held.nu[0, 0]):.3g}" if held is not None else "-",
        "evaluations left": f"{budget - spent} of {budget}",
        "failed": str(sum(session.ledger.faults.values())),
        "time left": clock(left),
    }


def clock(seconds: float) -> str:
    """Seconds as people write them."""
    whole = int(seconds + 0.5)
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
