"""How far a campaign is, and how long it will take from here."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from meco.experiments.run.groups import RunGroup


class CampaignProgress:
    """Counts runs and learns from finished tasks how long the others take."""

    def __init__(
        self, tasks: list[RunGroup], done: int, workers: int, quiet: bool = False, out: TextIO | None = None
    ) -> None:
        self.total, self.done, self.workers = done + sum(len(t.runs) for t in tasks), done, workers
        self._out = sys.stderr if out is None else out
        self._quiet = quiet
        self._live = self._out.isatty()
        self._begin = self._shown = time.monotonic()
        self._left: dict[str, float] = {}  # guessed seconds still to do, by method
        for task in tasks:
            self._left[task.method] = self._left.get(task.method, 0.0) + task.guess
        self._guessed: dict[str, float] = {}
        self._took: dict[str, float] = {}

    def finished(self, task: RunGroup, seconds: float) -> None:
        """A task came back after so many seconds of work; 0 where it failed."""
        self.done += len(task.runs)
        self._left[task.method] = max(0.0, self._left.get(task.method, 0.0) - task.guess)
        if seconds > 0:
            self._guessed[task.method] = self._guessed.get(task.method, 0.0) + task.guess
            self._took[task.method] = self._took.get(task.method, 0.0) + seconds
        self.show()

    def seconds_left(self) -> float | None:
        """Guessed work left, each method corrected by what it took so far; None before anything finished."""
        if not self._took:
            return None
        overall = sum(self._took.values()) / max(sum(self._guessed.values()), 1e-9)
        work = sum(
            left * (self._took[m] / self._guessed[m] if m in self._took else overall) for m, left in self._left.items()
        )
        return work / max(self.workers, 1)

    def show(self, last: bool = False) -> None:
        """One line, rewritten on a terminal, written now and then to a file."""
        now = time.monotonic()
        if self._quiet or (not last and now - self._shown < (0.2 if self._live else 15.0)):
            return
        self._shown = now
        left = self.seconds_left()
        text = f"{self.done}/{self.total} runs, {clock(now - self._begin)} so far"
        if self.done < self.total and left is not None:
            text += f", about {clock(left)} left"
        end = "\n" if last or not self._live else ""
        self._out.write(("\r\x1b[K" if self._live else "") + text + end)
        self._out.flush()


def clock(seconds: float) -> str:
    """Seconds as 0:42, 12:05 or 3:07:00."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
