"""Training (section 3.1, Setup) of K policies in lockstep: one stack of networks, one batch of episodes.

Folds of a leave-one-out, seeds and ablation variants train side by side. A policy draws
from its own random stream and sees its own row only, so its neighbours never change it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import to_numpy
from meco.errors import DamagedFile, InvalidInput, MecoError, MissingData, MissingExtra
from meco.files.schema import check_form
from meco.paper.agents import Agents
from meco.paper.checkpoint import read_checkpoint, write_checkpoint
from meco.paper.config import TrainingConfig
from meco.paper.curriculum import STATE_SCHEMA, Curriculum, EpisodeOutcome, EpisodePlan
from meco.paper.ddqn import limit_to_one_thread
from meco.paper.network import Weights
from meco.paper.rounds import RoundResult, Rounds

OWN_SETTINGS = ("name", "seed", "suite", "problems", "instances")  # in which policies of one batch may differ


# what the JSON of a checkpoint must look like
CHECKPOINT_SCHEMA = {
    "configs": [dict],
    "curricula": [STATE_SCHEMA],
    "agents": {"learned": int, "ended": int, "written": int, "streams": str},
}


class TrainingFailed(MecoError):
    """An episode could not be played to its end; the message says which, why, and how the training goes on."""


class TrainingStatus(NamedTuple):
    """How far a training is, after a round of episodes."""

    played: int  # episodes of all policies
    episodes: int  # of the training, of all policies
    elapsed: float  # seconds since this process began
    left: float  # seconds to go, at the present rate
    outcomes: list[EpisodeOutcome]  # of the round


class Trained(NamedTuple):
    """A policy at the end of its training, with the rows of its log."""

    config: TrainingConfig
    weights: Weights
    rows: list[dict[str, Any]]


class Trainer:
    """Trains policies that differ in seed and problems alone, of which they have equally many.

    With a checkpoint file the training can be killed at any moment: resume() goes on to the
    same bits.

    >>> from meco.paper import EpisodeSettings, TaskSettings, Trainer, TrainingConfig
    >>> task = TaskSettings(suite="toy", dim=2, problems=("tilted", "ring"))
    >>> config = TrainingConfig(task=task, epochs=2, episode=EpisodeSettings(budget=200))
    >>> policy = Trainer([config]).run()[0]
    >>> policy.weights.w1.shape, len(policy.rows)
    ((10, 64), 2)
    """

    def __init__(
        self,
        configs: Sequence[TrainingConfig],
        checkpoint: Path | str | None = None,
        save_every: float = 30.0,
        report: Callable[[TrainingStatus], Any] | None = None,
    ) -> None:
        """A training from the start: resume() goes on from the checkpoint. save_every is in seconds.

        Policies that cannot train in one batch are refused (check_lockstep).
        """
        check_lockstep(configs)
        self.configs, self.save_every, self.report = list(configs), save_every, report
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.agents = Agents(configs)
        self.curricula = [Curriculum(c, self.agents.rng.generator(k)) for k, c in enumerate(configs)]
        self._rounds = Rounds(configs, self.agents)
        self._jobs: list[list[EpisodePlan]] = []  # of the last round

    @property
    def finished(self) -> bool:
        """Whether every policy has played all its episodes: all have equally many."""
        return self.curricula[0].finished

    @property
    def played(self) -> int:
        """Episodes of all policies so far."""
        return sum(curriculum.played for curriculum in self.curricula)

    def run(self, stop: Callable[[], bool] = lambda: False) -> list[Trained]:
        """Train to the end; or until stop() says so, then the checkpoint holds the rest and [] comes back.

        report is called after every round. A round that fails is TrainingFailed, the checkpoint at its beginning.
        """
        began = saved = time.monotonic()
        before = self.played
        with limit_to_one_thread():
            while not self.finished:
                outcomes = self._play_or_save()
                stopped, now = stop(), time.monotonic()
                if self.checkpoint and (stopped or now - saved >= self.save_every):
                    self.save()
                    saved = now
                if self.report:
                    self.report(self._make_status(outcomes, now - began, before))
                if stopped and not self.finished:
                    return []
        weights = self.agents.learner.online.weights
        return [Trained(c, weights(k), self.curricula[k].rows) for k, c in enumerate(self.configs)]

    def _play_or_save(self) -> list[EpisodeOutcome]:
        """Play a round. One that fails is TrainingFailed, and leaves the checkpoint at its beginning.

        Whatever it changed.
        """
        before = self._snapshot() if self.checkpoint else None
        try:
            return self._play_round()
        except (MissingData, MissingExtra):  # nothing was played
            raise
        except Exception as error:
            kept = "no checkpoint was asked for, so it has to start again"
            if self.checkpoint and before:
                write_checkpoint(self.checkpoint, *before)
                kept = f"{self.checkpoint} holds it up to there; resumed, it goes on with the same episodes"
            names = ", ".join(sorted({job.problem for jobs in self._jobs for job in jobs}))
            raise TrainingFailed(
                f"the training failed after {self.played} of {sum(c.episodes for c in self.configs)} episodes, "
                f"on {names}: {type(error).__name__}: {error}; {kept}"
            ) from error

    def _play_round(self) -> list[EpisodeOutcome]:
        """Play the next episodes of every policy that is not done; their outcomes go to its curriculum."""
        jobs = self._jobs = [curriculum.plan_round() for curriculum in self.curricula]
        each = [job for several in jobs for job in several]
        known = [c.references.look_up([job.problem])[0] for c, several in zip(self.curricula, jobs) for job in several]
        result = self._rounds.play_episodes(each, np.array(known), self.agents.draw_round_plan(self.configs[0].steps))
        outcomes = _list_outcomes(result)
        for curriculum, played, found in zip(self.curricula, jobs, outcomes):
            curriculum.add_outcomes(played, found)
        return [outcome for found in outcomes for outcome in found]

    def _make_status(self, outcomes: list[EpisodeOutcome], elapsed: float, before: int) -> TrainingStatus:
        """How far the training is; `before` episodes were played when this process began."""
        total = sum(c.episodes for c in self.configs)
        pace = elapsed / (self.played - before)
        return TrainingStatus(self.played, total, elapsed, pace * (total - self.played), outcomes)

    def save(self) -> None:
        """Write the checkpoint; call it between rounds only."""
        assert self.checkpoint is not None
        write_checkpoint(self.checkpoint, *self._snapshot())

    def _snapshot(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the JSON state that a later process needs, as copies that the next round leaves alone."""
        state = {
            "configs": [c.as_dict() for c in self.configs],
            "curricula": [curriculum.state() for curriculum in self.curricula],
            "agents": self.agents.counters(),
        }
        return {name: a.copy() for name, a in self.agents.arrays().items()}, state

    def resume(self) -> None:
        """Go back to the checkpoint. InvalidInput for one of other settings.

        MissingData or DamagedFile without a sound one.
        """
        assert self.checkpoint is not None
        arrays, state = read_checkpoint(self.checkpoint)
        if state.get("configs") != [c.as_dict() for c in self.configs]:
            raise InvalidInput(
                f"{self.checkpoint} belongs to a training with other settings; "
                "resume with the same ones, or start again without resuming"
            )
        try:
            check_form(state, CHECKPOINT_SCHEMA, "its state")
            self._restore(arrays, state)
        except (ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:  # torch raises the last
            raise DamagedFile(f"{self.checkpoint} does not hold this training ({error}); train again") from error

    def _restore(self, arrays: dict[str, np.ndarray], state: dict[str, Any]) -> None:
        """Go back to what _snapshot() gave."""
        for curriculum, saved in zip(self.curricula, state["curricula"], strict=True):
            curriculum.restore(saved)
        self.agents.restore(arrays, state["agents"])


def _list_outcomes(result: RoundResult) -> list[list[EpisodeOutcome]]:
    """One record per policy and episode, [K][E]."""
    reward, loss, actions = (to_numpy(part).tolist() for part in result.statistics)
    shape = result.statistics.reward.shape
    best, score = (to_numpy(part).reshape(shape).tolist() for part in (result.best_objective, result.score))
    return [
        [EpisodeOutcome(reward[k][e], loss[k], actions[k][e], best[k][e], score[k][e]) for e in range(shape[1])]
        for k in range(shape[0])
    ]


def check_lockstep(configs: Sequence[TrainingConfig]) -> None:
    """Refuse none at all, and policies that cannot train in one batch or have one name."""
    if not configs:
        raise InvalidInput("a training needs at least one policy; got none")
    for setting, first in _shared_settings(configs[0]).items():
        values = {first, *(_shared_settings(c)[setting] for c in configs)}
        if len(values) > 1:
            raise InvalidInput(f"policies in lockstep need the same {setting}; got {sorted(map(str, values))}")
    names = [c.name for c in configs]
    if len(set(names)) < len(names):
        raise InvalidInput(f"policies trained together need different names; got {', '.join(names)}")


def _shared_settings(config: TrainingConfig) -> dict[str, Any]:
    """The settings that policies in one batch must have in common, with the number of their problems."""
    own = {name: value for name, value in config.as_dict().items() if name not in OWN_SETTINGS}
    return {**own, "number of problems": len(config.task.problems)}


def lockstep_groups(configs: Sequence[TrainingConfig], most: int | None = None) -> list[list[TrainingConfig]]:
    """The policies that can train in one batch, group by group, in the order given; `most` of them at once, or all."""
    groups: dict[tuple[Any, ...], list[TrainingConfig]] = {}
    for config in configs:
        groups.setdefault(tuple(_shared_settings(config).values()), []).append(config)
    parts = [(group, most or len(group)) for group in groups.values()]
    return [group[first : first + size] for group, size in parts for first in range(0, len(group), size)]
