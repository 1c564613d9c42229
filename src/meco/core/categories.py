"""Variables that are no plain numbers: categories as an engine sees them, and logarithms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Categories(NamedTuple):
    """K variables that are categories: their columns, how many values each has, and which are ordered; [K] each.

    They are whole numbers of the box whose differences mean nothing, or only an order. In the unit cube value v of k
    lies at v / (k - 1).
    """

    columns: np.ndarray
    counts: np.ndarray
    ordered: np.ndarray


class VariableKinds(NamedTuple):
    """Variables of a problem that are no plain numbers."""

    log: np.ndarray | None = None  # [D] bool, those that are searched by factors; None: there are none
    categories: Categories | None = None


PLAIN_NUMBERS = VariableKinds()
