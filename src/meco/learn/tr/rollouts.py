"""Rollouts: runs that fix their controls once, which show what a network has to learn.

A run follows a base policy until its switch, a decision drawn at random, and from there to the end keeps one
combination of controls, or the engine's own rule. Its final quantile among all runs of its problem is a sample of

    Q(s, a) = mean final quantile of a search in state s that keeps a from now on.                     (1)

Only the state at the switch is learnt from: a is drawn there, while later states are its effect, and would credit it
with the problems on which they occur. The policy takes the action of largest Q at every decision. Wherever Q is right
it does at least as well as the best fixed action (a rollout policy, Bertsekas 2013). A second round has this policy as
its base, and so samples the states that the policy meets (dataset aggregation, Ross et al. 2011). A run tells the worth
of one action, not of all weights of a network: this needs far fewer runs than a search among weights.
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
from meco.device.cuda_graphs import find_recorder
from meco.learn.tr.quantile import Outcomes, quantile
from meco.learn.tr.training_problems import BudgetedProblem
from meco.policies.controls import CONTROLS, ControlSet
from meco.policies.paper.state import MIN_DENOMINATOR
from meco.policies.policy import Policy
from meco.tr.steered import steered_search

ALTERNATIVES = CONTROLS["theta-by-share"]
OWN_RULE = len(ALTERNATIVES.grid)  # the action after the last combination
NO_SWITCH = 1e9  # a decision that no run comes to


class RolloutPlan(NamedTuple):
    """What each run does; [B] each."""

    theta: np.ndarray  # from the switch on; nan: the engine's own rule
    share: np.ndarray
    switch: np.ndarray  # number of the decision from which the controls are fixed
    base: np.ndarray  # index of the policy that it follows before; -1: the engine's own rule


class RolloutBatch(NamedTuple):
    """Runs of one shape in lockstep: a problem, a seed and a row of the plan each."""

    problems: list[BudgetedProblem]
    seeds: list[int]
    policies: Sequence[Policy]
    plan: RolloutPlan
    device: str = "cpu"
    records_states: bool = True  # whether the states at the switches are wanted


class RolloutResult(NamedTuple):
    """Final outcomes [B] of the runs, and features [B, F] at their switches."""

    final: Outcomes
    states: np.ndarray


@dataclass(eq=False)
class RecordingPolicy(Policy):
    """Follows a plan and records the states at its decisions."""

    policies: Sequence[Policy]
    plan: RolloutPlan
    records_states: bool
    states: list[Array] = field(default_factory=list)
    decisions: int = 0
    metadata: Mapping[str, Any] = field(default_factory=lambda: {"controls": ALTERNATIVES.name})

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        """Each run's base policy before its switch, its fixed controls from there on; counts the decisions."""
        xp, own = namespace(s), s[:, -len(controls.controls) :]
        if self.records_states:
            self.states.append(xp.astype(s, xp.float32))
        if self.decisions == 0:
            self.plan = RolloutPlan(*(asarray_like(each, s) for each in self.plan))
        plan, fixed = self.plan, {"theta": self.plan.theta, "share": self.plan.share}
        values = {name: own[:, k] for k, name in enumerate(controls.names)}
        for number, policy in enumerate(self.policies):
            theirs = policy.decide(s, u, controls)
            values = {name: xp.where(plan.base == number, theirs[name], values[name]) for name in controls.names}
        switched = plan.switch <= self.decisions
        self.decisions += 1
        for k, name in enumerate(controls.names):
            kept = xp.where(xp.isnan(fixed[name]), own[:, k], fixed[name])
            values[name] = xp.where(switched, kept, values[name])
        return values


def run_searches(
    problems: Sequence[BudgetedProblem], seeds: Sequence[int], policy: Policy, device: str = "cpu"
) -> Outcomes:
    """The best points [B] that MeCO-TR with a policy ends with, on problems of one shape in lockstep.

    On "cpu" arrays are NumPy's and row b is run b alone; elsewhere they are torch's, and one generator serves all.
    """
    runs = len(problems)
    rng: Any = Streams(seeds) if device == "cpu" else DeviceStreams(seeds[0], runs, device)
    evaluator = Evaluator.on([p.problem for p in problems], problems[0].budget, runs, rng.xp, rng.device, rng)
    loop = Loop(steered_search(policy, Task.of(evaluator, rng)), evaluator, find_recorder(rng), traced=False)
    with np.errstate(all="ignore"):
        loop.run()
    best = evaluator.history.feasible_best.point_in_numpy()
    return Outcomes(best.f[:, 0], best.nu[:, 0], best.feasible[:, 0])


def run_rollouts(batch: RolloutBatch) -> RolloutResult:
    """What the runs of a batch end with, and their states at the switches."""
    policy = RecordingPolicy(batch.policies, batch.plan, batch.records_states)
    final = run_searches(batch.problems, batch.seeds, policy, batch.device)
    if not batch.records_states:
        return RolloutResult(final, np.zeros((len(batch.problems), 0)))
    return RolloutResult(final, _states_at_switches(policy.states, batch.plan.switch))


def _states_at_switches(states: list[Array], switch: np.ndarray) -> np.ndarray:
    """Features [B, F] of each run at its switch, or at its last decision if that came before."""
    every = np.stack([to_numpy(s) for s in states])
    return every[np.minimum(switch.astype(int), len(every) - 1), np.arange(every.shape[1])]


def draw_plan(rng: np.random.Generator, runs: int, decisions: int, has_policy: bool) -> tuple[RolloutPlan, np.ndarray]:
    """A random plan, and the action that each run keeps [B]; the order of draws is part of a seed's training.

    Half keep what is usually best, the engine's own rule or the models alone. The base is the policy, where there is
    one, for seven in ten, else the engine's own rule.
    """
    models_alone = np.flatnonzero(np.array(ALTERNATIVES.grid)[:, 1] == 0.0)
    action = np.where(rng.random(runs) < 0.35, rng.choice(models_alone, size=runs), rng.integers(OWN_RULE, size=runs))
    action = np.where(rng.random(runs) < 0.15, OWN_RULE, action)
    values = np.concatenate([ALTERNATIVES.grid, [[np.nan, np.nan]]])[action]
    switch = np.floor(rng.random(runs) * decisions * 0.95)
    base = np.where(rng.random(runs) < 0.3, -1.0, 0.0) if has_policy else np.full(runs, -1.0)
    return RolloutPlan(values[:, 0], values[:, 1], switch, base), action


def quantile_rewards(final: Outcomes, problem: np.ndarray, references: dict[int, Outcomes]) -> np.ndarray:
    """Quantiles [B] of runs among the references of their problems [B], at most 1.

    The first runs of a problem become its references: they are added to `references`.
    """
    q = np.empty(len(problem))
    for number in np.unique(problem):
        rows = problem == number
        runs = Outcomes(*(part[rows] for part in final))
        known = references.setdefault(int(number), runs)
        wide = Outcomes(*(np.broadcast_to(part, (int(rows.sum()), len(part))) for part in known))
        q[rows] = np.minimum(quantile(runs, wide), 1.0)
    return q


def score_rewards(final: Outcomes, problems: Sequence[BudgetedProblem]) -> np.ndarray:
    """Decrease of f + nu of runs [B], as a share of f + nu at the centre of the box, in [-1, 1].

    The paper's training gain (score_reward in learn/paper/reward.py) with two differences: it is taken of the best
    point feasibility first, and from the centre of the box on, the first point of every search here. nan gives -1.
    """
    scores = {problem: _centre_score(problem) for problem in set(problems)}
    start = np.array([scores[problem] for problem in problems])
    with np.errstate(all="ignore"):
        gain = (start - final.f - final.nu) / np.maximum(np.abs(start), MIN_DENOMINATOR)
    return np.clip(np.nan_to_num(gain, nan=-1.0), -1.0, 1.0)


def _centre_score(problem: BudgetedProblem) -> float:
    """f + nu at the centre of the box."""
    ev = Evaluator.on([problem.problem], 1, 1).evaluate(np.full((1, 1, problem.dim), 0.5))
    return float(ev.f[0, 0] + ev.nu[0, 0])
