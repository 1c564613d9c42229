"""Optimizer(asynchronous=True): a point for whoever is free, whatever is still outstanding."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from meco.blackbox.asktell import Optimizer
from meco.blackbox.free_running import FreeSearch, refuse_generations
from meco.blackbox.optimizer_state import seal
from meco.engines.model.free_running import Ticket
from meco.errors import DamagedFile, InvalidInput


class FreeOptimizer(Optimizer):
    """Ask and tell one point at a time, in any order. What it proposes depends on which answers it has."""

    asynchronous = True

    def _begin(self) -> None:
        refuse_generations(self.request.method)
        self.search = FreeSearch(self.request, self.log)
        self.evaluator, self.engine = self.search.evaluator, self.search.engine
        self._out = 0

    @property
    def done(self) -> bool:
        return self.search.left <= 0 and not self.search.tickets

    def _open(self) -> list[int]:
        return [i for i, number in enumerate(self._numbers) if number in self.search.tickets]

    @np.errstate(all="ignore")
    def ask(self, n: int | None = None) -> np.ndarray:
        """n points to evaluate [m, D], batch unless given; fewer where the budget ends."""
        if n is not None and int(n) < 0:
            raise InvalidInput(f"ask for 0 or more points; got {n}")
        count = self.request.options.get("batch", 1) if n is None else int(n)
        found = [given for _ in range(count) if (given := self.search.propose()) is not None]
        points = np.array([x for _, x in found]).reshape(-1, self.request.dim)
        self.nit, still = self.search.nit, self._open()
        self._points = np.concatenate([self._points[still], points])
        self._numbers = [*(self._numbers[i] for i in still), *(number for number, _ in found)]
        return points

    def _learn(self, numbers: list[int]) -> None:
        for number in numbers:
            self.search.hear(number)
        self.nit = self.search.nit

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later: the inputs, what was told in its order, and what is outstanding.

        The points that from_state() proposes are not those that this search would have proposed.
        """
        state, still = super().state(), self._open()
        order = np.array(list(self.log.entries), dtype=np.int64)
        numbers = np.array([self._numbers[i] for i in still], dtype=np.int64)
        state |= {"order": order, "open_x": self._points[still], "open_number": numbers}
        return state | {"sha256": seal(state)}

    def _take_over(self, state: Mapping[str, Any], out: int, number: np.ndarray, *values: np.ndarray) -> None:
        x, f, g, h = values
        try:
            order, numbers = (np.array(state[key], dtype=np.int64) for key in ("order", "open_number"))
            points = np.array(state["open_x"], dtype=np.float64).reshape(len(numbers), self.request.dim)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DamagedFile(f"the outstanding points are not there: {error!r}") from error
        every = {*number.tolist(), *numbers.tolist()}
        fits = sorted(order.tolist()) == number.tolist() and len(every) == len(number) + len(numbers)
        if not fits or min(every, default=0) < 0 or max(every, default=-1) >= self.request.budget:
            raise DamagedFile("its answers and outstanding points do not fit together")
        place = {n: k for k, n in enumerate(number.tolist())}
        told = [(n, place[n]) for n in order.tolist()]
        self.search.take([self._entry(n, x[k], (float(f[k]), g[k], h[k]), not np.isfinite(f[k]))[0] for n, k in told])
        self._points, self._numbers = points, numbers.tolist()
        self.log.planned = max(every, default=-1) + 1
        self.search.free = deque(n for n in range(self.log.planned) if n not in every)
        for n, unit in zip(self._numbers, self.evaluator.place(points)):
            self.search.tickets[n] = ticket = Ticket(unit)
            self.search.running.out.append(ticket)
