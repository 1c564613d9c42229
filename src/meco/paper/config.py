"""Settings of a training in four frozen records: problems, learner, episode, and all else. Defaults are the paper's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from meco.engines.de.shade import PRESETS as SHADE_PRESETS
from meco.errors import InvalidInput, UnknownName
from meco.files.modules import names_a_file
from meco.paper.action import DECODERS
from meco.paper.network import Q_OUTPUTS
from meco.paper.reading import AS_PRINTED, BEST, GUIDE_ORDERS
from meco.paper.reward import REWARDS
from meco.paper.settings import Settings
from meco.problems.suite import SUITES

INSTANCES = ("paper", "official", "random")
OWN = "own"  # in place of a suite, where all problems are of files


@dataclass(frozen=True)
class TaskSettings(Settings):
    """The problems to train on; all of the suite unless some are named, of it or of a file: "mine.py:name"."""

    suite: str = "cec2017"
    dim: int = 10
    problems: tuple[str, ...] = ()
    instances: str = "paper"  # "random": another shift and rotation in every episode

    choices: ClassVar = {"instances": INSTANCES, "suite": (*SUITES, OWN)}
    minimums: ClassVar = {"dim": 1}

    def __post_init__(self) -> None:
        """Refuse unknown problems and problems named twice; none named is all of the suite.

        Where all are of files, no suite takes part: it is called "own".
        """
        super().__post_init__()
        if isinstance(self.problems, str) or not all(isinstance(name, str) for name in self.problems):
            raise InvalidInput(
                f'problems of a training must be names, such as ("C01", "mine.py:name"); got {self.problems!r:.60}'
            )
        if self.problems and all(map(names_a_file, self.problems)):
            object.__setattr__(self, "suite", OWN)
        if self.suite == OWN and not self.problems:
            raise InvalidInput("problems of your own are named one by one: --problem file.py:name ...")
        known = SUITES.get(self.suite, ())
        for name in self.problems:
            if name not in known and not names_a_file(name):
                raise UnknownName("training problem", name, known)
        names = tuple(self.problems) or tuple(known)
        object.__setattr__(self, "problems", names)
        if len(set(names)) < len(names):
            raise InvalidInput(f"each training problem counts once; got {', '.join(names)}")

    @property
    def source(self) -> str:
        """Where the problems come from, in words: the suite, "own", or both."""
        mixed = self.suite != OWN and any(names_a_file(name) for name in self.problems)
        return f"{self.suite} and {OWN}" if mixed else self.suite


@dataclass(frozen=True)
class LearnerSettings(Settings):
    """Double DQN."""

    memory: int = 64  # transitions
    batch: int = 8
    lr_first: float = 5e-3  # learning rate, which falls linearly to lr_last
    lr_last: float = 1e-4
    weight_decay: float = 0.01
    explore: float = 0.1  # probability of a random action
    copy_every: int = 10  # learning steps between copies into the target network
    gamma: float = 1.0
    q_output: str = "linear"
    learn_from: int = 0  # transitions in memory from which on it learns; 0: a mini-batch
    lr_schedule: str = "linear"  # "cosine": along half a cosine, episode by episode
    max_norm: float = 0.0  # of the gradient of a policy; 0: any

    choices: ClassVar = {"q_output": Q_OUTPUTS, "lr_schedule": ("linear", "cosine")}
    minimums: ClassVar = {
        **dict.fromkeys(("memory", "batch", "copy_every"), 1),
        **dict.fromkeys(("lr_first", "lr_last", "weight_decay", "explore", "gamma", "max_norm", "learn_from"), 0),
    }

    def __post_init__(self) -> None:
        """Refuse what cannot be learned with, such as a batch larger than the memory."""
        super().__post_init__()
        if self.batch > self.memory:
            raise InvalidInput(f"a batch of {self.batch} does not fit into a memory of {self.memory}")
        if not self.batch <= self.least_memory <= self.memory:
            raise InvalidInput(
                f"learn_from must lie between the batch and the memory, {self.batch} and {self.memory}; "
                f"got {self.learn_from}"
            )

    @property
    def least_memory(self) -> int:
        """Transitions in memory from which on it learns."""
        return self.learn_from or self.batch


@dataclass(frozen=True)
class EpisodeSettings(Settings):
    """One episode: a run of SHADE whose relaxation the learner sets."""

    budget: int | None = None  # evaluations; None is 50 D
    pop_size: int = 50
    reward: str = "full"
    decoder: str = "geometric"
    best: str = AS_PRINTED.best  # whose objective f_best is, in state and reward
    guide_order: str = AS_PRINTED.guide_order  # how SHADE ranks the guides of its mutation
    shade: str = "shade2013"  # preset of SHADE
    f_star: str = "found"  # f~*: the best objective found in training so far, or "zero"

    choices: ClassVar = {
        "f_star": ("found", "zero"),
        "shade": SHADE_PRESETS,
        "reward": REWARDS,
        "decoder": DECODERS,
        "best": BEST,
        "guide_order": GUIDE_ORDERS,
    }
    minimums: ClassVar = {"budget": 1, "pop_size": 4}


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """One policy's training (paper, Setup)."""

    name: str = "policy"
    task: TaskSettings = field(default_factory=TaskSettings)
    epochs: int = 50  # one episode per training problem in each
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    episode: EpisodeSettings = field(default_factory=EpisodeSettings)
    parallel_episodes: int = 1  # more than 1 is not the paper's training: episodes of one policy side by side
    seed: int = 1

    minimums: ClassVar = {"epochs": 1, "parallel_episodes": 1, "seed": 0}

    def __post_init__(self) -> None:
        """Refuse settings that do not go together: a broken last round, a budget without a step."""
        super().__post_init__()
        if self.episodes % self.parallel_episodes:
            raise InvalidInput(
                f"parallel_episodes must divide the {self.episodes} episodes of the training; "
                f"got {self.parallel_episodes}"
            )
        if self.steps < 1:
            raise InvalidInput(
                f"a budget of {self.evaluations} leaves no step after {self.episode.pop_size} first candidates"
            )

    @property
    def evaluations(self) -> int:
        """Evaluations of one episode."""
        return 50 * self.task.dim if self.episode.budget is None else self.episode.budget

    @property
    def steps(self) -> int:
        """Steps of one episode: generations after the first population, the last one perhaps cut."""
        return -(-self.evaluations // self.episode.pop_size) - 1

    @property
    def episodes(self) -> int:
        """Episodes of the training."""
        return self.epochs * len(self.task.problems)

    @property
    def learning_steps(self) -> int:
        """Learning steps of the training: one per step, once the memory holds a batch."""
        parallel = self.parallel_episodes
        rounds = self.episodes // parallel * self.steps
        return max(1, parallel * (rounds - -(-self.learner.least_memory // parallel) + 1))
