"""Rounds of a training: the next episode of every policy, all as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array
from meco.core.problem import Problem
from meco.paper.action import DECODERS
from meco.paper.agents import Agents, RoundPlan, RoundStatistics, play_round
from meco.paper.config import TrainingConfig
from meco.paper.curriculum import EpisodePlan
from meco.paper.episode import Episode
from meco.paper.reading import Reading
from meco.problems.suite import get_problem


class RoundResult(NamedTuple):
    """A round that was played, with f~* and f + nu that its episodes [K E] reached."""

    statistics: RoundStatistics
    best_objective: Array
    score: Array


class Rounds:
    """Plays the rounds of policies that go on together."""

    def __init__(self, configs: Sequence[TrainingConfig], agents: Agents) -> None:
        """For policies that train in one batch, and their agents, which a round changes."""
        self.configs, self.agents = configs, agents
        self.problems: dict[tuple[str, str | int], Problem] = {}  # policies that play the same instance share one
        first = configs[0]
        self.options: dict[str, Any] = {
            "budget": first.evaluations,
            "pop_size": first.episode.pop_size,
            "decoder": DECODERS[first.episode.decoder],
            "reward": first.episode.reward,
            "reading": Reading(first.episode.best, first.episode.guide_order),
            "preset": first.episode.shade,
            "record": False,
        }

    def play_episodes(self, jobs: Sequence[EpisodePlan], references: np.ndarray, plan: RoundPlan) -> RoundResult:
        """Play episodes [K E], policy by policy, with f~* of each, to their end, while the agents learn."""
        problems, seeds = [self.load_problem(job) for job in jobs], [job.seed for job in jobs]
        known = np.zeros(len(jobs)) if self.configs[0].episode.f_star == "zero" else references
        episode = Episode(problems, seeds, references=known, **self.options)
        return RoundResult(play_round(episode, self.agents, plan), episode.best_objective, episode.score)

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
