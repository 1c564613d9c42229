"""Digests of searches: which points a method evaluates, in order, and what both metrics say of them.

`python tests/digests.py --check FILE` compares every method with a record of both doors, and `--record FILE` makes
one; method names after it choose some. Without options it records anew the shorter digests that `make test` compares
(tests/data/digests.json); do that only for a change of behaviour that CHANGELOG names.

Kernels and threads are pinned, as those of campaigns are, so that every x86 with this NumPy makes the same record.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from meco.core.platform import pin_platform

pin_platform()  # before NumPy is loaded

import numpy as np

import meco
from meco import Tolerances, Variables

RECORD = Path(__file__).parent / "data" / "digests.json"
PROBLEMS = {"C02": 10, "C05": 5, "RC19": None, "RC20": None, "UAV-03": None, "corner": 4}
SLOW = {"COBRA", "SACOBRA", "COBYQA", "BP-epsMAg-ES", "COBYLA"}
SEEDS = (1, 2)


def budget(method: str) -> int:
    """Evaluations of one run."""
    return 60 if method in SLOW else 240


def short_budget(method: str) -> int:
    """Evaluations of one run in `make test`: fewer for the TR family, which takes longest for each."""
    return 120 if meco.METHODS[method].family == "TR" else budget(method)


def watched(function: Callable[[np.ndarray], Any]) -> tuple[Callable[[np.ndarray], Any], Any]:
    """The function, and a hash of every point that it is called with."""
    seen = hashlib.sha256()

    def called(x: np.ndarray) -> Any:
        seen.update(np.ascontiguousarray(x).tobytes())
        return function(x)

    return called, seen


def solved(method: str, problem: str, evaluations: int) -> dict[str, Any]:
    """Digest of two runs of solve() in lockstep, or one after another where a method cannot."""
    given = meco.get_problem(problem, dim=PROBLEMS[problem])
    formula, seen = watched(given.formula)
    results = meco.solve(method, replace(given, formula=formula), evaluations, SEEDS)
    return {"points": seen.hexdigest()[:16], "metrics": [[r.f.hex(), r.nu.hex(), r.score.hex()] for r in results]}


def minimized(method: str, problem: str, evaluations: int) -> dict[str, Any]:
    """Digest of one run of minimize()."""
    given = meco.get_problem(problem, dim=PROBLEMS[problem])
    fun, seen = watched(given.raw)
    result = meco.minimize(
        fun,
        Variables.of(given.lower, given.upper, given.integrality),
        method=method,
        budget=evaluations,
        seed=SEEDS[0],
        tolerances=Tolerances(ineq=given.ineq_tol, eq=given.eq_tol),
    )
    return {"points": seen.hexdigest()[:16], "metrics": [[float(result.fun).hex(), float(result.maxcv).hex()]]}


DOORS = {"solve": solved, "minimize": minimized}


def fingerprint() -> str:
    """What this machine's arithmetic gives: digests of searches can only agree where this does."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((31, 31))
    parts = [a @ a.T, np.linalg.eigh(a @ a.T)[1], np.linalg.solve(a, a.T), np.exp(a), np.tan(a), np.log(np.abs(a))]
    return hashlib.sha256(b"".join(p.tobytes() for p in parts) + np.__version__.encode()).hexdigest()[:16]


def threaded_fingerprint() -> str:
    """What this machine's arithmetic gives for matrices that BLAS spreads over its threads, however many there are."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal((513, 513))
    parts = [a @ a.T, a @ a, np.linalg.solve(a, a[:, :7]), np.linalg.cholesky(a @ a.T + 513 * np.eye(513)), a.T @ a[0]]
    return hashlib.sha256(b"".join(p.tobytes() for p in parts)).hexdigest()[:16]


def same_arithmetic(kept: Mapping[str, Any]) -> bool:
    """Whether this machine computes as the one that made a record; older records say nothing of threads."""
    if kept["fingerprint"] != fingerprint():
        return False
    return "threaded_fingerprint" not in kept or kept["threaded_fingerprint"] == threaded_fingerprint()


def digests(door: str, method: str, evaluations: int, problems: Iterable[str] = PROBLEMS) -> dict[str, Any]:
    """The digests of a method through one door, by problem."""
    return {name: DOORS[door](method, name, evaluations) for name in problems}


def record(methods: Iterable[str], doors: Iterable[str], evaluations: Callable[[str], int]) -> dict[str, Any]:
    """Every digest of these methods."""
    made: dict[str, Any] = {"fingerprint": fingerprint(), "threaded_fingerprint": threaded_fingerprint()}
    made |= {door: {} for door in doors}
    for method in methods:
        for door in doors:
            made[door][method] = digests(door, method, evaluations(method))
        print(method, file=sys.stderr)
    return made


def differences(kept: dict[str, Any], methods: Iterable[str]) -> list[str]:
    """What a record of both doors and the searches of today do not agree on."""
    if not same_arithmetic(kept):
        return ["this machine's arithmetic, or its number of BLAS threads, differs from that of the record"]
    found = []
    for method in methods:
        for door in DOORS:
            made, was = digests(door, method, budget(method)), kept[door].get(method, {})
            found += [f"{door} {method} {name}" for name in PROBLEMS if made[name] != was.get(name)]
        print(method, file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", type=Path, metavar="FILE", help="compare both doors with a record")
    what.add_argument("--record", type=Path, metavar="FILE", help="record both doors")
    parser.add_argument("methods", nargs="*", help="all unless given")
    args = parser.parse_args()
    methods = args.methods or list(meco.METHODS)
    if args.check is not None:
        found = differences(json.loads(args.check.read_text()), methods)
        print("\n".join(found) or f"{len(methods)} methods evaluate the points of the record, through both doors")
        return 1 if found else 0
    if args.record is not None:
        args.record.write_text(json.dumps(record(methods, DOORS, budget), indent=1) + "\n")
        return 0
    made = record(methods, ("solve",), short_budget)
    kept = json.loads(RECORD.read_text()) if args.methods else made
    RECORD.write_text(json.dumps({**made, "solve": {**kept["solve"], **made["solve"]}}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
