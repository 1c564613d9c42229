"""The official tables behind RC34-RC43 and RC51-RC57, read when a problem is first evaluated."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from meco.core.arrays import Array, Constants
from meco.problems.official_tables.load import TABLE_FILES, read_tables, require_table_file

SUITE = "rwco"

Tables = dict[str, np.ndarray]


def look_up_tables(build: Callable[[Tables], Tables]) -> Callable[[Array], dict[str, Array]]:
    """A look-up x -> build(official tables) in x's library, on x's device; the file is read once, when first asked."""

    @lru_cache(maxsize=2)
    def constants(path: Path) -> Constants:
        return Constants(**build(read_tables(path, SUITE)))

    return lambda x: constants(require_table_file(TABLE_FILES[SUITE], SUITE)).on(x)
