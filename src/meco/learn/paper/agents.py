"""K learners that act with exploration, remember, and learn once for every step they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from meco.core.arrays import Array, to_numpy
from meco.core.streams import Streams
from meco.errors import DamagedFile
from meco.learn.paper.config import TrainingConfig
from meco.learn.paper.ddqn import Learner, LearningSteps, StackedSettings
from meco.learn.paper.replay_memory import MemoryAccess, ReplayMemory
from meco.policies.network import PAPER_SHAPE
from meco.policies.paper.steered_rule import DECODERS
from meco.policies.policy import draw_index

UNIFORMS_PER_ACTION = 2  # uniform numbers that decide an action: whether to explore, and what


class Environment(Protocol):
    """Episodes in lockstep that all end at the same step, as meco.learn.Episode has them."""

    def reset(self) -> Array:
        """Features [B, 10]."""

    def step(self, actions: Array) -> tuple[Array, Array, Array]:
        """Features [B, 10], rewards [B] and whether the episodes are over [B], after action values [B]."""


class RoundPlan(NamedTuple):
    """The chance of a round of T steps, and what follows from counting: all that is known before it is played."""

    explores: Tensor  # [T, K, E] bool: not the greedy action
    others: Tensor  # [T, K, E], the index of the action taken then
    access: MemoryAccess
    learning: LearningSteps  # E for each step that is not idle

    @property
    def steps(self) -> int:
        """Steps of the round."""
        return self.explores.shape[0]


class Agents:
    """Policies k = 0..K-1 with E episodes each: networks, memory and one random stream per policy."""

    def __init__(self, configs: Sequence[TrainingConfig]) -> None:
        """New networks and empty memories for policies that train in one batch (check_lockstep)."""
        first, learner = configs[0], configs[0].learner
        self.episodes, self.batch = first.parallel_episodes, learner.batch
        self.rng = Streams([c.seed for c in configs])
        self.learner = Learner(
            [c.seed for c in configs],
            _stack_settings(configs),
            copy_every=learner.copy_every,
            shape=PAPER_SHAPE,
            sigmoid=learner.q_output == "sigmoid",
        )
        self.replay = ReplayMemory(len(configs), learner.memory, self.learner.shape.features)
        self._explore = np.array([[c.learner.explore] for c in configs])  # [K, 1]
        grids = np.array([DECODERS[c.episode.decoder].grid for c in configs])
        self._values = torch.from_numpy(grids)  # [K, A]

    def __len__(self) -> int:
        return self.rng.runs

    def draw_round_plan(self, steps: int) -> RoundPlan:
        """Draw the chance of the coming round, in one block from each policy's own stream.

        Moves the streams on, and counts the round's transitions and learning steps as made.
        """
        u = self.rng.uniform(steps, self.episodes, UNIFORMS_PER_ACTION + self.batch)  # [K, T, E, ...]
        seldom, which = np.moveaxis(u[..., :UNIFORMS_PER_ACTION], 0, 1).transpose(3, 0, 1, 2)
        access = self.replay.reserve_access(u[..., UNIFORMS_PER_ACTION:])
        learning = self.learner.reserve_steps(self.episodes * (steps - access.idle))
        explores = torch.from_numpy(seldom < self._explore)
        others = torch.from_numpy(draw_index(which, self.learner.shape.outputs))
        return RoundPlan(explores, others, access, learning)

    def act(self, s: Tensor, explores: Tensor, others: Tensor) -> Tensor:
        """Action indices [K, E] in states s [K, E, S]: the greedy ones, but for a share that explores."""
        return torch.where(explores, others, self.learner.q(s).argmax(-1))

    def action_values(self, index: Tensor) -> Tensor:
        """The action values [K E] behind indices [K, E], each policy with its own grid."""
        return self._values.gather(1, index).flatten()

    def learn(self, plan: RoundPlan, t: int, s: Tensor, index: Tensor, r: Tensor, s_next: Tensor) -> Tensor:
        """Remember step t of every episode (s [K, E, S], index and r [K, E]), then learn E times: losses [K]."""
        writes, reads, idle = plan.access
        for e in range(self.episodes):
            self.replay.write(writes[t, e], s[:, e], index[:, e], r[:, e], s_next[:, e], last=t == plan.steps - 1)
        if t < idle:
            return torch.zeros_like(r[:, 0])
        first = self.episodes * (t - idle)
        losses = [
            self.learner.learn(self.replay.read(reads[t, e]), plan.learning.at(first + e)) for e in range(self.episodes)
        ]
        return losses[0] if self.episodes == 1 else torch.stack(losses).mean(0)

    def keep_policies(self, policies: Sequence[int]) -> None:
        """Drop all policies but those of these rows; their networks, memories and streams stay as they are."""
        rows = torch.tensor(policies)
        self.learner.keep_policies(rows)
        self.replay.keep_policies(rows)
        self.rng = self.rng.select(policies)
        self._explore = self._explore[list(policies)]
        self._values = self._values[rows]

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers of a checkpoint by name; counters() goes with them."""
        tensors = {name: getattr(self.learner, name) for name in Learner.TENSORS}
        return {name: to_numpy(t) for name, t in {**tensors, "memory": self.replay.rows}.items()}

    def counters(self) -> dict[str, Any]:
        """Steps made, and the states of the random streams."""
        return {"learned": self.learner.steps, "written": self.replay.written, "streams": self.rng.state()}

    def restore(self, arrays: dict[str, np.ndarray], counters: dict[str, Any]) -> None:
        """Go back to what arrays() and counters() gave; DamagedFile for arrays of another shape or type."""
        for name, mine in self.arrays().items():
            if (arrays[name].shape, arrays[name].dtype) != (mine.shape, mine.dtype):
                raise DamagedFile(f"{name} must be {mine.shape} of {mine.dtype}; got {arrays[name].shape}")
        tensors = {name: torch.from_numpy(a) for name, a in arrays.items()}
        self.learner.restore(tensors, counters["learned"])
        self.replay.restore(tensors["memory"], counters["written"])
        self.rng.restore(counters["streams"])


class RoundStatistics(NamedTuple):
    """A round of episodes: return [K, E], mean loss [K], how often each action was taken [K, E, A]."""

    reward: Tensor
    loss: Tensor
    actions: Tensor


def play_round(environment: Environment, agents: Agents, plan: RoundPlan) -> RoundStatistics:
    """Play all episodes of a round to their end, learning at every step.

    Resets and steps the environment, and changes the agents' networks and memories.
    """
    shape, (features, _, actions) = (len(agents), agents.episodes), agents.learner.shape

    def tensor(values: Array, *more: int) -> Tensor:
        """Values [B, ...] of the environment as a tensor [K, E, ...]."""
        return (torch.from_numpy(values) if isinstance(values, np.ndarray) else values).reshape(*shape, *more)

    s, losses = tensor(environment.reset(), features), []
    reward, taken = torch.zeros_like(s[..., 0]), torch.zeros_like(s[..., :1], dtype=torch.int64).repeat(1, 1, actions)
    one = torch.ones_like(taken[..., :1])
    for t in range(plan.steps):
        index = agents.act(s, plan.explores[t], plan.others[t])
        state, r, _ = environment.step(agents.action_values(index))
        s_next = tensor(state, features)
        losses.append(agents.learn(plan, t, s, index, tensor(r), s_next))
        reward += tensor(r)
        taken.scatter_add_(-1, index[..., None], one)
        s = s_next
    return RoundStatistics(reward, torch.stack(losses).mean(0), taken)


def _stack_settings(configs: Sequence[TrainingConfig]) -> StackedSettings:
    """Settings of each policy as columns [K, 1]."""

    def column(values: Iterable[float]) -> Tensor:
        """One number of each policy: [K, 1]."""
        return torch.tensor([[float(value)] for value in values], dtype=torch.float64)

    return StackedSettings(
        lr_first=column(c.learner.lr_first for c in configs),
        lr_last=column(c.learner.lr_last for c in configs),
        learning_steps=column(c.learning_steps for c in configs),
        gamma=column(c.learner.gamma for c in configs),
        weight_decay=column(c.learner.weight_decay for c in configs),
    )
