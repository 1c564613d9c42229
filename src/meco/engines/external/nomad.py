"""NOMAD, mesh adaptive direct search, through its own Python package PyNomadBBO (LGPL), which nothing else needs."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from meco.core.engine import Task
from meco.engines.external.own_loop import EvaluatorCallbacks, LocalSearch
from meco.errors import InvalidInput, load_extra


@cache
def load_nomad() -> ModuleType:
    """PyNomad; MissingExtra, which says how to get it, where it is not installed."""
    return load_extra("PyNomad", "nomad", "NOMAD")


class Nomad(LocalSearch):
    """NOMAD 4 with its defaults: progressive barrier, quadratic models, from one point, again and again.

    An equality is the inequality |h| <= tolerance, since NOMAD has none. It works in the box's own units, where it
    scales its mesh by the bounds, and knows which variables are integers.
    """

    name = "NOMAD"

    def __init__(self, task: Task, parameters: tuple[str, ...] | list[str] = ()) -> None:
        """parameters are further lines as NOMAD reads them, such as "DIRECTION_TYPE ORTHO 2N". MissingExtra without."""
        if not all(isinstance(line, str) and re.match(r"[A-Z_]+ \S", line) for line in parameters):
            raise InvalidInput(f"parameters of NOMAD are texts, a name and its value; got {parameters!r:.80}")
        load_nomad()
        self.task, self.parameters = task, tuple(parameters)
        self.random = task.rng.generator(0)

    def _search_once(self, callbacks: EvaluatorCallbacks) -> None:
        """NOMAD from one point, until its mesh is as fine as it can be.

        What a call raises, BudgetSpent among it, is raised once NOMAD has ended.
        """
        ended: list[BaseException] = []  # what ends the search, which NOMAD must not see
        start = self._start_point(callbacks, own_units=True)

        def call(point: Any) -> int:
            x = np.array([point.get_coord(i) for i in range(point.size())])
            try:
                told = None if ended else self._outputs_at(callbacks, x)
            except BaseException as error:  # the budget, a stop, or the user's own: raised again outside
                ended.append(error)
                told = None
            if told is None:
                return 0
            point.setBBO(" ".join(repr(float(v)) for v in told).encode())
            return 1

        seed = int(self.random.integers(1, 2**30))
        load_nomad().setSeed(seed + 1)  # NOMAD passes over a seed that is the present one
        load_nomad().optimize(
            call,
            start.tolist(),
            self.ruler.low.tolist(),
            self.ruler.high.tolist(),
            self._make_parameters(callbacks, seed),
        )
        if ended:
            raise ended[0]

    def _outputs_at(self, callbacks: EvaluatorCallbacks, x: np.ndarray) -> np.ndarray | None:
        """f and every constraint as c <= 0 at x [D] of the box: [1 + p + q]; None where the evaluation failed."""
        ev = callbacks.evaluate(self.ruler.to_unit(x[None]))
        if ev.failed[0, 0]:
            return None
        c = np.concatenate([ev.g[0, 0], np.abs(ev.h[0, 0])]) - np.asarray(self.task.tolerance(ev))[0]
        return np.concatenate([ev.f[0], c])

    def _make_parameters(self, callbacks: EvaluatorCallbacks, seed: int) -> list[str]:
        """Lines for NOMAD: kinds of variables and outputs, evaluations left, a seed; neither display nor files."""
        integer = np.zeros((1, 1, self.task.dim)) if self.task.integer is None else np.asarray(self.task.integer)
        kinds = " ".join("I" if whole else "R" for whole in integer[0, 0])
        outputs = " ".join(["OBJ", *["PB"] * (self.task.n_ineq + self.task.n_eq)])
        return [
            f"BB_INPUT_TYPE ({kinds})",
            f"BB_OUTPUT_TYPE {outputs}",
            f"MAX_BB_EVAL {callbacks.evaluator.left + 1}",  # one more: the start is known already
            "DISPLAY_DEGREE 0",
            f"SEED {seed}",
            *self.parameters,
        ]
