"""An agent of Stable-Baselines3, trained through Gymnasium on the families to train on.

meco challenge sb3_ppo.py --quick --train-seconds 300
"""

import time


def train(make_env, seconds, seed):
    """PPO for so many seconds; what it gives has predict(), which is all that is asked for."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Clock(BaseCallback):
        """Ends the training when the time is over."""

        def _on_step(self):
            return time.monotonic() < end

    end = time.monotonic() + seconds
    model = PPO("MlpPolicy", make_env(dim=5, per_variable=20), n_steps=64, batch_size=32, seed=seed, device="cpu")
    return model.learn(10**9, callback=Clock())
