"""Settings of a training as one frozen record, read from text or JSON and checked by one rule each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

from meco.errors import InvalidInput, UnknownName, load_extra


@dataclass(frozen=True)
class Settings:
    """Settings with defaults; a record of them says the least values and the words that it takes."""

    minimums: ClassVar[Mapping[str, float]] = {}
    choices: ClassVar[Mapping[str, Collection[str]]] = {}

    def __post_init__(self) -> None:
        for name, known in self.choices.items():
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), known)
        for name, least in self.minimums.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InvalidInput(f"{name} of a training must be at least {least}; got {value}")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """From settings by name, e.g. out of a JSON file; an unknown name is refused."""
        defaults = cls._defaults(settings)
        try:
            return cls(**{k: tuple(v) if isinstance(defaults[k], tuple) else v for k, v in settings.items()})
        except TypeError as error:
            raise InvalidInput(f"a training setting has the wrong type: {error}") from error

    def changed(self, texts: Mapping[str, str]) -> Self:
        """With settings given as text, as on a command line: {"memory": "512"}."""
        defaults = self._defaults(texts)
        return replace(self, **{name: _read(name, defaults[name], text) for name, text in texts.items()})

    def as_dict(self) -> dict[str, Any]:
        """For JSON; of() takes it back."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def _defaults(cls, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Every default by name, which tells the type of a setting; a name that does not exist is refused."""
        defaults = {f.name: f.default for f in fields(cls)}
        for name in asked:
            if name not in defaults:
                raise UnknownName("training setting", name, defaults)
        return defaults


def check_device(device: str) -> None:
    """Refuse a device that torch cannot use here."""
    torch = load_extra("torch", "train", "training")
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # torch built without a device asserts
        raise InvalidInput(f"torch cannot use the device {device!r} here; train on 'cpu' or on one it lists") from error


def _read(name: str, default: Any, text: str) -> Any:
    """A value from text, by the type of the setting's default; None stands for an optional whole number."""
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(","))
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise InvalidInput(f"{name} must be true or false; got {text!r}")
        return text.lower() == "true"
    kind = int if default is None or isinstance(default, int) else float
    try:
        return None if default is None and text.lower() == "none" else kind(text)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise InvalidInput(f"{name} must be {wanted}; got {text!r}") from error
