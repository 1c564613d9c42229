"""The search as a run uses it: one point at a time, answers in any order, points in the user's units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from meco.tr_single.answers import Answers
from meco.tr_single.search import TrustRegion


class Answer(Protocol):
    """One call's values: f, g <= 0 [p] and h = 0 [q], nan where unknown; not good if the call failed."""

    @property
    def f(self) -> float: ...
    @property
    def g(self) -> np.ndarray: ...
    @property
    def h(self) -> np.ndarray: ...
    @property
    def good(self) -> bool: ...


class SingleRun:
    """A deterministic function of the search, and of the order of the calls below.

    make() gives a new search; to_box and to_unit turn points [n, D] of the search into the user's and back. An
    iteration ends when all of its points are answered. An answer with constraints that none before had begins a new
    search, which knows all earlier points.
    """

    def __init__(
        self, make: Callable[[], TrustRegion], to_box: Callable[[np.ndarray], np.ndarray],
        to_unit: Callable[[np.ndarray], np.ndarray],
    ) -> None:  # fmt: skip
        self._make, self._to_box, self._to_unit = make, to_box, to_unit
        self.search = make()
        self._points = np.zeros((0, 0))  # of this iteration, in the user's units
        self._unit = np.zeros((0, 0))  # the same in search coordinates
        self._first, self._out = 0, 0  # number of its first point, and how many were asked for
        self._answers: dict[int, Answer] = {}
        self._told: list[tuple[np.ndarray, Answer]] = []  # all points in search coordinates, with their answers
        self._known: list[tuple[np.ndarray, Answer]] = []  # of other searches, not in the archive yet
        self._counts: tuple[int, int] | None = None

    def ask(self) -> np.ndarray | None:
        """The next point [D]; None if an answer is needed first."""
        if self._out == len(self._points):
            if len(self._answers) < self._out:
                return None
            self._end_iteration()
            self._first += self._out
            self._unit = self.search.ask()
            self._points, self._out, self._answers = self._to_box(self._unit), 0, {}
        self._out += 1
        return np.array(self._points[self._out - 1])

    def note(self, number: int, x: np.ndarray) -> None:
        """The point of this number is x [D], which may differ from the proposed one."""
        k = number - self._first
        if not np.array_equal(x, self._points[k]):
            self._points[k], self._unit[k] = x, self._to_unit(x[None])[0]

    def tell(self, number: int, x: np.ndarray, answer: Answer) -> None:
        """Keep the answer at the point x [D] of this number; the search learns it with the rest of the iteration."""
        self.note(number, x)
        self._answers[number - self._first] = answer

    def know(self, x: np.ndarray, answer: Answer) -> None:
        """Learn a point x [D] of another search before the next iteration."""
        self._known.append((self._to_unit(x[None])[0], answer))

    def set_budget(self, budget: int) -> None:
        """Go on with another number of calls in all."""
        self.search.budget = budget

    def facts(self) -> dict[str, Any]:
        """What is known of the search: whether it converged, radius and restarts."""
        if self._counts is None:
            return {"converged": False}
        region = self.search.region
        return {"converged": self.search.converged, "radius": region.radius, "restarts": region.restart}

    def _end_iteration(self) -> None:
        """Tell the search the answers of an iteration, and what other searches found."""
        new = [(self._unit[k], self._answers[k]) for k in range(self._out)]
        if not new:
            return
        counts = self._counts or (0, 0)
        for _, answer in (*new, *self._known):
            counts = max(counts[0], len(answer.g)), max(counts[1], len(answer.h))
        if self._counts is not None and counts != self._counts:
            budget, new = self.search.budget, [*self._told, *new]
            self.search, self._told = self._make(), []
            self.search.budget = budget
        self._counts = counts
        self.search.tell(*self._collect(new))
        self._told += new
        if self._known:
            self.search.know(*self._collect(self._known))
            self._told += self._known
            self._known = []

    def _collect(self, pairs: list[tuple[np.ndarray, Answer]]) -> tuple[np.ndarray, Answers]:
        """Points [k, D] and their answers, with nan for the constraints that an answer lacks."""
        assert self._counts is not None
        p, q = self._counts

        def padded(values: np.ndarray, size: int) -> np.ndarray:
            return np.concatenate([values, np.full(size - len(values), np.nan)])

        f, g, h = np.full(len(pairs), np.nan), np.full((len(pairs), p), np.nan), np.full((len(pairs), q), np.nan)
        for k, (_, answer) in enumerate(pairs):
            if answer.good:
                f[k], g[k], h[k] = answer.f, padded(answer.g, p), padded(answer.h, q)
        return np.array([x for x, _ in pairs]), Answers.of(f, g, h, self.search.task.tolerances(p, q))
