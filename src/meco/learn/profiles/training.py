"""Training of a policy over profiles: rounds of rollouts, a fit after each, the choice of a threshold, and a tree."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meco import __version__
from meco.core.process_pool import process_map
from meco.errors import InvalidInput, UnknownName
from meco.files.atomic import write_bytes
from meco.learn.engine_digest import engine_digest
from meco.learn.profiles.comparison import ProfileComparison, compare_profiles
from meco.learn.profiles.deep_q import fit_deep_q
from meco.learn.profiles.first_start import FirstStart, list_first_starts, start_first
from meco.learn.profiles.rewards import ROLLOUT_REWARDS, quantile_rewards, score_rewards
from meco.learn.profiles.rollouts import (
    NEVER,
    Map,
    PlannedResults,
    PlannedRuns,
    Progress,
    RolloutPlan,
    digest_runs,
    draw_plan,
    map_by_place,
    run_together,
)
from meco.learn.profiles.tree import FittedTree, describe_tree, fit_tree, tree_weights
from meco.learn.profiles.worth import FitSettings, WorthFit, WorthSamples, fit_worth, with_threshold
from meco.learn.settings import Settings
from meco.learn.source_commit import source_commit
from meco.learn.tr.quantile import Outcomes
from meco.learn.tr.training_problems import BudgetedProblem, list_problems, read_layout
from meco.policies.network import Weights, q_values
from meco.policies.policy import Policy, ProfileChoice, RandomPolicy
from meco.policies.profile_search import PROFILE_CONTROLS, PROFILE_DECISIONS, PROFILE_FEATURES
from meco.policies.store import LOG_SUFFIX, SUFFIX, save_policy
from meco.problems.generated import GENERATED
from meco.tr.profile_features import FEATURE_GROUPS, PROFILE_FEATURE_NAMES
from meco.tr.profiles import CONTROL_GROUPS, Profiles, without_groups

THRESHOLDS = (0.0, 0.02, 0.05, 0.1)  # of an advantage over the default: candidates of the choice
DEVICE_PROCESSES = 8  # beside those of the cores: with more the device does not get more done
LEARNERS = ("rollouts", "deep-q")
Report = Callable[[str], Any]  # of a line


@dataclass(frozen=True)
class ProfileConfig(Settings):
    """Settings of a training; groups of features and controls are taken away to see what they are worth."""

    name: str = "tr-profiles"
    learner: str = "rollouts"  # or "deep-q", the paper's
    reward: str = "quantile"  # or "score", the decrease of f + nu
    unseen: tuple[str, ...] = ()  # groups of features that the policy does not see
    fixed: tuple[str, ...] = ()  # groups of controls that stay at their defaults
    hidden: int = 32  # units of the network
    steps: int = 2000  # of a fit, at most
    rounds: int = 2
    runs: int = 24  # of each problem and round
    families: tuple[str, ...] = ()  # to train and to choose on; all of the two sets unless given
    layout: str = "2:50,5:20,5:100,10:10,10:50,20:20"  # D and evaluations per variable
    failing_budget: int = 250  # evaluations beyond which families that fail are left out: each costs five times as much
    problems: int = 4  # of each train family, at each size of the layout
    judges: int = 4  # problems to choose on, of each choose family, at each size of the layout
    judge_seeds: int = 2  # runs on each of these
    width: int = 1000  # runs in lockstep on a device, at most
    seed: int = 1
    device: str = "cpu"

    choices: ClassVar = {"reward": ROLLOUT_REWARDS, "learner": LEARNERS}
    minimums: ClassVar = dict.fromkeys(
        ("hidden", "steps", "rounds", "runs", "problems", "judges", "judge_seeds", "width"), 1
    )

    def __post_init__(self) -> None:
        """Refuse unknown families and groups, and sizes that cannot be read."""
        super().__post_init__()
        for kind, names, known in (
            ("family of generated problems", self.families, GENERATED),
            ("group of features", self.unseen, FEATURE_GROUPS),
            ("group of controls", self.fixed, CONTROL_GROUPS),
        ):
            for name in names:
                if name not in known:
                    raise UnknownName(kind, name, known)
        read_layout(self.layout)

    def leave_out_slow(self, problems: Sequence[BudgetedProblem]) -> list[BudgetedProblem]:
        """The problems without those that may fail and have a budget above failing_budget."""
        return [p for p in problems if p.budget <= self.failing_budget or p.problem.finite]

    @property
    def fit_settings(self) -> FitSettings:
        """The settings of a fit of this training, with the indices of unseen features."""
        unseen = [PROFILE_FEATURE_NAMES.index(name) for group in self.unseen for name in FEATURE_GROUPS[group]]
        return FitSettings(self.hidden, self.steps, seed=self.seed, unseen=tuple(unseen))


# what is taken away to see its worth, by the name that is added to the policy's
ABLATIONS: dict[str, dict[str, Any]] = {
    **{f"without-{group}-features": {"unseen": (group,)} for group in ("models", "points", "starts")},
    **{f"without-{group}-controls": {"fixed": (group,)} for group in CONTROL_GROUPS},
    "paper-reward": {"reward": "score"},
    "paper-learner": {"learner": "deep-q"},
}


class FitJob(NamedTuple):
    """What a network is fitted to: courses where there are any, else the samples."""

    samples: WorthSamples
    courses: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    profiles: int
    settings: FitSettings


def run_fit(job: FitJob, call: Map = map) -> WorthFit:
    """The network of a job: by Double DQN where it has courses, else by regression on its samples.

    call maps the parts of a regression to processes.
    """
    if job.courses:
        return WorthFit(fit_deep_q(job.courses, job.profiles, job.settings), {"courses": len(job.courses)})
    return fit_worth(job.samples, job.profiles, job.settings, call)


class ProfileTraining:
    """One training: what it runs in each round, and what it learns from that. train_profiles() makes the rounds."""

    def __init__(self, config: ProfileConfig, report: Report = print) -> None:
        """List the problems to train and to choose on; refuses settings without any."""
        self.config, self.report = config, report
        layout = read_layout(config.layout)
        self.problems = config.leave_out_slow(list_problems("train", layout, config.problems, config.families))
        self.choose_problems = config.leave_out_slow(list_problems("choose", layout, config.judges, config.families))
        if not self.problems or not self.choose_problems:
            raise InvalidInput("families must name some to train on and some to choose on; see meco list generated")
        self.profiles: Profiles = without_groups(config.fixed)
        names = {name: k for k, name in enumerate(dict.fromkeys(p.family for p in self.problems))}
        self.family = np.array([names[p.family] for p in self.problems])
        self.samples: list[WorthSamples] = []  # round after round
        self.courses: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # of deep-q: states, profiles, rewards
        self.fits: list[WorthFit] = []
        self.references: dict[int, Outcomes] = {}  # outcomes of the first round, by problem

    def list_first_starts(self) -> list[FirstStart]:
        """The kernels that its problems need on its device."""
        shapes = {(p.dim, sum(p.shape[2:])) for p in (*self.problems, *self.choose_problems)}
        return list_first_starts(shapes, self.config.device)

    def plan_round(self) -> PlannedRuns:
        """The runs of the next round: equal settings and equal fits so far give equal runs. Changes nothing."""
        c, followed = self.config, self._followed()
        rng = np.random.default_rng([c.seed, len(self.fits)])
        number = self._number_problems()
        plan = self._draw_plan(rng, len(number), follows=bool(followed))
        seeds = rng.integers(2**40, size=len(number)).tolist()
        problems = [self.problems[i] for i in number]
        return PlannedRuns(problems, seeds, plan, self.profiles, followed, c.learner == "deep-q")

    def _number_problems(self) -> np.ndarray:
        """The index of the problem of each run of a round: [N], each problem config.runs times."""
        return np.repeat(np.arange(len(self.problems)), self.config.runs)

    def _followed(self) -> tuple[Policy, ...]:
        """The policies that runs of the next round may follow: the last one, or chance where each decision is drawn."""
        if self.fits:
            return (ProfileChoice(self.fits[-1].weights, self._policy_metadata()), RandomPolicy())
        return (RandomPolicy(),) if self.config.learner == "deep-q" else ()

    def _draw_plan(self, rng: np.random.Generator, runs: int, follows: bool) -> RolloutPlan:
        """A random plan of so many runs; those of deep-q never switch: they follow the policy, or chance."""
        plan = draw_plan(rng, runs, len(self.profiles), follows)
        if self.config.learner == "rollouts":
            return plan
        chance = -1.0 if not self.fits else np.where(rng.random(runs) < 0.5, -1.0, -2.0)
        return plan._replace(before=chance + np.zeros(runs), switch=np.full(runs, NEVER))

    def learn(self, plan: RolloutPlan, results: PlannedResults) -> None:
        """Add what the runs of a round tell to samples, and for deep-q to courses; the first sets the references."""
        number = self._number_problems()
        if self.config.reward == "score":
            reward = score_rewards(results.final, [self.problems[i] for i in number])
        else:
            reward = quantile_rewards(results.final, number, self.references)
        self.samples.append(
            WorthSamples(results.states.astype(float), plan.profile.astype(int), reward, self.family[number])
        )
        if self.config.learner == "deep-q":
            self.courses += [(course, taken, reward[rows]) for rows, course, taken in results.courses]

    def plan_fit(self) -> FitJob:
        """The fit of the next network to all samples and courses so far, of one round at least."""
        whole = WorthSamples(*(np.concatenate(parts) for parts in zip(*self.samples)))
        return FitJob(whole, self.courses, len(self.profiles), self.config.fit_settings)

    def keep(self, fit: WorthFit) -> None:
        """Add a fit, whose policy the next round follows, and report its quality in one line."""
        self.fits.append(fit)
        told = ", ".join(f"{k} {v:.4g}" for k, v in fit.quality.items())
        self.report(f"{self.config.name}, round {len(self.fits)}: {told}")

    def make_candidates(self) -> dict[str, ProfileChoice]:
        """The last network with every threshold, by name."""
        last, metadata = self.fits[-1].weights, self._policy_metadata()
        return {f"threshold {t:g}": ProfileChoice(with_threshold(last, t), metadata) for t in THRESHOLDS}

    def grow_tree(self, weights: Weights) -> FittedTree:
        """A tree for a network's values, of the states at the switches of the last round, or of all courses."""
        s = self.samples[-1].s
        if self.courses:
            s = np.concatenate([course.reshape(-1, course.shape[-1]) for course, _, _ in self.courses]).astype(float)
        return fit_tree(s, q_values(weights, s))

    def _policy_metadata(self) -> dict[str, Any]:
        """The entries of a policy's metadata without which it cannot act: features, controls, profiles."""
        return {"features": PROFILE_FEATURES, "controls": PROFILE_CONTROLS, "profiles": self.profiles}

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The entries that a policy file has of the policy and its training, by name; made once."""
        names = {"train": self.problems, "choose": self.choose_problems}
        return {
            **self._policy_metadata(),
            "decisions": PROFILE_DECISIONS,
            "families": {kind: sorted({p.family for p in problems}) for kind, problems in names.items()},
            "engine": engine_digest(),
            "seed": self.config.seed,
            "training": self.config.as_dict(),
            "suite": "generated",
            "dim": sorted({dim for dim, _ in read_layout(self.config.layout)}),
            "commit": source_commit(),
            "versions": {"meco": __version__, "python": platform.python_version(), "numpy": np.__version__},
        }


class ShareReport:
    """Reports how much of a part of a training is done, each tenth once."""

    def __init__(self, report: Report, part: str) -> None:
        self._report, self._part, self._told = report, part, 0

    def __call__(self, share: float) -> None:
        """Report a share, from 0 to 1, where it is in another tenth than the last."""
        tenth = int(10 * share)
        if tenth > self._told:
            self._told = tenth
            self._report(f"{self._part}: {share:.0%} of its evaluations")


def train_profiles(
    configs: Sequence[ProfileConfig],
    folder: Path,
    processes: int,
    stop: Callable[[], bool],
    report: Report,
    command: str | None,
) -> bool:
    """Train policies whose rollouts go in lockstep, and write each with its tree and log into the folder.

    Thresholds are chosen on the choose families alone. Rollouts go into the folder too, so that a training goes on
    where stop() ended it; then False. report gets lines of progress. Trainings share device, width, families, sizes
    and numbers of rounds and problems: those of the first count.
    """
    trainings, first = [ProfileTraining(config, report) for config in configs], configs[0]
    report(f"{len(trainings)} trainings, {len(trainings[0].problems)} problems to train on")
    waiting = DEVICE_PROCESSES if first.device != "cpu" and processes > 1 else 1
    with process_map(processes) as call, process_map(waiting) as device_call:
        share = call if waiting == 1 else map_by_place(call, device_call)
        if waiting > 1:
            device_call(start_first, trainings[0].list_first_starts())  # nobody waits for it: batches come after
        together = partial(
            run_together, folder=folder / "rollouts", call=share, stop=stop, device=first.device, width=first.width
        )
        for k in range(first.rounds):
            progress = ShareReport(report, f"round {k + 1} of {first.rounds}")
            if not _make_round(trainings, partial(together, progress=progress), call):
                return False
        comparison = _choose(trainings, folder, share, stop, ShareReport(report, "choice on the choose families"))
    if comparison is None:
        return False
    for training in trainings:
        write_policies(training, comparison, folder, command)
    return True


def _make_round(trainings: Sequence[ProfileTraining], together: Callable[..., Any], call: Map) -> bool:
    """Make one round of all trainings: run what they plan, equal runs once, learn, and fit; False where stopped.

    together(runs) gives the results of planned runs, call maps fits to processes.
    """
    planned = [training.plan_round() for training in trainings]
    digests = [digest_runs(runs) for runs in planned]
    distinct = dict(zip(digests, planned))
    results = together(list(distinct.values()))
    if results is None:
        return False
    found = dict(zip(distinct, results))
    for training, runs, digest in zip(trainings, planned, digests):
        training.learn(runs.plan, found[digest])
    jobs = [training.plan_fit() for training in trainings]
    # one training alone would leave all processes but one waiting: its parts are shared among them
    fits = [run_fit(jobs[0], call)] if len(jobs) == 1 else call(run_fit, jobs)
    for training, fit in zip(trainings, fits):
        training.keep(fit)
    return True


def _choose(
    trainings: Sequence[ProfileTraining], folder: Path, call: Map, stop: Callable[[], bool], progress: Progress
) -> ProfileComparison | None:
    """The comparison of all candidates with every profile of the whole dictionary, on the choose families of the first.

    None where stop() ended it; runs are stored in the folder.
    """
    first, c = trainings[0], trainings[0].config
    candidates = {
        f"{training.config.name}, {name}": policy
        for training in trainings
        for name, policy in training.make_candidates().items()
    }
    return compare_profiles(
        without_groups(()), candidates, first.choose_problems, c.judge_seeds, folder / "rollouts", call, stop, c.device,
        c.width, progress,
    )  # fmt: skip


def write_policies(training: ProfileTraining, comparison: ProfileComparison, folder: Path, command: str | None) -> None:
    """Write the candidate that is best on the choose families, its tree beside it, and the log; reports the scores."""
    candidates, report, name = training.make_candidates(), training.report, training.config.name
    mine = {way: score for way, score in comparison.scores.items() if "," not in way or way.startswith(f"{name}, ")}
    chosen = max(candidates, key=lambda each: mine[f"{name}, {each}"])
    for way, score in sorted(mine.items(), key=lambda pair: -pair[1]):
        lead, error = comparison.lead(way, "default").mean(), comparison.lead_error(way, "default")
        report(f"{score:.4f}  {way:<32} {lead:+.4f} +- {error:.4f} to the default")
    weights = candidates[chosen].weights
    tree = training.grow_tree(weights)
    words = describe_tree(tree, PROFILE_FEATURE_NAMES, list(training.profiles))
    report(f"a tree of depth three agrees in {tree.agreement:.0%} of decisions and loses {tree.loss:.4f}:")
    for line in words:
        report(line)
    lines: list[dict[str, Any]] = [{"training": training.config.as_dict(), "engine": engine_digest()}]
    lines += [{"round": k + 1} | fit.quality for k, fit in enumerate(training.fits)]
    lines.append({"choice": chosen, "choose": {way: round(score, 6) for way, score in mine.items()}})
    lines.append({"tree": words, "agreement": tree.agreement, "loss": tree.loss})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    write_bytes(folder / (name + LOG_SUFFIX), text)
    choice = {"candidate": chosen, "choose": mine[f"{name}, {chosen}"], "default": mine["default"]}
    told = {"choice": choice, "command": command, "log_digest": hashlib.sha256(text).hexdigest()}
    metadata = training.metadata | told
    save_policy(folder / (name + SUFFIX), weights, metadata | {"kind": "profiles"})
    as_tree = tree_weights(tree, len(PROFILE_FEATURE_NAMES), len(training.profiles))
    save_policy(folder / f"{name}-tree{SUFFIX}", as_tree, metadata | {"kind": "profile-tree", "tree": words})
    report(f"{name}{SUFFIX}: {chosen}, {choice['choose']:.4f} on the choose families")
