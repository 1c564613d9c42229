"""The learner: stacked networks, the Double DQN target, AdamW, and that it learns."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from meco.learn.paper.agents import Agents, play_round  # noqa: E402
from meco.learn.paper.config import TrainingConfig  # noqa: E402
from meco.learn.paper.ddqn import Batch, Learner, StackedSettings, double_q_target, limit_to_one_thread  # noqa: E402
from meco.learn.paper.torch_network import forward, init_networks, view_layers  # noqa: E402
from meco.policies.network import PAPER_SHAPE, NetworkShape, Weights, q_values  # noqa: E402

SMALL = NetworkShape(features=3, hidden=5, outputs=4)


def settings(policies, **changes):
    numbers = {"lr_first": 5e-3, "lr_last": 1e-4, "learning_steps": 100, "gamma": 1.0, "weight_decay": 0.01, **changes}
    return StackedSettings(
        *(torch.full((policies, 1), float(numbers[k]), dtype=torch.float64) for k in StackedSettings._fields)
    )


def some_batch(policies, shape=SMALL, size=8, seed=0):
    draw = torch.Generator().manual_seed(seed)

    def normal(*sizes):
        return torch.randn(*sizes, generator=draw, dtype=torch.float64)

    action = torch.randint(shape.outputs, (policies, size), generator=draw)
    last = (normal(policies, size) > 1).double()
    s, s_next = normal(policies, size, shape.features), normal(policies, size, shape.features)
    return Batch(s, s_next, action, normal(policies, size), last)


def modules(learner):
    """The same networks as torch modules, one per policy."""
    made = []
    for stack in learner.online:
        w1, b1, w2, b2 = (part[0] for part in view_layers(stack[None].clone(), learner.shape))
        net = nn.Sequential(nn.Linear(*w1.shape), nn.SELU(), nn.Linear(*w2.shape)).double()
        with torch.no_grad():
            for parameter, value in zip(net.parameters(), (w1.T, b1, w2.T, b2)):
                parameter.copy_(value)
        made.append(net)
    return made


def flat_gradient(net):
    w1, b1, w2, b2 = (p.grad for p in net.parameters())
    return torch.cat([w1.T.reshape(-1), b1, w2.T.reshape(-1), b2])


def flat_weights(net):
    w1, b1, w2, b2 = net.parameters()
    return torch.cat([w1.T.reshape(-1), b1, w2.T.reshape(-1), b2])


def test_the_online_network_chooses_and_the_target_network_values():
    online = torch.tensor([[[0.0, 5.0, 1.0], [9.0, 0.0, 0.0]]])
    target = torch.tensor([[[7.0, -2.0, 3.0], [0.5, 8.0, 8.0]]])  # its own argmax is elsewhere
    reward, last = torch.tensor([[1.0, 10.0]]), torch.tensor([[0.0, 0.0]])
    y = double_q_target(reward, last, online, target, gamma=0.5)
    assert y.tolist() == [[1.0 - 0.5 * 2.0, 10.0 + 0.5 * 0.5]]


def test_two_networks_that_disagree_give_the_double_q_target():
    shape = NetworkShape(features=1, hidden=1, outputs=2)
    learner = Learner([0], settings(1), shape)
    learner.online.copy_(torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0, 2.0]]))  # Q = (1, 2): chooses action 1
    learner.target.copy_(torch.tensor([[0.0, 0.0, 0.0, 0.0, 30.0, 20.0]]))  # would choose action 0
    one = torch.ones(1, 1, dtype=torch.float64)
    batch = Batch(one[..., None], one[..., None], torch.zeros(1, 1, dtype=torch.int64), 3 * one, 0 * one)
    loss, _ = learner.loss_and_gradient(batch)
    assert loss.item() == pytest.approx((3 + 20 - 1) ** 2)


def test_the_last_transition_does_not_bootstrap():
    q = torch.ones(1, 2, 3)
    y = double_q_target(torch.tensor([[1.0, 1.0]]), torch.tensor([[0.0, 1.0]]), q, q, gamma=1.0)
    assert y.tolist() == [[2.0, 1.0]]


def test_networks_start_as_torch_starts_a_linear_layer():
    torch.manual_seed(7)
    net = nn.Sequential(nn.Linear(10, 64, dtype=torch.float64), nn.SELU(), nn.Linear(64, 11, dtype=torch.float64))
    torch.testing.assert_close(init_networks([3, 7], PAPER_SHAPE)[1], flat_weights(net).detach(), rtol=1e-14, atol=0)


@pytest.mark.parametrize("output", ["linear", "sigmoid"])
def test_the_policy_evaluates_the_network_that_was_trained(output):
    stack = init_networks([1, 2], PAPER_SHAPE)
    s = np.random.default_rng(0).normal(size=(2, 6, 10))
    trained = forward(view_layers(stack, PAPER_SHAPE), torch.from_numpy(s), sigmoid=output == "sigmoid").q.numpy()
    weights = Weights(*(part.numpy() for part in view_layers(stack, PAPER_SHAPE)))
    np.testing.assert_allclose(q_values(weights, s, output), trained, rtol=0, atol=1e-13)


@pytest.mark.parametrize("sigmoid", [False, True])
def test_the_gradient_is_the_one_autograd_finds(sigmoid):
    learner, batch = Learner([1, 2, 3], settings(3), SMALL, sigmoid=sigmoid), some_batch(3)
    learner.target.mul_(0.7)
    loss, slope = learner.loss_and_gradient(batch)
    leaf = learner.online.clone().requires_grad_()
    net = view_layers(leaf, SMALL)
    q_next = forward(view_layers(learner.target, SMALL), batch.s_next, sigmoid=sigmoid).q
    with torch.no_grad():
        y = double_q_target(batch.reward, batch.last, forward(net, batch.s_next, sigmoid=sigmoid).q, q_next, 1.0)
    q = forward(net, batch.s, sigmoid=sigmoid).q.gather(-1, batch.action[..., None])[..., 0]
    losses = ((q - y) ** 2).mean(1)
    losses.sum().backward()
    torch.testing.assert_close(loss, losses.detach(), rtol=1e-13, atol=0)
    torch.testing.assert_close(slope, leaf.grad, rtol=1e-11, atol=1e-14)


def test_twenty_steps_equal_torch_modules_with_torch_adamw():
    learner = Learner([1, 2], settings(2, learning_steps=20), SMALL, copy_every=10)
    nets, targets = modules(learner), modules(learner)
    optimisers = [torch.optim.AdamW(net.parameters(), lr=1.0, weight_decay=0.01) for net in nets]
    for step in range(20):
        batch = some_batch(2, seed=step)
        learner.learn(batch)
        for k, (net, target, optimiser) in enumerate(zip(nets, targets, optimisers)):
            optimiser.param_groups[0]["lr"] = 5e-3 + (1e-4 - 5e-3) * step / 19
            with torch.no_grad():
                q_next = (net(batch.s_next[k]), target(batch.s_next[k]))
                y = double_q_target(batch.reward[k], batch.last[k], *q_next, 1.0)
            optimiser.zero_grad()
            ((net(batch.s[k]).gather(-1, batch.action[k][:, None])[:, 0] - y) ** 2).mean().backward()
            optimiser.step()
            if step % 10 == 9:
                target.load_state_dict(net.state_dict())
    for k in range(2):
        torch.testing.assert_close(learner.online[k], flat_weights(nets[k]).detach(), rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(learner.target[k], flat_weights(targets[k]).detach(), rtol=1e-10, atol=1e-12)


def test_a_policy_learns_the_same_bits_alone_and_in_a_stack():
    with limit_to_one_thread():
        stacked = Learner(range(5), settings(5))
        alone = Learner([3], settings(1))
        for step in range(30):
            batch = some_batch(5, PAPER_SHAPE, seed=step)
            stacked.learn(batch)
            alone.learn(Batch(*(part[3:4] for part in batch)))
    assert torch.equal(stacked.online[3:4], alone.online)
    assert torch.equal(stacked.target[3:4], alone.target)


def test_the_learning_rate_falls_linearly_from_first_to_last():
    learner = Learner([0, 1], settings(2, learning_steps=11)._replace(lr_last=torch.tensor([[1e-4], [5e-3]])), SMALL)
    rate = learner.reserve_steps(11).rate[..., 0].numpy()
    assert learner.steps == 11
    np.testing.assert_allclose(rate[:, 0], np.linspace(5e-3, 1e-4, 11))
    np.testing.assert_allclose(rate[:, 1], 5e-3)


def test_the_target_is_copied_every_ten_learning_steps():
    learner = Learner([0], settings(1), SMALL)
    first = learner.target.clone()
    for step in range(1, 21):
        learner.learn(some_batch(1, seed=step))
        copied = torch.equal(learner.target, learner.online)
        assert copied == (step % 10 == 0)
        assert torch.equal(learner.target, first) == (step < 10)


def test_learning_leaves_the_number_of_threads_as_it_was():
    before = torch.get_num_threads()
    with limit_to_one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


class Corridor:
    """Three rooms in a row with eleven doors each: four lead on, four pay 0.2 and lead back, the rest stay.

    Only the last room pays for going on, 1 a step: the best policy forgoes the small pay twice
    and then earns 1 in each of the steps that are left.
    """

    ROOMS, STEPS = 3, 6

    def __init__(self, runs):
        self.runs = runs

    def seen(self):
        s = np.zeros((self.runs, 10))
        s[np.arange(self.runs), self.room] = 1.0
        s[:, 9] = self.time / self.STEPS
        return s

    def reset(self):
        self.room, self.time = np.zeros(self.runs, dtype=int), 0
        return self.seen()

    def step(self, actions):
        door = np.rint(np.asarray(actions) * 10).astype(int)
        on, back = door >= 7, door <= 3
        reward = 1.0 * (on & (self.room == self.ROOMS - 1)) + 0.2 * back
        self.room = np.clip(self.room + on - back, 0, self.ROOMS - 1)
        self.time += 1
        return self.seen(), reward / self.STEPS, np.full(self.runs, self.time == self.STEPS)


def test_double_dqn_finds_the_best_policy_of_a_corridor_from_ten_of_ten_seeds():
    paper = {"suite": "toy", "problems": ("tilted",), "dim": 2, "budget": 50 * (Corridor.STEPS + 1)}
    config = TrainingConfig.from_dict({"epochs": 200, **paper})
    agents = Agents([config.with_settings(name=f"seed {k}", seed=k) for k in range(10)])
    with limit_to_one_thread():
        for _ in range(200):
            play_round(Corridor(10), agents, agents.draw_round_plan(Corridor.STEPS))
        corridor, earned, over = Corridor(10), np.zeros(10), False
        s = corridor.reset()
        while not over:
            greedy = agents.learner.q(torch.from_numpy(s)[:, None]).argmax(-1)
            s, r, done = corridor.step(agents.action_values(greedy))
            earned, over = earned + r, done[0]
    np.testing.assert_allclose(earned, (Corridor.STEPS - Corridor.ROOMS + 1) / Corridor.STEPS)
