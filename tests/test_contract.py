"""What every method promises, written once and walked over METHODS."""

import os
import random
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco import METHODS, Problem, solve
from meco.errors import MissingData, MissingExtra

SLOW = {"COBRA": 19, "SACOBRA": 19, "NSGA-III": 61}  # a model for each evaluation, or one more direction each
BUDGET = 61
BEYOND_THE_START = {
    "COBRA": 205,
    "SACOBRA": 205,
    "COBYQA": 180,
    "C2oDE": 230,
}  # at D = 100: into what follows the design


def run(method, problem, budget=None, seeds=(1,), **options):
    """solve(), or a loud skip where a method's module, extra or policy is not there."""
    if method == "MeCO":  # any policy keeps the promises of a trained one
        policies = pytest.importorskip("meco.mdp.policy")
        options = {"policy": policies.ConstantPolicy(9), **options}
    try:
        return solve(method, problem, budget=budget or SLOW.get(method, BUDGET), seeds=list(seeds), **options)
    except (MissingExtra, MissingData) as missing:
        pytest.skip(f"METHOD NOT CHECKED: {method}: {missing}")
    except ModuleNotFoundError as missing:
        if not str(missing.name).startswith("meco."):
            raise
        pytest.skip(f"METHOD NOT CHECKED: {method} has no module {missing.name}")


class Recorded:
    """A problem that remembers every point it was asked for.

    kind says which constraints there are; holes is the share of the box where the
    formula gives nothing.
    """

    def __init__(self, dim=3, kind="mixed", holes=0.0):
        self.kind, self.holes, self.points = kind, holes, []
        low, high = np.linspace(-4.0, -1.0, dim), np.linspace(2.0, 6.0, dim)
        counts = {"none": (0, 0), "twelve": (12, 0), "equal": (0, 2), "mixed": (2, 1)}[kind]
        self.problem = Problem(f"recorded {kind}", low, high, *counts, self.formula)

    def formula(self, x):
        self.points.append(np.array(x).reshape(-1, x.shape[-1]))
        f = np.sum((x - 0.3) ** 2, axis=-1)
        if self.holes:
            f = np.where(np.mod(np.abs(np.sum(x, axis=-1)), 1.0) < self.holes, np.nan, f)
        return f, *self.constraints(x)

    def constraints(self, x):
        total, first = np.sum(x, axis=-1), x[..., 0]
        if self.kind == "none":
            return [], []
        if self.kind == "twelve":
            return [total - k + 0.1 * k * first for k in range(1, 13)], []
        if self.kind == "equal":
            return [], [total - 1.0, first - x[..., 1]]
        return [total - 1.0, 0.2 - first], [first - x[..., 1]]

    @property
    def asked(self):
        return np.concatenate(self.points)

    def values(self):
        """f, nu, feasible of everything that was asked, failures as nan."""
        f, g, h = self.problem.raw(self.asked)
        nu = np.maximum(g, 0).sum(axis=-1) + np.abs(h).sum(axis=-1)
        keeps = np.all(g <= self.problem.ineq_tol, axis=-1) & np.all(np.abs(h) <= self.problem.eq_tol, axis=-1)
        return f, np.where(np.isnan(f), np.nan, nu), keeps & ~np.isnan(f)


@pytest.mark.parametrize("budget", [1, 7, 53])
@pytest.mark.parametrize("method", METHODS)
def test_the_budget_is_spent_exactly_and_nothing_is_called_behind_its_back(method, budget):
    recorded = Recorded(dim=2)
    result = run(method, recorded.problem, min(budget, SLOW.get(method, budget)))[0]
    assert result.nfev == len(recorded.asked) == min(budget, SLOW.get(method, budget))


@pytest.mark.parametrize("method", METHODS)
def test_every_evaluated_point_lies_in_the_box(method):
    recorded = Recorded()
    run(method, recorded.problem)
    assert np.all(recorded.asked >= recorded.problem.lower)
    assert np.all(recorded.asked <= recorded.problem.upper)


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("method", METHODS)
def test_the_result_holds_the_best_of_all_evaluated_points(method, holes):
    recorded = Recorded(holes=holes)
    result = run(method, recorded.problem)[0]
    f, nu, feasible = recorded.values()
    failed = np.isnan(f)
    assert result.nfail == failed.sum()
    first = np.lexsort((f, np.where(feasible, -1.0, nu), failed))[0]
    assert_allclose([result.f, result.nu], [f[first], nu[first]], rtol=1e-12)
    assert result.feasible == feasible[first]
    assert_allclose(result.score, np.nanmin(f + nu), rtol=1e-12)
    assert_allclose(recorded.problem.raw(result.x)[0], result.f, rtol=1e-12)
    assert np.any(np.all(np.isclose(recorded.asked, result.x_score, rtol=1e-12), axis=-1))


@pytest.mark.parametrize("method", METHODS)
def test_the_trace_ends_where_the_run_ended(method):
    result = run(method, Recorded().problem)[0]
    assert result.trace["nfev"][-1] == result.nfev
    assert result.trace["score"][-1] == result.score
    assert np.all(np.diff(result.trace["score"]) <= 0)
    assert result.final_score >= result.score


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_run_and_neighbours_change_nothing(method):
    one, two, three = run(method, Recorded().problem, seeds=[3, 4, 3])
    assert_array_equal(one.x, three.x)
    assert not np.array_equal(one.x, two.x) or method in {"COBRA", "SACOBRA", "COBYQA"}
    alone = run(method, Recorded().problem, seeds=[4])[0]
    assert_array_equal(two.x, alone.x)
    assert_array_equal(two.x_score, alone.x_score)
    assert_array_equal(two.trace["score"], alone.trace["score"])


@pytest.mark.parametrize("method", [name for name, entry in METHODS.items() if entry.lockstep])
def test_runs_on_different_problems_go_in_lockstep(method):
    problems = [Recorded(kind=kind).problem for kind in ("none", "twelve", "equal", "mixed")]
    together = run(method, problems, budget=233, seeds=[5, 6, 7, 8])
    for problem, seed, result in zip(problems, (5, 6, 7, 8), together):
        alone = run(method, problem, budget=233, seeds=[seed])[0]
        assert_array_equal(result.x, alone.x)
        assert_array_equal(result.trace["score"], alone.trace["score"])


def surroundings():
    """Everything global that a method could touch."""
    seen = {
        "numpy": np.random.get_state()[1].tolist(),  # noqa: NPY002
        "python": random.getstate(),
        "warnings": list(warnings.filters),
        "floating point": np.geterr(),
        "folder": os.getcwd(),
        "arguments": list(sys.argv),
        "environment": dict(os.environ),
    }
    if "torch" in sys.modules:
        seen["torch"] = sys.modules["torch"].get_rng_state().tolist()
    return seen


@pytest.mark.parametrize("method", METHODS)
def test_nothing_global_is_touched_and_nothing_is_printed(method, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(method, Recorded().problem, budget=9)  # imports are not part of the promise
    before = surroundings()
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as raised:
        run(method, Recorded().problem)
    assert raised == []
    assert surroundings() == before
    assert capfd.readouterr() == ("", "")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("method", METHODS)
def test_a_formula_that_always_fails_spends_the_budget_and_says_so(method):
    recorded = Recorded(holes=2.0)
    result = run(method, recorded.problem)[0]
    assert result.nfev == result.nfail == len(recorded.asked)
    assert not result.feasible
    assert np.isnan(result.f) or np.isinf(result.f)


@pytest.mark.parametrize("kind", ["none", "twelve", "equal"])
@pytest.mark.parametrize("dim", [2, 100])
@pytest.mark.parametrize("method", METHODS)
def test_few_and_many_variables_and_any_kind_of_constraint_work(method, dim, kind):
    recorded = Recorded(dim, kind)
    result = run(method, recorded.problem, BEYOND_THE_START.get(method) if dim > 2 else None)[0]
    assert result.nfev == len(recorded.asked)
    assert np.isfinite(result.f)
    assert result.x.shape == (dim,)
    assert result.feasible or kind != "none"
