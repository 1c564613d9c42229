"""MeCO as an algorithm of pymoo: minimize(problem, MeCO(), ("n_eval", 500))."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.errors import InvalidInput, load_extra, warn_user
from meco.methods import DEFAULT
from meco.optimizer import Optimizer
from meco.options import Method, Tolerances, Workers
from meco.problems.pymoo_problem import (
    count_pymoo_choices,
    from_pymoo,
    from_pymoo_points,
    read_pymoo_bounds,
    to_pymoo_points,
)
from meco.variables import Variable, Variables

load_extra("pymoo", "peers", "meco.adapters.pymoo")
from pymoo.core.algorithm import Algorithm  # noqa: E402
from pymoo.core.population import Population  # noqa: E402
from pymoo.termination.default import DefaultTermination  # noqa: E402
from pymoo.util.display.single import SingleObjectiveOutput  # noqa: E402

__all__ = ["MeCO", "from_pymoo"]


class MeCO(Algorithm):
    """Any method of METHODS that can be asked, on any pymoo problem with one objective and a box.

    method       a name of METHODS
    budget       evaluations the search plans with; taken from a termination by ("n_eval", ...), else 50 D
    sampling     points to try first, [n, D] or a Population; those already evaluated are not evaluated again
    options      further ones of meco.Optimizer: policy, pop_size

    Constraints, equalities, whole-number variables and choices are taken from the problem; feasible means what pymoo
    means by it. The run ends with the termination or the budget, whichever comes first.
    """

    def __init__(
        self, method: str = DEFAULT, budget: int | None = None, sampling: Any = None, output: Any = None, **options: Any
    ) -> None:
        """The search itself is made in _setup(), when the problem is known."""
        known = {key: options.pop(key) for key in ("policy", "pop_size", "batch") if key in options}
        super().__init__(output=SingleObjectiveOutput() if output is None else output, **options)
        self.method, self.budget, self.sampling, self.search_options = method, budget, sampling, known
        self.search: Any = None
        self.asked: Any = None  # points of _infill(), whose values _advance() tells

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the search: pymoo copies an algorithm for its history, and reads populations there."""
        return vars(self) | {"search": None}

    def _setup(self, problem: Any, **kwargs: Any) -> None:
        """Make the search for a problem, within the termination's evaluations; InvalidInput for several objectives."""
        if problem.n_obj != 1:
            raise InvalidInput(f"{type(problem).__name__} has {problem.n_obj} objectives; MeCO minimises one")
        lower, upper, whole = read_pymoo_bounds(problem)
        planned = getattr(self.termination, "n_max_evals", None)
        budget = self.budget or (int(planned) if planned is not None and np.isfinite(planned) else None)
        x0, evaluated = _split_sampling(problem, self.sampling)
        tolerances = Population.new(X=np.zeros((1, 1)))[0].config
        batch = self.search_options.pop("batch", None)
        self.search = Optimizer(
            _make_variables(problem, Variables.of(lower, upper, whole)),
            problem.n_ieq_constr,
            problem.n_eq_constr,
            budget=budget,
            method=Method(self.method, **self.search_options),
            seed=self.seed,
            x0=x0,
            evaluated=evaluated,
            tolerances=Tolerances(tolerances["cv_ieq"]["eps"], tolerances["cv_eq"]["eps"]),
            workers=Workers(batch=batch),
        )

    def _initialize_infill(self) -> Population:
        """The first candidates; pymoo asks for them by another name."""
        return self._infill()

    def _infill(self) -> Population:
        """All candidates that can be evaluated now, side by side if the problem does so; empty where none is left."""
        self.asked = self.search.ask()
        return Population.new(X=to_pymoo_points(self.problem, self.asked))

    def _initialize_advance(self, infills: Any = None, **kwargs: Any) -> None:
        """Tell the values of the first candidates."""
        self._advance(infills)

    def _advance(self, infills: Any = None, **kwargs: Any) -> None:
        """Tell the values of the candidates; the population is then the best point and the latest ones."""
        f, g, h = infills.get("F", "G", "H")
        self.search.tell(self.asked, f[:, 0], g, h)
        usable = infills[np.isfinite(np.concatenate([f, g, h], axis=1)).all(axis=1)]  # nan would win in pymoo's order
        self.pop = infills if self.opt is None and not len(usable) else Population.merge(self.opt, usable)
        if self.search.done:
            self._warn_of_own_budget()
            self.termination.terminate()

    def _warn_of_own_budget(self) -> None:
        """Warn where the run ends by a budget that nobody gave, before the termination that somebody did."""
        given = self.budget is not None or getattr(self.termination, "n_max_evals", None) is not None
        if not given and not isinstance(self.termination, DefaultTermination):
            spent = self.search.request.budget
            warn_user(
                f"the run ends after {spent} evaluations, 50 for each variable, and before its termination: a search "
                f"plans with its evaluations, so give MeCO(budget={10 * spent}) or the termination ('n_eval', "
                f"{10 * spent})"
            )


def _make_variables(problem: Any, numbers: Variables) -> Variables:
    """The variables of a problem; those that are a Choice are categories."""
    choices = count_pymoo_choices(problem)
    return Variables(
        tuple(
            Variable(categories=[f"option {k}" for k in range(choices[i])]) if choices.get(i, 0) > 1 else variable
            for i, variable in enumerate(numbers.each)
        )
    )


def _split_sampling(problem: Any, sampling: Any) -> tuple[Any, Any]:
    """Points to try, and points known with their values (x, f, g, h); None where there are none of a kind."""
    if sampling is None or not isinstance(sampling, Population):
        return sampling, None
    x = from_pymoo_points(problem, [p.X for p in sampling])
    known = np.array(["F" in p.evaluated for p in sampling])
    f, g, h = sampling[known].get("F", "G", "H") if known.any() else (None,) * 3
    return None if known.all() else x[~known], None if f is None else (x[known], f[:, 0], g, h)
