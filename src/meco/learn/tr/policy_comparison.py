"""Policies beside constants, the engine's own rule and random controls, on the same problems, by quantiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from meco.learn.tr.quantile import Outcomes, quantile
from meco.learn.tr.rollouts import NO_SWITCH, RolloutBatch, RolloutPlan, run_rollouts
from meco.learn.tr.training_problems import BudgetedProblem, group_by_shape
from meco.policies.policy import Policy, RandomPolicy

CONSTANT_CONTROLS = tuple(product((0.0, 0.3, 0.5, 0.9), (0.0, 0.3, 0.9)))  # theta and share
CONSTANT_NAMES = tuple(f"theta {theta:g}, share {share:g}" for theta, share in CONSTANT_CONTROLS)
OWN_RULE_NAME = "own rule"
COMPARISON_SEED = 12345  # of the first run


@dataclass(frozen=True, eq=False)
class PolicyComparison:
    """Quantiles [N, K] of K ways to control on N problems, means over S seeds, and the results [N, K, S] behind."""

    names: tuple[str, ...]
    problems: list[BudgetedProblem]
    outcomes: Outcomes
    quantiles: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """Mean quantile of each way: [K]."""
        return self.quantiles.mean(axis=0)

    def score(self, name: str) -> float:
        """Mean quantile of one of them."""
        return float(self.scores[self.names.index(name)])

    def lead(self, name: str, other: str) -> np.ndarray:
        """Quantile of one less that of another, on each problem: [N]."""
        return self.quantiles[:, self.names.index(name)] - self.quantiles[:, self.names.index(other)]

    def lead_error(self, name: str, other: str) -> float:
        """Standard error of the mean lead."""
        return float(self.lead(name, other).std() / np.sqrt(len(self.problems)))

    def summary_lines(self) -> list[str]:
        """A line for each, the best first: its score, and its lead over the engine's own rule."""
        found = []
        for k in np.argsort(-self.scores):
            name = self.names[k]
            lead, error = self.lead(name, OWN_RULE_NAME).mean(), self.lead_error(name, OWN_RULE_NAME)
            found.append(f"{self.scores[k]:.4f}  {name:<24} {lead:+.4f} +- {error:.4f} to the own rule")
        return found


def compare_policies(
    policies: Mapping[str, Policy],
    problems: Sequence[BudgetedProblem],
    seeds: int,
    call: Callable[..., Iterable[Any]] = map,
    device: str = "cpu",
    width: int = 4096,
) -> PolicyComparison:
    """Run every way to control on every problem with the same seeds; constants and the own rule are the references.

    On "cpu" seed s of a problem draws the same numbers for each of them; on a device, where one generator serves all
    runs, it does not. Quantiles end at 1, since a reference cannot be ahead of every reference. Random control is
    among the ways. call maps batches of at most `width` runs, in this process or others.
    """
    names = (*CONSTANT_NAMES, OWN_RULE_NAME, *policies, "random")
    followed = (*policies.values(), RandomPolicy())
    batches, rows_of = [], []
    for group in group_by_shape(problems):
        rows = [(i, k, s) for i in group for k in range(len(names)) for s in range(seeds)]
        for first in range(0, len(rows), width):
            part = rows[first : first + width]
            plan = _plan_of_kinds([k for _, k, _ in part], len(followed))
            numbers = [COMPARISON_SEED + i * seeds + s for i, _, s in part]
            chosen = [problems[i] for i, _, _ in part]
            batches.append(RolloutBatch(chosen, numbers, followed, plan, device, records_states=False))
            rows_of.append(part)
    found = np.full((3, len(problems), len(names), seeds), np.nan)
    for part, result in zip(rows_of, call(run_rollouts, batches)):
        i, k, s = np.array(part).T
        found[:, i, k, s] = result.final
    outcomes = Outcomes(found[0], found[1], found[2] > 0)
    return PolicyComparison(names, list(problems), outcomes, _mean_quantiles(outcomes))


def _plan_of_kinds(kinds: Sequence[int], policies: int) -> RolloutPlan:
    """Constants and the own rule from the first decision on, or a policy to the end, for runs [B].

    A kind is a place among the names of compare_policies(): constants, the own rule, then the policies.
    """
    controls = [*CONSTANT_CONTROLS, *[(np.nan, np.nan)] * (1 + policies)]
    theta, share = np.array(controls)[np.array(kinds)].T
    base = np.maximum(np.array(kinds) - len(CONSTANT_NAMES) - 1.0, -1.0)
    return RolloutPlan(theta, share, np.where(base < 0, 0.0, NO_SWITCH), base)


def _mean_quantiles(outcomes: Outcomes) -> np.ndarray:
    """Means over seeds of outcomes [N, K, S] among those of the constants and the own rule: [N, K]."""
    count, kinds, seeds = outcomes.f.shape
    references = Outcomes(*(part[:, : len(CONSTANT_NAMES) + 1].reshape(count, -1) for part in outcomes))
    q = [
        np.minimum(quantile(Outcomes(*(part[:, k, s] for part in outcomes)), references), 1.0)
        for k in range(kinds)
        for s in range(seeds)
    ]
    return np.reshape(q, (kinds, seeds, -1)).mean(axis=1).T
