"""The episodes of one policy's training: the next problem, the reference objective, the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from meco.paper.config import TrainingConfig
from meco.paper.reward import ReferenceObjective


class EpisodePlan(NamedTuple):
    """One episode to play."""

    problem: str
    instance: str | int
    seed: int


class EpisodeOutcome(NamedTuple):
    """What one episode gave: return, mean loss while it ran, how often each action, f~* and f + nu it reached.

    Checkpoints hold the fields in this order.
    """

    reward: float
    loss: float
    actions: Sequence[int]
    best_objective: float
    score: float


# what the JSON of a curriculum's state() must look like
STATE_SCHEMA = {"references": {str: float}, "rows": [dict], "played": int, "queue": [str], "epoch": [[object]]}


class Curriculum:
    """Episodes of one policy, one per training problem in every epoch, each epoch in its own random order.

    rows is the training log: per epoch the mean return of its episodes, the mean loss, how
    often each action was taken, and the f + nu that each problem's episode reached. All
    attributes but the settings and the generator are in state(), under their names.
    """

    def __init__(self, config: TrainingConfig, generator: np.random.Generator) -> None:
        """Nothing played yet; the generator is drawn from at every plan, and belongs to the caller."""
        self.config, self._generator = config, generator
        self.references = ReferenceObjective()  # f~* of each training problem
        self.rows: list[dict[str, Any]] = []
        self.played = 0  # episodes
        self.queue: list[str] = []  # problems of this epoch still to come
        self.epoch: list[tuple[str, EpisodeOutcome]] = []  # problems of this epoch that were played

    @property
    def finished(self) -> bool:
        """Whether every episode has been played."""
        return self.played == self.config.episodes

    def plan_round(self) -> list[EpisodePlan]:
        """The episodes of the next round: one, or as many as run side by side. Takes them from the queue, and draws."""
        return [self._plan_episode() for _ in range(self.config.parallel_episodes)]

    def _plan_episode(self) -> EpisodePlan:
        """Take the next episode from the epoch, a new one where that is over; the order of draws is part of a seed."""
        if not self.queue:
            names = self.config.task.problems
            self.queue = [names[i] for i in self._generator.permutation(len(names))]
        problem, kind = self.queue.pop(0), self.config.task.instances
        instance = int(self._generator.integers(2**31)) if kind == "random" else kind
        return EpisodePlan(problem, instance, int(self._generator.integers(2**62)))

    def add_outcomes(self, jobs: Sequence[EpisodePlan], outcomes: Sequence[EpisodeOutcome]) -> None:
        """Count episodes that ended, and log an epoch that is complete; f~* of their problems may fall.

        jobs and outcomes go in pairs.
        """
        self.references.update([j.problem for j in jobs], np.array([o.best_objective for o in outcomes]))
        for job, outcome in zip(jobs, outcomes, strict=True):
            self.epoch.append((job.problem, outcome))
            self.played += 1
            if self.played % len(self.config.task.problems) == 0:
                self.rows.append(_log_row(len(self.rows) + 1, self.epoch))
                self.epoch = []

    def state(self) -> dict[str, Any]:
        """Everything a later process needs to go on, for JSON (STATE_SCHEMA); the generator is kept by its owner."""
        return {
            "references": dict(self.references.least),
            "rows": list(self.rows),  # each is written once
            "played": self.played,
            "queue": list(self.queue),
            "epoch": [[name, list(outcome)] for name, outcome in self.epoch],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what state() gave; the generator's state is its owner's."""
        self.references = ReferenceObjective(state["references"])
        self.rows, self.played, self.queue = state["rows"], state["played"], state["queue"]
        self.epoch = [(name, EpisodeOutcome(*outcome)) for name, outcome in state["epoch"]]


def _log_row(epoch: int, played: Sequence[tuple[str, EpisodeOutcome]]) -> dict[str, Any]:
    """The log's line for one epoch, of (problem, outcome) pairs.

    Numbers are short enough to read, exact enough to tell two trainings apart.
    """
    outcomes = [outcome for _, outcome in played]
    counts = np.sum([outcome.actions for outcome in outcomes], axis=0, dtype=int)
    return {
        "epoch": epoch,
        "reward": _round_digits(np.mean([o.reward for o in outcomes]), 10),
        "loss": _round_digits(np.mean([o.loss for o in outcomes]), 10),
        "actions": counts.tolist(),
        "score": {name: _round_digits(outcome.score, 5) for name, outcome in sorted(played)},
    }


def _round_digits(value: Any, digits: int) -> float | None:
    """A number to so many significant digits; None where it is not finite, which JSON cannot hold."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None
