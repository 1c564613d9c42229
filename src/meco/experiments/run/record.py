"""What is kept of a run: its best points under both metrics, and a curve of some hundred numbers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.errors import DamagedFile
from meco.problems.problem import Problem
from meco.results import RunResult

SAMPLES = 100  # most points of a curve
CURVES = ("nfev", "score", "f", "nu", "action", "eps")  # in this order, where a run has them
WIDE = 30  # designs with more variables are kept in single precision
LONGEST_CURVE = 1 << 20  # bytes, unpacked; ours have 3000


@dataclass(frozen=True)
class Record:
    """One run as the store keeps it. Everything but seconds depends on the run's name alone."""

    seed: int
    f: float  # feasibility first, over all evaluated points
    nu: float
    feasible: bool
    score: float  # least f + nu, over all evaluated points
    snapshot_f: float  # feasibility first, over surviving populations
    snapshot_nu: float
    snapshot_feasible: bool
    final_score: float  # least f + nu in the last population
    first_score: float  # least f + nu in the first population
    feasible_at: int | None  # evaluations until the first feasible point was seen
    nfev: int
    nfail: int
    notes: str
    x: bytes  # the design of f and nu
    curve: bytes
    seconds: float = 0.0  # of one core, its share of a lockstep group

    def order(self) -> tuple[bool, float]:
        """What sorts runs feasibility first: feasible ones by f, the others by nu."""
        return not self.feasible, self.f if self.feasible else self.nu

    @classmethod
    def of(cls, run: RunResult, problem: Problem, seconds: float) -> Record:
        """The record of a finished run."""
        trace = run.trace
        feasible = np.flatnonzero(trace["feasible"]) if "feasible" in trace else np.array([], dtype=int)
        kind = np.float32 if problem.dim > WIDE else np.float64
        return cls(
            run.seed, run.f, run.nu, run.feasible, run.score,
            run.snapshot_f, run.snapshot_nu, run.snapshot_feasible, run.final_score,
            float(trace["score"][0]) if "score" in trace else run.score,
            int(trace["nfev"][feasible[0]]) if feasible.size else None,
            run.nfev, run.nfail, "; ".join(run.notes),
            np.asarray(run.x, dtype=kind).astype(f"<{np.dtype(kind).str[1:]}").tobytes(),
            pack(sampled(trace, run.nfev)), seconds,
        )  # fmt: skip


def checked_record(seed: int, values: Mapping[str, Any], where: str) -> Record:
    """A record from the values of a store that others may have made, each of the kind that it must be."""
    kinds = {"feasible": int, "snapshot_feasible": int, "nfev": int, "nfail": int, "notes": str, "x": bytes}
    kinds |= {"curve": bytes, "feasible_at": int}
    made = dict(values)
    for name, value in values.items():
        kind = kinds.get(name, float)
        if value is None and name == "feasible_at":
            continue
        if kind is float:
            made[name] = value = float("nan") if value is None else value
        if not isinstance(value, (int, float) if kind is float else kind):
            raise DamagedFile(f"{where}: {name} must be {kind.__name__}; got {value!r:.40}")
    made |= {k: bool(made[k]) for k in ("feasible", "snapshot_feasible")}
    return Record(seed, **made)


def sampled(trace: Mapping[str, np.ndarray], spent: int) -> dict[str, np.ndarray]:
    """At most SAMPLES + 1 generations of a trace, evenly over the evaluations, the first and last included.

    Generations in which a run of a lockstep group evaluated nothing, waiting for its neighbours, are left out.
    """
    kept = {k: np.asarray(trace[k], dtype=np.float64) for k in CURVES if k in trace}
    if "nfev" not in kept:
        return {}
    if "eps" in kept and kept["eps"].ndim > 1:
        kept["eps"] = kept["eps"].max(axis=-1, initial=0.0)  # the widest allowance; padded constraints have the least
    moved = np.diff(kept["nfev"], prepend=-1.0) > 0
    kept = {k: v[moved] for k, v in kept.items()}
    rows = kept["nfev"].size
    if rows > SAMPLES:
        marks = np.arange(1, SAMPLES + 1) * spent / SAMPLES
        index = np.searchsorted(kept["nfev"], marks, side="right") - 1
        chosen = np.unique(np.clip(np.append(index, 0), 0, rows - 1))
        kept = {k: v[chosen] for k, v in kept.items()}
    return kept


def pack(curves: Mapping[str, np.ndarray]) -> bytes:
    """Curves of equal length as compressed single precision, bytes of equal weight side by side."""
    if not curves:
        return b""
    with np.errstate(over="ignore"):
        rows = [np.diff(v, prepend=0.0) if k == "nfev" else v for k, v in curves.items()]  # steps repeat, sums do not
        block = np.stack(rows).astype("<f4")
    planes = block.reshape(-1).view(np.uint8).reshape(-1, 4).T.tobytes()
    return zlib.compress(" ".join(curves).encode() + b"\n" + planes, 9)


def unpack(blob: bytes) -> dict[str, np.ndarray]:
    """Back from pack(); nothing where only the checkpoints of a curve were kept."""
    if not blob or blob.startswith(b"thin"):
        return {}
    try:
        names, _, planes = zlib.decompressobj().decompress(blob, LONGEST_CURVE).partition(b"\n")
        keys = names.decode().split()
        flat = np.frombuffer(planes, dtype=np.uint8).reshape(4, -1).T.copy().view("<f4").reshape(len(keys), -1)
        curves = dict(zip(keys, flat.astype(np.float64)))
        if not {"nfev", "score", "f", "nu"} <= set(curves):
            raise ValueError("it has other columns")
        return curves | {"nfev": np.cumsum(curves["nfev"])}
    except (zlib.error, ValueError) as error:
        raise DamagedFile(f"the curve of a run is damaged: {error}") from error


def design(blob: bytes, dim: int) -> np.ndarray:
    """The design of a run in double precision: [D]."""
    if len(blob) not in (8 * dim, 4 * dim):
        raise DamagedFile(f"the design of a run is damaged: {len(blob)} bytes for {dim} variables")
    return np.frombuffer(blob, dtype="<f8" if len(blob) == 8 * dim else "<f4").astype(np.float64)
