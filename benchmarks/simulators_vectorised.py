"""Vectorised functions: CPU time of 20,000 evaluations of a function of 10 microseconds, and what is found.

The default as it is asked now, in batches, beside a method that is made for such functions, SciPy's vectorised
differential evolution, and with --before SRC the default of another version of the library, whose package is there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import meco


def valley(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rosenbrock's valley under two constraints."""
    f = np.sum(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2, axis=1)
    return f, np.stack([x[:, 0] + x[:, 1] - 1.0, np.sum(x * x, axis=1) - 8], axis=1)


def waves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rastrigin's waves beside a line."""
    return np.sum(x * x - 10 * np.cos(2 * np.pi * x) + 10, axis=1), 1.0 - x[:, :1] - x[:, 1:2]


def scipy_de(fun: object, budget: int, seed: int) -> float:
    """differential_evolution, vectorised, with its constraints."""
    from scipy.optimize import NonlinearConstraint, differential_evolution

    def limits(x: np.ndarray) -> np.ndarray:
        values = fun(np.atleast_2d(x.T))[1]  # type: ignore[operator]
        return values.T if x.ndim > 1 else values[0]

    limit = NonlinearConstraint(limits, -np.inf, 0.0)
    size = 50
    result = differential_evolution(
        lambda x: fun(np.atleast_2d(x.T))[0],
        [(-3, 3)] * 10,
        constraints=limit,
        rng=seed,
        vectorized=True,
        polish=False,  # type: ignore[operator]
        updating="deferred",
        popsize=size // 10,
        maxiter=budget // size - 1,
        tol=0,
    )
    return float(result.fun) if result.success or result.constr_violation == 0 else np.inf


def run_meco(fun: object, budget: int, seed: int, method: str, batch: int | None) -> float:
    workers = meco.Workers(vectorized=True, batch=batch)
    result = meco.minimize(fun, [(-3, 3)] * 10, budget=budget, seed=seed, method=method, workers=workers)  # type: ignore[arg-type]
    return result.fun if result.feasible else np.inf


def run_before(fun: object, budget: int, seed: int, src: Path) -> tuple[float, float]:
    """f and CPU seconds of the default of another version, whose package is in src; in a process of its own."""
    name = fun.__name__  # type: ignore[attr-defined]
    said = subprocess.run(
        [sys.executable, "-c", BEFORE, str(Path(__file__).parent), name, str(budget), str(seed)],
        env=os.environ | {"PYTHONPATH": str(src)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    f, seconds = map(float, said.stdout.split())
    return f, seconds


BEFORE = """
import sys, time, warnings
import meco
sys.path.insert(0, sys.argv[1])
import simulators_vectorised
warnings.simplefilter("ignore")
fun = getattr(simulators_vectorised, sys.argv[2])
begun = time.process_time()
result = meco.minimize(fun, [(-3, 3)] * 10, budget=int(sys.argv[3]), seed=int(sys.argv[4]), vectorized=True)
print(result.fun if result.feasible else "inf", time.process_time() - begun)
"""


def with_time(way: object, fun: object, budget: int, seed: int) -> tuple[float, float]:
    """What a way finds, and CPU seconds."""
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = way(fun, budget, seed)  # type: ignore[operator]
    return found, time.process_time() - begun


WAYS = {
    "default, batches": lambda fun, n, seed: run_meco(fun, n, seed, "TR", None),
    "SHADE-FR": lambda fun, n, seed: run_meco(fun, n, seed, "SHADE-FR", None),
    "SciPy DE, vectorised": scipy_de,
}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=20_000)
    parser.add_argument("--before", type=Path, help="folder that holds the package of another version")
    args = parser.parse_args(words)
    ways = {name: partial(with_time, way) for name, way in WAYS.items()}
    if args.before is not None:
        ways["default before"] = partial(run_before, src=args.before)
    for fun in (valley, waves):
        print(f"\n{fun.__name__}: D = 10, {args.evaluations} evaluations")
        print(f"  {'way':<22} {'CPU s':>7} {'median f':>12}   f of each seed")
        for name, way in ways.items():
            runs = [way(fun, args.evaluations, seed) for seed in range(args.seeds)]
            found, spent = zip(*runs)
            each = " ".join(f"{f:.6g}" for f in found)
            print(f"  {name:<22} {np.median(spent):>7.1f} {np.median(found):>12.6g}   {each}", flush=True)


if __name__ == "__main__":
    main()
