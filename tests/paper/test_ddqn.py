"""The learner: stacked networks, the Double DQN target, AdamW, and that it learns."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from meco.paper.agents import Agents, play_round  # noqa: E402
from meco.paper.config import LearnerSettings, TrainingConfig  # noqa: E402
from meco.paper.ddqn import Batch, Learner, QNetworks, double_q_target, limit_to_one_thread  # noqa: E402
from meco.paper.network import PAPER_SHAPE, NetworkShape, flatten_weights, q_values  # noqa: E402
from meco.paper.training import Trainer  # noqa: E402
from quick_training import quick  # noqa: E402

SMALL = NetworkShape(features=3, hidden=5, outputs=4)
PRINTED = LearnerSettings()


def some_batch(policies, shape=SMALL, size=8, seed=0):
    draw = torch.Generator().manual_seed(seed)

    def normal(*sizes):
        return torch.randn(*sizes, generator=draw, dtype=torch.float64)

    action = torch.randint(shape.outputs, (policies, size), generator=draw)
    last = (normal(policies, size) > 1).double()
    s, s_next = normal(policies, size, shape.features), normal(policies, size, shape.features)
    return Batch(s, s_next, action, normal(policies, size), last)


def modules(networks):
    """The same networks as torch modules, one per policy."""
    made = []
    for k in range(len(networks.w1)):
        w1, b1, w2, b2 = (torch.from_numpy(part) for part in networks.weights(k))
        net = nn.Sequential(nn.Linear(*w1.shape), nn.SELU(), nn.Linear(*w2.shape)).double()
        with torch.no_grad():
            for parameter, value in zip(net.parameters(), (w1.T, b1, w2.T, b2)):
                parameter.copy_(value)
        made.append(net)
    return made


def flat(networks, policy=0):
    return torch.from_numpy(flatten_weights(networks.weights(policy)))


def flat_weights(net):
    w1, b1, w2, b2 = net.parameters()
    return torch.cat([w1.T.reshape(-1), b1, w2.T.reshape(-1), b2]).detach()


def test_the_online_network_chooses_and_the_target_network_values():
    online = torch.tensor([[[0.0, 5.0, 1.0], [9.0, 0.0, 0.0]]])
    target = torch.tensor([[[7.0, -2.0, 3.0], [0.5, 8.0, 8.0]]])  # its own argmax is elsewhere
    reward, last = torch.tensor([[1.0, 10.0]]), torch.tensor([[0.0, 0.0]])
    y = double_q_target(reward, last, online, target, gamma=0.5)
    assert y.tolist() == [[1.0 - 0.5 * 2.0, 10.0 + 0.5 * 0.5]]


def one_output_each(online, target, settings=PRINTED):
    """A learner of one state, one hidden unit and two actions whose Q values are the given biases."""
    learner = Learner([0], settings, 100, shape=NetworkShape(features=1, hidden=1, outputs=2))
    for networks, biases in ((learner.online, online), (learner.target, target)):
        with torch.no_grad():
            for part in networks.parameters():
                part.zero_()
            networks.b2.copy_(torch.tensor([biases]))
    return learner


def test_two_networks_that_disagree_give_the_double_q_target():
    learner = one_output_each(online=(1.0, 2.0), target=(30.0, 20.0))  # chooses action 1, worth 20 by the target
    one = torch.ones(1, 1, dtype=torch.float64)
    batch = Batch(one[..., None], one[..., None], torch.zeros(1, 1, dtype=torch.int64), 3 * one, 0 * one)
    assert learner.losses(batch).item() == pytest.approx((3 + 20 - 1) ** 2)


def test_one_learning_step_equals_hand_computed_values():
    """Loss (3 + 20 - 1)^2, its derivative by the bias of action 0 is -44; AdamW's first step is lr, after decay."""
    learner = one_output_each(online=(1.0, 2.0), target=(30.0, 20.0))
    one = torch.ones(1, 1, dtype=torch.float64)
    loss = learner.learn(Batch(one[..., None], one[..., None], torch.zeros(1, 1, dtype=torch.int64), 3 * one, 0 * one))
    assert loss.item() == 484.0
    shrunk = 1 - 5e-3 * 0.01
    expected = [1.0 * shrunk + 5e-3 * 44 / (44 + 1e-8), 2.0 * shrunk]
    np.testing.assert_allclose(learner.online.b2.detach()[0], expected, rtol=1e-14)


def test_the_last_transition_does_not_bootstrap():
    q = torch.ones(1, 2, 3)
    y = double_q_target(torch.tensor([[1.0, 1.0]]), torch.tensor([[0.0, 1.0]]), q, q, gamma=1.0)
    assert y.tolist() == [[2.0, 1.0]]


def test_networks_start_as_torch_starts_a_linear_layer():
    torch.manual_seed(7)
    net = nn.Sequential(nn.Linear(10, 64, dtype=torch.float64), nn.SELU(), nn.Linear(64, 11, dtype=torch.float64))
    torch.testing.assert_close(flat(QNetworks([3, 7]), 1), flat_weights(net), rtol=1e-14, atol=0)


@pytest.mark.parametrize("output", ["linear", "sigmoid"])
def test_the_policy_evaluates_the_network_that_was_trained(output):
    networks = QNetworks([1, 2], PAPER_SHAPE, output == "sigmoid")
    s = np.random.default_rng(0).normal(size=(2, 6, 10))
    trained = networks(torch.from_numpy(s)).detach().numpy()
    for k in range(2):
        np.testing.assert_allclose(q_values(networks.weights(k), s[k], output), trained[k], rtol=0, atol=1e-13)


@pytest.mark.parametrize("max_norm", [0.0, 0.05])
def test_twenty_steps_equal_separate_modules_with_adamw(max_norm):
    learner = Learner([1, 2], LearnerSettings(max_norm=max_norm), 20, shape=SMALL)
    nets, targets = modules(learner.online), modules(learner.online)
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
            if max_norm:
                nn.utils.clip_grad_norm_(net.parameters(), max_norm)
            optimiser.step()
            if step % 10 == 9:
                target.load_state_dict(net.state_dict())
    for k in range(2):
        torch.testing.assert_close(flat(learner.online, k), flat_weights(nets[k]), rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(flat(learner.target, k), flat_weights(targets[k]), rtol=1e-10, atol=1e-12)


def test_a_training_equals_that_of_the_learner_written_by_hand():
    """Weights of meco 0.3's own back-propagation and AdamW, under both readings."""
    for reading, bias, total in (
        ({"best": "relaxed", "guide_order": "relaxed"}, -0.08340478607102866, -1.6546845863399007),
        ({"best": "least", "guide_order": "score"}, -0.07255461168360598, -2.3392493534947705),
    ):
        (trained,) = Trainer([quick(seed=3, **reading)]).run()
        assert trained.weights.b2[0] == pytest.approx(bias, abs=1e-12)
        assert flatten_weights(trained.weights).sum() == pytest.approx(total, abs=1e-11)


def test_a_policy_learns_the_same_bits_alone_and_in_a_stack():
    with limit_to_one_thread():
        stacked, alone = Learner(range(5), PRINTED, 100), Learner([3], PRINTED, 100)
        for step in range(30):
            batch = some_batch(5, PAPER_SHAPE, seed=step)
            stacked.learn(batch)
            alone.learn(Batch(*(part[3:4] for part in batch)))
    assert torch.equal(flat(stacked.online, 3), flat(alone.online))
    assert torch.equal(flat(stacked.target, 3), flat(alone.target))


def test_the_learning_rate_falls_linearly_from_first_to_last():
    learner, rates = Learner([0], PRINTED, 11, shape=SMALL), []
    for step in range(11):
        rates.append(learner.learning_rate)
        learner.learn(some_batch(1, seed=step))
    np.testing.assert_allclose(rates, np.linspace(5e-3, 1e-4, 11))


def test_a_cosine_schedule_falls_with_the_episodes():
    learner, rates = Learner([0], LearnerSettings(lr_schedule="cosine"), 100, episodes=4), []
    for ended in (0, 2, 4):
        learner.ended = ended
        rates.append(learner.learning_rate)
    np.testing.assert_allclose(rates, [5e-3, (5e-3 + 1e-4) / 2, 1e-4])


def test_the_target_is_copied_every_ten_learning_steps():
    learner = Learner([0], PRINTED, 100, shape=SMALL)
    first = flat(learner.target)
    for step in range(1, 21):
        learner.learn(some_batch(1, seed=step))
        assert torch.equal(flat(learner.target), flat(learner.online)) == (step % 10 == 0)
        assert torch.equal(flat(learner.target), first) == (step < 10)


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
