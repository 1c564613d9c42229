"""How far a campaign is, and how long it will take from here."""

from __future__ import annotations

from typing import TextIO

from meco.bench.run.groups import RunGroup
from meco.core.progress_line import ProgressLine, format_duration


class CampaignProgress:
    """Counts runs and learns from finished tasks how long the others take."""

    def __init__(
        self, tasks: list[RunGroup], done: int, workers: int, *, quiet: bool = False, out: TextIO | None = None
    ) -> None:
        """For tasks still to do beside runs already done; `workers` may change while they run."""
        self.total, self.done, self.workers = done + sum(len(t.runs) for t in tasks), done, workers
        self._line, self._quiet = ProgressLine(every=15.0, out=out), quiet
        self._left: dict[str, float] = {}  # guessed seconds still to do, by method
        for task in tasks:
            self._left[task.method] = self._left.get(task.method, 0.0) + task.guessed_seconds
        self._guessed: dict[str, float] = {}
        self._took: dict[str, float] = {}

    def count_finished(self, task: RunGroup, seconds: float) -> None:
        """Count a task that came back after so many seconds of work, 0 where it failed, and show the line if due."""
        self.done += len(task.runs)
        self._left[task.method] = max(0.0, self._left.get(task.method, 0.0) - task.guessed_seconds)
        if seconds > 0:
            self._guessed[task.method] = self._guessed.get(task.method, 0.0) + task.guessed_seconds
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

    def set_workers(self, count: int) -> None:
        """Set how many workers there are now, by which the time left is guessed."""
        self.workers = count

    def show(self, *, last: bool = False) -> None:
        """Write the line where it is time for one, and never if quiet; the last is always written and ended."""
        if self._quiet or not (last or self._line.due):
            return
        left = self.seconds_left()
        text = f"{self.done}/{self.total} runs, {format_duration(self._line.elapsed)} so far"
        if self.done < self.total and left is not None:
            text += f", about {format_duration(left)} left"
        self._line.show(text)
        if last:
            self._line.end()
