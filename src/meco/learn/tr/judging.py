"""Policies beside constants, the engine's own rule and random controls, on the same matches, by quantiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from meco.learn.tr.matches import Match, in_lockstep
from meco.learn.tr.quantile import Outcomes, quantile
from meco.learn.tr.rollouts import NEVER, Game, Plan, played
from meco.policies.policy import Policy, RandomPolicy

CONSTANTS = tuple(product((0.0, 0.3, 0.5, 0.9), (0.0, 0.3, 0.9)))  # theta and share
STEADY = tuple(f"theta {theta:g}, share {share:g}" for theta, share in CONSTANTS)
FIRST_SEED = 12345


@dataclass(frozen=True, eq=False)
class Verdict:
    """Quantiles [N, K] of K kinds of control on N matches, means over seeds; and the results [N, K, S] behind them."""

    names: tuple[str, ...]
    matches: list[Match]
    outcomes: Outcomes
    quantiles: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """Mean quantile of each kind: [K]."""
        return self.quantiles.mean(axis=0)

    def score(self, name: str) -> float:
        """Mean quantile of one kind."""
        return float(self.scores[self.names.index(name)])

    def ahead(self, name: str, other: str) -> np.ndarray:
        """By how much one kind is ahead of another on each match: [N]."""
        return self.quantiles[:, self.names.index(name)] - self.quantiles[:, self.names.index(other)]

    def error(self, name: str, other: str) -> float:
        """Standard error of the mean of it."""
        return float(self.ahead(name, other).std() / np.sqrt(len(self.matches)))

    @property
    def best_constant(self) -> str:
        """The constant of largest mean quantile."""
        return max(STEADY, key=self.score)

    def lines(self) -> list[str]:
        """A line for each kind, the best first: its score, and how far it is ahead of the own rule."""
        found = []
        for k in np.argsort(-self.scores):
            name = self.names[k]
            ahead, error = self.ahead(name, "own rule").mean(), self.error(name, "own rule")
            found.append(f"{self.scores[k]:.4f}  {name:<24} {ahead:+.4f} +- {error:.4f} to the own rule")
        return found


def judged(
    policies: Mapping[str, Policy],
    matches: Sequence[Match],
    seeds: int,
    call: Callable[..., Iterable[Any]] = map,
    device: str = "cpu",
    width: int = 4096,
) -> Verdict:
    """Every kind of control on every match with the same seeds; constants and the own rule are the references.

    On "cpu" kinds differ in what they control alone: seed s of a match draws the same numbers under each of them. On a
    device, where one generator serves all runs, it does not. No kind earns more than 1: a lead beyond every reference
    is not open to the references.
    """
    names = (*STEADY, "own rule", *policies, "random")
    each = (*policies.values(), RandomPolicy())
    held = [*CONSTANTS, (np.nan, np.nan), *[(np.nan, np.nan)] * len(each)]
    games, places = [], []
    for group in in_lockstep(matches):
        rows = [(i, k, s) for i in group for k in range(len(names)) for s in range(seeds)]
        for first in range(0, len(rows), width):
            part = rows[first : first + width]
            kinds = np.array([k for _, k, _ in part])
            theta, share = np.array(held)[kinds].T
            base = np.maximum(kinds - len(STEADY) - 1.0, -1.0)
            plan = Plan(theta, share, np.where(base < 0, 0.0, NEVER), base)
            numbers = [FIRST_SEED + i * seeds + s for i, _, s in part]
            games.append(Game([matches[i] for i, _, _ in part], numbers, each, plan, device, writes=False))
            places.append(part)
    found = np.full((3, len(matches), len(names), seeds), np.nan)
    for part, course in zip(places, call(played, games)):
        i, k, s = np.array(part).T
        found[:, i, k, s] = course.final
    outcomes = Outcomes(found[0], found[1], found[2] > 0)
    references = Outcomes(*(part[:, : len(STEADY) + 1].reshape(len(matches), -1) for part in outcomes))
    q = [
        np.minimum(quantile(Outcomes(*(part[:, k, s] for part in outcomes)), references), 1.0)
        for k in range(len(names))
        for s in range(seeds)
    ]
    return Verdict(names, list(matches), outcomes, np.reshape(q, (len(names), seeds, -1)).mean(axis=1).T)
