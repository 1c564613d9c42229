"""Categories as an engine sees them: whole numbers of the box whose differences mean nothing, or only an order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Categories(NamedTuple):
    """K variables that are categories: their columns, how many values each has, and which are ordered; [K] each.

    In the unit cube value v of k lies at v / (k - 1).
    """

    columns: np.ndarray
    counts: np.ndarray
    ordered: np.ndarray
