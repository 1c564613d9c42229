"""How the files beside this one were made, by version 0.1.0: they are never made again, only read.

python make.py FOLDER, with version 0.1.0 on the path
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

import meco

HERE = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
BOX = [(-5.0, 5.0)] * 3


def named(x):
    """Two named inequalities, an equality, and a corner where nothing can be computed."""
    if x[1] > 4:
        raise ValueError("no mesh")
    return float(x @ x), {"reach": 1.0 - x[0], "height": x[1] - 3.0}, [x[0] - x[2]]


def plain(x):
    """No constraint at all."""
    return float(x @ x)


def broken_off(fun, after):
    """The same function until it has been called `after` times."""
    calls = []

    def breaks(x):
        calls.append(x)
        if len(calls) > after:
            raise KeyboardInterrupt
        return fun(x)

    breaks.__qualname__ = fun.__qualname__
    return breaks


RUNS = {
    "meco-finished": (named, None, {"method": "MeCO", "budget": 60, "seed": 1}),
    "meco-interrupted": (named, 41, {"method": "MeCO", "budget": 90, "seed": 2}),
    "shade-interrupted": (named, 33, {"method": "SHADE", "budget": 70, "seed": 3}),
    "shade-early": (named, 5, {"method": "SHADE", "budget": 70, "seed": 3}),
    "shade-plain": (plain, 40, {"method": "SHADE", "budget": 70, "seed": 4, "pop_size": 10}),
    "shade-target": (named, None, {"method": "SHADE-FR", "budget": 200, "seed": 5, "stop": "feasible", "eq_tol": 0.5}),
    "shade-workers": (named, None, {"method": "SHADE-FR", "budget": 60, "seed": 6, "workers": 2, "on_error": "retry"}),
    "cobyqa-interrupted": (named, 40, {"method": "COBYQA", "budget": 70, "seed": 7}),
    "cobyqa-finished": (named, None, {"method": "COBYQA", "budget": 70, "seed": 7}),
}


def make_runs():
    for name, (fun, after, options) in RUNS.items():
        used = fun if after is None else broken_off(fun, after)
        result = meco.minimize(used, BOX, checkpoint=HERE / name, **options)
        for left in ("lock", "times.bin"):
            (HERE / name / left).unlink()
        print(name, result.nfev, result.stop_reason)


def make_states():
    for name, method, steps in (("meco", "MeCO", 3), ("shade", "SHADE", 2), ("cma", "CMA-ES-native", 4)):
        search = meco.Optimizer(BOX, 2, 1, method=method, budget=90, seed=8)
        for _ in range(steps):
            x = search.ask()
            search.tell(x, *values(x))
        some = search.ask(5)
        search.tell(some[1:3], *values(some[1:3]))
        np.savez_compressed(HERE / f"state-{name}.npz", **search.state())
        while not search.done:
            x = search.pending if len(search.pending) else search.ask()
            search.tell(x, *values(x))
        np.save(HERE / f"state-{name}-points.npy", search.result.evaluations.x)


def values(x):
    return (x * x).sum(axis=-1), 1.0 - x[..., :2], x[..., :1] - x[..., 2:]


def make_wholes():
    """Points of the runs that were broken off, had they been left alone."""
    for name, (fun, after, options) in RUNS.items():
        if after is not None:
            np.save(HERE / f"{name}-points.npy", meco.minimize(fun, BOX, **options).evaluations.x)


if __name__ == "__main__":
    assert meco.__version__.startswith("0.1"), meco.__version__
    make_runs()
    make_wholes()
    make_states()
    from meco.mdp.library import policy_path

    shutil.copy(policy_path("meco-10d"), HERE / "policy.safetensors")
    print(json.loads((HERE / "meco-finished" / "run.json").read_text())["inputs"]["options"])
