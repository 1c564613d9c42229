"""How fast policies train: one, and the 28 leave-one-out folds in lockstep, beside Stable-Baselines3's DQN.

    python benchmarks/training.py [--steps 300] [--full]

An RL step is one generation of a run, one transition stored and one learning step. Seconds of
a whole training are extrapolated from a few hundred steps per policy, after a warm-up, unless
--full trains to the end. Times are CPU seconds of this process (wall seconds with --full), on
one thread. Targets on two cores: 60 s for a 10D policy, 15 minutes for all 28 folds at 50D,
4 times the step rate of Stable-Baselines3.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from _side_by_side import optional
from meco.paper import Trainer, TrainingConfig
from meco.paper.presets import PRESETS

WARM_UP = 2  # rounds of episodes before the clock starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300, help="steps per policy to measure")
    parser.add_argument("--full", action="store_true", help="train to the end instead of extrapolating")
    args = parser.parse_args()
    folds = PRESETS["loo50"](1)
    found = {}
    for label, configs in (
        ("one policy, 10D", PRESETS["10d"](1)),
        ("one fold, 50D", folds[:1]),
        ("14 folds in lockstep, 50D", folds[::2]),  # the share of each of two processes
        ("28 folds in lockstep, 50D", folds),
    ):
        found[label] = seconds = (
            seconds_of_training(configs)
            if args.full
            else seconds_per_step(configs, args.steps) * count_steps(configs[0])
        )
        rate = count_steps(configs[0]) * len(configs) / seconds
        print(f"{label:38s} {rate:8.0f} RL steps/s {seconds:8.1f} s for the training", flush=True)
    print(f"28 folds in lockstep are {28 * found['one fold, 50D'] / found['28 folds in lockstep, 50D']:.2f} times"
          " as fast as one fold after the other")  # fmt: skip
    if optional("stable_baselines3"):
        print_sb3_comparison(args.steps)


def count_steps(config: TrainingConfig) -> int:
    """RL steps of one policy's training."""
    return config.episodes * config.steps


def seconds_per_step(configs: list[TrainingConfig], steps: int) -> float:
    """CPU seconds of one step of all policies together."""
    trainer = Trainer(configs)
    rounds = -(-steps // configs[0].steps)
    clock: list[float] = []

    def stop() -> bool:
        clock.append(time.process_time())
        return len(clock) > WARM_UP + rounds

    trainer.run(stop)
    return (clock[-1] - clock[WARM_UP]) / ((len(clock) - 1 - WARM_UP) * configs[0].steps)


def seconds_of_training(configs: list[TrainingConfig]) -> float:
    """Wall seconds of the whole training."""
    start = time.perf_counter()
    Trainer(configs).run()
    return time.perf_counter() - start


def print_sb3_comparison(steps: int) -> None:
    """The same environment, memory, mini-batch and network size, one learning step per step."""
    import torch
    from stable_baselines3 import DQN

    from meco.adapters.gymnasium import MecoEnv

    torch.set_num_threads(1)
    for dim in (10, 50):
        agent = DQN(
            "MlpPolicy", MecoEnv(dim=dim), buffer_size=64, learning_starts=8, batch_size=8, gamma=1.0, train_freq=1,
            target_update_interval=10, exploration_initial_eps=0.1, exploration_final_eps=0.1, learning_rate=5e-3,
            policy_kwargs={"net_arch": [64], "activation_fn": torch.nn.SELU}, device="cpu",
        )  # fmt: skip
        agent.learn(50)
        start = time.process_time()
        agent.learn(steps)
        theirs = steps / (time.process_time() - start)
        config = PRESETS["10d"](1)[0].with_settings(dim=dim)
        ours = 1.0 / seconds_per_step([config], steps)
        many = 28 / seconds_per_step([replace(config, name=str(k), seed=k) for k in range(28)], steps)
        print(f"DQN on MeCO-v0, {dim}D: Stable-Baselines3 {theirs:.0f} steps/s, one policy here {ours:.0f}"
              f" ({ours / theirs:.1f} times), 28 in lockstep {many:.0f} ({many / theirs:.1f} times)")  # fmt: skip


if __name__ == "__main__":
    main()
