"""Errors that name the thing, what was wanted, what came, and the way out."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType


class MecoError(Exception):
    """Base of every error the library raises on purpose."""


class InvalidInput(MecoError, ValueError):
    """An argument that cannot be used; the message says what would be."""


class UnknownName(MecoError, KeyError):
    """A name that no registry holds, with the nearest ones."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"no {kind} named {name!r}; {_hint(str(name), list(known))}")

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])


class MissingExtra(MecoError, ImportError):
    """An optional package is not installed."""


class MissingData(MecoError, FileNotFoundError):
    """Official benchmark tables are not on this machine."""

    def __str__(self) -> str:
        return str(self.args[0])


class DamagedFile(MecoError, ValueError):
    """A file is not what its name says."""


def _hint(name: str, known: list[str]) -> str:
    lowered = {k.lower(): k for k in known}
    near = get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    if near:
        return f"did you mean {lowered[near[0]]!r}?"
    shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return f"known are {shown}"


def load_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f'{purpose} needs {package}, which is not installed: pip install "meco-opt[{extra}]"'
        ) from error
