"""Optuna's samplers, asked for one trial after another: TPE and Gaussian processes, both with constraints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.core.engine import Engine, Task
from meco.core.evaluation import Evaluation
from meco.core.rule import Population
from meco.engines.external import contain_warnings
from meco.errors import UnknownName, load_extra

SAMPLERS = {"tpe": "TPESampler", "gp": "GPSampler"}
MOST_REPEATS = 100  # trials at points that are known, before one of them is evaluated again
OVER = "over"  # the attribute of a trial that holds its constraints, c <= 0


@cache
def load_optuna() -> ModuleType:
    """Optuna; MissingExtra, which says how to get it, where it is not installed."""
    return load_extra("optuna", "optuna", "an Optuna method")


class OptunaSampler(Engine):
    """A study whose trials are the candidates; constraints are c = (g - tolerance, |h| - tolerance) <= 0.

    Variables are floats of the unit cube or integers of the box. A failed candidate is a pruned trial. A trial at a
    point that was evaluated before is told the known values and costs nothing.
    """

    study: Any  # Optuna's
    trial: Any  # the one that was asked for: ask() leaves it for tell()

    def __init__(self, task: Task, sampler: str = "tpe", startup: int = 10) -> None:
        """startup is how many trials are random at first. MissingExtra without Optuna, or without torch for "gp"."""
        if sampler not in SAMPLERS:
            raise UnknownName("sampler", sampler, SAMPLERS)
        optuna = load_optuna()
        if sampler == "gp":
            load_extra("torch", "train", "Optuna's Gaussian processes")
        self.task, self.random = task, task.rng.generator(0)
        self.known: dict[bytes, Evaluation] = {}  # one candidate each, by the bytes of its point
        low, high = (np.asarray(end)[0, 0] for end in (task.lower, task.upper))
        integer = np.zeros(task.dim, dtype=bool) if task.integer is None else np.asarray(task.integer)[0, 0]
        self.whole = {int(i): (int(np.ceil(low[i])), int(np.floor(high[i]))) for i in np.flatnonzero(integer)}
        self.low, self.width = low, np.where(high > low, high - low, 1.0)
        with self._silence_optuna():
            made = getattr(optuna.samplers, SAMPLERS[sampler])(
                seed=int(self.random.integers(2**31)),
                n_startup_trials=int(startup),
                constraints_func=lambda trial: trial.user_attrs[OVER],
            )
            self.study = optuna.create_study(sampler=made)
            for point in [] if task.x0 is None else np.asarray(task.x0):
                self.study.enqueue_trial(self._to_parameters(point))

    def ask(self) -> Array:
        """The point of the next trial: [1, 1, D]. Trials at known points are told their values on the way."""
        with self._silence_optuna():
            for _ in range(MOST_REPEATS):
                self.trial = self.study.ask()
                x = self._suggest_point()
                ev = self.known.get(x.tobytes())
                if ev is None:
                    break
                self._tell_trial(ev)
        return x[None, None]

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Finish the trial asked for last, and keep its values for later trials at the same point."""
        self.population = Population(x, ev)
        self.generation += 1
        self.known[np.ascontiguousarray(x[0, 0]).tobytes()] = ev
        with self._silence_optuna():
            self._tell_trial(ev)

    def _suggest_point(self) -> np.ndarray:
        """The point [D] of the trial in the unit cube; its parameters are asked for one by one."""
        x = np.empty(self.task.dim)
        for i in range(self.task.dim):
            if i in self.whole:
                x[i] = (self.trial.suggest_int(f"x{i}", *self.whole[i]) - self.low[i]) / self.width[i]
            else:
                x[i] = self.trial.suggest_float(f"x{i}", 0.0, 1.0)
        return x

    def _to_parameters(self, point: np.ndarray) -> dict[str, float | int]:
        """The parameters of a trial at a point [D] of the unit cube."""
        return {
            f"x{i}": int(np.clip(np.round(self.low[i] + u * self.width[i]), *self.whole[i]))
            if i in self.whole
            else float(u)
            for i, u in enumerate(point)
        }

    def _tell_trial(self, ev: Evaluation) -> None:
        """Tell the study the values [1, 1] of the trial asked for last; a failed one is pruned."""
        state = load_optuna().trial.TrialState
        failed = bool(ev.failed[0, 0])
        allowed = np.asarray(self.task.tolerance(ev))[0]
        over = np.concatenate([ev.g[0, 0], np.abs(ev.h[0, 0])]) - allowed
        self.trial.set_user_attr(OVER, [float("inf")] * over.size if failed else over.tolist())
        if failed:
            self.study.tell(self.trial, state=state.PRUNED)
        else:
            self.study.tell(self.trial, float(ev.f[0, 0]))

    @staticmethod
    @contextmanager
    def _silence_optuna() -> Iterator[None]:
        """Inside the block Optuna logs nothing and nothing warns, in the whole process."""
        logging = load_optuna().logging
        before = logging.get_verbosity()
        logging.set_verbosity(logging.CRITICAL)
        try:
            with contain_warnings():
                yield
        finally:
            logging.set_verbosity(before)
