"""Curves at the checkpoints where a report compares them, rounded so that little room keeps them.

A number is kept as the logarithm of what it is above the end of its own run, in steps of 1/256 of
an octave: 0.14 % of the way still to go. The report reads every curve through this rounding, so
that a page is the same from the store and from the compact file.
"""

from __future__ import annotations

import numpy as np

from meco.errors import DamagedFile
from meco.experiments.run.record import Record, unpack

SHARES = np.concatenate([np.arange(1, 10), np.arange(10, 51, 2)]) / 50  # of the budget: closer at the start
POINTS = len(SHARES)
NAMES = ("score", "f", "nu")
STEPS, LEAST = 256, 100  # codes to an octave; 2 ** -LEAST is the least difference
INFINITE, MISSING = 65534, 65535
THIN = b"thin\n"  # how a curve begins of which only the checkpoints are kept


def checkpoints(record: Record, budget: int) -> dict[str, np.ndarray]:
    """score, f and nu of a run at every checkpoint: [T] each; nan before its first generation.

    f and nu are of the feasibility-first best: f is nan until a point is feasible, nu is 0 from then on.
    """
    return dict(zip(NAMES, decoded(codes(record, budget), _ends(record))))


def codes(record: Record, budget: int) -> np.ndarray:
    """What is kept of a run's curve: [3, T]; all MISSING for a run without one."""
    if record.curve.startswith(THIN):
        blob = record.curve[len(THIN) :]
        if len(blob) != 2 * len(NAMES) * POINTS:
            raise DamagedFile(f"the curve of a run is damaged: {len(blob)} bytes")
        return np.frombuffer(blob, dtype="<u2").reshape(len(NAMES), POINTS)
    values = _values(record, budget)
    with np.errstate(invalid="ignore", divide="ignore"):
        above = values - _ends(record)[:, None]
        steps = np.clip(np.round((np.log2(above) + LEAST) * STEPS) + 1, 1, INFINITE - 1)
        kept = np.where(above > 0, steps, 0)
    return np.where(np.isfinite(values), kept, np.where(np.isnan(values), MISSING, INFINITE)).astype("<u2")


def decoded(kept: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Codes [3, T] as numbers above the ends [3] that they come down to."""
    values = ends[:, None] + 2.0 ** ((kept - 1.0) / STEPS - LEAST) * (kept > 0)
    return np.where(kept == MISSING, np.nan, np.where(kept == INFINITE, np.inf, values))


def thin(kept: np.ndarray) -> bytes:
    """Codes as the curve of a record."""
    return THIN + kept.astype("<u2").tobytes()


def _ends(record: Record) -> np.ndarray:
    return np.array([record.score, record.f, 0.0])


def _values(record: Record, budget: int) -> np.ndarray:
    """The curve at the checkpoints, exact at its end: [3, T]."""
    curve = unpack(record.curve)
    if not curve:
        return np.full((len(NAMES), POINTS), np.nan)
    counts = SHARES * budget
    index = np.searchsorted(curve["nfev"], counts + 1e-6, side="right") - 1
    begun = index >= 0
    feasible = begun & (counts >= (np.inf if record.feasible_at is None else record.feasible_at))
    values = np.array([np.where(begun, curve[name][index], np.nan) for name in NAMES])
    values[:, -1] = np.where(begun[-1], [record.score, record.f, record.nu], np.nan)  # curves are in single precision
    values[1:] = np.where(feasible, [values[1], np.zeros(POINTS)], [np.full(POINTS, np.nan), values[2]])
    return values
