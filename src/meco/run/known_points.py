"""Points whose values were known before the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.box import candidate_keys
from meco.run.layout import PriorEvaluations


class KnownPoints:
    """Answers known points once, without a call.

    Asked for again, a known point is a point like any other, so a run that only proposes known points ends too.
    """

    remembers = ("untold",)

    def __init__(self) -> None:
        self._values: dict[bytes, list[tuple[Any, ...]]] = {}
        self._count = 0  # values that were not asked for yet

    def add(self, unit: np.ndarray, known: PriorEvaluations) -> None:
        """Know these points, which lie at unit [n, D] in the unit cube; a point may be known several times."""
        for i, row in enumerate(unit):
            self._values.setdefault(row.tobytes(), []).append((known.f[i], known.g[i], known.h[i]))
        self._count += len(unit)

    def pop_values(self, unit: np.ndarray, wanted: np.ndarray | None) -> dict[int, Any]:
        """Values of the candidates [1, n, D] that are known, by their index; each is given once, and then forgotten."""
        found: dict[int, Any] = {}
        if self._count:
            for i, key in enumerate(candidate_keys(unit)):
                if self._values.get(key) and (wanted is None or wanted[0, i]):
                    found[i] = self._values[key].pop(0)
            self._count -= len(found)
        return found

    def unknown(self, unit: np.ndarray) -> np.ndarray:
        """Indices [m] of the candidates [1, n, D] that would have to be called."""
        left = {key: len(values) for key, values in self._values.items()}
        known = []
        for key in candidate_keys(unit):
            known.append(left.get(key, 0) > 0)
            left[key] = left.get(key, 0) - 1
        return np.flatnonzero(~np.array(known, dtype=bool))

    @property
    def untold(self) -> np.ndarray:
        """How many values of each known point have not been asked for."""
        return np.array([len(values) for values in self._values.values()], dtype=np.int64)

    @untold.setter
    def untold(self, counts: np.ndarray) -> None:
        """Forget as many values of each point as were asked for by then; counts are what untold gave."""
        for values, count in zip(self._values.values(), counts.tolist()):
            del values[: max(0, len(values) - count)]
        self._count = sum(map(len, self._values.values()))
