"""Rounds of a training: the next episode of every policy, all as one batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array
from meco.core.problem import Problem
from meco.errors import load_extra
from meco.learn.paper.agents import Agents, RoundPlan, RoundStatistics, play_round
from meco.learn.paper.config import TrainingConfig
from meco.learn.paper.curriculum import EpisodePlan
from meco.learn.paper.episode import Episode
from meco.learn.paper.mixed import make_mixed_decoder, make_mixed_reward
from meco.problems.suite import get_problem


class RoundResult(NamedTuple):
    """A round that was played, with f~* and f + nu that its episodes [K E] reached."""

    statistics: RoundStatistics
    best_objective: Array
    score: Array


class Rounds(ABC):
    """Plays the rounds of policies that go on together."""

    def __init__(self, configs: Sequence[TrainingConfig], agents: Agents) -> None:
        """For policies that train in one batch, and their agents, which a round changes."""
        self.configs, self.agents = configs, agents
        self.problems: dict[tuple[str, str | int], Problem] = {}  # policies that play the same instance share one
        each = [c for c in configs for _ in range(agents.episodes)]
        self.options: dict[str, Any] = {
            "budget": configs[0].evaluations,
            "pop_size": configs[0].episode.pop_size,
            "decoder": make_mixed_decoder([c.episode.decoder for c in each]),
            "reward": make_mixed_reward([c.episode.reward for c in each]),
            "record": False,
        }
        if agents.device != "cpu":
            self.options |= {"xp": load_extra("array_api_compat.torch", "train", "training on a device")}
            self.options |= {"device": agents.device}

    @abstractmethod
    def play_episodes(self, jobs: Sequence[EpisodePlan], references: np.ndarray, plan: RoundPlan) -> RoundResult:
        """Play episodes [K E], policy by policy, with f~* of each, to their end, while the agents learn.

        A device may still be at work on the result.
        """

    def draw_ahead(self, seeds: Sequence[int]) -> None:  # noqa: B027 - most have nothing to prepare
        """Draw what the next round's episodes will ask for, if they are known to have these seeds; nothing here."""

    def fixed_problems(self) -> dict[tuple[str, str], Problem]:
        """Every problem of policies whose problems never change, by name and instance; loads and keeps them."""
        tasks = [c.task for c in self.configs]
        keys = dict.fromkeys((name, task.instances) for task in tasks for name in task.problems)
        return {key: self.load_problem(EpisodePlan(*key, seed=0)) for key in keys}

    def load_problem(self, job: EpisodePlan) -> Problem:
        """The problem of an episode, kept for later ones unless it is drawn for this one alone.

        MissingData without its tables.
        """
        dim, key = self.configs[0].task.dim, (job.problem, job.instance)
        if isinstance(job.instance, int):
            return get_problem(job.problem, dim, job.instance)
        if key not in self.problems:
            family = {} if job.instance == "paper" else {"instance": job.instance}
            self.problems[key] = get_problem(job.problem, dim, **family)
        return self.problems[key]


class PlainRounds(Rounds):
    """One step after the other, on any device."""

    def play_episodes(self, jobs: Sequence[EpisodePlan], references: np.ndarray, plan: RoundPlan) -> RoundResult:
        """Play a new batch of episodes [K E] to its end, on the host or a device, step by step."""
        problems, seeds = [self.load_problem(job) for job in jobs], [job.seed for job in jobs]
        episode = Episode(problems, seeds, references=references, **self.options)
        return RoundResult(play_round(episode, self.agents, plan), episode.best_objective, episode.score)
