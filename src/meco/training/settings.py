"""Settings of a training on generated problems, which may be given as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

from meco.errors import InvalidInput, UnknownName
from meco.problems.generated import GENERATED


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
        """With settings given as text, as on a command line: {"runs": "64", "families": "bowl-linear"}."""
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


def _read(default: Any, text: str) -> Any:
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(","))
    return type(default)(text)
