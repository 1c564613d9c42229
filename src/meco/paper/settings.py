"""Settings of a training as small frozen records, read from text or JSON by flat names and checked by one rule each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

from meco.errors import InvalidInput, UnknownName


@dataclass(frozen=True)
class Settings:
    """Settings with defaults. A field may be a record of settings itself; by name its settings count as this one's.

    So {"memory": 512} changes learner.memory where `learner` is such a field.
    """

    minimums: ClassVar[Mapping[str, float]] = {}
    choices: ClassVar[Mapping[str, Collection[str]]] = {}

    def __post_init__(self) -> None:
        """Refuse values beyond the choices and below the minimums, nan among them."""
        for name, known in self.choices.items():
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), known)
        for name, least in self.minimums.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InvalidInput(f"{name} of a training must be at least {least}; got {value}")

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """From settings by name, e.g. out of a JSON file; others keep their defaults, an unknown name is refused."""
        check_names(settings, cls._defaults())
        try:
            values: dict[str, Any] = {}
            for name, default in cls._own_defaults().items():
                if isinstance(default, Settings):
                    values[name] = default.from_dict(default.select_known(settings))
                elif name in settings:
                    values[name] = tuple(settings[name]) if isinstance(default, tuple) else settings[name]
            return cls(**values)
        except TypeError as error:
            raise InvalidInput(f"a training setting has the wrong type: {error}") from error

    def with_settings(self, **changes: Any) -> Self:
        """A copy with other values of some settings, by name; an unknown one is refused."""
        check_names(changes, self._defaults())
        own = {name: value for name, value in changes.items() if name in self._own_defaults()}
        groups = {name: group for name, group in self._groups().items() if group.select_known(changes)}
        return replace(
            self, **own, **{name: replace(group, **group.select_known(changes)) for name, group in groups.items()}
        )

    def with_texts(self, texts: Mapping[str, str]) -> Self:
        """A copy with settings given as text, as on a command line: {"memory": "512"}; unreadable ones are refused."""
        defaults = self._defaults()
        check_names(texts, defaults)
        return self.with_settings(**{name: _read_setting(name, defaults[name], text) for name, text in texts.items()})

    def as_dict(self) -> dict[str, Any]:
        """All settings by name, for JSON; from_dict() takes it back."""
        found: dict[str, Any] = {}
        for name, value in asdict(self).items():
            found |= value if name in self._groups() else {name: value}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """The names of all settings, those of groups among them."""
        return tuple(cls._defaults())

    @classmethod
    def select_known(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the settings that this record or its groups have, by name; the others are left out."""
        known = cls._defaults()
        return {name: value for name, value in settings.items() if name in known}

    def _groups(self) -> dict[str, Settings]:
        """The fields that are records of settings."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, Settings)}

    @classmethod
    def _own_defaults(cls) -> dict[str, Any]:
        """The default of every field by name, records of settings as they are."""
        default = cls()
        return {f.name: getattr(default, f.name) for f in fields(cls)}

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The default of every setting by name, which tells its type."""
        found: dict[str, Any] = {}
        for name, value in cls._own_defaults().items():
            found |= value._own_defaults() if isinstance(value, Settings) else {name: value}
        return found


def check_names(settings: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """UnknownName at the first setting that is not among the known."""
    for name in settings:
        if name not in known:
            raise UnknownName("training setting", name, known)


def _read_setting(name: str, default: Any, text: str) -> Any:
    """A value from text, by the type of the setting's default; a default of None is an optional integer.

    A tuple is split at commas. What cannot be read is an error.
    """
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
        wanted = "an integer" if kind is int else "a number"
        raise InvalidInput(f"{name} must be {wanted}; got {text!r}") from error
