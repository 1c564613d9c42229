"""Reference results of matches: what constant controls, the engine's own rule and random controls reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from meco.arrays import asarray_like
from meco.core.engine import Engine, Task
from meco.engines.model.trust_region_es import TrustRegionES
from meco.mdp.model_search import steered_search
from meco.mdp.policy import RandomPolicy
from meco.mdp.quantile import Outcomes, quantile
from meco.training.judging import CONSTANTS, STEADY
from meco.training.matches import Make, Match, in_lockstep, play

NAMES = (*STEADY, "own rule", "random")
RULE = len(CONSTANTS)
WIDEST = 48  # runs of one task; more share their fate with too many others


def held_at(values: Sequence[tuple[float, float]], task: Task) -> Engine:
    """TR-ES with controls that never change, a pair for each copy of the runs."""
    engine = TrustRegionES(task)
    pairs = np.repeat(np.array(values), task.rng.runs // len(values), axis=0)
    like = task.rng.xp.zeros(1, dtype=task.rng.xp.float64, device=task.rng.device)
    engine.steer({name: asarray_like(pairs[:, k], like) for k, name in enumerate(("theta", "share"))})
    return engine


class Job(NamedTuple):
    """Some matches of one shape with a seed each, under one kind of control."""

    matches: list[Match]
    seeds: list[int]
    kind: str  # constants, rule or random
    device: str


def played(task: Job) -> Outcomes:
    """Best points at each tenth: [copies, M, 10]."""
    makers: dict[str, tuple[Make, int]] = {
        "constants": (partial(held_at, CONSTANTS), len(CONSTANTS)),
        "rule": (TrustRegionES, 1),
        "random": (partial(steered_search, RandomPolicy()), 1),
    }
    make, copies = makers[task.kind]
    found = play(task.matches, task.seeds, make, copies, task.device)
    return Outcomes(*(part.reshape(copies, len(task.matches), -1) for part in found))


@dataclass(frozen=True, eq=False)
class Pool:
    """Matches and what references reach in them at each tenth: parts of outcomes [N, 10, R], controls [R]."""

    matches: list[Match]
    outcomes: Outcomes
    controls: np.ndarray  # places in NAMES

    def quantile(self, places: Sequence[int], runs: Outcomes) -> np.ndarray:
        """Quantiles of runs [M, 10] on the matches at these places: [M, 10]."""
        return quantile(runs, Outcomes(*(part[list(places)] for part in self.outcomes)))


def make_pool(
    matches: Sequence[Match],
    seeds: Sequence[int],
    call: Callable[..., Iterable[Any]] = map,
    device: str = "cpu",
    widest: int = WIDEST,
    report: Callable[[float], Any] = lambda share: None,
) -> Pool:
    """The references of some matches, every control with every seed; call maps tasks, perhaps to processes."""
    tasks, places = [], []
    copies = {"constants": len(CONSTANTS), "rule": 1, "random": 1}
    for kind, count in copies.items():
        for group in in_lockstep(matches):
            runs = [(i, seed) for i in group for seed in seeds]
            size = max(1, widest // count)
            for part in (runs[k : k + size] for k in range(0, len(runs), size)):
                tasks.append(Job([matches[i] for i, _ in part], [s for _, s in part], kind, device))
                places.append(part)
    found: dict[tuple[int, int, int], tuple[np.ndarray, ...]] = {}
    for number, (task, part, outcomes) in enumerate(zip(tasks, places, call(played, tasks))):
        first = {"constants": 0, "rule": RULE, "random": RULE + 1}[task.kind]
        for c in range(copies[task.kind]):
            for m, (i, seed) in enumerate(part):
                found[i, first + c, seed] = tuple(values[c, m] for values in outcomes)
        report((number + 1) / len(tasks))
    order = [(k, seed) for k in range(len(NAMES)) for seed in seeds]
    stacked = [
        np.stack([np.stack([found[i, k, s][n] for k, s in order], -1) for i in range(len(matches))]) for n in range(3)
    ]
    return Pool(list(matches), Outcomes(*stacked), np.array([k for k, _ in order]))
