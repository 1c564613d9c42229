"""Training of MeCO-TR's policy: rounds of rollouts, a fit after each, and the choice among the fitted networks."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meco.core.process_pool import process_map
from meco.engines.es.maes import native_size
from meco.errors import InvalidInput, UnknownName
from meco.files.atomic import write_bytes
from meco.files.source_digest import source_digest
from meco.learn.checkpoint import read_checkpoint, write_checkpoint
from meco.learn.engine_digest import engine_digest
from meco.learn.settings import Settings
from meco.learn.source_commit import source_commit
from meco.learn.tr.policy_comparison import OWN_RULE_NAME, PolicyComparison, compare_policies
from meco.learn.tr.quantile import Outcomes
from meco.learn.tr.regression import FitSettings, RolloutSamples, fit_network
from meco.learn.tr.rollouts import (
    ALTERNATIVES,
    RolloutBatch,
    RolloutPlan,
    RolloutResult,
    draw_plan,
    quantile_rewards,
    run_rollouts,
    score_rewards,
)
from meco.learn.tr.training_problems import BudgetedProblem, group_by_shape, list_problems, read_layout
from meco.policies.features import FEATURES
from meco.policies.network import Weights, flatten_weights, q_values
from meco.policies.policy import Choosing
from meco.policies.store import LOG_SUFFIX, SUFFIX, save_policy
from meco.problems.generated import GENERATED
from meco.tr.steered import DECISIONS, SEARCH_FEATURES

# modules that draw problems, plans and actions again when a training goes on
ROLLOUT_MODULES = ("meco.learn.tr.training", "meco.learn.tr.rollouts", "meco.learn.tr.training_problems")
CPU_LOCKSTEP = 48  # runs of a batch on a CPU: with more, a process shares too little of the work
ROLLOUT_REWARDS = ("quantile", "score")
VALUE_MARGINS = (0.0, 0.05, 0.1)  # added to the value of the action that is best on average: candidates of the choice
PROPOSER_FEATURES = ("models improve", "strategy improves", "balance of improvements", "strategy behind")
# features that a network does not see; the first network is the base policy of the next round
HIDDEN_FEATURES: dict[str, tuple[str, ...]] = {"without proposers": PROPOSER_FEATURES, "with every feature": ()}
Map = Callable[..., Iterable[Any]]  # as map() takes a function and its arguments
Report = Callable[[str], Any]  # of a line


@dataclass(frozen=True)
class RolloutConfig(Settings):
    """Settings of a training by rollouts."""

    name: str = "meco-tr"
    hidden: int = 48  # units of a network
    steps: int = 4000  # of a fit
    rounds: int = 2
    runs: int = 750  # of each shape and round, about
    least: int = 24  # runs of each problem and round, at least
    families: tuple[str, ...] = ()  # to train and to choose on; all of the two sets unless given
    layout: str = "2:50,5:50,10:50,20:50,5:20,10:20,10:100,5:200"  # D and evaluations per variable
    problems: int = 6  # of each train family, at each size of the layout
    judges: int = 4  # problems to choose on, of each choose family, at each size of the layout
    judge_seeds: int = 2  # runs on each of these
    width: int = 4096  # runs in lockstep, at most
    seed: int = 1
    reward: str = "quantile"  # or "score", the decrease of f + nu
    device: str = "cpu"

    choices: ClassVar = {"reward": ROLLOUT_REWARDS}
    minimums: ClassVar = dict.fromkeys(
        ("hidden", "steps", "rounds", "runs", "least", "problems", "judges", "judge_seeds", "width"), 1
    )

    def __post_init__(self) -> None:
        """Refuse unknown families, and sizes that cannot be read."""
        super().__post_init__()
        for family in self.families:
            if family not in GENERATED:
                raise UnknownName("family of generated problems", family, GENERATED)
        self.sizes  # noqa: B018 - refuses what cannot be read

    @property
    def lockstep(self) -> int:
        """Runs of one batch, at most; fewer on a CPU, where processes share the batches."""
        return min(self.width, CPU_LOCKSTEP) if self.device == "cpu" else self.width

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """D and evaluations per variable of the problems."""
        return read_layout(self.layout)


class ShapeRollouts(NamedTuple):
    """Rollouts on problems of one shape: problem, action and seed of each [B], and their plan."""

    problem: np.ndarray
    plan: RolloutPlan
    action: np.ndarray
    seeds: list[int]


class FittedNetwork(NamedTuple):
    """A network, and how well it fits."""

    name: str
    weights: Weights
    quality: dict[str, Any]  # as fit_network gives it, and the log of the training keeps it


class RolloutTraining:
    """A training that can be stopped after any batch of rollouts and goes on to the same policy."""

    def __init__(self, config: RolloutConfig, folder: Path, report: Report = print) -> None:
        """List the problems to train and to choose on, and make the folder, unless the settings are refused."""
        self.config, self.folder, self.report = config, Path(folder), report
        self.problems = list_problems("train", config.sizes, config.problems, config.families)
        self.choose_problems = list_problems("choose", config.sizes, config.judges, config.families)
        if not self.problems or not self.choose_problems:
            raise InvalidInput("families must name some to train on and some to choose on; see meco list generated")
        if len(self.problems) < 2:
            raise InvalidInput("a training needs at least two problems, one to learn from and one to stop by; got 1")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.samples: list[RolloutSamples] = []  # of each shape, round after round
        self.networks: list[FittedNetwork] = []
        self.references: dict[int, Any] = {}  # outcomes of the first round, by problem

    def run(self, call: Map = map, stop: Callable[[], bool] = lambda: False) -> bool:
        """Make every round and its fit; False where stop() ended it, and what was stored is used the next time."""
        for number in range(self.config.rounds):
            if not self.run_round(number, call, stop):
                return False
            self.fit(number)
        return True

    def run_round(self, number: int, call: Map = map, stop: Callable[[], bool] = lambda: False) -> bool:
        """Add the samples of a round: rollouts that the folder holds, or else runs and stores them there.

        call maps batches, in this process or others; False where stop() ended it.
        """
        rng = np.random.default_rng([self.config.seed, number])
        groups = [self._draw_rollouts(group, rng) for group in group_by_shape(self.problems)]
        base = self.networks[-1].weights if self.networks else None
        identity = self._rollout_identity(base)
        paths = [self.folder / f"{self.config.name}.round{number}.{k}.npz" for k in range(len(groups))]
        stored = [_read_stored(path, identity) for path in paths]
        batches = [[] if found else self._make_batches(group, base) for group, found in zip(groups, stored)]
        results = iter(call(run_rollouts, [batch for several in batches for batch in several]))
        began = time.monotonic()
        for k, (group, found) in enumerate(zip(groups, stored)):
            if stop():
                return False
            final, states = found or _join_results([next(results) for _ in batches[k]])
            if not found:
                write_checkpoint(paths[k], {"states": states, **final._asdict()}, identity)
            rewards = self._compute_rewards(final, group.problem)
            self.samples.append(RolloutSamples(states, group.action, rewards, group.problem))
            if (k + 1) % 10 == 0:
                self.report(f"round {number + 1}: {k + 1} of {len(groups)} shapes, {time.monotonic() - began:.0f} s")
        return True

    def _rollout_identity(self, base: Weights | None) -> dict[str, Any]:
        """What stored rollouts must agree in, and files keep under these names: only then are they used again."""
        return {
            "config": self.config.as_dict(),
            "engine": engine_digest(),
            "problems": source_digest(["meco.problems.generated"], ["meco.problems"]),
            "rollouts": source_digest(ROLLOUT_MODULES),
            "followed": None if base is None else hashlib.sha256(flatten_weights(base).tobytes()).hexdigest(),
        }

    def fit(self, number: int) -> None:
        """Add a network fitted to all samples so far, the next base policy; after the last round one for each choice.

        Reports its error.
        """
        c, samples = self.config, RolloutSamples(*(np.concatenate(parts) for parts in zip(*self.samples)))
        last = number + 1 == c.rounds
        for kind, names in list(HIDDEN_FEATURES.items())[: None if last else 1]:
            hidden = tuple(FEATURES[SEARCH_FEATURES].names.index(name) for name in names)
            settings = FitSettings(c.hidden, c.steps, seed=c.seed, device=c.device, hidden_features=hidden)
            network = FittedNetwork(f"round {number + 1}, {kind}", *fit_network(samples, ALTERNATIVES, settings))
            self.networks.append(network)
            error, without = network.quality["error"], network.quality["without"]
            self.report(f"{network.name}: error {error:.4f}, {without:.4f} without a network")

    def _compute_rewards(self, final: Outcomes, problem: np.ndarray) -> np.ndarray:
        """Rewards [B] of runs on these problems [B]; the first runs of a problem may become its references."""
        if self.config.reward == "score":
            return score_rewards(final, [self.problems[i] for i in problem])
        return quantile_rewards(final, problem, self.references)

    def _draw_rollouts(self, group: list[int], rng: np.random.Generator) -> ShapeRollouts:
        """Rollouts on problems of one shape; the order of draws is part of a seed's training."""
        first = self.problems[group[0]]
        problem = np.repeat(np.array(group), max(self.config.least, self.config.runs // len(group)))
        decisions = int(first.budget / max(native_size(first.dim), first.budget / DECISIONS))
        plan, action = draw_plan(rng, len(problem), decisions, has_policy=bool(self.networks))
        return ShapeRollouts(problem, plan, action, rng.integers(2**40, size=len(problem)).tolist())

    def _make_batches(self, group: ShapeRollouts, base: Weights | None) -> list[RolloutBatch]:
        """The rollouts in batches that are not too wide."""
        policies, size = [Choosing(base)] if base else [], self.config.lockstep
        return [
            RolloutBatch(
                [self.problems[i] for i in group.problem[k : k + size]], group.seeds[k : k + size], policies,
                RolloutPlan(*(each[k : k + size] for each in group.plan)), self.config.device,
            )
            for k in range(0, len(group.problem), size)
        ]  # fmt: skip

    def compare_candidates(self, call: Map = map) -> PolicyComparison:
        """The candidates beside constants, the engine's own rule and random controls, on the choose families."""
        c = self.config
        return compare_policies(self.make_candidates(), self.choose_problems, c.judge_seeds, call, c.device, c.lockstep)

    def make_candidates(self) -> dict[str, Choosing]:
        """Policies to choose among, by name: the last networks, each with margins for the action best on average."""
        found = {}
        for network in self.networks[-len(HIDDEN_FEATURES) :]:
            usual = best_action_on_average(network.weights, self.samples)
            for margin in VALUE_MARGINS:
                b2 = network.weights.b2.copy()
                b2[usual] += margin
                found[f"{network.name}, margin {margin:g}"] = Choosing(network.weights._replace(b2=b2))
        return found


def best_action_on_average(weights: Weights, samples: Sequence[RolloutSamples]) -> int:
    """The action of largest mean value, each shape of each round with equal weight."""
    return int(np.argmax(np.mean([q_values(weights, part.s).mean(axis=0) for part in samples], axis=0)))


def _read_stored(path: Path, identity: dict[str, Any]) -> RolloutResult | None:
    """Stored rollouts, None without any of the same identity; a damaged file is an error."""
    if not path.is_file():
        return None
    arrays, state = read_checkpoint(path)
    if not identity.items() <= state.items():
        return None
    return RolloutResult(Outcomes(*(arrays[name] for name in Outcomes._fields)), arrays["states"])


def _join_results(results: Sequence[RolloutResult]) -> RolloutResult:
    """The results of several batches as one."""
    final = Outcomes(*(np.concatenate(each) for each in zip(*(result.final for result in results))))
    return RolloutResult(final, np.concatenate([result.states for result in results]))


def train_by_rollouts(
    config: RolloutConfig, folder: Path, processes: int, stop: Callable[[], bool], report: Report, command: str | None
) -> bool:
    """Train, choose on the choose families alone, and write the policy with its log into the folder.

    Rollouts go there too, so that a training goes on where stop() ended it; then False. report gets lines of progress.
    """
    with process_map(processes) as call:
        training = RolloutTraining(config, folder, report)
        report(f"{len(training.problems)} problems to train on")
        if not training.run(call, stop) or stop():
            return False
        comparison = training.compare_candidates(call)
    write_chosen_policy(training, comparison, command)
    return True


def write_chosen_policy(training: RolloutTraining, comparison: PolicyComparison, command: str | None) -> None:
    """Write the candidate that is best on the choose families, as a policy with its log; reports all scores."""
    config, folder, report = training.config, training.folder, training.report
    candidates = training.make_candidates()
    name = max(candidates, key=comparison.score)
    for line in comparison.summary_lines():
        report(line)
    lines = [
        {"training": config.as_dict(), "engine": engine_digest()},
        *({"network": network.name} | network.quality for network in training.networks),
    ]
    lines.append({"choice": name, "choose": dict(zip(comparison.names, comparison.scores.round(6).tolist()))})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    write_bytes(folder / (config.name + LOG_SUFFIX), text)
    metadata = policy_metadata(training, comparison, name, command, text)
    save_policy(folder / (config.name + SUFFIX), candidates[name].weights, metadata)
    report(f"{config.name}{SUFFIX}: {name}, {comparison.score(name):.4f} on the choose families")


def policy_metadata(
    training: RolloutTraining, comparison: PolicyComparison, name: str, command: str | None, log: bytes
) -> dict[str, Any]:
    """What the policy file says of the policy and its training; save_policy adds what follows from it."""
    return {
        "features": SEARCH_FEATURES,
        "controls": ALTERNATIVES.name,
        "kind": "choosing",
        "decisions": DECISIONS,
        "families": {"train": _family_names(training.problems), "choose": _family_names(comparison.problems)},
        "engine": engine_digest(),
        "seed": training.config.seed,
        "training": training.config.as_dict(),
        **{"suite": "generated", "dim": sorted({dim for dim, _ in training.config.sizes})},
        "choice": {
            "candidate": name, "choose": comparison.score(name), "own_rule": comparison.score(OWN_RULE_NAME),
        },
        "command": command,
        "commit": source_commit(),
        "log_digest": hashlib.sha256(log).hexdigest(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }  # fmt: skip


def _family_names(problems: Iterable[BudgetedProblem]) -> list[str]:
    """The families of the problems, each once."""
    return sorted({p.family for p in problems})
