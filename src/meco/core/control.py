"""What may be set from outside while a search runs: numbers with a name and a range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from meco.errors import InvalidInput


@dataclass(frozen=True)
class Control:
    """A number of each run that may be set by name while it goes on."""

    name: str
    low: float
    high: float
    default: float  # what holds until it is first set
    about: str = ""
    log: bool = False  # whether its values are spread evenly in their logarithm


def refuse_unknown(owner: object, offered: Sequence[Control], given: Iterable[str]) -> None:
    """Raise InvalidInput at the first given name that is not of an offered control; it names the owner's class."""
    known = [control.name for control in offered]
    wrong = [name for name in given if name not in known]
    if wrong:
        raise InvalidInput(
            f"{type(owner).__name__} has no control {wrong[0]!r}; it offers {', '.join(known) or 'none'}"
        )
