"""Digests of searches: which points a method evaluates, in order, and what both metrics say of them.

`python tests/digests.py` records them anew into tests/data/digests.json; do that only for a change of
behaviour that CHANGELOG names.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import meco

RECORD = Path(__file__).parent / "data" / "digests.json"
PROBLEMS = {"C02": 10, "C05": 5, "RC19": None, "RC20": None, "UAV-03": None, "corner": 4}
SLOW = {"COBRA", "SACOBRA", "COBYQA", "BP-epsMAg-ES"}
SEEDS = (1, 2)


def budget(method: str) -> int:
    """Evaluations of one run."""
    return 60 if method in SLOW else 240


def watched(function: Callable[[np.ndarray], Any]) -> tuple[Callable[[np.ndarray], Any], Any]:
    """The function, and a hash of every point that it is called with."""
    seen = hashlib.sha256()

    def called(x: np.ndarray) -> Any:
        seen.update(np.ascontiguousarray(x).tobytes())
        return function(x)

    return called, seen


def solved(method: str, problem: str) -> dict[str, str]:
    """Digest of two runs of solve() in lockstep, or one after another where a method cannot."""
    given = meco.get_problem(problem, dim=PROBLEMS[problem])
    formula, seen = watched(given.formula)
    results = meco.solve(method, replace(given, formula=formula), budget(method), SEEDS)
    return {"points": seen.hexdigest()[:16], "metrics": [[r.f.hex(), r.nu.hex(), r.score.hex()] for r in results]}


def minimized(method: str, problem: str) -> dict[str, str]:
    """Digest of one run of minimize()."""
    given = meco.get_problem(problem, dim=PROBLEMS[problem])
    fun, seen = watched(given.raw)
    box = np.stack([given.lower, given.upper], axis=1)
    result = meco.minimize(
        fun, box, method=method, budget=budget(method), seed=SEEDS[0], integrality=given.integrality,
        ineq_tol=given.ineq_tol, eq_tol=given.eq_tol,
    )  # fmt: skip
    return {"points": seen.hexdigest()[:16], "metrics": [[float(result.fun).hex(), float(result.maxcv).hex()]]}


def fingerprint() -> str:
    """What this machine's arithmetic gives: digests of searches can only agree where this does."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((31, 31))
    parts = [a @ a.T, np.linalg.eigh(a @ a.T)[1], np.linalg.solve(a, a.T), np.exp(a), np.tan(a), np.log(np.abs(a))]
    return hashlib.sha256(b"".join(p.tobytes() for p in parts) + np.__version__.encode()).hexdigest()[:16]


def record(methods: list[str]) -> dict[str, Any]:
    """Every digest of these methods."""
    made: dict[str, Any] = {"fingerprint": fingerprint(), "solve": {}, "minimize": {}}
    for method in methods:
        for door, run in (("solve", solved), ("minimize", minimized)):
            made[door][method] = {name: run(method, name) for name in PROBLEMS}
        print(method, file=sys.stderr)
    return made


if __name__ == "__main__":
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(record(list(meco.METHODS)), indent=1) + "\n")
