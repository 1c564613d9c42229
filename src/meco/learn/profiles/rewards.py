"""Rewards of rollouts: the final quantile among runs of the same problem, or the paper's decrease of f + nu."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meco.core.evaluator import Evaluator
from meco.learn.tr.quantile import Outcomes, quantile
from meco.learn.tr.training_problems import BudgetedProblem
from meco.policies.paper.state import MIN_DENOMINATOR

ROLLOUT_REWARDS = ("quantile", "score")


def quantiles_among(runs: Outcomes, references: Outcomes) -> np.ndarray:
    """Quantiles [n] of runs [n] among the references [R] of the same problem, at most 1."""
    wide = Outcomes(*(np.broadcast_to(part, (len(runs.f), len(part))) for part in references))
    return np.minimum(quantile(runs, wide), 1.0)


def quantile_rewards(final: Outcomes, problem: np.ndarray, references: dict[int, Outcomes]) -> np.ndarray:
    """Quantiles [B] of runs among the references of their problems [B].

    The first runs of a problem become its references: they are added to `references`.
    """
    q = np.empty(len(problem))
    for number in np.unique(problem):
        rows = problem == number
        runs = Outcomes(*(part[rows] for part in final))
        q[rows] = quantiles_among(runs, references.setdefault(int(number), runs))
    return q


def score_rewards(final: Outcomes, problems: Sequence[BudgetedProblem]) -> np.ndarray:
    """Decrease of f + nu of runs [B] on their problems, as a share of f + nu at the centre of the box, in [-1, 1]: [B].

    The paper's training gain (score_reward in learn/paper/reward.py) with two differences: it is taken of the best
    point feasibility first, and from the centre of the box on, the first point of every search here. nan gives -1.
    """
    scores = {problem: _centre_score(problem) for problem in set(problems)}
    start = np.array([scores[problem] for problem in problems])
    with np.errstate(all="ignore"):
        gain = (start - final.f - final.nu) / np.maximum(np.abs(start), MIN_DENOMINATOR)
    return np.clip(np.nan_to_num(gain, nan=-1.0), -1.0, 1.0)


def _centre_score(problem: BudgetedProblem) -> float:
    """f + nu at the centre of the box of a problem; evaluates it once."""
    ev = Evaluator.on([problem.problem], 1, 1).evaluate(np.full((1, 1, problem.dim), 0.5))
    return float(ev.f[0, 0] + ev.nu[0, 0])
