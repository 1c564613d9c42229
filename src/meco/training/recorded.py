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

from meco.engines.graphs import can_repeat, recording
from meco.evaluator import Evaluator
from meco.mdp.episode import Episode
from meco.streams import Streams
from meco.training.agents import Agents, Plan, play
from meco.training.chosen_problems import ChosenProblems
from meco.training.config import TrainingConfig
from meco.training.curriculum import EpisodePlan
from meco.training.prepared_streams import PreparedStreams
from meco.training.rounds import Ended, Rounds


class ChosenEpisode(Episode):
    """Episodes whose problems and random numbers lie on the device."""

    def __init__(self, evaluator: ChosenProblems, rng: PreparedStreams, which: Tensor, **options: Any) -> None:
        super().__init__(evaluator.problems, rng.seeds, **options)
        self._chosen = evaluator, rng, which

    def _world(self) -> tuple[Streams, Evaluator]:
        evaluator, rng, which = self._chosen
        rng.rewind()
        evaluator.begin(which)
        return rng, evaluator


class RecordedRounds(Rounds):
    """Rounds on problems that never change, recorded once and replayed on a CUDA device."""

    def __init__(self, configs: Sequence[TrainingConfig], agents: Agents) -> None:
        super().__init__(configs, agents)
        runs, xp, device = len(agents) * agents.episodes, self.options["xp"], agents.device
        suite = self.suite()
        self._evaluator = ChosenProblems([*suite.values()], runs, self.options["budget"], xp, device)
        self._numbers = {key: number for number, key in enumerate(suite)}
        self._rng = PreparedStreams(runs, xp, device)
        self._which = torch.zeros(runs, dtype=torch.int64, device=device)
        self._known = torch.zeros(runs, dtype=torch.float64, device=device)
        self._places: Plan | None = None
        self._graph: Any = None

    def play(self, jobs: Sequence[EpisodePlan], references: np.ndarray, plan: Plan) -> Ended:
        self._rng.begin([job.seed for job in jobs])
        self._which.copy_(torch.tensor([self._numbers[job.problem, str(job.instance)] for job in jobs]))
        self._known.copy_(torch.from_numpy(references))
        if self._graph is None and not self._can_record(plan):
            return self._play(plan)
        return self._replayed(plan)

    def prepare(self, seeds: Sequence[int]) -> None:
        self._rng.prepare(seeds)

    def _can_record(self, plan: Plan) -> bool:
        """Not before a whole round has learnt at every step, all that is made once was made, and places are known."""
        ready, self._places = self._places is not None, None if plan.visits.idle else plan
        return ready and can_repeat(self.agents.device)

    def _replayed(self, plan: Plan) -> Ended:
        assert self._places is not None
        for place, new in zip(self._places.tensors(), plan.tensors()):
            place.copy_(new)
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            with recording(self._graph):
                self._ended = self._play(self._places)
        self._graph.replay()
        return self._ended

    def _play(self, plan: Plan) -> Ended:
        episode = ChosenEpisode(self._evaluator, self._rng, self._which, references=self._known, **self.options)
        played = play(episode, self.agents, plan)
        return Ended(played, episode.best_objective, episode.score)
