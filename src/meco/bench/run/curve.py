"""The course of a run at the checkpoints where a report compares methods: score, f and nu, [3, T].

What is kept of score and f is how far they are above the end of their own run, and of every number its logarithm to
1/256 of an octave: 0.14 % of the way still to go. So few numbers occur, often, and many curves take little room.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from meco.errors import DamagedFile

CURVE_SHARES = np.concatenate([np.arange(1, 10), np.arange(10, 51, 2)]) / 50  # of the budget: closer at the start
CURVE_POINTS = len(CURVE_SHARES)
CURVE_NAMES = ("score", "f", "nu")  # in the order of a stored curve
STEPS = 256  # to an octave


def sample_curve(trace: Mapping[str, np.ndarray], ends: tuple[float, float, float], budget: int) -> bytes:
    """The curve of a finished run that ended with these score, f and nu; nothing for a run without a trace.

    Values are nan before the first generation. f and nu are of the feasibility-first best: f is nan until a
    point is feasible, nu is 0 from then on.
    """
    if not {"nfev", "feasible", *CURVE_NAMES} <= set(trace):
        return b""
    counts = CURVE_SHARES * budget
    index = np.searchsorted(trace["nfev"], counts + 1e-6, side="right") - 1
    begun = index >= 0
    feasible = begun & np.asarray(trace["feasible"], dtype=bool)[index]
    values = np.array([np.where(begun, trace[name][index], np.nan) for name in CURVE_NAMES], dtype=np.float64)
    values[:, -1] = np.where(begun[-1], ends, np.nan)
    values[1:] = np.where(feasible, [values[1], np.zeros(CURVE_POINTS)], [np.full(CURVE_POINTS, np.nan), values[2]])
    with np.errstate(invalid="ignore", divide="ignore"):
        above = values - _curve_floor(*ends[:2])
        rounded = np.where(above > 0, 2.0 ** (np.round(np.log2(above) * STEPS) / STEPS), 0.0)
    return np.where(np.isfinite(values), rounded, values).astype("<f8").tobytes()


def read_curve(blob: bytes, score: float, f: float) -> dict[str, np.ndarray]:
    """score, f and nu of a run that ended with this score and f, at every checkpoint: [T]; nan where blob is empty.

    A blob of another length is an error.
    """
    if len(blob) not in (0, 8 * len(CURVE_NAMES) * CURVE_POINTS):
        raise DamagedFile(f"the curve of a run is damaged: {len(blob)} bytes")
    above = np.frombuffer(blob, dtype="<f8") if blob else np.full(len(CURVE_NAMES) * CURVE_POINTS, np.nan)
    return dict(zip(CURVE_NAMES, above.reshape(len(CURVE_NAMES), CURVE_POINTS) + _curve_floor(score, f)))


def _curve_floor(score: float, f: float) -> np.ndarray:
    """What the numbers of a curve are kept above: [3, 1]."""
    return np.array([[score], [f], [0.0]])
