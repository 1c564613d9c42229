"""Names and what they stand for: collisions refused, the nearest name offered."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from meco.errors import InvalidInput, UnknownName

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A mapping of exact names with aliases; unknown names raise with a hint.

    >>> tools = Registry("tool", {"saw": 1}, aliases={"säge": "saw"})
    >>> tools["säge"]
    1
    """

    def __init__(self, kind: str, items: Mapping[str, T], aliases: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}
        self._aliases = dict(aliases or {})
        for name, item in items.items():
            self.add(name, item)

    def add(self, name: str, item: T) -> None:
        """Register a new name."""
        if name in self._items or name in self._aliases:
            raise InvalidInput(f"a {self.kind} named {name!r} is already registered; choose another name")
        self._items[name] = item
        self._aliases |= dict.fromkeys(getattr(item, "aliases", ()), name)

    def resolve(self, name: str) -> str:
        """The exact name behind a name, an alias or another capitalisation."""
        if name in self._items:
            return name
        if name in self._aliases:
            return self._aliases[name]
        folded = {known.lower(): known for known in (*self._items, *self._aliases)}
        exact = folded.get(str(name).lower())
        if exact is None:
            raise UnknownName(self.kind, name, self._items)
        return self._aliases.get(exact, exact)

    def __getitem__(self, name: str) -> T:
        return self._items[self.resolve(name)]

    def __contains__(self, name: object) -> bool:
        try:
            return bool(self.resolve(name))  # type: ignore[arg-type]
        except UnknownName:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<{len(self)} {self.kind}s: {', '.join(self)}>"


@dataclass(frozen=True)
class Later:
    """Something callable whose module is imported when it is first called."""

    place: str  # module:name, inside meco
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Any:
        """What is at the place."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(f"meco.{module}"), name)

    def __call__(self, *args: Any, **more: Any) -> Any:
        return self.load()(*args, **{**self.options, **more})


def later(place: str, **options: Any) -> Later:
    """What is at a place, called with options of its own: later("engines.es.maes:MaEs", sigma=0.3)."""
    return Later(place, options)
