"""What a run needs of a method: points one at a time, answers in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from meco.run.answer import Answer


@dataclass(frozen=True)
class Facts:
    """What a search knows of itself, for stop conditions, results and readers of a run's folder."""

    converged: bool = False  # at a feasible point, with nothing left to do there
    iterations: int = 0
    trace: Mapping[str, np.ndarray] = field(default_factory=dict)  # [iterations, ...] by name: "radius", "restarts", ..
    remarks: Sequence[str] = ()  # sentences for the notes of the result
    score: float = float("nan")  # least f + total violation of all evaluated points
    policy: Mapping[str, Any] = field(default_factory=dict)  # of a search that a policy controls


class Search(Protocol):
    """A method, as a run uses it. Points are those that the user's function gets: in its box, whole where integer.

    A search is a deterministic function of its inputs, its seed and the order of these calls. It never reads a clock.
    Numbers count the asks that gave a point, from 0; a repeated call of a failed point keeps the number of its ask.
    The constraints of an answer come in one order, with nan for what the function left out: see meco.run.layout.
    """

    def ask(self) -> np.ndarray | None:
        """The next point [D], which is then pending; None if an answer is needed first, or the method has ended."""
        ...

    def note(self, number: int, x: np.ndarray) -> None:
        """The pending point of this number is x [D].

        It follows every ask. x differs from the proposal only where a log of another machine is replayed.
        """
        ...

    def tell(self, number: int, x: np.ndarray, answer: Answer) -> None:
        """Learn from the answer to the pending point x [D] of this number; not answer.good: the call failed."""
        ...

    def know(self, x: np.ndarray, answer: Answer) -> None:
        """Learn from a point x [D] that another search evaluated; it may come before the first ask."""
        ...

    def set_budget(self, budget: int) -> None:
        """Go on with another number of calls in all."""
        ...

    def facts(self) -> Facts:
        """What is known of the search now."""
        ...
