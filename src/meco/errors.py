"""Errors that name the thing, what was wanted, what came, and the way out."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from functools import wraps
from os.path import commonprefix
from types import FrameType, ModuleType
from typing import Any, Self, TypeVar

from meco.gone import VERSION, find_advice

T = TypeVar("T")


class MecoError(Exception):
    """Base of every error the library raises on purpose.

    command_line is the message in the words of the command line, "" where it is the same.
    """

    command_line: str = ""

    def on_command_line(self, text: str) -> Self:
        """This error itself, which from now on the command line tells in these words."""
        self.command_line = text
        return self


class InvalidInput(MecoError, ValueError):
    """An argument that cannot be used; the message says what would be."""


class UnknownOption(InvalidInput):
    """An option that a method does not have, whatever the problem."""


class UnknownName(MecoError, KeyError):
    """A name that no registry holds, with the nearest ones, or with what to use where it left."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind, self.name = kind, name
        advice = find_advice(kind, name)
        told = _suggest_names(str(name), list(known)) if advice is None else f"it left in {VERSION}: {advice}"
        super().__init__(f"no {kind} named {name!r}; {told}")

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])


class UnknownField(UnknownName, TypeError):
    """A keyword that a record of options does not have, with the nearest ones."""


def name_unknown_fields(record: type[T]) -> type[T]:
    """The same dataclass, changed so that a keyword which is no field is UnknownField when one is made.

    FIELD_ADVICE of the record says of a keyword what does its work there.
    """
    make, known = record.__init__, [*record.__dataclass_fields__]  # type: ignore[attr-defined]
    advice: Mapping[str, str] = getattr(record, "FIELD_ADVICE", {})

    @wraps(make)
    def check_and_make(self: T, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in known:
                error = UnknownField(f"field of {record.__name__}", name, known)
                if name in advice:
                    error.args = (f"{record.__name__} has no field {name!r}: {advice[name]}",)
                raise error
        make(self, *args, **kwargs)

    setattr(record, "__init__", check_and_make)  # noqa: B010 (a type checker knows the fields already)
    return record


class MissingExtra(MecoError, ImportError):
    """An optional package is not installed."""


class MissingData(MecoError, FileNotFoundError):
    """Official benchmark tables are not on this machine."""

    def __str__(self) -> str:
        return str(self.args[0])


class DamagedFile(MecoError, ValueError):
    """A file is not what its name says."""


class CannotWrite(MecoError, OSError):
    """A file could not be written: what was written before is intact; result holds what a run had found."""

    result: Any = None

    def __str__(self) -> str:
        return str(self.args[0])


LIKE_A_PART = 0.7  # likeness of a name to one that has it as a part


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one, None if none is like it; a common beginning settles ties.

    One that has this name as a part, as "SciPy-DE" has "SciPy", comes before those that are little like it, and one
    whose numbers have more zeros in front, as "C01" of "C1", before all others.
    """
    wanted = name.lower()

    def plain(text: str) -> str:
        return re.sub(r"0+(?=\d)", "", text)

    def likeness(candidate: str) -> tuple[float, int]:
        other = candidate.lower()
        part = LIKE_A_PART if wanted in re.split(r"[^a-z0-9]+", other) else 0.0
        same = 1.0 if plain(wanted) == plain(other) else 0.0
        return max(SequenceMatcher(None, wanted, other).ratio(), part, same), len(commonprefix([wanted, other]))

    best = max(known, key=likeness, default=None)
    return best if best is not None and likeness(best)[0] >= 0.5 else None


def _suggest_names(name: str, known: list[str]) -> str:
    """What to say of the known names, in a message: the nearest one, or the first dozen."""
    near = nearest_name(name, known)
    if near is not None:
        return f"did you mean {near!r}?"
    shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return f"known are {shown}"


def load_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional package; MissingExtra, which says which extra brings it, where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f'{purpose} needs {package}, which is not installed: pip install "meco-opt[{extra}]"'
        ) from error


def log_event(level: str, text: str, **facts: Any) -> None:
    """Tell the logger "meco", whose records have the facts as attributes; level is debug, info, warning or error.

    A program that never imported logging has nobody who listens, and does not pay for it.
    """
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return
    logger = logging.getLogger("meco")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # what nobody asked for is not printed
    number = getattr(logging, level.upper())
    if logger.isEnabledFor(number):
        logger.log(number, text, extra={f"meco_{name}": value for name, value in facts.items()})


def warn_user(text: str) -> None:
    """Warn at the line of the user's own code that led here, however deep in the package; the log is told too."""
    log_event("warning", text)
    level = 1
    frame: FrameType | None = sys._getframe()
    inner = ("meco", "contextlib", "numpy")  # decorators of these stand between our functions
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inner:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
