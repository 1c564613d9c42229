"""How far a challenge is: the share of its evaluations that are made, and how long the rest may take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meco.core.progress_line import format_duration


class JudgingProgress:
    """Counts evaluations as batches come and adds to lines what is done and left."""

    def __init__(self, total: int, report: Callable[[str], Any]) -> None:
        """Of so many evaluations in all; report takes a line."""
        self._total, self._report = total, report
        self._done = self._made = 0
        self._seconds = 0.0

    def count(self, evaluations: int, seconds: float | None) -> None:
        """A batch of so many evaluations is there, after so many seconds; None: it was kept from before."""
        self._done += evaluations
        if seconds is not None:
            self._made, self._seconds = self._made + evaluations, self._seconds + seconds

    def show(self, text: str) -> None:
        """Report a line: the text, the share that is done, and the time left at the pace so far, where there is one."""
        left = max(self._total - self._done, 0)
        line = f"{text}; {min(self._done / max(self._total, 1), 1.0):.0%} of all evaluations"
        if left and self._made:
            line += f", about {format_duration(left * self._seconds / self._made)} left"
        self._report(line)
