"""Names and what they stand for: collisions refused, the nearest name offered, plug-ins let in.

Whatever may be given by name or as an object is found here: a method, an engine, a rule.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from meco.errors import InvalidInput, UnknownName
from meco.files.modules import file_digest, load_file, names_a_file, split_file_name

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A mapping of exact names with aliases; unknown names raise with a hint.

    group names the entry points through which installed packages add to it; they are looked at when a name
    is not known, or all are listed. accept makes an item of what a plug-in, a file or a caller gives.

    Examples:
        >>> tools = Registry("tool", {"saw": 1}, aliases={"säge": "saw"})
        >>> tools["säge"]
        1
    """

    def __init__(
        self,
        kind: str,
        items: Mapping[str, T],
        aliases: Mapping[str, str] | None = None,
        *,
        group: str | None = None,
        accept: Callable[[Any], T] = lambda item: item,
    ) -> None:
        """Register these items; InvalidInput for a name or alias that comes twice."""
        self.kind, self.group, self.accept = kind, group, accept
        self._items: dict[str, T] = {}
        self._aliases = dict(aliases or {})
        self._guests: dict[str, T] = {}  # given as objects or files: found again by name, and not listed
        for name, item in items.items():
            self.add(name, item)

    def add(self, name: str, item: Any) -> None:
        """Register a new name and the aliases that the item has. Raises InvalidInput where one is taken."""
        accepted = self.accept(item)
        aliases = getattr(accepted, "aliases", ())
        for each in (name, *aliases):
            if each in self._items or each in self._aliases:
                raise InvalidInput(f"a {self.kind} named {each!r} is already registered; choose another name")
        self._items[name] = accepted
        self._aliases |= dict.fromkeys(aliases, name)

    def find(self, given: Any) -> T:
        """The item of a name or of "file.py:Name", or the given item itself; raises UnknownName."""
        return self[given] if isinstance(given, str) else self.accept(given)

    def resolve(self, given: Any) -> str:
        """The exact name behind a name, an alias, another capitalisation, "file.py:Name" or an object.

        Loads plug-ins before it raises UnknownName. An object or a file is from now on known by the name given
        here.
        """
        if not isinstance(given, str):
            return self._name_object(given)
        if given in self._items or given in self._guests:
            return given
        if names_a_file(given):
            return self._load_from_file(given)
        exact = self._find_ignoring_case(given)
        if exact is None and self._load_plugins():
            exact = self._find_ignoring_case(given)
        if exact is None:
            raise UnknownName(self.kind, given, self._items)
        return exact

    def _find_ignoring_case(self, name: str) -> str | None:
        """The exact name, whatever the capitalisation; None where there is none."""
        folded = {known.lower(): known for known in (*self._items, *self._guests, *self._aliases)}
        exact = self._aliases.get(name, folded.get(name.lower()))
        return None if exact is None else self._aliases.get(exact, exact)

    def _name_object(self, given: Any) -> str:
        """The name of an object; one that was not known is from now on found under the name it gets here."""
        item = self.accept(given)
        for name, known in (*self._items.items(), *self._guests.items()):
            if known == item:
                return name
        base = name_of_object(given)
        used = {*self._items, *self._guests}
        name = next(n for n in (base, *(f"{base}-{k}" for k in range(2, len(used) + 3))) if n not in used)
        self._guests[name] = item
        return name

    def _load_from_file(self, text: str) -> str:
        """Load the Name of "file.py:Name[@digest]": gives its exact name, with path and digest, known from now on.

        Raises InvalidInput where the file is not that of the digest, UnknownName where it has no such name.
        """
        path, rest = split_file_name(text)
        name, _, wanted = rest.partition("@")
        digest = file_digest(path)
        if wanted and wanted != digest:
            raise InvalidInput(f"{path} has changed since {name} was first taken from it; give the command again")
        exact = f"{Path(path).resolve()}:{name}@{digest}"
        if exact not in self._guests:
            module = load_file(path)
            if not hasattr(module, name):
                raise UnknownName(f"{self.kind} in {path}", name, [k for k in vars(module) if not k.startswith("_")])
            self._guests[exact] = self.accept(getattr(module, name))
        return exact

    def _load_plugins(self) -> bool:
        """Add the items of installed plug-ins, at the first call only; whether any were looked for.

        One that cannot be loaded is a warning.
        """
        group, self.group = self.group, None
        if group is None:
            return False
        from importlib.metadata import entry_points

        for point in entry_points(group=group):
            try:
                self.add(point.name, point.load())
            except (Exception, SystemExit) as error:  # a broken plug-in must not break the library
                source = f" of {point.dist.name}" if point.dist else ""
                warnings.warn(
                    f"the {self.kind} {point.name!r}{source} ({point.value}) cannot be used: "
                    f"{type(error).__name__}: {error}",
                    stacklevel=4,
                )
        return True

    def __getitem__(self, name: Any) -> T:
        exact = self.resolve(name)
        return self._items[exact] if exact in self._items else self._guests[exact]

    def __contains__(self, name: object) -> bool:
        """Whether resolve() knows it, which may load plug-ins and give an object a name."""
        try:
            return bool(self.resolve(name))
        except UnknownName:
            return False

    def __iter__(self) -> Iterator[str]:
        self._load_plugins()
        return iter(self._items)

    def __len__(self) -> int:
        self._load_plugins()
        return len(self._items)

    def __repr__(self) -> str:
        return f"<{len(self)} {self.kind}s: {', '.join(self)}>"


def name_of_object(given: Any) -> str:
    """What an object without an entry in a table is called: its own name, or that of what it wraps, or its class."""
    while not hasattr(given, "__name__"):
        if isinstance(given, LazyCallable):
            return given.place.rpartition(":")[2]
        inner = given.func if isinstance(given, partial) else getattr(given, "build", None)
        if inner is None:
            return type(given).__name__
        given = inner
    return str(given.__name__)


def short_name(name: str) -> str:
    """The name as a table shows it: without the folder and the digest of a file."""
    if not names_a_file(name):
        return name
    path, rest = split_file_name(name)
    return f"{Path(path).name}:{rest.partition('@')[0]}"


@dataclass(frozen=True)
class LazyCallable:
    """Something callable whose module is imported when it is first called."""

    place: str  # module:name, inside meco
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Any:
        """The object itself; imports its module, and raises what that raises."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(f"meco.{module}"), name)

    def __call__(self, *args: Any, **more: Any) -> Any:
        return self.load()(*args, **{**self.options, **more})


def lazy_callable(place: str, **options: Any) -> LazyCallable:
    """What is at a place, imported when called, with options: lazy_callable("engines.es.maes:MaEs", sigma=0.3)."""
    return LazyCallable(place, options)
