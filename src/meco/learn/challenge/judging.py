"""Judging agents: every way to control a search on the same problems with the same seeds, in lockstep, by quantiles."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from meco.core.problem import Problem
from meco.core.streams import CONTROLLER_STREAM
from meco.errors import InvalidInput
from meco.learn.challenge.agent_errors import blame_agent
from meco.learn.challenge.agents import Agent, OwnRuleAgent, PolicyAgent
from meco.learn.challenge.judging_progress import JudgingProgress
from meco.learn.challenge.kept_batches import Batch, KeptBatches, digest_facts
from meco.learn.challenge.observation import Observation
from meco.learn.engine_digest import engine_digest
from meco.learn.tr.constant_controls import COMPARISON_SEED, CONSTANT_CONTROLS, OWN_RULE_NAME
from meco.learn.tr.episode import TrustRegionEpisode
from meco.learn.tr.quantile import Outcomes, quantile
from meco.learn.tr.training_problems import list_problems
from meco.policies.controls import CONTROLS
from meco.policies.policy import ConstantControls, Correcting, RandomPolicy
from meco.policies.resolve import find_policy, make_untrained
from meco.problems.suite import get_suite
from meco.tr.steered import SEARCH_CONTROLS, SHARE_POLICY, correcting_shape

QUICK_CONSTANTS = ((0.0, 0.0), (0.5, 0.0), (0.9, 0.0), (0.5, 0.3))  # theta and share
RANDOM_NAME, UNTRAINED_NAME, SHIPPED_NAME = "random", "untrained", "shipped policy"
LOCKSTEP = 96  # runs at once
SEEDS_APART = 1000  # between the first runs of problems
PROBLEM_SEEDS = 10**6  # seeds of generated problems that a digest chooses among
ROUNDING = 1e-6  # by which an action may lie outside its range: numbers of other programs have single precision
SUITE_DIM = 10  # of the suites whose problems scale


class JudgedProblem(NamedTuple):
    """A problem with its budget, and the family or suite that it stands for."""

    name: str
    family: str
    problem: Problem
    budget: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """What problems in lockstep have in common: D, budget, inequalities, equalities."""
        return self.problem.dim, self.budget, self.problem.n_ineq, self.problem.n_eq


class SetSize(NamedTuple):
    """How large a set is: sizes of its problems (D, evaluations per variable), problems of a family, runs of each."""

    layout: tuple[tuple[int, int], ...]
    each: int
    seeds: int


QUICK_SIZE = SetSize(((5, 20), (10, 20)), 1, 1)  # two problems of a family, in 5 and in 10 variables
FULL_SIZE = SetSize(((5, 50), (10, 20), (10, 50), (20, 50)), 3, 2)


@dataclass(frozen=True, eq=False)
class Judgement:
    """What K ways reached on N problems with S seeds: outcomes [N, K, S], quantiles [N, K], seconds to decide [K]."""

    set_name: str
    problems: list[JudgedProblem]
    ways: tuple[str, ...]
    references: int  # the first ways, constants and the own rule, are those that quantiles are among
    outcomes: Outcomes
    quantiles: np.ndarray
    seconds: np.ndarray

    def quantiles_of(self, way: str) -> np.ndarray:
        """Quantiles of one way on each problem: [N]; ValueError for a way that was not run."""
        return self.quantiles[:, self.ways.index(way)]

    @property
    def constants(self) -> tuple[str, ...]:
        """The constants among the ways."""
        return self.ways[: self.references - 1]


def first_seed_of_digest(digest: str) -> int:
    """The first seed of the problems to confirm on: another file is judged on other problems."""
    try:
        number = int(digest[:12], 16)
    except ValueError:
        number = int.from_bytes(digest.encode(), "big")
    return 1 + number % PROBLEM_SEEDS


def list_generated_set(name: str, size: SetSize, first: int = 1) -> list[JudgedProblem]:
    """Problems of the families of the set "train", "choose" or "confirm"; first is where their seeds begin."""
    found = list_problems(name, size.layout, size.each, (), first)
    return [JudgedProblem(f"{p.family}-{p.seed}, D {p.dim}", p.family, p.problem, p.budget) for p in found]


def list_suite_set(name: str, per_variable: int, most: int) -> list[JudgedProblem]:
    """The problems of a suite of at most `most` variables, with so many evaluations per variable.

    MissingData without tables.
    """
    scales = name == "cec2017"
    problems = get_suite(name, SUITE_DIM) if scales else get_suite(name)
    return [JudgedProblem(p.name, name, p, per_variable * p.dim) for p in problems if p.dim <= most]


def make_controls(*, quick: bool) -> dict[str, Agent]:
    """What an agent must beat: constants, the engine's own rule, random and untrained control, the shipped policy."""
    constants = QUICK_CONSTANTS if quick else CONSTANT_CONTROLS
    ways: dict[str, Agent] = {
        f"theta {theta:g}, share {share:g}": PolicyAgent(ConstantControls({"theta": theta, "share": share}))
        for theta, share in constants
    }
    ways[OWN_RULE_NAME] = OwnRuleAgent()
    ways[RANDOM_NAME] = PolicyAgent(RandomPolicy())
    ways[UNTRAINED_NAME] = PolicyAgent(make_untrained([0], correcting_shape(), Correcting))
    ways[SHIPPED_NAME] = PolicyAgent(find_policy(SHARE_POLICY, [0]))
    return ways


def judge_agents(
    set_name: str,
    problems: Sequence[JudgedProblem],
    controls: Mapping[str, Agent],
    agents: Mapping[str, Agent],
    seeds: int,
    progress: JudgingProgress | None = None,
    kept: KeptBatches | None = None,
    identities: Mapping[str, str | None] | None = None,
) -> Judgement:
    """Run every way on every problem; seed s of a problem draws the same numbers for each of them.

    Batches that are kept already are not run again. identities say what the runs of a way depend on beside its name;
    those of a way without one are never kept. A run does not notice its neighbours, so what is kept changes no number.
    """
    ways = {**controls, **agents}
    kept, identities = kept or KeptBatches(), identities or {}
    progress = progress or JudgingProgress(0, lambda line: None)
    blocks = _group_ways(list(ways), len(controls), identities)
    references = list(controls).index(OWN_RULE_NAME) + 1
    found = np.full((3, len(problems), len(ways), seeds), np.nan)
    seconds = np.zeros(len(ways))
    groups: dict[Any, list[int]] = {}
    for i, problem in enumerate(problems):
        groups.setdefault(problem.shape, []).append(i)
    for number, group in enumerate(groups.values()):
        for block in blocks:
            rows = [(i, k, s) for i in group for s in range(seeds) for k in block]
            for first in range(0, len(rows), LOCKSTEP):
                part = np.array(rows[first : first + LOCKSTEP])
                i, k, s = part.T
                began, reused = time.monotonic(), kept.reused
                batch = _find_or_run(part, problems, ways, kept, identities)
                spent = None if kept.reused > reused else time.monotonic() - began
                progress.count(sum(problems[each].budget for each in i), spent)
                found[:, i, k, s] = batch.found
                seconds += [batch.seconds.get(way, 0.0) for way in ways]
        progress.show(f"{set_name}: {number + 1} of {len(groups)} groups of problems")
    outcomes = Outcomes(found[0], found[1], found[2] > 0)
    return Judgement(
        set_name, list(problems), tuple(ways), references, outcomes, _mean_quantiles(outcomes, references), seconds
    )


def _group_ways(names: Sequence[str], controls: int, identities: Mapping[str, str | None]) -> list[list[int]]:
    """Numbers of the ways that run together: controls, then agents whose runs are kept, then the others."""
    agents = range(controls, len(names))
    lasting = [k for k in agents if identities.get(names[k])]
    return [block for block in (list(range(controls)), lasting, [k for k in agents if k not in lasting]) if block]


def _find_or_run(
    rows: np.ndarray,
    problems: Sequence[JudgedProblem],
    ways: Mapping[str, Agent],
    kept: KeptBatches,
    identities: Mapping[str, str | None],
) -> Batch:
    """A batch of runs, rows [B, 3] of (problem, way, seed), as it was kept; else run now, and kept if its ways last."""
    names = list(ways)
    mine = {names[k]: identities.get(names[k]) for k in sorted(set(rows[:, 1].tolist()))}
    runs = [(problems[i].name, problems[i].budget, int(i), names[k], int(s)) for i, k, s in rows]
    key = digest_facts(engine_digest(), COMPARISON_SEED, mine, runs)
    batch = kept.find(key, len(rows)) if all(mine.values()) else None
    if batch is None:
        seconds = np.zeros(len(names))
        found = _run_rows(rows, problems, ways, seconds)
        batch = Batch(found, {name: float(seconds[names.index(name)]) for name in mine})
        if all(mine.values()):
            kept.add(key, batch)
    return batch


def _run_rows(
    rows: np.ndarray, problems: Sequence[JudgedProblem], ways: Mapping[str, Agent], seconds: np.ndarray
) -> np.ndarray:
    """One batch of runs from the first points to the end: f, nu, feasible [3, B]. Adds what each way took to decide.

    What an agent raises or gives wrong is InvalidInput with its name.
    """
    named = list(ways.items())
    numbers = [COMPARISON_SEED + SEEDS_APART * int(i) + int(s) for i, _, s in rows]
    episode = TrustRegionEpisode([problems[i].problem for i, _, _ in rows], numbers, problems[rows[0][0]].budget)
    s, over = np.asarray(episode.reset()), False
    chance = [np.random.default_rng([number, CONTROLLER_STREAM]) for number in numbers]
    mine = {k: np.flatnonzero(rows[:, 1] == k) for k in sorted(set(rows[:, 1].tolist()))}
    for k, at in mine.items():
        name, agent = named[k]
        with blame_agent(name):
            agent.begin(len(at))
    while not over:
        u = np.array([generator.random(2) for generator in chance])
        actions = np.empty((len(rows), 2))
        for k, at in mine.items():
            (name, agent), began = named[k], time.perf_counter()
            with blame_agent(name):
                given = agent.act(Observation(s[at], episode.features.names, u[at], episode, at))
            actions[at] = check_actions(given, len(at), name)
            seconds[k] += time.perf_counter() - began
        s, _, done = episode.step(actions)
        s, over = np.asarray(s), bool(done.all())
    return np.array(episode.best_outcomes())


def check_actions(actions: Any, runs: int, name: str = "an agent") -> np.ndarray:
    """theta and share of each run [B, 2]; another shape, nan, inf and values out of their ranges are errors."""
    try:
        found = np.asarray(actions, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (runs, 2) or not np.isfinite(found).all():
        raise InvalidInput(f"{name} must give theta and share, finite, for each of {runs} runs; got {actions!r:.80}")
    for k, control in enumerate(CONTROLS[SEARCH_CONTROLS].controls):
        wrong = (found[:, k] < control.low - ROUNDING) | (found[:, k] > control.high + ROUNDING)
        if wrong.any():
            worst = found[np.flatnonzero(wrong)[0], k]
            raise InvalidInput(f"{name}: {control.name} must lie in [{control.low:g}, {control.high:g}]; got {worst:g}")
    low, high = (np.array([getattr(c, end) for c in CONTROLS[SEARCH_CONTROLS].controls]) for end in ("low", "high"))
    return np.clip(found, low, high)


def count_evaluations(problems: Sequence[JudgedProblem], ways: int, seeds: int) -> int:
    """Evaluations of so many ways on these problems with so many seeds."""
    return sum(problem.budget for problem in problems) * ways * seeds


def _mean_quantiles(outcomes: Outcomes, references: int) -> np.ndarray:
    """Means over seeds of outcomes [N, K, S] among those of the first `references` ways: [N, K]."""
    count, kinds, seeds = outcomes.f.shape
    among = Outcomes(*(part[:, :references].reshape(count, -1) for part in outcomes))
    q = [
        np.minimum(quantile(Outcomes(*(part[:, k, s] for part in outcomes)), among), 1.0)
        for k in range(kinds)
        for s in range(seeds)
    ]
    return np.reshape(q, (kinds, seeds, -1)).mean(axis=1).T
