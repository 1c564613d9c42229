"""What is kept of a run: its best points under both metrics, its curve, and the actions of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.bench.run.curve import sample_curve
from meco.core.problem import Problem
from meco.errors import DamagedFile
from meco.result import Result

MOST_ACTIONS = 100  # generations whose actions are kept, besides the first
WIDE = 30  # designs with more variables are kept in single precision


@dataclass(frozen=True)
class RunRecord:
    """One run as the store keeps it. Within one version and platform all but seconds follows from the run's name.

    The fields after seed are the columns of a store, by name and in this order: another one is another
    result_store.FORMAT. Most also enter the digest of results (store_contents.NUMBERS).
    """

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
    curve: bytes  # at the checkpoints, see curve.py
    actions: bytes = b""  # of a policy, over the generations
    seconds: float = 0.0  # of one core, its share of a lockstep group
    platform: str = ""  # digest of the platform that made it, see core/platform.py; "": not recorded

    def sort_key(self) -> tuple[bool, float]:
        """What sorts runs feasibility first: feasible ones by f, the others by nu."""
        return not self.feasible, self.f if self.feasible else self.nu

    @classmethod
    def from_result(cls, run: Result, problem: Problem, budget: int, seconds: float, platform: str = "") -> RunRecord:
        """The record of a finished run by solve(), which took so many seconds; large designs in single precision."""
        trace, paper = run.trace, run.paper
        assert paper is not None, "runs on problems of suites have it"
        survivor = paper.snapshot
        feasible = np.flatnonzero(trace["feasible"]) if "feasible" in trace else np.array([], dtype=int)
        kind = np.float32 if problem.dim > WIDE else np.float64
        return cls(
            seed=run.run.seed,
            f=run.f,
            nu=run.nu,
            feasible=run.feasible,
            score=run.score,
            snapshot_f=survivor.f,
            snapshot_nu=survivor.nu,
            snapshot_feasible=survivor.feasible,
            final_score=paper.final_score,
            first_score=float(trace["score"][0]) if "score" in trace else run.score,
            feasible_at=int(trace["nfev"][feasible[0]]) if feasible.size else None,
            nfev=run.nfev,
            nfail=run.run.nfail,
            notes="; ".join(run.run.notes),
            x=np.asarray(run.x, dtype=kind).astype(f"<{np.dtype(kind).str[1:]}").tobytes(),
            curve=sample_curve(trace, (run.score, run.f, run.nu), budget),
            actions=sample_actions(trace, run.nfev),
            seconds=seconds,
            platform=platform,
        )


def check_record(seed: int, values: Mapping[str, Any], where: str) -> RunRecord:
    """A record from the values of a store that others may have made; DamagedFile for a value of another kind.

    None among numbers reads as nan, since SQLite has no nan.
    """
    kinds = {
        "feasible": int,
        "snapshot_feasible": int,
        "nfev": int,
        "nfail": int,
        "notes": str,
        "x": bytes,
        "platform": str,
    }
    kinds |= {"curve": bytes, "actions": bytes, "feasible_at": int}
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
    return RunRecord(seed, **made)


def sample_actions(trace: Mapping[str, np.ndarray], spent: int) -> bytes:
    """Evaluations and action of at most MOST_ACTIONS + 1 generations, evenly over the run, both ends included.

    Generations in which a run of a lockstep group evaluated nothing, waiting for its neighbours, are left out.
    """
    if not {"nfev", "action"} <= set(trace):
        return b""
    moved = np.diff(trace["nfev"], prepend=-1) > 0
    counts, actions = trace["nfev"][moved], trace["action"][moved]
    if counts.size > MOST_ACTIONS:
        marks = np.arange(1, MOST_ACTIONS + 1) * spent / MOST_ACTIONS
        index = np.searchsorted(counts, marks, side="right") - 1
        chosen = np.unique(np.clip(np.append(index, 0), 0, counts.size - 1))
        counts, actions = counts[chosen], actions[chosen]
    return np.stack([counts, actions]).astype("<f4").tobytes()


def read_actions(blob: bytes) -> np.ndarray:
    """Evaluations and actions: [2, G], G = 0 of an empty blob; a damaged one is an error."""
    if len(blob) % 8:
        raise DamagedFile(f"the actions of a run are damaged: {len(blob)} bytes")
    return np.frombuffer(blob, dtype="<f4").astype(np.float64).reshape(2, -1)


def read_design(blob: bytes, dim: int) -> np.ndarray:
    """The design of a run in double precision: [D]; DamagedFile where blob has not dim numbers."""
    if len(blob) not in (8 * dim, 4 * dim):
        raise DamagedFile(f"the design of a run is damaged: {len(blob)} bytes for {dim} variables")
    return np.frombuffer(blob, dtype="<f8" if len(blob) == 8 * dim else "<f4").astype(np.float64)
