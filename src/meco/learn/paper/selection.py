"""Choosing among seeds, on the training problems alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from meco.batch_solve import solve
from meco.learn.paper.config import TrainingConfig
from meco.learn.paper.trainer import Trained
from meco.policies.policy import Greedy
from meco.problems.suite import get_problem

SELECTION_SEEDS = range(1000, 1010)  # of the runs that a policy is judged by; no training draws from them
MIN_SCORE = 1e-12


def measure_training_loss(trained: Trained, runs: Sequence[int] = SELECTION_SEEDS) -> float:
    """Mean over the training problems of log(mean f + nu at the end / mean f + nu of the first populations).

    The logarithm gives every problem the same weight. A mean of relative reductions would hardly tell
    policies apart: most problems reduce by 99 percent under any of them. Runs MeCO once for each problem and seed of
    `runs`; means below MIN_SCORE count as that.
    """
    config = trained.config
    policy = Greedy(trained.weights, {"decoder": config.episode.decoder, "q_output": config.learner.q_output})
    logs = []
    for name in config.task.problems:
        problem = get_problem(name, config.task.dim)
        found = solve("MeCO", problem, config.evaluations, runs, policy=policy, pop_size=config.episode.pop_size)
        last = np.mean([r.score for r in found])
        first = np.mean([r.trace["score"][0] for r in found])
        logs.append(np.log(max(last, MIN_SCORE) / max(first, MIN_SCORE)))
    return float(np.mean(logs))


def choose_seed(candidates: Sequence[Trained], name: str) -> tuple[Trained, Mapping[str, float]]:
    """The candidate that does best on its training problems, under this name, and the loss of each by seed.

    Runs every candidate on all of them; the first of equals wins.
    """
    losses = {str(c.config.seed): measure_training_loss(c) for c in candidates}
    best = min(candidates, key=lambda c: losses[str(c.config.seed)])
    return best._replace(config=replace(best.config, name=name)), losses


def name_without_seed(config: TrainingConfig) -> str:
    """The name without the seed that make_configs_for_seeds() adds."""
    return config.name.rpartition("-seed")[0] or config.name
