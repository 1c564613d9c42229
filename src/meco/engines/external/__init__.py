"""Other people's optimizers as engines.

Each wrapper maps the unit cube to what its library wants. Evaluations are counted by the
evaluator alone, and the answer is the best point evaluated, whatever the library returns.
Randomness comes from the run's own stream; no library touches the interpreter's global
random state or leaves warning filters behind.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import numpy as np

from meco.core.evaluation import Evaluation
from meco.errors import load_extra

MAX_MAGNITUDE = 1e100  # its square is still finite
FLAG_COLUMNS = 2  # the last columns of a packed evaluation: failed, feasible
FAILED_COLUMN = -2


@cache
def load_library(module: str, purpose: str) -> ModuleType:
    """Import a library of the extra "peers", else MissingExtra.

    The warning filters that it sets while loading do not stay.
    """
    with warnings.catch_warnings():
        return load_extra(module, "peers", purpose)


@contextmanager
def contain_warnings() -> Iterator[None]:
    """Inside the block warnings of libraries and of NumPy are silent; filters that are set there end with it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def pack_evaluation(ev: Evaluation) -> np.ndarray:
    """Evaluations [1, n] as one row of numbers per candidate: f, g, h, failed, feasible [n, 1 + p + q + 2]."""
    flags = np.stack([ev.failed[0], ev.feasible[0]], axis=1).astype(np.float64)
    return np.concatenate([ev.f[0][:, None], ev.g[0], ev.h[0], flags], axis=1)


def unpack_evaluation(told: np.ndarray, n_ineq: int) -> Evaluation:
    """The evaluations [1, n] that pack_evaluation() wrote as rows."""
    f, g, h, flags = np.split(told[None], [1, 1 + n_ineq, told.shape[1] - FLAG_COLUMNS], axis=-1)
    return Evaluation(f[..., 0], g, h, flags[..., 0] > 0, flags[..., 1] > 0)


class FailureCeiling:
    """Stand-in values for failed candidates: above everything seen in the run, column by column."""

    def __init__(self) -> None:
        self.top: np.ndarray | None = None  # [k], largest magnitude so far

    @property
    def stand_in(self) -> np.ndarray:
        """What takes the place of failed values, [k]; known from the first replace_failed() on."""
        assert self.top is not None
        return 2.0 * self.top + 1.0

    def replace_failed(self, values: np.ndarray, failed: np.ndarray) -> np.ndarray:
        """values [n, k] with stand_in in the rows that failed [n]; what is too large to square is cut.

        The ceiling rises to what these values reach. Where all failed so far, stand_in is 1.
        """
        values = np.clip(values, -MAX_MAGNITUDE, MAX_MAGNITUDE)
        seen = np.max(np.abs(values[~failed]), axis=0, initial=0.0)
        self.top = seen if self.top is None else np.maximum(self.top, seen)
        return np.where(failed[:, None], self.stand_in, values)
