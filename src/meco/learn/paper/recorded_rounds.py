"""A round of episodes as one CUDA graph: the host starts one thing instead of sixty thousand.

A round is always the same computation. What differs is known before it begins, since nothing that a round computes
decides what is computed next: the problems of its episodes, their random numbers, f~*, and the agents' plan. These lie
in fixed places. The first rounds are played one step after the other; one is recorded; all others are replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.device.cuda_graphs import can_repeat, recording
from meco.device.indexed_problems import IndexedProblems
from meco.device.prepared_streams import PreparedStreams
from meco.learn.paper.agents import Agents, RoundPlan, play
from meco.learn.paper.config import TrainingConfig
from meco.learn.paper.curriculum import EpisodePlan
from meco.learn.paper.episode import Episode
from meco.learn.paper.rounds import Ended, PlainRounds, Rounds


class ChosenEpisode(Episode):
    """Episodes whose problems and random numbers lie on the device."""

    def __init__(self, problems: IndexedProblems, rng: PreparedStreams, which: Tensor, **options: Any) -> None:
        super().__init__(problems.problems, rng.seeds, **options)
        self._chosen = problems, rng, which

    def _world(self) -> tuple[Streams, Evaluator]:
        problems, rng, which = self._chosen
        rng.rewind()
        problems.choose(which)
        return rng, Evaluator(problems, self.budget)

    def _checked(self, actions: Any) -> Any:
        return actions  # of a grid; to look at them would wait for the device


class RecordedRounds(Rounds):
    """Rounds on problems that never change, recorded once and replayed on a CUDA device."""

    def __init__(self, configs: Sequence[TrainingConfig], agents: Agents) -> None:
        super().__init__(configs, agents)
        runs, xp, device = len(agents) * agents.episodes, self.options["xp"], agents.device
        suite = self.suite()
        self._problems = IndexedProblems([*suite.values()], runs, xp, device)
        self._numbers = {key: number for number, key in enumerate(suite)}
        self._rng = PreparedStreams(runs, xp, device)
        self._which = torch.zeros(runs, dtype=torch.int64, device=device)
        self._known = torch.zeros(runs, dtype=torch.float64, device=device)
        self._places: RoundPlan | None = None  # where the plan of a recording lies
        self._graph: Any = None

    def play(self, jobs: Sequence[EpisodePlan], references: np.ndarray, plan: RoundPlan) -> Ended:
        self._rng.begin([job.seed for job in jobs])
        self._which.copy_(torch.tensor([self._numbers[job.problem, str(job.instance)] for job in jobs]))
        self._known.copy_(torch.from_numpy(references))
        if self._places is None:
            # the first round that learns at every step is played plainly: it makes all that is made once
            self._places = None if plan.visits.idle else plan
            return self._play(plan)
        if not can_repeat(self.agents.device):
            return self._play(plan)
        for place, new in zip(self._places.tensors(), plan.tensors()):
            place.copy_(new)
        if self._graph is None:
            self._graph, self._ended = self._recorded(self._places)
        self._graph.replay()
        return self._ended

    def prepare(self, seeds: Sequence[int]) -> None:
        self._rng.prepare(seeds)

    def _recorded(self, places: RoundPlan) -> tuple[Any, Ended]:
        """The graph of a round, and where what it finds will lie."""
        graph = torch.cuda.CUDAGraph()
        with recording(graph, self.agents.device):
            ended = self._play(places)
        return graph, ended

    def _play(self, plan: RoundPlan) -> Ended:
        episode = ChosenEpisode(self._problems, self._rng, self._which, references=self._known, **self.options)
        played = play(episode, self.agents, plan)
        return Ended(played, episode.best_objective, episode.score)


def rounds_of(configs: Sequence[TrainingConfig], agents: Agents) -> Rounds:
    """Recorded where rounds differ in numbers alone and the device can repeat them, else plain."""
    plain = PlainRounds(configs, agents)
    if not can_repeat(agents.device) or any(c.instances == "random" for c in configs):
        return plain
    # what may fail is looked at, for which the host has to wait
    fit = all(p.finite and p.recordable for p in plain.suite().values())
    return RecordedRounds(configs, agents) if fit else plain
