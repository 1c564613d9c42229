"""The official tables behind RC34-RC43 and RC51-RC57, read when a problem is first evaluated."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from meco.core.arrays import Array, Constants
from meco.problems.official_tables.load import TABLE_FILES, read, require

SUITE = "rwco"

Tables = dict[str, np.ndarray]


def from_tables(build: Callable[[Tables], Tables]) -> Callable[[Array], dict[str, Array]]:
    """Make a function of the official tables a look-up: x -> its results in x's library, on x's device."""

    @lru_cache(maxsize=2)
    def constants(path: Path) -> Constants:
        return Constants(**build(read(path, SUITE)))

    return lambda x: constants(require(TABLE_FILES[SUITE], SUITE)).on(x)
