"""Settings of a direct policy search: one frozen record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

from meco.errors import InvalidInput, UnknownName
from meco.mdp.model_search import UNITS, correcting_shape
from meco.mdp.network import NetworkShape
from meco.problems.generated import GENERATED

LEARNERS = ("search", "ddqn")


@dataclass(frozen=True)
class Settings:
    """Settings of a training on generated problems, which may be given as text."""

    least_one: ClassVar[tuple[str, ...]] = ()  # names of whole numbers above 0

    def __post_init__(self) -> None:
        for name in self.least_one:
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} of a policy search must be at least 1; got {getattr(self, name)}")
        for family in getattr(self, "families", ()):
            if family not in GENERATED:
                raise UnknownName("family of generated problems", family, GENERATED)

    def changed(self, texts: dict[str, str]) -> Self:
        """With settings given as text, as on a command line: {"pairs": "64", "dims": "2,5"}."""
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in texts:
            if name not in known:
                raise UnknownName("setting of a policy search", name, known)
        try:
            return replace(self, **{name: _read(known[name], text) for name, text in texts.items()})
        except ValueError as error:
            raise InvalidInput(f"a setting of the policy search cannot be read: {error}") from error

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


@dataclass(frozen=True)
class SearchConfig(Settings):
    """Settings of a direct policy search."""

    name: str = "meco-tr"
    learner: str = "search"  # or "ddqn": iterations are then rounds, and width their episodes
    hidden: int = UNITS
    sigma: float = 0.1  # of the weights' steps
    rate: float = 0.03  # first step size; falls to a tenth
    iterations: int = 150
    pairs: int = 320  # of each iteration
    width: int = 16  # pairs of one task; on an accelerator the more the better
    families: tuple[str, ...] = ()  # to train and to choose on; the sets' own unless given
    dims: tuple[int, ...] = (2, 5, 10, 20)
    per_variable: tuple[int, ...] = (50, 20, 100)  # evaluations, the most usual first; above 50 up to D = 10 only
    problems: int = 4  # of each train family, at each D and budget
    judges: int = 8  # of each choose family, at each D
    reference_seeds: int = 3
    judged_every: int = 15  # iterations
    seed: int = 1
    device: str = "cpu"

    least_one = ("hidden", "iterations", "pairs", "width", "problems", "judges", "reference_seeds", "judged_every")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learner not in LEARNERS:
            raise UnknownName("learner", self.learner, LEARNERS)
        if not (self.sigma > 0 and self.rate > 0):
            raise InvalidInput(f"sigma and rate must be above 0; got {self.sigma} and {self.rate}")

    @property
    def shape(self) -> NetworkShape:
        """Of the network: an output for each control."""
        return correcting_shape(self.hidden)


def _read(default: Any, text: str) -> Any:
    if isinstance(default, tuple):
        parts = tuple(part.strip() for part in text.split(","))
        return tuple(int(part) for part in parts) if default else parts
    return type(default)(text)
