"""Double DQN (paper eq. 9) for K policies side by side: separate networks, losses and mini-batches.

Losses add up and AdamW works element by element, so every policy learns as it would alone.
Letters: K policies, M transitions, S state features, H hidden units, A actions.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from meco.paper.config import LearnerSettings
from meco.paper.network import PAPER_SHAPE, NetworkShape, Weights


class QNetworks(nn.Module):
    """K networks with one hidden layer of SELU units and an output for each action."""

    def __init__(self, seeds: Sequence[int], shape: NetworkShape = PAPER_SHAPE, sigmoid: bool = False) -> None:
        """Draw the weights of each network from its seed, as torch.nn.Linear does after manual_seed(seed)."""
        super().__init__()
        parts = zip(*(_draw_network(seed, shape) for seed in seeds))
        self.w1, self.b1, self.w2, self.b2 = (nn.Parameter(torch.stack(part)) for part in parts)
        self.shape, self.sigmoid = shape, sigmoid

    def forward(self, s: Tensor) -> Tensor:
        """Action values [K, M, A] of states s [K, M, S], each network with its own states."""
        hidden = torch.selu(torch.baddbmm(self.b1[:, None], s, self.w1))
        q = torch.baddbmm(self.b2[:, None], hidden, self.w2)
        return q.sigmoid() if self.sigmoid else q

    def weights(self, policy: int) -> Weights:
        """A copy of the weights of one network."""
        return Weights(*(part.detach()[policy].numpy().copy() for part in (self.w1, self.b1, self.w2, self.b2)))


def _draw_network(seed: int, shape: NetworkShape) -> list[Tensor]:
    """Weights and biases of one network, layer by layer, uniform within 1 / sqrt(inputs)."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for inputs, outputs in pairwise(shape):
        bound = inputs**-0.5
        weight = torch.empty(outputs, inputs, dtype=torch.float64).uniform_(-bound, bound, generator=generator)
        bias = torch.empty(outputs, dtype=torch.float64).uniform_(-bound, bound, generator=generator)
        parts += [weight.T.contiguous(), bias]
    return parts


class Batch(NamedTuple):
    """Transitions of each policy: s, s_next [K, M, S], action [K, M] int64, reward and last [K, M]."""

    s: Tensor
    s_next: Tensor
    action: Tensor
    reward: Tensor
    last: Tensor


def double_q_target(reward: Tensor, last: Tensor, q_online: Tensor, q_target: Tensor, gamma: float) -> Tensor:
    """y = r + gamma Q'(s', argmax_a Q(s', a)) (eq. 9): the online network chooses, the target network values.

    reward, last [K, M], Q values of the next state [K, M, A] -> [K, M]. The last
    transition of an episode does not bootstrap.
    """
    chosen = q_online.argmax(-1, keepdim=True)
    return reward + gamma * (1.0 - last) * q_target.gather(-1, chosen)[..., 0]


class Learner:
    """Online and target networks with AdamW and a falling learning rate."""

    def __init__(
        self,
        seeds: Sequence[int],
        settings: LearnerSettings,
        steps: int,
        episodes: int = 1,
        shape: NetworkShape = PAPER_SHAPE,
    ) -> None:
        """Draw a network for each seed; steps and episodes are those of the training, over which the rate falls."""
        self.settings = settings
        self.online = QNetworks(seeds, shape, settings.q_output == "sigmoid")
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(
            self.online.parameters(), lr=settings.lr_first, weight_decay=settings.weight_decay, foreach=False
        )
        self.steps, self.ended = 0, 0  # learning steps, and episodes that ended
        self._last_step, self._episodes = max(1, steps - 1), max(1, episodes)

    @property
    def learning_rate(self) -> float:
        """The rate of the next step: linear in learning steps, or along half a cosine in episodes."""
        first, last = self.settings.lr_first, self.settings.lr_last
        if self.settings.lr_schedule == "cosine":
            return last + (first - last) * 0.5 * (1.0 + math.cos(math.pi * self.ended / self._episodes))
        return first + (last - first) * min(1.0, self.steps / self._last_step)

    def q(self, s: Tensor) -> Tensor:
        """Action values of states s [K, M, S] under the online networks: [K, M, A]."""
        with torch.no_grad():
            return self.online(s)

    def losses(self, batch: Batch) -> Tensor:
        """Mean squared error of each policy on its mini-batch (eq. 9): [K]."""
        with torch.no_grad():
            q_next = self.online(batch.s_next), self.target(batch.s_next)
            y = double_q_target(batch.reward, batch.last, *q_next, self.settings.gamma)
        q = self.online(batch.s).gather(-1, batch.action[..., None])[..., 0]
        return (q - y).square().mean(1)

    def learn(self, batch: Batch) -> Tensor:
        """Change the networks by one step, each policy on its own mini-batch; the losses before it, [K]."""
        with torch.enable_grad():
            losses = self.losses(batch)
            self.optimizer.zero_grad(set_to_none=True)
            losses.sum().backward()
        if self.settings.max_norm:
            self._clip_gradients(self.settings.max_norm)
        self.optimizer.param_groups[0]["lr"] = self.learning_rate
        self.optimizer.step()
        self.steps += 1
        if self.steps % self.settings.copy_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        return losses.detach()

    def _clip_gradients(self, most: float) -> None:
        """Scale the gradient of each policy down to this norm."""
        gradients = [p.grad for p in self.online.parameters() if p.grad is not None]
        norms = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0).sqrt()
        share = (most / (norms + 1e-6)).clamp(max=1.0)
        for g in gradients:
            g.mul_(share.reshape(-1, *[1] * (g.ndim - 1)))

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a checkpoint by name: both networks, and the moments of AdamW."""
        found = {f"{kind} {name}": p.detach() for kind in ("online", "target")
                 for name, p in getattr(self, kind).named_parameters()}  # fmt: skip
        for name, p in self.online.named_parameters():
            state = self.optimizer.state.get(p, {})
            for moment in ("exp_avg", "exp_avg_sq"):
                found[f"{moment} {name}"] = state.get(moment, torch.zeros_like(p)).detach()
        return found

    def restore(self, saved: Mapping[str, Tensor], steps: int, ended: int) -> None:
        """Go back to the tensors of a checkpoint, after so many learning steps and episodes."""
        with torch.no_grad():
            for kind in ("online", "target"):
                for name, p in getattr(self, kind).named_parameters():
                    p.copy_(saved[f"{kind} {name}"])
        self.steps, self.ended = steps, ended
        if steps:
            self.optimizer.load_state_dict({"state": {
                i: {"step": torch.tensor(float(steps)), **{m: saved[f"{m} {name}"].clone() for m in
                    ("exp_avg", "exp_avg_sq")}}
                for i, (name, _) in enumerate(self.online.named_parameters())
            }, "param_groups": self.optimizer.state_dict()["param_groups"]})  # fmt: skip


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Torch on one thread inside the block, as before after it: faster for small tensors, and always the same bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
