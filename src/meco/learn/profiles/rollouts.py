"""Rollouts: runs that hold one profile from a drawn decision on, which show what each profile is worth.

A run holds another profile, or follows a policy, until its switch: the first decision after a drawn share of the
budget. From there to the end it holds the profile a. Its final quantile among runs of the same problem is a sample of

    Q(s, a) = mean final quantile of a search in state s that holds a from now on.                     (1)

Only the state at the switch is learnt from: a is drawn there, while later states are its effect. A policy that takes
the best profile at every decision does at least as well as the best held one, wherever Q is right (a rollout policy,
Bertsekas 2013). A second round follows that policy up to the switch, and so samples the states that it meets.

Batches are kept in files by a digest of what they are made from, so that a training goes on where it was stopped, and
trainings that differ in their fit alone share them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace, to_numpy
from meco.core.engine import Task
from meco.device.waiting import sleep_while_waiting
from meco.files.source_digest import source_digest
from meco.learn.checkpoint import read_checkpoint, write_checkpoint
from meco.learn.engine_digest import engine_digest
from meco.learn.tr.quantile import Outcomes
from meco.learn.tr.searches import run_lockstep
from meco.learn.tr.training_problems import BudgetedProblem, group_by_shape
from meco.policies.controls import TR_PROFILES, ControlSet, profile_controls
from meco.policies.features import FEATURES
from meco.policies.policy import NetworkPolicy, Policy, RandomPolicy, controls_of, draw_index
from meco.policies.profile_search import PROFILE_FEATURES, ProfileSearch
from meco.tr.controls import TR_CONTROLS
from meco.tr.engine import TrustRegion
from meco.tr.profiles import Profiles

LEAST_DEVICE_WIDTH = 16  # runs below which a batch takes less time on a core than on a device
CPU_WIDTH = 48  # runs of a batch on a CPU: with more, processes share too little of the work
FAILING_WIDTH = 12  # the same where evaluations fail: one batch of 48 took as long as everything else
FAILING_COST = 10.0  # of a search whose evaluations may fail, in those of one whose do not
DEVICE_COST = 200.0  # of an iteration on a device, however many runs share it, in units of BudgetedProblem.cost
NEVER = 2.0  # a share of the budget that no run comes to
SPENT = FEATURES[PROFILE_FEATURES].names.index("budget spent")
SOURCES = (
    "meco.learn.profiles.rollouts",
    "meco.learn.tr.searches",
    "meco.policies.profile_search",
    "meco.problems.generated",
)
Map = Callable[..., Iterable[Any]]  # as map() takes a function and its arguments
Progress = Callable[[float], Any]  # of a share, from 0 to 1


class RolloutPlan(NamedTuple):
    """What each run does; [B] each."""

    before: np.ndarray  # the profile held until the switch; -1, -2, ..: the first, second, .. policy is followed
    switch: np.ndarray  # share of the budget from which on the profile is held
    profile: np.ndarray


class RolloutBatch(NamedTuple):
    """Runs of one shape in lockstep: a problem, a seed and a row of the plan each."""

    problems: list[BudgetedProblem]
    seeds: list[int]
    plan: RolloutPlan
    profiles: Profiles
    policies: tuple[Policy, ...]
    device: str
    every_state: bool = False  # whether states of all decisions are wanted, not of the switches alone


class RolloutResult(NamedTuple):
    """Final outcomes [B]; features [B, F] at the switches; then features [T, B, F] and profiles [T, B] over the run.

    Profiles are -1 for those that a policy brought besides; decisions at restarts are left out. Of the features over
    the run there are none unless they are wanted.
    """

    final: Outcomes
    states: np.ndarray
    course: np.ndarray
    taken: np.ndarray


class PlannedSearch(ProfileSearch):
    """A search that follows its plan, and keeps the states at the switches."""

    def __init__(self, engine: TrustRegion, batch: RolloutBatch) -> None:
        """Take an engine and the batch whose plan it follows; makes the first decision."""
        self.plan, self._batch = batch.plan, batch
        self._grid, self._places = _join_dictionaries(batch)
        self.states: Array | None = None  # [B, F] at the switches so far
        self.course: list[np.ndarray] = []
        self.taken: list[np.ndarray] = []
        super().__init__(engine, Policy())

    def choose(self, s: Array, u: Array, due: Array | None) -> dict[str, Array]:
        """Controls by name, [B] each, that the plan says in states s [B, F]; u [B, 2] are the numbers of a decision.

        due [B] are the runs that decide, None: all. Keeps states at switches, and of decisions of all runs what was
        taken.
        """
        xp = namespace(s)
        if self.states is None:
            self.plan = RolloutPlan(*(asarray_like(each, s) for each in self.plan))
            self._places = [asarray_like(place, s) for place in self._places]
            self.states, self._switched = 0.0 * s, s[:, 0] != s[:, 0]
        plan = self.plan
        now = plan.switch <= s[:, SPENT]
        now = (now if due is None else now & due) & ~self._switched
        self.states = xp.where(now[:, None], s, self.states)
        self._switched = self._switched | now
        held = xp.where(self._switched, plan.profile, plan.before)
        for number, (policy, place) in enumerate(zip(self._batch.policies, self._places)):
            by_chance = isinstance(policy, RandomPolicy)
            chosen = draw_index(u[:, 1], len(place)) if by_chance else policy.act(s, u)
            held = xp.where(held == -1.0 - number, place[chosen], held)
        index = xp.astype(held, xp.int64)
        if due is None:
            taken = to_numpy(index)
            self.taken.append(np.where(taken < len(self._batch.profiles), taken, -1).astype(np.int16))
            self.course += [to_numpy(s).astype(np.float32)] if self._batch.every_state else []
        return self._grid.combination(index)


def _join_dictionaries(batch: RolloutBatch) -> tuple[ControlSet, list[Any]]:
    """All profiles of a batch, those that policies bring besides last, and the places [A] of each policy's own."""
    rows = list(profile_controls(batch.profiles).grid)
    places = []
    for policy in batch.policies:
        own = controls_of(policy.metadata).grid
        rows += [row for row in own if row not in rows]
        places.append(np.array([rows.index(row) for row in own]))
    return ControlSet(TR_PROFILES.name, TR_CONTROLS, tuple(rows)), places


def run_rollouts(batch: RolloutBatch) -> RolloutResult:
    """The final outcomes of the runs of a batch, the states that they saw and the profiles that they held."""

    def make_search(task: Task) -> PlannedSearch:
        return PlannedSearch(TrustRegion(task), batch)

    search, final = run_lockstep(make_search, batch.problems, batch.seeds, batch.device)
    states = to_numpy(search.states).astype(np.float32)
    course = np.stack(search.course) if search.course else np.zeros((0, *states.shape), np.float32)
    return RolloutResult(final, states, course, np.stack(search.taken))


class PlannedRuns(NamedTuple):
    """Runs that belong together, of any shapes: a problem, a seed and a row of the plan each."""

    problems: list[BudgetedProblem]
    seeds: list[int]
    plan: RolloutPlan  # of these profiles and policies
    profiles: Profiles
    policies: tuple[Policy, ...] = ()
    every_state: bool = False


class PlannedResults(NamedTuple):
    """What planned runs [N] came to: outcomes, features [N, F] at the switches, and courses of some of them each."""

    final: Outcomes
    states: np.ndarray
    courses: list[tuple[np.ndarray, np.ndarray, np.ndarray]]  # rows [B], features [T, B, F], profiles [T, B]


def join_runs(parts: Sequence[PlannedRuns]) -> tuple[PlannedRuns, list[np.ndarray]]:
    """All parts as one, with every profile once and all policies, and the places [A] of each part's profiles in it.

    Runs keep their order. every_state is that of the first part.
    """
    profiles: Profiles = {}
    policies: tuple[Policy, ...] = ()
    before, held, places = [], [], []
    for part in parts:
        named = {json.dumps(values, sort_keys=True): values for values in part.profiles.values()}
        profiles |= named
        place = np.array([list(profiles).index(name) for name in named])
        old = part.plan.before.astype(int)
        before.append(np.where(old >= 0, place[np.maximum(old, 0)], old - len(policies)))
        held.append(place[part.plan.profile.astype(int)])
        places.append(place)
        policies += part.policies
    switch = np.concatenate([part.plan.switch for part in parts])
    plan = RolloutPlan(np.concatenate(before).astype(float), switch, np.concatenate(held).astype(float))
    problems, seeds = [p for part in parts for p in part.problems], [s for part in parts for s in part.seeds]
    return PlannedRuns(problems, seeds, plan, profiles, policies, parts[0].every_state), places


def make_batches(runs: PlannedRuns, device: str, width: int) -> list[tuple[np.ndarray, RolloutBatch]]:
    """The runs in batches of one shape, the costliest first, each with the places [B] of its runs.

    Problems that fail or draw cannot be recorded on a device and stay on the CPU, in narrower batches, as do shapes
    of few runs.
    """
    found = []
    for group in group_by_shape(runs.problems):
        able = np.array([_can_be_recorded(runs.problems[r]) for r in group]) & (device != "cpu")
        able = able & (np.count_nonzero(able) >= LEAST_DEVICE_WIDTH)
        for where, rows in ((device, np.array(group)[able]), ("cpu", np.array(group)[~able])):
            for part in _split_rows(runs.problems, rows, width if where != "cpu" else min(width, CPU_WIDTH)):
                batch = RolloutBatch(
                    [runs.problems[r] for r in part], [int(runs.seeds[r]) for r in part],
                    RolloutPlan(*(each[part] for each in runs.plan)), runs.profiles, runs.policies, where,
                    runs.every_state,
                )  # fmt: skip
                found.append((part, batch))
    return found


def _split_rows(problems: Sequence[BudgetedProblem], rows: np.ndarray, most: int) -> list[np.ndarray]:
    """Places of runs in parts of at most so many, those that may fail in narrower parts after the others."""
    fails = np.array([not problems[r].problem.finite for r in rows], dtype=bool)
    parts = []
    for chosen, wide in ((rows[~fails], most), (rows[fails], min(most, FAILING_WIDTH))):
        parts += [chosen[k : k + wide] for k in range(0, len(chosen), wide)]
    return parts


def estimate_cost(batch: RolloutBatch) -> float:
    """The time that a batch takes, in no unit: to begin with the longest, which others need not wait for at the end."""
    if batch.device != "cpu":
        return DEVICE_COST * batch.problems[0].budget
    return sum(each.cost * (1.0 if each.problem.finite else FAILING_COST) for each in batch.problems)


def _can_be_recorded(problem: BudgetedProblem) -> bool:
    """Whether a device can make its iterations by itself, and no failure has to be modelled."""
    return problem.problem.recordable and problem.problem.finite


def run_together(
    parts: Sequence[PlannedRuns],
    folder: Path,
    call: Map = map,
    stop: Callable[[], bool] = lambda: False,
    device: str = "cpu",
    width: int = 1000,
    progress: Progress = lambda share: None,
) -> list[PlannedResults] | None:
    """Results of each part; runs of equal shape go in lockstep, whatever part they are of. None where stop() ended it.

    On "cpu" a run is the same whatever is beside it; on a device, where one generator serves a batch, it is not. Parts
    that want every state go apart from the others. progress is told the share of evaluations that are made.
    """
    found: dict[int, PlannedResults] = {}
    for every_state in (False, True):
        chosen = [k for k, part in enumerate(parts) if part.every_state is every_state]
        results = _run_joined([parts[k] for k in chosen], folder, call, stop, device, width, progress) if chosen else []
        if results is None:
            return None
        found |= dict(zip(chosen, results))
    return [found[k] for k in range(len(parts))]


def _run_joined(
    parts: Sequence[PlannedRuns],
    folder: Path,
    call: Map,
    stop: Callable[[], bool],
    device: str,
    width: int,
    progress: Progress,
) -> list[PlannedResults] | None:
    """Results of parts that all want, or do not want, every state; None where stop() ended it.

    Batches are stored in the folder, and read from there where they are; call maps them, width is the most runs of one.
    """
    joined, places = join_runs(parts)
    batches = make_batches(joined, device, width)
    results = run_stored([batch for _, batch in batches], folder, call, stop, progress)
    if results is None:
        return None
    ends = np.cumsum([len(part.seeds) for part in parts])
    count, features = int(ends[-1]), results[0].states.shape[-1]
    final, states = np.zeros((3, count)), np.zeros((count, features))
    for (rows, _), result in zip(batches, results):
        final[:, rows], states[rows] = result.final, result.states
    found = []
    for part, place, end in zip(parts, places, ends):
        first = end - len(part.seeds)
        own = np.full(len(joined.profiles) + 1, -1)  # the last for those of no dictionary
        own[place] = np.arange(len(place))
        courses = []
        for (rows, _), result in zip(batches, results):
            here = (rows >= first) & (rows < end)
            if here.any():
                courses.append((rows[here] - first, result.course[:, here], own[result.taken[:, here]]))
        outcomes = Outcomes(final[0, first:end], final[1, first:end], final[2, first:end] > 0)
        found.append(PlannedResults(outcomes, states[first:end], courses))
    return found


def run_stored(
    batches: Sequence[RolloutBatch],
    folder: Path,
    call: Map = map,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda share: None,
) -> list[RolloutResult] | None:
    """Results of the batches, from the folder or else run and stored there; None where stop() ended it.

    call maps batches, the costliest first, in this process or others, which write what they made themselves. progress
    is told the share of evaluations that are made, as batches come.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{digest_batch(batch)}.npz" for batch in batches]
    missing = [(batch, path) for batch, path in zip(batches, paths) if not path.is_file()]
    missing.sort(key=lambda job: -estimate_cost(job[0]))
    if missing and stop():
        return None
    work = [sum(problem.budget for problem in batch.problems) for batch in batches]
    done = sum(work) - sum(sum(problem.budget for problem in batch.problems) for batch, _ in missing)
    for _, (batch, _) in zip(call(run_and_store, missing), missing):
        done += sum(problem.budget for problem in batch.problems)
        progress(done / sum(work))
        if stop():
            return None
    return [read_result(path) for path in paths]


def map_by_place(cores: Map, device: Map) -> Map:
    """A map for run_stored() that gives batches for a device to processes of their own, which mostly wait for it."""

    def call(work: Callable[..., Any], jobs: Iterable[tuple[RolloutBatch, Path]]) -> Iterable[Any]:
        listed = list(jobs)
        places = [batch.device != "cpu" for batch, _ in listed]
        found = {
            there: iter(each(work, [job for job, place in zip(listed, places) if place is there]))
            for there, each in ((True, device), (False, cores))
        }
        return (next(found[place]) for place in places)

    return call


def run_and_store(job: tuple[RolloutBatch, Path]) -> None:
    """Run a batch and write its result to a path, given as one pair; frees the device's memory afterwards."""
    batch, path = job
    if batch.device != "cpu":
        sleep_while_waiting(batch.device)
    result = run_rollouts(batch)
    write_checkpoint(
        path, {**result.final._asdict(), **{k: v for k, v in result._asdict().items() if k != "final"}}, {}
    )
    if batch.device != "cpu":
        import torch

        torch.cuda.empty_cache()


def read_result(path: Path) -> RolloutResult:
    """The result of a batch from the file that run_and_store() wrote."""
    arrays, _ = read_checkpoint(path)
    final = Outcomes(*(arrays[name] for name in Outcomes._fields))
    return RolloutResult(final, arrays["states"], arrays["course"], arrays["taken"])


@lru_cache(maxsize=1)
def _digest_sources() -> list[str]:
    """Digests of the sources of the engine, and of what draws problems and follows plans."""
    return [engine_digest(), source_digest(SOURCES, ["meco.problems"])]


def digest_batch(batch: RolloutBatch) -> str:
    """A hash of everything that the result of a batch depends on, the engine and the problems' sources among it."""
    where = [batch.device.partition(":")[0], *_digest_sources()]
    return digest_runs(PlannedRuns(*batch[:5], batch.every_state), where)


def digest_runs(runs: PlannedRuns, also: Sequence[str] = ()) -> str:
    """A hash of what is planned, policies and profiles by value, and of further text: 32 hexadecimal digits."""
    plain = [[list(p) for p in runs.problems], runs.seeds, runs.profiles, runs.every_state, list(also)]
    digest = hashlib.sha256(json.dumps(plain).encode())
    for part in runs.plan:
        digest.update(np.ascontiguousarray(part, float).tobytes())
    for policy in runs.policies:
        digest.update(f"{type(policy).__name__} {json.dumps(policy.metadata.get('profiles'))}".encode())
        if isinstance(policy, NetworkPolicy):
            for part in policy.weights:
                digest.update(np.ascontiguousarray(to_numpy(part), float).tobytes())
    return digest.hexdigest()[:32]


def draw_plan(rng: np.random.Generator, runs: int, profiles: int, follows: bool) -> RolloutPlan:
    """A random plan of so many runs; where these may follow a policy, seven of ten do until the switch.

    The default, profile 0, is held twice as often as each other one: every other is compared with it. Most switches are
    early, where most is left to gain, and one in five is at the start. The order of draws is part of a training.
    """
    profile = np.maximum(rng.integers(profiles + 1, size=runs) - 1, 0)
    others = np.where(rng.random(runs) < 0.5, 0, rng.integers(profiles, size=runs))
    before = np.where(rng.random(runs) < 0.7, -1, others) if follows else others
    switch = np.where(rng.random(runs) < 0.2, 0.0, 1e-9 + 0.9 * rng.random(runs) ** 2)
    return RolloutPlan(before.astype(float), switch, profile.astype(float))
