"""A round of episodes recorded on a device: the host starts one thing instead of sixty thousand.

A round is always the same computation: nothing that it finds decides what is computed next. What differs is known
before it begins and lies in buffers: the problems of its episodes, their random numbers, f~*, and the agents' plan.
The first rounds are played step by step; one is recorded; all others are replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.device.cuda_graphs import RecordedWork, record_work, supports_graphs
from meco.device.indexed_problems import IndexedProblems
from meco.device.prepared_streams import PreparedStreams
from meco.learn.paper.agents import Agents, RoundPlan, play_round
from meco.learn.paper.config import TrainingConfig
from meco.learn.paper.curriculum import EpisodePlan
from meco.learn.paper.episode import Episode
from meco.learn.paper.rounds import PlainRounds, RoundResult, Rounds


class IndexedEpisode(Episode):
    """Episodes whose problems and random numbers lie on the device."""

    def __init__(self, problems: IndexedProblems, rng: PreparedStreams, which: Tensor, **options: Any) -> None:
        super().__init__(problems.problems, rng.seeds, **options)
        self._chosen = problems, rng, which

    def _make_evaluator(self) -> tuple[Streams, Evaluator]:
        """The prepared streams, rewound to their beginning, and an evaluator on the problems chosen by index."""
        problems, rng, which = self._chosen
        rng.rewind()
        problems.choose(which)
        return rng, Evaluator(problems, self.budget)

    def _check_actions(self, actions: Any) -> Any:
        return actions  # of a grid; to check them would wait for the device


class RecordedRounds(Rounds):
    """Rounds on problems that never change, recorded once and replayed."""

    def __init__(self, configs: Sequence[TrainingConfig], agents: Agents) -> None:
        """Load every problem onto the device; nothing is recorded yet."""
        super().__init__(configs, agents)
        runs, xp, device = len(agents) * agents.episodes, self.options["xp"], agents.device
        fixed_problems = self.fixed_problems()
        self._problems = IndexedProblems([*fixed_problems.values()], runs, xp, device)
        self._problem_numbers = {key: number for number, key in enumerate(fixed_problems)}
        self._rng = PreparedStreams(runs, xp, device)
        self._which = torch.zeros(runs, dtype=torch.int64, device=device)
        self._references = torch.zeros(runs, dtype=torch.float64, device=device)
        self._buffers: RoundPlan | None = None  # the plan that a recording reads
        self._recorded: RecordedWork[RoundResult] | None = None

    def play_episodes(self, jobs: Sequence[EpisodePlan], references: np.ndarray, plan: RoundPlan) -> RoundResult:
        """Play the first rounds of episodes [K E] step by step, the others by replaying a recording.

        A replay fills the same result again: read it before the next one.
        """
        self._rng.begin([job.seed for job in jobs])
        self._which.copy_(torch.tensor([self._problem_numbers[job.problem, str(job.instance)] for job in jobs]))
        self._references.copy_(torch.from_numpy(references))
        if self._buffers is None:
            # the first round that learns at every step is not recorded: it sets up what is made once
            self._buffers = None if plan.access.idle else plan
            return self._play_steps(plan)
        if not supports_graphs(self.agents.device):
            return self._play_steps(plan)
        for buffer, new in zip(self._buffers.tensors(), plan.tensors()):
            buffer.copy_(new)
        if self._recorded is None:
            self._recorded = record_work(partial(self._play_steps, self._buffers), self.agents.device)
        return self._recorded.replay()

    def draw_ahead(self, seeds: Sequence[int]) -> None:
        self._rng.prepare(seeds)

    def _play_steps(self, plan: RoundPlan) -> RoundResult:
        """Play the round that lies on the device, step by step; agents learn."""
        episode = IndexedEpisode(self._problems, self._rng, self._which, references=self._references, **self.options)
        statistics = play_round(episode, self.agents, plan)
        return RoundResult(statistics, episode.best_objective, episode.score)


def make_rounds(configs: Sequence[TrainingConfig], agents: Agents) -> Rounds:
    """Recorded rounds where the device supports that and rounds differ in numbers alone, else plain ones."""
    plain = PlainRounds(configs, agents)
    if not supports_graphs(agents.device) or any(c.task.instances == "random" for c in configs):
        return plain
    # for problems that may fail the host has to wait
    fit = all(p.finite and p.recordable for p in plain.fixed_problems().values())
    return RecordedRounds(configs, agents) if fit else plain
