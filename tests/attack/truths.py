"""How true it is, in numbers: `MECO_DATA=folder python tests/attack/truths.py`.

SHADE beside a slow reference written from the paper; CEC2017 and real-world problems beside the organisers' values;
missions beside their references. The tests hold the same to limits; this prints how close.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from meco_rwco import NAMES as REALWORLD

import meco
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.engines.de.shade import Shade
from meco.problems.cec2017.functions import NAMES as CEC
from meco.problems.uav.flight_model import MISSION_NAMES as MISSIONS
from meco.problems.uav.mission import load_mission
from meco.rules import BalancedPenalty, FeasibilityFirst, FixedEpsilon, ScheduledEpsilon, StaticPenalty

TESTS = Path(__file__).resolve().parent.parent
RULES = {
    "penalty": StaticPenalty(), "boc": BalancedPenalty(), "fr": FeasibilityFirst(), "eps": FixedEpsilon(),
    "eps-vector": FixedEpsilon(per_constraint=True), "schedule": ScheduledEpsilon(),
}  # fmt: skip


def shade(seeds=range(20), generations=50, size=12, dim=10):
    """Largest difference of populations, memories and archives, and how far the memories moved from 0.5 at least."""
    sys.path.insert(0, str(TESTS / "engines"))
    from reference_shade import SlowShade

    problem, most, moved = meco.get_problem("C18", dim), 0.0, np.inf
    SlowShade.n_ineq = problem.n_ineq
    for name, preset in ((name, preset) for name in RULES for preset in ("shade2013", "release")):
        evaluator = Evaluator.on(problem, 2500, len(seeds))
        engine = Shade(Task.of(evaluator, Streams(seeds)), rule=RULES[name], pop_size=size, preset=preset)
        given = (problem.raw, problem.lower, problem.upper)
        slow = [SlowShade(*given, seed, name, size, preset == "release") for seed in seeds]
        for generation in range(generations + 1):
            x = engine.ask()
            engine.tell(x, evaluator.evaluate(x))
            for b, run in enumerate(slow):
                if generation:
                    run.generation()
                pairs = [(engine.population.x[b], run.x), (engine.history.F[b], run.memory_f)]
                pairs += [(engine.history.CR[b], run.memory_cr)]
                pairs += [(engine.archive.x[b, : len(run.archive)], run.archive)] if run.archive else []
                most = max(most, *(float(np.abs(np.asarray(a) - np.asarray(c)).max()) for a, c in pairs))
        moved = min(moved, float(np.abs(engine.history.F - 0.5).max()), float(np.abs(engine.history.CR - 0.5).max()))
    runs = len(seeds) * len(RULES) * 2
    print(f"SHADE, {runs} runs of {generations} generations: differs by at most {most:.1e}; memories moved {moved:.2f}")


def error(ours, theirs):
    """Largest |ours - theirs| / max(1, |theirs|) where theirs is finite."""
    known = np.isfinite(theirs)
    return float((np.abs(ours[known] - theirs[known]) / np.maximum(1.0, np.abs(theirs[known]))).max(initial=0.0))


def compared(values, key, problem):
    f, g, h = problem.raw(values[f"{key}_x"])
    ours = {"f": f, "g": g, "h": h}
    return max(error(v, values[f"{key}_{k}"][..., : v.shape[-1]]) for k, v in ours.items() if v.size)


def benchmarks():
    """Largest relative errors beside the organisers' codes, and beside the missions' references."""
    folder = Path(os.environ.get("MECO_DATA", ""))
    if (folder / "cec2017c_golden.npz").is_file():
        cec, real = (dict(np.load(folder / name)) for name in ("cec2017c_golden.npz", "rwco_golden.npz"))
        found = {f"{n}_D{d}": (n, d) for n in CEC for d in (10, 30, 50, 100)}
        errors = {key: compared(cec, key, meco.get_problem(n, d, "official")) for key, (n, d) in found.items()}
        say("CEC2017, official", errors)
        keys = [(n, key) for n in REALWORLD for key in (n, f"{n}_edge") if f"{key}_x" in real]
        say("real-world", {key: compared(real, key, meco.get_problem(n)) for n, key in keys})
    else:
        print("OFFICIAL DATA MISSING: set MECO_DATA; nothing was compared with the organisers' codes")
    missions = {name: load_mission(name) for name in MISSIONS}
    best = {n: (m.problem().raw(m.known_x)[0], m.best_known) for n, m in missions.items()}
    say("UAV missions", {n: error(np.asarray(f), np.asarray(known)) for n, (f, known) in best.items()})


def say(title, errors):
    worst = max(errors, key=errors.get)
    print(f"{title}: {len(errors)} compared, relative error at most {errors[worst]:.1e} ({worst})")


if __name__ == "__main__":
    shade()
    benchmarks()
