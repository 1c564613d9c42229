"""The door for those who add a method: what every method promises, as checks to run on one's own.

    from meco.testing import check_method

    check_method(MyEngine)

or, one test for each promise, where pytest finds it:

    class TestMyEngine(MethodContract):
        method = MyEngine
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from meco import minimize
from meco.batch_solve import solve
from meco.core.batching import ProblemBatch
from meco.core.capabilities import InfiniteBounds, SavedState, find_capability
from meco.core.engine import Engine, Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.memory import capture_state, flatten_state, restore_state
from meco.core.problem import Problem
from meco.core.streams import Streams
from meco.errors import MecoError
from meco.methods import METHODS, build_engine
from meco.options import Method, Tolerances, Workers
from meco.result import PaperMetrics, Result

CONSTRAINT_KINDS = {"none": (0, 0), "twelve": (12, 0), "equal": (0, 2), "mixed": (2, 1)}  # numbers of g and of h
SAVED_AFTER = (1, 3, 12)  # generations


@dataclass(frozen=True)
class Subject:
    """A method under test: a name or an object, its options, and evaluations enough for it to show itself."""

    method: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: int = 61
    wide_budget: int | None = None  # at a hundred variables; budget unless given

    def solve(self, problem: Any, budget: int | None = None, seeds: Any = (1,)) -> list[Result]:
        """Results of runs, one for each seed, on a problem or on one for each; budget None: the subject's."""
        return solve(self.method, problem, self.budget if budget is None else budget, list(seeds), **self.options)

    def make_loop(self, problem: Problem, budget: int | None = None) -> Loop:
        """A search on the problem with seed 1, before anything was evaluated; budget None: the subject's."""
        evaluator = Evaluator.on(problem, self.budget if budget is None else budget)
        engine = build_engine(METHODS.resolve(self.method), Task.of(evaluator, Streams([1])), **self.options)
        return Loop(engine, evaluator)


def paper_metrics(result: Result) -> PaperMetrics:
    """What the paper measures of a run on a benchmark problem; AssertionError for other results."""
    assert result.paper is not None, "solve() gives the paper's metrics"
    return result.paper


class RecordingProblem:
    """A problem that remembers every point it was asked for.

    kind says which constraints there are; holes is the share of the box where the formula gives nothing.
    """

    def __init__(self, dim: int = 3, kind: str = "mixed", holes: float = 0.0) -> None:
        """kind is one of CONSTRAINT_KINDS; holes of 1 or more leave nothing of the box."""
        self.kind, self.holes, self.points = kind, holes, list[np.ndarray]()
        low, high = np.linspace(-4.0, -1.0, dim), np.linspace(2.0, 6.0, dim)
        self.problem = Problem(f"recorded {kind}", low, high, *CONSTRAINT_KINDS[kind], self.formula)

    def formula(self, x: np.ndarray) -> tuple[Any, Any, Any]:
        """f, g and h at x [..., D], with nan in the holes; remembers every point."""
        self.points.append(np.array(x).reshape(-1, x.shape[-1]))
        f = np.sum((x - 0.3) ** 2, axis=-1)
        if self.holes:
            f = np.where(np.mod(np.abs(np.sum(x, axis=-1)), 1.0) < self.holes, np.nan, f)
        return f, *self.constraints(x)

    def constraints(self, x: np.ndarray) -> tuple[list[Any], list[Any]]:
        """g and h at x [..., D], of the kind that was asked for."""
        total, first = np.sum(x, axis=-1), x[..., 0]
        if self.kind == "none":
            return [], []
        if self.kind == "twelve":
            return [total - k + 0.1 * k * first for k in range(1, 13)], []
        if self.kind == "equal":
            return [], [total - 1.0, first - x[..., 1]]
        return [total - 1.0, 0.2 - first], [first - x[..., 1]]

    @property
    def asked(self) -> np.ndarray:
        """Every point, in order: [n, D]."""
        return np.concatenate(self.points)

    def values(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f, nu and feasible [n] of everything that was asked, failures as nan; asks for it once more."""
        f, g, h = self.problem.raw(self.asked)
        nu = np.maximum(g, 0).sum(axis=-1) + np.abs(h).sum(axis=-1)
        keeps = np.all(g <= self.problem.ineq_tol, axis=-1) & np.all(np.abs(h) <= self.problem.eq_tol, axis=-1)
        return f, np.where(np.isnan(f), np.nan, nu), keeps & ~np.isnan(f)


def spends_the_budget_exactly(subject: Subject) -> None:
    """Nothing is called behind the evaluator's back, and nothing is left over."""
    for budget in {min(budget, subject.budget) for budget in (1, 7, 53)}:
        recorded = RecordingProblem(dim=2)
        result = subject.solve(recorded.problem, budget)[0]
        assert result.nfev == len(recorded.asked) == budget, f"{len(recorded.asked)} points for a budget of {budget}"


def stays_in_the_box(subject: Subject) -> None:
    """Every evaluated point lies within the bounds."""
    recorded = RecordingProblem()
    subject.solve(recorded.problem)
    assert np.all(recorded.asked >= recorded.problem.lower), "a point lies below the box"
    assert np.all(recorded.asked <= recorded.problem.upper), "a point lies above the box"


def reports_the_best_point(subject: Subject) -> None:
    """The result is the best of all evaluated points, under both metrics, also where a third of them fail."""
    for holes in (0.0, 0.3):
        recorded = RecordingProblem(holes=holes)
        result = subject.solve(recorded.problem)[0]
        f, nu, feasible = recorded.values()
        failed = np.isnan(f)
        assert result.run.nfail == failed.sum(), "failures are miscounted"
        first = np.lexsort((f, np.where(feasible, -1.0, nu), failed))[0]
        assert_allclose([result.f, result.nu], [f[first], nu[first]], rtol=1e-12)
        assert result.feasible == feasible[first]
        assert_allclose(result.score, np.nanmin(f + nu), rtol=1e-12)
        assert_allclose(recorded.problem.raw(result.x)[0], result.f, rtol=1e-12)
        assert np.any(np.all(np.isclose(recorded.asked, paper_metrics(result).x_score, rtol=1e-12), axis=-1))


def ends_its_trace_with_the_run(subject: Subject) -> None:
    """The trace never rises, and its last row is the result."""
    result = subject.solve(RecordingProblem().problem)[0]
    assert result.trace["nfev"][-1] == result.nfev
    assert result.trace["score"][-1] == result.score
    assert np.all(np.diff(result.trace["score"]) <= 0)
    assert paper_metrics(result).final_score >= result.score


def repeats_itself_and_ignores_neighbours(subject: Subject) -> None:
    """A seed gives the same run, alone or among others; another seed gives another."""
    one, two, three = subject.solve(RecordingProblem().problem, seeds=[3, 4, 3])
    assert_array_equal(one.x, three.x)
    mine, other = RecordingProblem(), RecordingProblem()
    alone = subject.solve(mine.problem, seeds=[4])[0]
    subject.solve(other.problem, seeds=[3])
    assert_array_equal(two.x, alone.x)
    assert_array_equal(paper_metrics(two).x_score, paper_metrics(alone).x_score)
    assert_array_equal(two.trace["score"], alone.trace["score"])
    assert not np.array_equal(mine.asked, other.asked), "seeds 3 and 4 evaluate the same points"


def runs_on_different_problems_together(subject: Subject) -> None:
    """Runs on problems with other constraints are what they are alone."""
    problems, seeds = [RecordingProblem(kind=kind).problem for kind in CONSTRAINT_KINDS], (5, 6, 7, 8)
    record = METHODS[subject.method]  # one that models functions learns from every point: generations take longer
    budget = max(233, subject.budget) if record.lockstep and not record.models_functions else subject.budget
    together = subject.solve(problems, budget, seeds)
    for problem, seed, result in zip(problems, seeds, together):
        alone = subject.solve(problem, budget, [seed])[0]
        assert_array_equal(result.x, alone.x)
        assert_array_equal(result.trace["score"], alone.trace["score"])


def touches_nothing_global(subject: Subject) -> None:
    """No global random state, warning filter, folder or variable changes, and nothing is printed."""
    subject.solve(RecordingProblem().problem, budget=min(9, subject.budget))  # imports are not part of the promise
    before, said = global_state(), io.StringIO()
    quiet = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
    with warnings.catch_warnings(record=True) as raised, quiet[0], quiet[1]:
        subject.solve(RecordingProblem().problem)
    assert raised == [], f"it warns: {raised[0].message}"
    assert said.getvalue() == "", f"it prints {said.getvalue()!r:.80}"
    for name, value in global_state().items():
        assert value == before[name], f"{name} is not what it was before the run"


def global_state() -> dict[str, Any]:
    """Everything global that a method could touch, by name."""
    seen: dict[str, Any] = {
        "NumPy's random state": np.random.get_state()[1].tolist(),  # type: ignore[index]  # noqa: NPY002
        "Python's random state": random.getstate(),
        "the warning filters": list(warnings.filters),
        "floating-point handling": np.geterr(),
        "the folder": (os.getcwd(), sorted(os.listdir())),
        "the arguments": list(sys.argv),
        "the environment": dict(os.environ),
    }
    if "torch" in sys.modules:
        seen["torch's random state"] = sys.modules["torch"].get_rng_state().tolist()
    return seen


def survives_a_formula_that_always_fails(subject: Subject) -> None:
    """The budget is spent, and the result says that there is nothing."""
    recorded = RecordingProblem(holes=2.0)
    result = subject.solve(recorded.problem)[0]
    assert result.nfev == result.run.nfail == len(recorded.asked)
    assert not result.feasible
    assert not np.isfinite(result.f)


def takes_any_size_and_constraints(subject: Subject) -> None:
    """Two and a hundred variables; no, twelve, and only equality constraints."""
    for dim, budget in ((2, subject.budget), (100, subject.wide_budget or subject.budget)):
        for kind in ("none", "twelve", "equal"):
            recorded = RecordingProblem(dim, kind)
            result = subject.solve(recorded.problem, budget)[0]
            assert result.nfev == len(recorded.asked)
            assert np.isfinite(result.f)
            assert result.x.shape == (dim,)
            assert result.feasible or kind != "none"


def is_what_its_record_says(subject: Subject) -> None:
    """It can be asked if the record says so, and looks at as many points first as the record says."""
    record, problem = METHODS[subject.method], RecordingProblem().problem
    engine = subject.make_loop(problem).engine
    try:
        first = engine.ask()
    except MecoError:
        assert not record.has_ask, "the record says that it can be asked, and it cannot"
        size = getattr(engine, "size", None)
    else:
        assert record.has_ask, "the record says that it cannot be asked, and it can"
        assert first.shape[::2] == (1, problem.dim), "ask() gives candidates [B, n, D]"
        size = first.shape[1]
    if record.population is not None and "pop_size" not in subject.options:
        wanted = record.population(problem.dim, subject.budget)
        assert size == wanted, f"{size} candidates where the record says {wanted}"


def offers_what_its_record_says(subject: Subject) -> None:
    """Its engine has the capabilities that the record names, and no others."""
    engine = subject.make_loop(RecordingProblem().problem).engine
    made, named = (
        {kind.__name__ for kind in kinds} for kinds in (_list_offered_kinds(engine), METHODS[subject.method].offers)
    )
    assert made >= named, f"the record names {', '.join(sorted(named - made))}, which the engine does not offer"
    more = ", ".join(sorted(made - named))
    assert made <= named, (
        f"the engine offers {more}, which the record does not name: give it as "
        f"meco.MethodRecord(..., offers=({more},)); a class alone has a record without any"
    )


def _list_offered_kinds(engine: Engine) -> list[type]:
    """The classes of what an engine offers."""
    return [type(each) for each in engine.capabilities()]


def goes_on_from_its_saved_state_bit_for_bit(subject: Subject) -> None:
    """A search that offers SavedState, put back into one that has made a generation, evaluates the same points."""
    if SavedState not in METHODS[subject.method].offers:
        return
    first = subject.make_loop(RecordingProblem().problem).engine.ask().shape[1]
    budget, saved = max(subject.budget, 4 * first), 0
    for generations in SAVED_AFTER:
        through, again = RecordingProblem(), RecordingProblem()
        loop, made = subject.make_loop(through.problem, budget), 0
        while not loop.evaluator.is_spent and (made < generations or _capture_search(loop) is None):
            loop.step()
            made += 1
        if loop.evaluator.is_spent:
            break
        record, until, saved = flatten_state(capture_state(_capture_search(loop))), len(through.asked), saved + 1
        loop.run()
        other = subject.make_loop(replace(again.problem, formula=_zero_values), budget)
        other.step()
        restore_state(_capture_search(other), record)
        other = Loop(other.engine, other.evaluator.with_source(ProblemBatch(again.problem)))
        other.run()
        assert_array_equal(again.asked, through.asked[until:], f"saved after {made} generations")
        assert_array_equal(other.evaluator.nfev, loop.evaluator.nfev)
    assert saved, f"{budget} evaluations end before it can be saved"


def _capture_search(loop: Loop) -> dict[str, Any] | None:
    """Everything that the next generation builds on, by name; None while the engine cannot be saved."""
    saved = find_capability(loop.engine, SavedState)
    if saved is None:
        return None
    return {"engine": saved.part, "evaluator": loop.evaluator, "streams": loop.engine.task.rng}


def _zero_values(x: np.ndarray) -> tuple[Any, Any, Any]:
    """f, g and h of the kind "mixed" at x [..., D], all 0."""
    zero = np.zeros(x.shape[:-1])
    return zero, [zero, zero], [zero]


def searches_alike_through_both_doors(subject: Subject) -> None:
    """minimize() evaluates the points that solve() evaluates."""
    one, other = RecordingProblem(), RecordingProblem()
    subject.solve(one.problem, seeds=[2])
    box = np.stack([other.problem.lower, other.problem.upper], axis=1)
    minimize(
        other.problem.raw,
        box,
        method=Method(subject.method, **subject.options),
        budget=subject.budget,
        seed=2,
        workers=Workers(vectorized=True),
        tolerances=Tolerances(other.problem.ineq_tol, other.problem.eq_tol),
    )
    assert_array_equal(other.asked, one.asked)


def needs_no_bounds_where_it_offers_that(subject: Subject) -> None:
    """A search that offers InfiniteBounds asks for finite points, inside the bounds that there are; others refuse."""
    recorded, inf, refusal = RecordingProblem(), float("inf"), ""
    bounds = [(-inf, inf), (-3.0, inf), (-inf, 6.0)]
    try:
        minimize(
            recorded.problem.raw, bounds, x0=[0.0, 1.0, 2.0], method=Method(subject.method, **subject.options),
            budget=subject.budget, seed=2, workers=Workers(vectorized=True),
        )  # fmt: skip
    except MecoError as error:
        refusal = str(error)
    if InfiniteBounds not in METHODS[subject.method].offers:
        assert refusal, "the record says that it needs bounds"
        assert not recorded.points, "it refuses after the first call"
        return
    assert not refusal, f"the record says that it needs no bounds: {refusal}"
    lower, upper = np.array(bounds).T
    assert np.isfinite(recorded.asked).all(), "a point is not finite"
    assert np.all((recorded.asked >= lower) & (recorded.asked <= upper)), "a point lies outside a bound"


CHECKS: dict[str, Callable[[Subject], None]] = {
    check.__name__: check
    for check in (
        spends_the_budget_exactly,
        stays_in_the_box,
        reports_the_best_point,
        ends_its_trace_with_the_run,
        repeats_itself_and_ignores_neighbours,
        runs_on_different_problems_together,
        touches_nothing_global,
        survives_a_formula_that_always_fails,
        takes_any_size_and_constraints,
        is_what_its_record_says,
        offers_what_its_record_says,
        goes_on_from_its_saved_state_bit_for_bit,
        searches_alike_through_both_doors,
        needs_no_bounds_where_it_offers_that,
    )
}


def check_method(method: Any, budget: int = 61, wide_budget: int | None = None, **options: Any) -> None:
    """Hold a method to every promise; AssertionError names the first that it breaks."""
    subject = Subject(method, options, budget, wide_budget)
    for name, check in CHECKS.items():
        try:
            check(subject)
        except AssertionError as error:
            raise AssertionError(f"{METHODS.resolve(method)} {name.replace('_', ' ')}: no. {error}") from error


class MethodContract:
    """One test for each promise; derive a class whose name begins with Test, and name the method."""

    method: Any = None
    options: Mapping[str, Any] = {}
    budget = 61
    wide_budget: int | None = None

    def subject(self) -> Subject:
        """What is tested."""
        return Subject(self.method, self.options, self.budget, self.wide_budget)


def _make_test(check: Callable[[Subject], None]) -> Callable[[MethodContract], None]:
    """A test method of MethodContract for one promise."""

    def test(self: MethodContract) -> None:
        check(self.subject())

    test.__doc__ = check.__doc__
    return test


for _name, _check in CHECKS.items():
    setattr(MethodContract, f"test_it_{_name}", _make_test(_check))
