"""Between the box of the user's variables and the unit cube in which methods search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meco.core.box import Box
from meco.core.categories import Categories
from meco.variables import Variables

if TYPE_CHECKING:
    from meco.core.log_scale import LogScale
    from meco.run.request import Request


def make_box(request: Request) -> Box:
    """The box of a request, arrays [1, 1, D], without pinned points."""
    lower, upper = request.variables.lower, request.variables.upper
    integer = None if request.integer is None else np.reshape(request.integer, (1, 1, -1))
    scale, categories = _make_log_scale(request), find_categories(request.variables)
    return Box(lower[None, None], upper[None, None], integer, scale, range=request.range, categories=categories)


def find_categories(variables: Variables) -> Categories | None:
    """The variables that are categories, as engines see them; None without any."""
    columns = np.flatnonzero(variables.categorical)
    if not columns.size:
        return None
    return Categories(columns, variables.upper[columns].astype(int) + 1, variables.column("ordered")[columns])


def _make_log_scale(request: Request) -> LogScale | None:
    """The mapping of variables on a logarithmic scale; None without any."""
    if request.logarithmic is None:
        return None
    from meco.core.log_scale import LogScale

    return LogScale(request.logarithmic, request.variables.lower, request.variables.upper)
