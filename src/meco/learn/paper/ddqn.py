"""Double DQN (paper eq. 9) for K policies at once, each with its own weights and memory.

Every policy's numbers depend on its own row only: the losses are separate, AdamW works
element by element, and the matrix products are stacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from meco.learn.paper.torch_network import Pass, forward, init_networks, view_layers, weight_gradient
from meco.policies.network import PAPER_SHAPE, NetworkShape

BETA1, BETA2, ADAM_EPS = 0.9, 0.999, 1e-8  # AdamW's usual constants


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Torch on one thread inside the block, as before after it: faster for small tensors, and always the same bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def double_q_target(reward: Tensor, last: Tensor, q_online: Tensor, q_target: Tensor, gamma: Tensor | float) -> Tensor:
    """y = r + gamma Q'(s', argmax_a Q(s', a)): the online network chooses, the target network values.

    reward, last [K, M], Q values of the next state [K, M, A] -> [K, M]. The last
    transition of an episode does not bootstrap.
    """
    chosen = q_online.argmax(-1, keepdim=True)
    return reward + gamma * (1.0 - last) * q_target.gather(-1, chosen)[..., 0]


class Batch(NamedTuple):
    """Transitions of each policy: s, s_next [K, M, S], action [K, M] int64, reward and last [K, M]."""

    s: Tensor
    s_next: Tensor
    action: Tensor
    reward: Tensor
    last: Tensor


class StackedSettings(NamedTuple):
    """Settings of K learners: [K, 1] each."""

    lr_first: Tensor
    lr_last: Tensor
    learning_steps: Tensor  # of the training, over which the learning rate falls linearly
    gamma: Tensor
    weight_decay: Tensor


class LearningSteps(NamedTuple):
    """What steps of the optimiser know by their number alone, step by step."""

    rate: Tensor  # [n, K, 1]
    first: Tensor  # [n], bias correction of the first moment
    second: Tensor  # [n], of the root of the second
    copied: Tensor  # [n] bool, whether the target network follows

    def at(self, number: int) -> LearningSteps:
        """Step `number` of them, without the leading axis."""
        return LearningSteps(*(part[number] for part in self))


class Learner:
    """K online networks with their target networks and AdamW moments, [K, P] each."""

    TENSORS = ("online", "target", "first", "second")  # attributes, and their names in checkpoints

    def __init__(
        self,
        seeds: Sequence[int],
        settings: StackedSettings,
        shape: NetworkShape = PAPER_SHAPE,
        copy_every: int = 10,
        sigmoid: bool = False,
    ) -> None:
        """Draw a network for each seed; targets begin as copies, moments at 0."""
        self.shape, self.settings, self.copy_every, self.sigmoid = shape, settings, copy_every, sigmoid
        self.online = init_networks(seeds, shape)
        self.target = self.online.clone()
        self.first, self.second = torch.zeros_like(self.online), torch.zeros_like(self.online)
        self.steps = 0
        self._derive_constants()

    def _derive_constants(self) -> None:
        """Set what every step needs and no step changes; to be called again when networks or settings are replaced."""
        self._online, self._target = view_layers(self.online, self.shape), view_layers(self.target, self.shape)
        self._change = self.settings.lr_last - self.settings.lr_first  # of the learning rate, by the last step
        self._per_step = torch.clamp(self.settings.learning_steps - 1, min=1).reciprocal()  # share of the training

    def q(self, s: Tensor) -> Tensor:
        """Q values of states s [K, M, S] under the online networks: [K, M, A]."""
        return forward(self._online, s, sigmoid=self.sigmoid).q

    def reserve_steps(self, count: int) -> LearningSteps:
        """The next `count` steps, counted as made, [count, ...] each; the rate falls linearly over the training."""
        before, numbers = range(self.steps, self.steps + count), range(self.steps + 1, self.steps + count + 1)
        rate = self.settings.lr_first + self._change * (self._make_tensor(before)[:, None, None] * self._per_step)
        first = self._make_tensor([1.0 - BETA1**n for n in numbers])
        second = self._make_tensor([(1.0 - BETA2**n) ** 0.5 for n in numbers])
        copied = torch.tensor([n % self.copy_every == 0 for n in numbers])
        self.steps += count
        return LearningSteps(rate, first, second, copied)

    def _make_tensor(self, values: Sequence[float]) -> Tensor:
        """Values as a tensor of the networks' type."""
        return torch.tensor(values, dtype=self.online.dtype)

    def learn(self, batch: Batch, step: LearningSteps | None = None) -> Tensor:
        """Change the networks by one step, each policy on its own mini-batch; the losses before it, [K].

        The step is one that reserve_steps() gave; without one the next is reserved here.
        """
        step = self.reserve_steps(1).at(0) if step is None else step
        loss, slope = self.loss_and_gradient(batch)
        self._apply_adamw(slope, step)
        self.target.copy_(torch.where(step.copied, self.online, self.target))
        return loss

    def loss_and_gradient(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Mean squared error of each policy [K] and its derivative by the weights [K, P]; changes nothing."""
        size = batch.s.shape[1]
        seen = forward(self._online, torch.cat([batch.s, batch.s_next], dim=1), sigmoid=self.sigmoid)
        here, q_next = Pass(seen.hidden[:, :size], seen.q[:, :size]), seen.q[:, size:]
        q_target = forward(self._target, batch.s_next, sigmoid=self.sigmoid).q
        y = double_q_target(batch.reward, batch.last, q_next, q_target, self.settings.gamma)
        action = batch.action[..., None]
        error = here.q.gather(-1, action) - y[..., None]
        dq = torch.zeros_like(here.q).scatter_(-1, action, error * (2.0 / size))
        return error.square().flatten(1).mean(1), weight_gradient(self._online, batch.s, here, dq, sigmoid=self.sigmoid)

    def _apply_adamw(self, slope: Tensor, step: LearningSteps) -> None:
        """Change moments and online networks by AdamW from slope [K, P]: bias correction, weight decay apart."""
        self.first.lerp_(slope, 1.0 - BETA1)
        self.second.mul_(BETA2).addcmul_(slope, slope, value=1.0 - BETA2)
        spread = self.second.sqrt().div_(step.second).add_(ADAM_EPS)
        self.online.mul_(1.0 - step.rate * self.settings.weight_decay)
        self.online.sub_((step.rate / step.first) * (self.first / spread))

    def keep_policies(self, policies: Tensor) -> None:
        """Drop all policies but those of these rows [n]."""
        for name in self.TENSORS:
            setattr(self, name, getattr(self, name)[policies].clone())
        self.settings = StackedSettings(*(v[policies] for v in self.settings))
        self._derive_constants()

    def restore(self, saved: dict[str, Tensor], steps: int) -> None:
        """Go back to saved tensors (TENSORS, of the present shapes) after so many steps."""
        for name in self.TENSORS:
            getattr(self, name).copy_(saved[name])
        self.steps = steps
