"""Headroom of the relaxation: what choosing it per problem could gain, measured before anything is learnt.

Options are constant actions, falling schedules and the static penalty. The best of each problem is chosen on some
seeds and judged on others, so that chance is not counted as gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from meco.batch_solve import solve
from meco.core.engine import Engine, Task
from meco.core.registry import LazyCallable
from meco.engines import ENGINES
from meco.method_record import MethodRecord
from meco.paper.action import ACTION_GRID
from meco.paper.reading import AS_PRINTED
from meco.problems.suite import CEC_NAMES, get_problem
from meco.rules.epsilon import ScheduledEpsilon
from meco.rules.penalty import StaticPenalty

FIRST_SEED = 42
QUICK_PROBLEMS = ("C01", "C04", "C12", "C14", "C22")
PENALTY = "static penalty"
RULES: dict[str, Any] = {
    **{f"constant {a:g}": ScheduledEpsilon(first=float(a), last=float(a)) for a in ACTION_GRID},
    **{f"from {a:g} to 0 at {u:g}": ScheduledEpsilon(first=a, until=u) for a in (0.8, 0.9, 1.0) for u in (0.5, 1.0)},
    PENALTY: StaticPenalty(),
}


class Headroom(NamedTuple):
    """Scores of options on the problems: [options, problems, runs], the first half of the runs to choose on."""

    engine: str
    dim: int
    options: tuple[str, ...]
    problems: tuple[str, ...]
    scores: np.ndarray

    @property
    def chosen_on(self) -> np.ndarray:
        """Mean logarithm of each option on the runs to choose on: [options, problems]."""
        return _mean_log(self.scores[..., : self.scores.shape[-1] // 2])

    @property
    def judged_on(self) -> np.ndarray:
        """The same on the other runs."""
        return _mean_log(self.scores[..., self.scores.shape[-1] // 2 :])

    def best_of_each_problem(self, among: Sequence[str]) -> float:
        """Mean of judged_on over problems, where each has the option that was best on the runs to choose on."""
        rows = [self.options.index(name) for name in among]
        best = np.array(rows)[self.chosen_on[rows].argmin(axis=0)]
        return float(self.judged_on[best, np.arange(len(self.problems))].mean())

    def identical(self) -> int:
        """On how many problems the constants 0 and 0.7 give the same runs to the last bit."""
        a, b = (self.scores[self.options.index(f"constant {v}")] for v in ("0", "0.7"))
        return int((a == b).all(axis=-1).sum())


def _mean_log(scores: np.ndarray) -> np.ndarray:
    """Mean over runs of sign(s) log10(1 + |s|), which takes negative values too."""
    return (np.sign(scores) * np.log10(1.0 + np.abs(scores))).mean(axis=-1)


def measure_headroom(
    engine: str, dim: int, runs: int = 10, problems: Sequence[str] | None = None, workers: int | None = None
) -> Headroom:
    """Run every option on CEC2017 at 50 D evaluations: twice `runs` seeds, half to choose on and half to judge on."""
    names = tuple(problems or CEC_NAMES)
    with ProcessPoolExecutor(workers) as pool:
        found = list(pool.map(_run_problem, [(engine, name, dim, runs) for name in names]))
    return Headroom(engine, dim, tuple(RULES), names, np.array(found).swapaxes(0, 1))


def _run_problem(job: tuple[str, str, int, int]) -> list[list[float]]:
    """Scores of all options on one problem: [options, runs]."""
    engine, name, dim, runs = job
    problem, seeds = get_problem(name, dim), range(FIRST_SEED, FIRST_SEED + 2 * runs)
    return [[r.score for r in solve(_make_method(engine, rule), problem, seeds=seeds)] for rule in RULES.values()]


def _make_method(engine: str, rule: Any) -> MethodRecord:
    """An engine with a rule, its guides ranked as the printed reading ranks them."""
    found = ENGINES[engine]
    make = found.load() if isinstance(found, LazyCallable) else found

    def build(task: Task) -> Engine:
        """The search of a task."""
        return make(task, rule=rule, **AS_PRINTED.engine_options(make))

    return MethodRecord(build, "an option of the headroom")


def format_headroom(found: Headroom) -> list[str]:
    """Lines: each option by its mean logarithm of f + nu on the runs to judge on, then the best of each problem."""
    mean = found.judged_on.mean(axis=1)
    constants = [name for name in found.options if name.startswith("constant")]
    relaxed = [name for name in found.options if name != PENALTY]
    lines = [
        f"{found.engine}, D = {found.dim}, {len(found.problems)} problems: mean log10(1 + |f + nu|), less is better"
    ]
    lines += [f"  {name:34s} {mean[k]:8.3f}" for k, name in enumerate(found.options)]
    for said, among in (
        ("best constant of each problem", constants), ("best option of each problem", relaxed),
        ("the same with the static penalty", found.options),
    ):  # fmt: skip
        lines.append(f"  {said:34s} {found.best_of_each_problem(among):8.3f}")
    lines.append(f"  constants 0 and 0.7 are one run to the last bit on {found.identical()} problems")
    return lines
