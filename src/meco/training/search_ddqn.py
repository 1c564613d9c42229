"""Double DQN for MeCO-TR: the paper's learner on the places of the grid of controls, rewarded by the quantile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from meco.arrays import to_numpy
from meco.mdp.controls import CONTROLS
from meco.mdp.features import FEATURES
from meco.mdp.model_search import SEARCH_CONTROLS, SEARCH_FEATURES
from meco.mdp.network import NetworkShape, Weights
from meco.mdp.policy import any_index
from meco.mdp.quantile import Outcomes
from meco.mdp.search_episode import SearchEpisode
from meco.training.ddqn import Learner, LearnerSettings, one_thread
from meco.training.matches import in_lockstep
from meco.training.network import layers
from meco.training.references import Pool
from meco.training.replay import Replay


class QSettings(NamedTuple):
    """Settings of a training; one network, many episodes side by side."""

    rounds: int = 200  # of episodes
    width: int = 32  # episodes of a round
    hidden: int = 48
    memory: int = 50_000  # transitions
    batch: int = 128
    updates: int = 8  # learning steps for each step of a round
    explore: tuple[float, float] = (0.6, 0.05)  # first and last share of actions at random
    lr: tuple[float, float] = (2e-3, 1e-4)
    copy_every: int = 200
    weight_decay: float = 1e-3
    seed: int = 1


class QSearch:
    """One network that plays matches of a pool, remembers, and learns."""

    def __init__(self, pool: Pool, settings: QSettings, say: Callable[[str], Any] = lambda line: None) -> None:
        self.pool, self.settings, self.say = pool, settings, say
        self.actions = len(CONTROLS[SEARCH_CONTROLS].grid)
        shape = NetworkShape(len(FEATURES[SEARCH_FEATURES].names), settings.hidden, self.actions)
        steps = settings.rounds * settings.updates * 50  # of learning, about: an episode has at most fifty decisions
        numbers = (*settings.lr, steps, 1.0, settings.weight_decay)
        each = LearnerSettings(*(torch.tensor([[float(n)]], dtype=torch.float64) for n in numbers))
        self.learner = Learner([settings.seed], each, shape, settings.copy_every)
        self.replay = Replay(1, settings.memory, shape.features)
        self.rows: list[dict[str, Any]] = []

    def run(self, stop: Callable[[], bool] = lambda: False) -> Weights:
        """Play all rounds, or until stop() says so; the network at the end."""
        with one_thread(), torch.no_grad():
            for number in range(self.settings.rounds):
                if stop():
                    break
                self.rows.append(self._round(number, np.random.default_rng([self.settings.seed, number])))
                self.say(f"round {number + 1}: final quantile {self.rows[-1]['quantile']:.4f}")
        return Weights(*(to_numpy(part[0]).copy() for part in layers(self.learner.online, self.learner.shape)))

    def _round(self, number: int, rng: np.random.Generator) -> dict[str, Any]:
        """Episodes of one shape from their start to their end."""
        groups = in_lockstep(self.pool.matches)
        sizes = np.array([len(g) for g in groups], dtype=float)
        group = groups[rng.choice(len(groups), p=sizes / sizes.sum())]
        places = rng.choice(group, size=self.settings.width)
        episode = SearchEpisode(
            [self.pool.matches[i].problem for i in places],
            rng.integers(2**40, size=len(places)).tolist(),
            self.pool.matches[places[0]].budget,
            references=Outcomes(*(part[places] for part in self.pool.outcomes)),
        )
        first, last = self.settings.explore
        rate = first + (last - first) * min(1.0, 1.5 * number / self.settings.rounds)
        s, over, losses = torch.from_numpy(episode.reset()), False, []
        while not over:
            greedy = to_numpy(self.learner.q(s[None])[0].argmax(-1))
            at_random = rng.random(len(places)) < rate
            action = np.where(at_random, any_index(rng.random(len(places)), self.actions), greedy)
            state, r, done = episode.step(action)
            over, s_next = bool(done[0]), torch.from_numpy(state)
            for e in range(len(places)):
                self.replay.add(s[None, e], torch.tensor([action[e]]), torch.tensor([r[e]]), s_next[None, e], over)
            losses += self._learn(rng)
            s = s_next
        quantile = float(np.minimum(episode.quantile, 1.0).mean())
        return {"round": number + 1, "quantile": quantile, "loss": float(np.mean(losses or [0.0]))}

    def _learn(self, rng: np.random.Generator) -> list[float]:
        size = self.settings.batch
        if self.replay.held < size:
            return []
        return [
            float(self.learner.learn(self.replay.sample(rng.random((1, size))))[0])
            for _ in range(self.settings.updates)
        ]
