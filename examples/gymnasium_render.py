"""One episode of the environment with random actions, told line by line."""

import gymnasium

env = gymnasium.make("meco.gym:MeCO-v0", problems=["C01", "C04"], dim=10, budget=500, render_mode="ansi")
env.action_space.seed(1)
env.reset(seed=1)
over = False
while not over:
    _, reward, over, _, info = env.step(env.action_space.sample())
    print(env.render(), f" reward {reward:.3f}")
assert info["nfev"] == 500
