"""Objectives that do whatever a simulation may do, drawn by a seed; a run on them must end well."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

import meco

METHODS = (
    "SHADE-FR", "SHADE", "SHADE-eps", "SHADE-BOC", "MeCO", "MeCO-rand", "MA-ES", "MDE-CGO", "C2oDE",
    "BP-epsMAg-ES", "TR", "TR", "TR",
)  # fmt: skip


class Odd:
    """Something that raises whatever is asked of it."""

    def __getattr__(self, name):
        raise RuntimeError("odd")

    def __repr__(self):
        raise SystemExit("odd")


class Own(Exception):
    def __str__(self):
        raise ValueError("no text either")


def raising(error):
    def fault(x):
        raise error

    return fault


FAULTS = {
    "raises": raising(ValueError("negative volume")),
    "raises without text": raising(Own()),
    "raises what is not UTF-8": raising(OSError("\udcff\udc80")),
    "exits": lambda x: sys.exit(3),
    "exhausts the stack": lambda x: FAULTS["exhausts the stack"](x),
    "no memory": raising(MemoryError()),
    "nothing": lambda x: None,
    "nan": lambda x: float("nan"),
    "infinite": lambda x: (float("inf"), [0.0, 0.0]),
    "nan constraint": lambda x: (1.0, [float("nan"), 0.0]),
    "huge": lambda x: (1e308, [1e308, -1e308]),
    "huge whole number": lambda x: (10**400, [0, 0]),
    "complex": lambda x: 1j * x[0],
    "text": lambda x: "mesh error",
    "text in constraints": lambda x: (1.0, ["a", "b"]),
    "table": lambda x: np.zeros((2, 3)),
    "other constraints": lambda x: (0.0, [-1.0, -1.0, -1.0]),
    "no constraints": lambda x: -1e9,
    "renamed constraints": lambda x: {"f": 0.0, "g": {"p": -1.0, "q": -1.0}},
    "odd object": lambda x: Odd(),
    "dict without f": lambda x: {"g": [0.0, 0.0]},
    "four parts": lambda x: (1.0, [0.0, 0.0], [], []),
    "empty array": lambda x: np.zeros(0),
    "object array": lambda x: np.array([None, "a"], dtype=object),
    "generator": lambda x: (v for v in x),
    "nested": lambda x: [[[[1.0]]]],
    "changes x": lambda x: (x.fill(99.0), 1.0)[1],
    "numpy raises": lambda x: np.linalg.inv(np.zeros((2, 2))),
    "warns": lambda x: (warnings.warn("odd", stacklevel=1), float("nan"))[1],
}
GOOD = (
    lambda f, g: (f, g),
    lambda f, g: (np.float32(f), np.array(g, dtype=np.float32)),
    lambda f, g: (np.array([[f]]), np.array([g])),
    lambda f, g: {"f": f, "g": {"left": g[0], "right": g[1]}},
    lambda f, g: (Fraction(f), [Decimal(repr(v)) for v in g]),
    lambda f, g: (f, np.array(g, dtype=object)),
)
IN_WORKERS = {
    "dies": lambda x: os._exit(7),
    "is killed": lambda x: os.kill(os.getpid(), signal.SIGKILL),
    "hangs": lambda x: time.sleep(600),
    "closes its files": lambda x: (os.closerange(3, 256), 1.0)[1],
}


class Hostile:
    """x.x with two constraints, in one of the forms; a share of the calls goes wrong."""

    def __init__(self, rng, kinds, share, form):
        self.kinds, self.share, self.form, self.seed = kinds, share, form, int(rng.integers(2**32))
        self.faults = {**FAULTS, **IN_WORKERS}

    def __call__(self, x):
        draw = np.random.default_rng([self.seed, *x.view(np.uint32)])
        f, g = float(x @ x), [float(1.0 - x[0]), float(x[1] - 2.0)]
        if draw.random() < self.share:
            return self.faults[self.kinds[int(draw.integers(len(self.kinds)))]](x)
        return self.form(f, g)


def attempt(seed, folder):
    """One run; what is wrong with how it ended, or nothing."""
    rng = np.random.default_rng([seed, 1])
    dim, how = (
        int(rng.integers(2, 7)),
        str(rng.choice(["here", "processes", "threads", "map"], p=[0.7, 0.14, 0.08, 0.08])),
    )
    how = "here" if how == "processes" and os.name != "posix" else how
    names = list(FAULTS) + (list(IN_WORKERS) if how == "processes" else [])
    kinds = names if rng.random() < 0.5 else [names[int(rng.integers(len(names)))]]
    share = float(rng.choice([0.02, 0.2, 0.5, 0.9, 1.0], p=[0.2, 0.3, 0.3, 0.15, 0.05]))
    method, budget = METHODS[int(rng.integers(len(METHODS)))], int(rng.integers(1, 41))
    if how == "processes":
        share, budget = min(share, 0.2), min(budget, 16)
    fun = Hostile(rng, kinds, share, GOOD[int(rng.integers(len(GOOD)))])
    options = {"bounds": [(-3.0, 4.0)] * dim, "method": method, "budget": budget, "seed": seed, **asked(rng, dim)}
    options |= {"on_error": ("penalize", "retry")[int(rng.integers(2))]}
    called = {"timeout": 0.5} if how == "processes" else {}
    called |= {"batch": 2} if how != "here" and "TR" in method else {}
    free = how in ("processes", "threads") and "TR" in method and rng.random() < 0.5
    called |= {"asynchronous": True} if free else {}
    options |= {"checkpoint": os.path.join(folder, "run")} if rng.random() < 0.3 else {}
    with warnings.catch_warnings(), ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("ignore")
        where = {"here": 1, "processes": 2, "threads": pool, "map": backwards}[how]
        said = outcome(fun, budget, options | {"workers": meco.Workers(where, **called)})
    return said and f"{said} ({method}, {kinds if len(kinds) == 1 else 'all kinds'}, share {share}, {how})"


def outcome(fun, budget, options):
    """What is wrong with how a run ended, or with how it went on, or nothing."""
    try:
        result = meco.minimize(fun, **options)
    except meco.errors.InvalidInput as error:  # known points are told with two constraints, and most answers may differ
        return "" if "evaluated has 2" in str(error) else f"refused: {error}"
    said = judged(result, budget)
    if said or "checkpoint" not in options:
        return said
    pool = options["workers"]
    alone = {"workers": replace(pool, n=1), "checkpoint": meco.Checkpoint(options["checkpoint"], resume=True)}
    again = meco.minimize(fun, **options | alone)
    count = len(result.evaluations) if pool.asynchronous else None  # what was outstanding may still be called
    same = all(
        np.array_equal(getattr(again.evaluations, k)[:count], getattr(result.evaluations, k), equal_nan=True)
        for k in ("x", "f", "g", "h", "failed")
    )
    return "" if same else "another result when resumed"


def asked(rng, dim):
    """What else may be asked of a run, a little of it."""
    known = np.round(rng.uniform(-3.0, 4.0, (3, dim)), 0)
    may = {
        "x0": np.round(rng.uniform(-3.0, 4.0, (2, dim))), "tolerances": meco.Tolerances(ineq=1e-3),
        "stop": [meco.Stop(target=0.5), "feasible", 30.0][int(rng.integers(3))], "callback": lambda result: result.fun,
        "bounds": [meco.Variable(-3.0, 4.0, integer=True), *[(-3.0, 4.0)] * (dim - 1)],
        "evaluated": (known, (known**2).sum(1), np.stack([1.0 - known[:, 0], known[:, 1] - 2.0], axis=1)),
    }  # fmt: skip
    return {key: value for key, value in may.items() if rng.random() < 0.15}


def backwards(call, jobs):
    """A map that answers in the order it likes."""
    return [call(job) for job in jobs][::-1]


def judged(result, budget):
    """What is wrong with a result, or nothing: budget, box, and a value that belongs to its point."""
    made = result.evaluations
    if result.nfev > budget:
        return f"{result.nfev} calls of {budget}"
    if not ((result.x >= -3).all() and (result.x <= 4).all()):
        return f"x = {result.x} outside the box"
    good = ~made.failed & np.isin(made.f, [1.0, 0.0, -1e9, 1e308], invert=True)
    true = np.array([float(x @ x) for x in made.x])
    if not np.allclose(made.f[good], true[good], rtol=1e-5):
        return "a value that belongs to another point"
    if made.g.shape[1] == 2 and not np.allclose(made.g[good][:, 0], 1.0 - made.x[good][:, 0], rtol=1e-4, atol=1e-5):
        return "a constraint that belongs to another point"
    if result.success and made.failed[made.leader]:
        return "success on a failed evaluation"
    return ""
