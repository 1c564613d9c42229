"""What a training is: one frozen record of settings, the paper's numbers its defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meco.errors import InvalidInput, UnknownName
from meco.learn.paper.reward import REWARDS
from meco.learn.settings import Settings
from meco.policies.network import OUTPUTS
from meco.policies.paper.steered_rule import DECODERS
from meco.problems.suite import SUITES

INSTANCES = ("paper", "official", "random")


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """Settings of one policy's training (paper, Setup). No problems named: the whole suite."""

    name: str = "policy"
    suite: str = "cec2017"
    dim: int = 10
    problems: tuple[str, ...] = ()
    instances: str = "paper"  # "random": another shift and rotation in every episode
    epochs: int = 50  # one episode per training problem in each
    memory: int = 64
    batch: int = 8
    lr_first: float = 5e-3
    lr_last: float = 1e-4
    weight_decay: float = 0.01
    explore: float = 0.1
    copy_every: int = 10  # learning steps between copies into the target network
    gamma: float = 1.0
    reward: str = "full"
    decoder: str = "geometric"
    q_output: str = "linear"
    pop_size: int = 50
    budget: int | None = None  # evaluations of an episode; None is 50 D
    parallel_episodes: int = 1  # more than 1 is not the paper's training: episodes of one policy side by side
    seed: int = 1
    device: str = "cpu"
    compiled: bool = False  # formulas compiled for the device, which takes a minute and differs in the last bits

    choices: ClassVar = {
        "instances": INSTANCES,
        "reward": REWARDS,
        "decoder": DECODERS,
        "q_output": OUTPUTS,
        "suite": SUITES,
    }
    minimums: ClassVar = {
        **dict.fromkeys(("epochs", "memory", "batch", "copy_every", "budget", "parallel_episodes"), 1),
        **dict.fromkeys(("lr_first", "lr_last", "weight_decay", "explore", "gamma", "seed"), 0),
        **{"dim": 1, "pop_size": 4},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        known = SUITES[self.suite]
        for name in self.problems:
            if name not in known:
                raise UnknownName("training problem", name, known)
        names = tuple(self.problems) or tuple(known)
        object.__setattr__(self, "problems", names)
        if len(set(names)) < len(names):
            raise InvalidInput(f"each training problem counts once; got {', '.join(names)}")
        if self.batch > self.memory:
            raise InvalidInput(f"a batch of {self.batch} does not fit into a memory of {self.memory}")
        if self.compiled and self.device == "cpu":
            raise InvalidInput("formulas are compiled for a torch device; got device='cpu'")
        if self.episodes % self.parallel_episodes:
            raise InvalidInput(
                f"parallel_episodes must divide the {self.episodes} episodes of the training; "
                f"got {self.parallel_episodes}"
            )
        if self.steps < 1:
            raise InvalidInput(f"a budget of {self.evaluations} leaves no step after {self.pop_size} first candidates")

    @property
    def evaluations(self) -> int:
        """Evaluations of one episode."""
        return 50 * self.dim if self.budget is None else self.budget

    @property
    def steps(self) -> int:
        """Steps of one episode: generations after the first population, the last one perhaps cut."""
        return -(-self.evaluations // self.pop_size) - 1

    @property
    def episodes(self) -> int:
        """Episodes of the whole training."""
        return self.epochs * len(self.problems)

    @property
    def learning_steps(self) -> int:
        """Learning steps of the whole training: one per step, once the memory holds a batch."""
        side_by_side = self.parallel_episodes
        rounds = self.episodes // side_by_side * self.steps
        return max(1, side_by_side * (rounds - -(-self.batch // side_by_side) + 1))
