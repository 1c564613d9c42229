"""What holding a control to the end is worth: runs that change their controls once, for a network to learn from.

Each run follows a policy up to a moment of its own and holds one combination of controls, or the engine's own rule,
from there on. Its final quantile among all runs of its match is a sample of

    Q(s, a) = mean final quantile of holding a from a search that looks like s on.                      (1)

Only the state at the change is learnt from: what is held is drawn there, while the states that follow are its doing
and would credit it with the problems on which they are seen. A policy that chooses the largest Q anew at every
decision does at least as well as the best single hold wherever Q is right (a rollout, Bertsekas 2013), and a second
round that follows this policy up to the change shows searches as it meets them (aggregation, Ross et al. 2011). One run
tells of two controls, not of every weight of a network: this needs far fewer runs than a search among weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace, to_numpy
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import DeviceStreams, Streams
from meco.device.cuda_graphs import recorder
from meco.learn.tr.matches import Match
from meco.learn.tr.quantile import Outcomes, quantile
from meco.policies.controls import CONTROLS, ControlSet
from meco.policies.paper.state import SMALLEST
from meco.policies.policy import Policy
from meco.tr.steered import steered_search

ALTERNATIVES = CONTROLS["theta-by-share"]
OWN_RULE = len(ALTERNATIVES.grid)  # the alternative after the last combination
NEVER = 1e9  # a decision that no run comes to


class Plan(NamedTuple):
    """What each run does; [B] each."""

    theta: np.ndarray  # held from the change on; nan: the engine's own rule
    share: np.ndarray
    change: np.ndarray  # decision at which the holding begins
    base: np.ndarray  # which of the policies it follows before; -1: the engine's own rule


class Game(NamedTuple):
    """Runs of one shape in lockstep: a match, a seed and a row of the plan each."""

    matches: list[Match]
    seeds: list[int]
    policies: Sequence[Policy]
    plan: Plan
    device: str = "cpu"
    writes: bool = True  # whether the states at the changes are wanted


class Course(NamedTuple):
    """What came of the runs: final outcomes [B], features [B, F] at their changes."""

    final: Outcomes
    states: np.ndarray


@dataclass(eq=False)
class Following(Policy):
    """Follows a plan and writes down what it sees."""

    policies: Sequence[Policy]
    plan: Plan
    writes: bool
    states: list[Array] = field(default_factory=list)
    decisions: int = 0
    metadata: Mapping[str, Any] = field(default_factory=lambda: {"controls": ALTERNATIVES.name})

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        xp, own = namespace(s), s[:, -len(controls.controls) :]
        if self.writes:
            self.states.append(xp.astype(s, xp.float32))
        if self.decisions == 0:
            self.plan = Plan(*(asarray_like(each, s) for each in self.plan))
        plan, held = self.plan, {"theta": self.plan.theta, "share": self.plan.share}
        values = {name: own[:, k] for k, name in enumerate(controls.names)}
        for number, policy in enumerate(self.policies):
            theirs = policy.decide(s, u, controls)
            values = {name: xp.where(plan.base == number, theirs[name], values[name]) for name in controls.names}
        holds = plan.change <= self.decisions
        self.decisions += 1
        for k, name in enumerate(controls.names):
            stays = xp.where(xp.isnan(held[name]), own[:, k], held[name])
            values[name] = xp.where(holds, stays, values[name])
        return values


def played(game: Game) -> Course:
    """The runs of a game; on "cpu" they are NumPy's and row b is run b alone, elsewhere torch's."""
    runs = len(game.matches)
    rng: Any = Streams(game.seeds) if game.device == "cpu" else DeviceStreams(game.seeds[0], runs, game.device)
    policy = Following(game.policies, game.plan, game.writes)
    evaluator = Evaluator.on([m.problem for m in game.matches], game.matches[0].budget, runs, rng.xp, rng.device)
    loop = Loop(steered_search(policy, Task.of(evaluator, rng)), evaluator, recorder(rng), traced=False)
    with np.errstate(all="ignore"):
        loop.run()
    held = evaluator.history.feasible_best.host()
    final = Outcomes(held.f[:, 0], held.nu[:, 0], held.feasible[:, 0])
    return Course(final, _at_changes(policy.states, game.plan.change) if game.writes else np.zeros((runs, 0)))


def _at_changes(states: list[Array], change: np.ndarray) -> np.ndarray:
    """Features [B, F] of each run when it changed, or when it decided for the last time."""
    every = np.stack([to_numpy(s) for s in states])
    return every[np.minimum(change.astype(int), len(every) - 1), np.arange(every.shape[1])]


def drawn_plan(rng: np.random.Generator, runs: int, decisions: int, follow: bool) -> tuple[Plan, np.ndarray]:
    """A plan at random, and which alternative each run holds [B].

    Half hold what is usually best, the engine's own rule or the models alone. With a policy to follow, seven in ten
    do up to the change, the others the engine's own rule.
    """
    alone = np.flatnonzero(np.array(ALTERNATIVES.grid)[:, 1] == 0.0)
    held = np.where(rng.random(runs) < 0.35, rng.choice(alone, size=runs), rng.integers(OWN_RULE, size=runs))
    held = np.where(rng.random(runs) < 0.15, OWN_RULE, held)
    values = np.concatenate([ALTERNATIVES.grid, [[np.nan, np.nan]]])[held]
    change = np.floor(rng.random(runs) * decisions * 0.95)
    base = np.where(rng.random(runs) < 0.3, -1.0, 0.0) if follow else np.full(runs, -1.0)
    return Plan(values[:, 0], values[:, 1], change, base), held


def own_quantiles(final: Outcomes, match: np.ndarray, references: dict[int, Outcomes]) -> np.ndarray:
    """Quantiles [B] of runs among the references of their matches [B]; the first runs of a match are its references."""
    q = np.empty(len(match))
    for m in np.unique(match):
        mine = match == m
        runs = Outcomes(*(part[mine] for part in final))
        known = references.setdefault(int(m), runs)
        wide = Outcomes(*(np.broadcast_to(part, (int(mine.sum()), len(part))) for part in known))
        q[mine] = np.minimum(quantile(runs, wide), 1.0)
    return q


def score_gains(final: Outcomes, matches: Sequence[Match]) -> np.ndarray:
    """By how much runs [B] lowered f + nu, as a share of what it is in the middle of the box, in [-1, 1].

    Much like the paper's training gain (score_gain in learn/paper/reward.py), but of the point that a run ends with,
    which is the best feasibility first, and from the middle on, which every search here evaluates first.
    """
    first = {match: _score_of_the_middle(match) for match in set(matches)}
    start = np.array([first[match] for match in matches])
    with np.errstate(all="ignore"):
        gain = (start - final.f - final.nu) / np.maximum(np.abs(start), SMALLEST)
    return np.clip(np.nan_to_num(gain, nan=-1.0), -1.0, 1.0)


def _score_of_the_middle(match: Match) -> float:
    """f + nu of the first point that a search evaluates."""
    ev = Evaluator.on([match.problem], 1, 1).evaluate(np.full((1, 1, match.dim), 0.5))
    return float(ev.f[0, 0] + ev.nu[0, 0])
