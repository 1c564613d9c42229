"""Array libraries beside NumPy that formulas and engines run on unchanged, and what must agree there."""

from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

import meco


def libraries() -> list:
    """The strict one, and torch's where there is one."""
    found = [pytest.param(strict, id="array_api_strict")]
    try:
        import array_api_compat.torch as torch_xp
    except ImportError:
        missing = pytest.mark.skip(reason="TORCH MISSING: torch runs NOT tested")
        return [*found, pytest.param(None, id="torch", marks=missing)]
    return [*found, pytest.param(torch_xp, id="torch")]


every_library = pytest.mark.parametrize("xp", libraries())


def assert_formulas_agree(problem: meco.Problem, xp: Any, within: float) -> None:
    """A problem's values are NumPy's."""
    x = np.random.default_rng(1).uniform(problem.lower, problem.upper, (2, 3, problem.dim))
    for ours, theirs in zip(problem.raw(x), problem.raw(xp.asarray(x))):
        assert_allclose(np.asarray(theirs), ours, rtol=within, atol=within)


def assert_runs_agree(method: str, xp: Any, within: float, **options: Any) -> None:
    """Two runs end where NumPy's do."""
    ours, theirs = (meco.solve(method, meco.get_problem("corner", 4), seeds=[1, 2], xp=z, **options) for z in (np, xp))
    for a, b in zip(ours, theirs):
        assert_allclose(b.x, a.x, rtol=within, atol=within)
