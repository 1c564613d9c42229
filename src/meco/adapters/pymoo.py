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
from pymoo.core.individual import default_config  # noqa: E402
from pymoo.core.population import Population  # noqa: E402
from pymoo.core.termination import NoTermination  # noqa: E402
from pymoo.termination.default import DefaultTermination  # noqa: E402
from pymoo.termination.max_gen import MaximumGenerationTermination  # noqa: E402
from pymoo.util.display.single import SingleObjectiveOutput  # noqa: E402

__all__ = ["MeCO", "from_pymoo"]


class Answers(list[tuple[np.ndarray, np.ndarray, np.ndarray]]):
    """Values (f, g, h) of each generation. Copies share the arrays, which never change."""

    def __deepcopy__(self, memo: Any) -> Answers:
        return Answers(self)


class MeCO(Algorithm):
    """Any method of METHODS that can be asked, on any pymoo problem with one objective and a box.

    method       a name of METHODS
    budget       evaluations the search plans with; taken from a termination by ("n_eval", ...), else 50 D
    sampling     points to try first, [n, D] or a Population; those already evaluated are not evaluated again
    options      further ones of meco.Optimizer: policy, pop_size

    Constraints, equalities, whole-number variables and choices are taken from the problem; feasible means what pymoo
    means by it. The run ends with the termination or the budget, whichever comes first; without a termination, with
    the budget. Points with values that are not finite count as infinitely infeasible. Copies and pickles continue the
    search.
    """

    def __init__(
        self, method: str = DEFAULT, budget: int | None = None, sampling: Any = None, output: Any = None, **options: Any
    ) -> None:
        """The search itself is made in _setup(), when the problem is known."""
        known = {key: options.pop(key) for key in ("policy", "pop_size", "batch") if key in options}
        super().__init__(output=SingleObjectiveOutput() if output is None else output, **options)
        self.method, self.budget, self.sampling, self.search_options = method, budget, sampling, known
        self.asked: Any = None  # points of _infill(), whose values _advance() tells
        self._search: Optimizer | None = None
        self._inputs: dict[str, Any] | None = None  # of the search, seed and budget included
        self._answers = Answers()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the search, which a copy makes again from its inputs and answers when it is needed."""
        return vars(self) | {"_search": None}

    @property
    def search(self) -> Any:
        """The meco.Optimizer of the run; None before setup()."""
        if self._search is None and self._inputs is not None:
            self._search = search = Optimizer(**self._inputs)
            for f, g, h in self._answers:
                search.tell(search.ask(), f, g, h)
            if self.asked is not None:
                self.asked = search.ask()
        return self._search

    def setup(self, problem: Any, **kwargs: Any) -> Any:
        """Prepare for a problem, as pymoo does; without a termination the budget alone ends the run.

        pymoo's default termination counts generations, which are single points here.
        """
        if kwargs.get("termination", self.termination) is None:
            kwargs["termination"] = NoTermination()
        return super().setup(problem, **kwargs)

    def _setup(self, problem: Any, **kwargs: Any) -> None:
        """Make the search for a problem, within the termination's evaluations; InvalidInput for several objectives."""
        if problem.n_obj != 1:
            raise InvalidInput(f"{type(problem).__name__} has {problem.n_obj} objectives; MeCO minimises one")
        lower, upper, whole = read_pymoo_bounds(problem)
        planned = getattr(self.termination, "n_max_evals", None)
        budget = self.budget or (int(planned) if planned is not None and np.isfinite(planned) else None)
        x0, evaluated = _split_sampling(problem, self.sampling)
        tolerances = default_config()
        options = dict(self.search_options)
        batch = options.pop("batch", None)
        self._inputs = {
            "bounds": _make_variables(problem, Variables.of(lower, upper, whole)),
            "n_ineq": problem.n_ieq_constr,
            "n_eq": problem.n_eq_constr,
            "budget": budget,
            "method": Method(self.method, **options),
            "seed": self.seed,
            "x0": x0,
            "evaluated": evaluated,
            "tolerances": Tolerances(tolerances["cv_ieq"]["eps"], tolerances["cv_eq"]["eps"]),
            "workers": Workers(batch=batch),
        }
        self._search = Optimizer(**self._inputs)
        self._inputs["seed"] = self._search.request.seed
        self._warn_of_generations()

    def _warn_of_generations(self) -> None:
        """Warn where a termination counts generations that are a point or a batch each."""
        size = self.search.request.options.get("batch")
        counted = getattr(self.termination, "n_max_gen", None)
        if isinstance(self.termination, DefaultTermination):
            text = f"{type(self.termination).__name__} expects populations and can stop far from the optimum"
        elif isinstance(self.termination, MaximumGenerationTermination) and counted is not None:
            text = f"('n_gen', {counted}) allows about {counted * (size or 0)} evaluations"
        else:
            return
        if size is not None:
            points, request = "one point" if size == 1 else f"{size} points", self.search.request
            warn_user(
                f"{request.method} proposes {points} per generation, so {text}. Limit evaluations instead: "
                f"('n_eval', {request.budget})"
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
        self._answers.append((f[:, 0].copy(), g.copy(), h.copy()))
        self.asked = None
        finite = np.isfinite(np.concatenate([f, g, h], axis=1)).all(axis=1)
        for failed in infills[~finite]:
            failed.CV = np.array([np.inf])  # nan and -inf would win in pymoo's order
        self.pop = infills if self.opt is None and not finite.any() else Population.merge(self.opt, infills[finite])
        if self.search.done:
            self._warn_of_own_budget()
            self.termination.terminate()

    def _warn_of_own_budget(self) -> None:
        """Warn where the run ends by a budget that nobody gave, before the termination that somebody did."""
        given = self.budget is not None or getattr(self.termination, "n_max_evals", None) is not None
        if not given and not isinstance(self.termination, (DefaultTermination, NoTermination)):
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
