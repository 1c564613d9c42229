"""What holding a control to the end is worth: runs that change their controls once, for a network to learn from.

Each run follows a policy up to a moment of its own and holds one combination of controls, or the engine's own rule,
from there on. Its final quantile among all runs of its match is a sample of

    Q(s, a) = mean final quantile of holding a from a search that looks like s on,                      (1)

for every later moment too. A policy that chooses the largest Q anew at every decision does at least as well as the
best single hold wherever Q is right (a rollout, Bertsekas 2013), and a second round that follows this policy up to
the change shows searches as it meets them (aggregation, Ross et al. 2011). One run tells of two controls, not of every
weight of a network: that is why this needs far fewer runs than a search among weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from meco.arrays import Array, asarray_like, namespace, to_numpy
from meco.engines.engine import Task
from meco.engines.es.maes import native_size
from meco.engines.graphs import Turns
from meco.engines.model.trust_region_es import TrustRegionES
from meco.errors import load_extra
from meco.evaluator import Evaluator
from meco.mdp.controller import Controlled
from meco.mdp.controls import ControlSet
from meco.mdp.policy import Policy
from meco.mdp.quantile import Outcomes, quantile
from meco.streams import DeviceStreams, Streams
from meco.training.matches import Match
from meco.training.references import DECISIONS, FEATURES

CONTROLS = "theta-by-share"
SAMPLES = 6  # moments of a run that are learnt from


class Plan(NamedTuple):
    """What each run does; [B] each."""

    theta: np.ndarray  # held from the change on; nan: the engine's own rule
    share: np.ndarray
    change: np.ndarray  # decision at which the holding begins
    base: np.ndarray  # which of the policies it follows before

    def part(self, runs: Any) -> Plan:
        """The plan of some of the runs."""
        return Plan(*(each[runs] for each in self))


class Course(NamedTuple):
    """What came of the runs of a plan: final outcomes [B], features at each decision [T, B, F]."""

    final: Outcomes
    states: np.ndarray


@dataclass(eq=False)
class Probing(Policy):
    """Follows its plan and writes down what it sees."""

    policies: Sequence[Policy]
    plan: Plan
    keep: bool = True
    states: list[Array] = field(default_factory=list)
    decisions: int = 0

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        xp, own = namespace(s), s[:, -len(controls.controls) :]
        if self.keep:
            self.states.append(xp.astype(s, xp.float32))
        plan = Plan(*(asarray_like(each, s) for each in self.plan))
        values = {name: own[:, k] for k, name in enumerate(controls.names)}
        for number, policy in enumerate(self.policies):
            theirs = policy.decide(s, u, controls)
            values = {name: xp.where(plan.base == number, theirs[name], values[name]) for name in controls.names}
        holds = plan.change <= self.decisions
        self.decisions += 1
        held = {"theta": plan.theta, "share": plan.share}
        for k, name in enumerate(controls.names):
            stays = xp.where(xp.isnan(held[name]), own[:, k], held[name])
            values[name] = xp.where(holds, stays, values[name])
        return values


def followed(
    matches: Sequence[Match], seeds: Sequence[int], policies: Sequence[Policy], plan: Plan, device: str, keep: bool
) -> Iterator[Course | None]:
    """Runs of one shape, a match, a seed and a row of the plan each; nothing until the last turn, then what came."""
    runs = len(matches)
    rng: Any = Streams(seeds) if device == "cpu" else DeviceStreams(int(seeds[0]), runs, device)
    policy = Probing(policies, plan, keep)
    evaluator = Evaluator([m.problem for m in matches], matches[0].budget, runs, rng.xp, rng.device)
    engine = TrustRegionES(Task.of(evaluator, rng))
    steered = Controlled(engine, policy, FEATURES, CONTROLS, DECISIONS, apart=native_size(engine.task.dim))
    turns = None if device == "cpu" else Turns(steered.engine, evaluator)
    while evaluator.left:
        with np.errstate(all="ignore"):
            left = evaluator.left
            if turns is None:
                x = steered.ask()
                steered.tell(x, evaluator.evaluate(x))
            else:
                turns.advance(1)
                steered.count(left - evaluator.left)
        yield None
    held = evaluator.feasible_best.host()
    states = np.stack([to_numpy(s) for s in policy.states]) if keep else np.zeros((0, runs, 0))
    yield Course(Outcomes(held.f[:, 0], held.nu[:, 0], held.feasible[:, 0]), states)


def side_by_side(games: Sequence[Callable[[], Iterator[Course | None]]], device: str, abreast: int) -> Iterator[Any]:
    """(place, course) of every game, as they end. On a device several are played in turns, each on a stream."""
    waiting = list(enumerate(games))[::-1]
    playing: list[tuple[int, Iterator[Course | None], AbstractContextManager[Any]]] = []
    while waiting or playing:
        while waiting and len(playing) < abreast:
            place, game = waiting.pop()
            playing.append((place, game(), nullcontext()))
        for entry in list(playing):
            place, moves, stream = entry
            with stream:
                course = next(moves)
            if course is not None:
                playing.remove(entry)
                yield place, course


def _stream(device: str) -> AbstractContextManager[Any]:
    if not device.startswith("cuda"):
        return nullcontext()
    torch: Any = load_extra("torch", "train", "computing on a device")
    return torch.cuda.stream(torch.cuda.Stream())


class Samples(NamedTuple):
    """States [N, F], which alternative was held [N], final quantiles [N], and the match of each [N]."""

    s: np.ndarray
    held: np.ndarray
    quantile: np.ndarray
    match: np.ndarray


def sampled(course: Course, plan: Plan, held: np.ndarray, q: np.ndarray, match: np.ndarray, rng: Any) -> Samples:
    """Some moments of each run since its change, the change itself among them."""
    last, runs = course.states.shape[0], len(held)
    first = np.minimum(plan.change.astype(int), last - 1)
    moments = first + np.floor(rng.random((SAMPLES, runs)) * (last - first)).astype(int)
    moments[0] = first
    flat = moments.ravel()
    column = np.tile(np.arange(runs), SAMPLES)
    return Samples(course.states[flat, column], held[column], q[column], match[column])


def own_quantiles(final: Outcomes, match: np.ndarray, references: dict[int, Outcomes]) -> np.ndarray:
    """Quantiles of runs among the references of their matches, which are the runs themselves where there are none."""
    q = np.empty(len(match))
    for m in np.unique(match):
        mine = match == m
        runs = Outcomes(*(part[mine] for part in final))
        known = references.setdefault(int(m), runs)
        wide = Outcomes(*(np.broadcast_to(part, (int(mine.sum()), len(part))) for part in known))
        q[mine] = np.minimum(quantile(runs, wide), 1.0)
    return q
