"""What a training is: one frozen record of settings, the paper's numbers its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from meco.errors import InvalidInput, UnknownName
from meco.mdp.network import OUTPUTS
from meco.mdp.reward import REWARDS
from meco.problems.suite import SUITES
from meco.rules.steered import DECODERS

INSTANCES = ("paper", "official", "random")


@dataclass(frozen=True)
class TrainingConfig:
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

    def __post_init__(self) -> None:
        known = _choice("suite", self.suite, SUITES)
        names = tuple(_choice("training problem", p, known) for p in self.problems) or tuple(known)
        object.__setattr__(self, "problems", names)
        for setting, choices in CHOICES.items():
            _choice(setting, getattr(self, setting), choices)
        for setting, least in LEAST.items():
            value = getattr(self, setting)
            if value is not None and not value >= least:
                raise InvalidInput(f"{setting} of a training must be at least {least}; got {value}")
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

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> TrainingConfig:
        """From settings by name, e.g. out of a JSON file; an unknown name is refused."""
        for setting in settings:
            if setting not in NAMES:
                raise UnknownName("training setting", setting, NAMES)
        made: dict[str, Any] = {k: tuple(v) if k == "problems" else v for k, v in settings.items()}
        try:
            return cls(**made)
        except TypeError as error:
            raise InvalidInput(f"a training setting has the wrong type: {error}") from error

    def changed(self, texts: Mapping[str, str]) -> TrainingConfig:
        """With settings given as text, as on a command line: {"memory": "512"}."""
        values = {}
        for setting, text in texts.items():
            if setting not in NAMES:
                raise UnknownName("training setting", setting, NAMES)
            values[setting] = _read(setting, text)
        return replace(self, **values)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; of() takes it back."""
        return {**asdict(self), "problems": list(self.problems)}

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


NAMES = tuple(f.name for f in fields(TrainingConfig))
CHOICES = {"instances": INSTANCES, "reward": REWARDS, "decoder": DECODERS, "q_output": OUTPUTS}
LEAST = {
    **dict.fromkeys(("epochs", "memory", "batch", "copy_every", "budget", "parallel_episodes"), 1),
    **dict.fromkeys(("lr_first", "lr_last", "weight_decay", "explore", "gamma", "seed"), 0),
    **{"dim": 1, "pop_size": 4},
}


def _choice(kind: str, name: Any, known: Any) -> Any:
    if name not in known:
        raise UnknownName(kind, name, known)
    return known[name] if kind == "suite" else name


def _read(setting: str, text: str) -> Any:
    """A value from text, by the type of the setting's default."""
    default = getattr(TrainingConfig, setting)
    if setting == "problems":
        return tuple(text.split(","))
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise InvalidInput(f"{setting} must be true or false; got {text!r}")
        return text.lower() == "true"
    kind = int if default is None or isinstance(default, int) else float
    try:
        return None if default is None and text.lower() == "none" else kind(text)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise InvalidInput(f"{setting} must be {wanted}; got {text!r}") from error
