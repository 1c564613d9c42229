"""What result.evaluations is: every call of a run as columns, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation


class BestPoint(NamedTuple):
    """The point that a run answers with, and its values; usable says whether they are numbers."""

    x: np.ndarray
    f: float
    g: np.ndarray
    h: np.ndarray
    feasible: bool
    usable: bool


@dataclass(frozen=True, eq=False, repr=False)
class Evaluations:
    """All evaluations as columns, in the order of the calls: x [n, D], f [n], g [n, p], h [n, q].

    failed marks calls without a usable answer; feasible those within the tolerances; known those
    that were known beforehand and cost nothing; attempt counts repeated calls of a point.
    """

    x: np.ndarray
    f: np.ndarray
    g: np.ndarray
    h: np.ndarray
    failed: np.ndarray
    feasible: np.ndarray
    known: np.ndarray
    attempt: np.ndarray
    fault: np.ndarray
    leader: int = -1  # the place of the best, feasibility first
    best: ClassVar[BestPoint | None] = None
    function: ClassVar[str | None] = None  # fingerprint of the function that was called

    @classmethod
    def deferred(
        cls, make_columns: Callable[[], Mapping[str, np.ndarray]], leader: int, best: BestPoint | None
    ) -> Evaluations:
        """Evaluations whose columns make_columns() gives by name when one is first read; the best is known before."""
        columns = object.__new__(cls)
        vars(columns).update(_make_columns=make_columns, leader=leader, best=best)
        return columns

    def mark_function(self, fingerprint: str | None) -> Evaluations:
        """This table, which from now on says which function was called."""
        vars(self)["function"] = fingerprint
        return self

    def __getattr__(self, name: str) -> Any:
        """A column that deferred() left to be made: all of them are made now."""
        if name not in self.__dataclass_fields__ or "_make_columns" not in vars(self):
            raise AttributeError(name)
        vars(self).update(self._make_columns())
        return vars(self)[name]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: every column, made if need be, and not the function that makes them."""
        return {name: getattr(self, name) for name in (*self.__dataclass_fields__, "best", "function")}

    def __len__(self) -> int:
        return len(self.f)

    def __repr__(self) -> str:
        """How many rows there are and what they hold, in a line; the columns are arrays of their own."""
        (n, p), q, dim = self.g.shape, self.h.shape[1], self.x.shape[1]
        kinds = ((self.known, "known before"), (self.failed, "failed"), (self.feasible, "feasible"))
        counts = [f"{int(mask.sum())} {word}" for mask, word in kinds if mask.any()]
        return (
            f"<{n} evaluation{'' if n == 1 else 's'}{''.join(f', {text}' for text in counts)}: "
            f"x [{n}, {dim}], f [{n}], g [{n}, {p}], h [{n}, {q}], failed, feasible, known, attempt, fault [{n}]>"
        )

    @property
    def told(self) -> np.ndarray:
        """Which of f, g and h each call told: [n, 1 + p + q]; nothing where it failed."""
        values = np.concatenate([self.f[:, None], self.g, self.h], axis=1)
        return np.isfinite(values) & (self.fault == 0)[:, None]

    @property
    def partial(self) -> np.ndarray:
        """Calls that told some values and not others, since a constraint was violated: [n]."""
        told = self.told
        return self.failed & told.any(axis=1) & ~told.all(axis=1)

    def with_answer(self, x: np.ndarray, f: float, g: np.ndarray, h: np.ndarray, *tolerances: Any) -> Evaluations:
        """Another table with one more call at x [D]; of other constraints than before it has failed."""
        fits = (g.size, h.size) == (self.g.shape[1], self.h.shape[1])
        g, h = (v if fits else np.full(w.shape[1], np.nan) for v, w in ((g, self.g), (h, self.h)))
        ev = Evaluation.of(np.array([[f if fits else np.nan]]), g[None, None], h[None, None], *tolerances)
        failed = bool(ev.failed[0, 0])
        row: dict[str, Any] = {
            "x": x, "f": f, "g": g, "h": h, "failed": failed, "feasible": bool(ev.feasible[0, 0]), "known": False,
            "attempt": 0, "fault": int(failed),
        }  # fmt: skip
        columns = {name: getattr(self, name) for name in row}
        made: dict[str, Any] = {
            name: np.concatenate([c, np.array([row[name]], dtype=c.dtype)]) for name, c in columns.items()
        }
        return Evaluations(**made)

    def to_evaluation(self, ineq_tol: Any = 0.0, eq_tol: Any = 1e-4) -> Evaluation:
        """The same values as the search sees them: an evaluation [1, n] under these tolerances."""
        return Evaluation.of(self.f[None], self.g[None], self.h[None], ineq_tol, eq_tol)
