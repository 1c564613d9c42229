"""Policies beside every profile, random ones and untrained networks, on the same problems, by quantiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from meco.learn.profiles.rewards import quantiles_among
from meco.learn.profiles.rollouts import NEVER, Map, PlannedRuns, Progress, RolloutPlan, run_together
from meco.learn.tr.quantile import Outcomes
from meco.learn.tr.training_problems import BudgetedProblem
from meco.policies.policy import Policy
from meco.tr.profiles import Profiles

COMPARISON_SEED = 12345  # of the first run


@dataclass(frozen=True, eq=False)
class ProfileComparison:
    """Quantiles [N, K] of K ways on N problems, means over seeds, among the runs of all profiles; profiles come first.

    taken [N, K, T] are the profiles held at the decisions of the first seed, restarts left out: -1 for none of the
    dictionary, -2 after the end.
    """

    names: tuple[str, ...]
    problems: list[BudgetedProblem]
    quantiles: np.ndarray
    taken: np.ndarray

    @property
    def scores(self) -> dict[str, float]:
        """The mean quantile of each way over all problems, by name."""
        return dict(zip(self.names, self.quantiles.mean(axis=0).tolist()))

    def lead(self, name: str, other: str) -> np.ndarray:
        """Quantiles of one way less those of another, on each problem: [N]; ValueError for an unknown name."""
        return self.quantiles[:, self.names.index(name)] - self.quantiles[:, self.names.index(other)]

    def lead_error(self, name: str, other: str) -> float:
        """Standard error of the mean lead of one way over another, over problems."""
        return float(self.lead(name, other).std() / np.sqrt(len(self.problems)))


def compare_profiles(
    profiles: Profiles,
    policies: Mapping[str, Policy],
    problems: Sequence[BudgetedProblem],
    seeds: int,
    folder: Path,
    call: Map = map,
    stop: Callable[[], bool] = lambda: False,
    device: str = "cpu",
    width: int = 1000,
    progress: Progress = lambda share: None,
) -> ProfileComparison | None:
    """Run every profile and every policy on every problem with the same seeds; None where stop() ended it.

    On "cpu" seed s of a problem draws the same numbers for each of them; on a device, where one generator serves all
    runs, it does not. Runs are kept in the folder; progress is told the share of evaluations that are made.
    """
    ways = [*range(len(profiles)), *(-1 - k for k in range(len(policies)))]
    shape = (len(ways), len(problems), seeds)
    way, number, seed = (part.ravel() for part in np.indices(shape))
    before = np.array(ways, dtype=float)[way]
    runs = PlannedRuns(
        [problems[i] for i in number], (COMPARISON_SEED + number * seeds + seed).tolist(),
        RolloutPlan(before, np.full(len(before), NEVER), np.zeros(len(before))), profiles, tuple(policies.values()),
    )  # fmt: skip
    results = run_together([runs], folder, call, stop, device, width, progress)
    if results is None:
        return None
    found = np.stack([part.astype(float) for part in results[0].final]).reshape(3, *shape)
    quantiles = np.array([_mean_quantiles(found[:, :, i], len(profiles)) for i in range(len(problems))])
    courses = results[0].courses
    taken = np.full((len(before), max(len(part) for _, _, part in courses)), -2)
    for rows, _, part in courses:
        taken[rows, : len(part)] = part.T
    first = taken.reshape(*shape, -1)[:, :, 0].transpose(1, 0, 2)
    return ProfileComparison((*profiles, *policies), list(problems), quantiles, first)


def _mean_quantiles(outcomes: np.ndarray, profiles: int) -> np.ndarray:
    """Mean quantiles [K] over seeds of the outcomes [3, K, S] of one problem, among those of the profiles.

    Profiles are the first ways. The three are f, nu and whether feasible; quantiles are at most 1.
    """
    ways, seeds = outcomes.shape[1:]
    every = Outcomes(outcomes[0].ravel(), outcomes[1].ravel(), outcomes[2].ravel() > 0)
    references = Outcomes(*(part[: profiles * seeds] for part in every))
    return quantiles_among(every, references).reshape(ways, seeds).mean(axis=1)
