"""Train Stable-Baselines3's DQN to steer constraint relaxation, then save it as a MeCO policy.

python train_sb3_dqn.py [steps] [file.safetensors]     (the paper trains for 12,600 steps)
"""

import sys

import gymnasium
import numpy as np
from stable_baselines3 import DQN
from torch import nn

from meco.paper import Weights, load_policy, save_policy

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
env = gymnasium.make("meco.gym:MeCO-v0", dim=10)
agent = DQN(
    "MlpPolicy", env, learning_rate=1e-3, buffer_size=10_000, learning_starts=64, batch_size=32, gamma=1.0,
    train_freq=1, target_update_interval=100, exploration_final_eps=0.1, seed=1,
    policy_kwargs={"net_arch": [64], "activation_fn": nn.SELU},
)  # fmt: skip
agent.learn(steps)

returns = []
for seed in range(5):
    (s, _), total, over = env.reset(seed=seed), 0.0, False
    while not over:
        action, _ = agent.predict(s, deterministic=True)
        s, reward, over, _, _ = env.step(int(action))
        total += reward
    returns.append(total)
print(f"mean return of 5 episodes: {np.mean(returns):.3f}")

first, _, second = agent.q_net.q_net  # the network is MeCO's own: 10 features, 64 SELU units, 11 actions
w1, b1, w2, b2 = (p.detach().numpy() for layer in (first, second) for p in (layer.weight, layer.bias))
if len(sys.argv) > 2:
    save_policy(sys.argv[2], Weights(w1.T, b1, w2.T, b2), {"suite": "cec2017", "dim": 10, "trained_with": "SB3 DQN"})
    print(load_policy(sys.argv[2]))
