"""Functions of microseconds: whether the method takes longer than the function, and which method is made for that."""

from __future__ import annotations

from meco.methods import METHODS

QUICK_SECONDS = 1e-4  # a point: below it a method of models takes longer than the function
ENOUGH_CALLS = 2000  # points from which on it is worth a word
QUICK_METHOD = "SHADE-FR"


def advise(method: str, points: int, seconds: float) -> list[str]:
    """A sentence for who uses a method of models on a function of microseconds, of so many points in all.

    [] for others, and for few calls.
    """
    if points < ENOUGH_CALLS or METHODS[method].family not in ("TR", "model"):
        return []
    each = seconds / points
    if each >= QUICK_SECONDS:
        return []
    return [
        f"a point of fun takes {1e6 * each:.3g} microseconds, less than {method} takes to choose it: with a budget "
        f"ten times as large {QUICK_METHOD}, which is made for such functions, may find more"
    ]
