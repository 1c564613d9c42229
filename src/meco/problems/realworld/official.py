"""The official tables behind RC34-RC43 and RC51-RC57, read when a problem is first evaluated."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from meco.arrays import Array, Constants
from meco.problems.tables import read, require

FILENAME = "rwco.npz"
HOW_TO = "meco data fetch rwco"

# key -> shape; the keys are the official file names without extension
SHAPES: dict[str, tuple[int, ...]] = {
    **{f"FunctionPS1_{part}": (30, 30) for part in "GB"},
    **{f"FunctionPS1_{part}": (30,) for part in "PQ"},
    **{f"FunctionPS2_{part}": (38, 38) for part in "GB"},
    **{f"FunctionPS2_{part}": (38, 6) for part in "PQ"},
    **{f"FunctionPS11_{part}": (30, 30) for part in "GB"},
    **{f"FunctionPS11_{part}": (30,) for part in "PQ"},
    "FunctionPS14_linedata": (37, 6),
    "FunctionRM_feed": (7, 59),
    "FunctionRM_dairy": (14, 64),
}

Tables = dict[str, np.ndarray]


def from_tables(build: Callable[[Tables], Tables]) -> Callable[[Array], dict[str, Array]]:
    """Make a function of the official tables a look-up: x -> its results in x's library, on x's device."""

    @lru_cache(maxsize=2)
    def constants(path: Path) -> Constants:
        return Constants(**build(read(path, HOW_TO, SHAPES)))

    return lambda x: constants(require(FILENAME, HOW_TO)).on(x)
