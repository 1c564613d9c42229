"""Functions that fail, jump, explode or say nothing: a hundred of them, and what failing regions cost."""

from __future__ import annotations

import numpy as np
import pytest
from searches import visited

import meco

GROUPS = [(2, 1, 0), (3, 2, 1), (4, 3, 0), (5, 0, 1), (6, 2, 2)]  # variables, inequalities, equalities
OFTEN = (0, 1, 3)  # inequalities, both, equalities
FEW, MANY = 7, 100  # problems of a group: one of each kind in every run, and more where there is time
KINDS = ("failing at random", "failing region", "NaN", "huge", "flat", "stepped", "all of it")


def faulty(seed, dim, n_ineq, n_eq):
    """A random smooth problem with a fault of the kind that its seed says."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    place, tilt = rng.uniform(-1.0, 1.0, dim), rng.normal(size=(dim, n_ineq + n_eq))
    edge, salt = rng.normal(size=dim), rng.normal(size=dim)
    huge = 10.0 ** rng.uniform(100.0, 305.0)
    every = kind == "all of it"

    def formula(x):
        f = ((x - place) ** 2).sum(axis=-1) + np.cos(3.0 * x).sum(axis=-1)
        c = x @ tilt
        if kind == "failing at random" or every:
            f = np.where(np.mod(np.abs(1e3 * (x @ salt)), 1.0) < 0.2, np.nan, f)
        if kind == "failing region" or every:
            f = np.where((x - place) @ edge > 0.3, np.nan, f)
        if kind == "NaN":
            c = np.where(c > 1.5, np.nan, c)
        if kind == "huge":
            f, c = np.where(x[..., 0] > 0.0, huge * f, f), np.where(x[..., :1] < -0.5, huge * c, c)
        if kind == "flat":
            c = 0.0 * c + np.sign(tilt[0])
        if kind == "stepped" or every:
            f, c = np.round(f), np.floor(c)
        return f, c[..., :n_ineq], c[..., n_ineq:]

    return meco.Problem(f"{kind} {seed}", np.full(dim, -2.0), np.full(dim, 2.0), n_ineq, n_eq, formula)


def looked_at(group, count):
    """A case, in every run where few problems of some groups are given."""
    return pytest.param(group, count, marks=() if count == FEW and group in OFTEN else pytest.mark.slow)


@pytest.mark.parametrize(
    ("group", "count"), [looked_at(group, count) for group in range(len(GROUPS)) for count in (FEW, MANY)]
)
def test_faulty_problems_end_well(group, count):
    shape, budget = GROUPS[group], 45 if count == MANY else 24
    problems = [faulty(MANY * group + k, *shape) for k in range(count)]
    results = meco.solve("TR", problems, budget, seeds=range(count))
    for problem, result in zip(problems, results):
        assert result.nfev == budget
        assert np.all((result.x >= problem.lower) & (result.x <= problem.upper))
        assert np.isfinite(result.f) == (result.run.nfail < budget)
        if result.run.nfail < budget:
            assert np.nanmin(problem.raw(result.x)[0]) == result.f
    assert sum(r.run.nfail < budget for r in results) > 0.9 * count


WHERE = ("beside the way", "beside the optimum", "beyond the constraint")


def clean_and_failing(seed, where, dim=4):
    """A quartic under a plane, without and with a region in which it fails."""
    rng = np.random.default_rng(seed)
    place, aside = rng.uniform(-1.5, 1.5, dim), rng.normal(size=dim)
    normal, best = place / np.linalg.norm(place), 0.8 * place

    def clean(x):
        f = ((x - place) ** 2).sum(axis=-1) + 0.3 * (x[..., 0] - x[..., 1]) ** 4
        return f, [(x - best) @ normal], []

    def failing(x):
        f, g, h = clean(x)
        bad = {
            "beside the way": ((x - 0.5 * place - 0.4 * aside) ** 2).sum(axis=-1) < 0.3,
            "beside the optimum": (x - best) @ aside > 0.1 * np.linalg.norm(aside),
            "beyond the constraint": (x - best) @ normal > 0.05,
        }
        return np.where(bad[where], np.nan, f), g, h

    box = np.full(dim, 2.0)
    return [meco.Problem(name, -box, box, 1, 0, f) for name, f in (("clean", clean), ("failing", failing))]


def evaluations_to(problem_results, target):
    """Evaluations until the best feasible f is at most the target, by each run's trace."""
    found = []
    for result, wanted in zip(problem_results, target):
        reached = result.trace["feasible"] & (result.trace["f"] <= wanted)
        found.append(result.trace["nfev"][reached.argmax()] if reached.any() else np.inf)
    return np.array(found)


@pytest.mark.slow  # the median of whole searches; that no failed point is asked for again is looked at in every run
def test_a_failing_region_costs_half_as_many_evaluations_more_at_most():
    """Evaluations to what a clean run has after 60, in the median of 30 problems.

    Measured on 100 of each kind: 1.00 beside the way, 1.58 beside the optimum, 1.00 beyond the constraint; of the three
    kinds 17, 30 and 8 did not get there within 160.
    """
    pairs = [clean_and_failing(seed, where) for where in WHERE for seed in range(10)]
    clean, failing = (meco.solve("TR", [p[k] for p in pairs], 160, seeds=range(30)) for k in (0, 1))
    early = [r.trace["f"][r.trace["nfev"] <= 60][-1] for r in clean]
    ratio = evaluations_to(failing, early) / evaluations_to(clean, early)
    assert np.median([r.run.nfail for r in failing]) >= 1
    assert np.median(ratio) <= 1.5
    assert np.mean(np.isinf(ratio)) < 0.4


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_failed_point_is_not_asked_for_again(seed):
    """The half-space keeps the step from the nearest failure alone; the region must shrink before the others."""
    points, engine = visited("TR", clean_and_failing(seed, "beside the optimum")[1], 80)
    failed = points[engine.archive.failed]
    assert len(np.unique(failed.round(12), axis=0)) > 0.9 * len(failed)
    assert len(failed) < 66


def called(fun, bounds, **options):
    """Every point that the function is called with."""
    asked = []

    def watched(x):
        asked.append(x.copy())
        return fun(x)

    meco.minimize(watched, bounds, budget=40, **options)
    return np.array(asked)


@pytest.mark.parametrize("size", [1e4, pytest.param(1e6, marks=pytest.mark.slow), 1e9])  # of f
def test_a_constraint_of_integer_variables_alone_makes_no_point_that_is_no_number(size):
    """It has no slope once the integers are fixed, and at its boundary no value either."""
    bounds = meco.Variables.of([-5.0] * 3, [5.0] * 3, integer=[True, False, False])
    points = called(lambda x: (size * float(((x - 0.3) ** 2).sum()), [1.0 - x[0], x[1] - 3.0]), bounds, seed=1)
    assert np.all(np.abs(points) <= 5.0)


@pytest.mark.parametrize("huge", [1e155, pytest.param(1e200, marks=pytest.mark.slow), 1e308])
def test_constraints_whose_squares_overflow_make_no_point_that_is_no_number(huge):
    bounds = [(-5.0, 5.0)] * 3
    penalty = called(lambda x: (float(x @ x), [huge if x[1] > 2 else 1 - x[0]]), bounds, seed=1)
    scaled = called(lambda x: (float(x @ x), [huge / 10 * (1 - x[0])]), bounds, seed=1)
    for points in (penalty, scaled):
        assert np.all(np.abs(points) <= 5.0)
        assert len(np.unique(points[20:], axis=0)) > 10  # nor is one evaluated again and again in its place


def test_the_engine_itself_proposes_numbers_then():
    """Before anything behind it looks at its points."""

    def integers(x):
        return 1e6 * ((x - 0.3) ** 2).sum(axis=-1), [1.0 - x[..., 0], x[..., 1] - 3.0], []

    def penalty(x):
        return (x * x).sum(axis=-1), [np.where(x[..., 1] > 2.0, 1e200, 1.0 - x[..., 0])], []

    box = np.full(3, 5.0)
    problems = (
        meco.Problem("integers", -box, box, 2, 0, integers, integrality=[True, False, False]),
        meco.Problem("penalty", -box, box, 1, 0, penalty),
    )
    for problem in problems:
        points, _ = visited("TR", problem, 40, seeds=range(2))
        assert np.all((points >= 0.0) & (points <= 1.0))


def test_a_huge_penalty_does_not_keep_the_search_from_the_optimum():
    found = meco.minimize(
        lambda x: (float(x @ x), [1e200 if x[1] > 2 else 1 - x[0]]),
        [(-5.0, 5.0)] * 3,
        budget=60,
        seed=1,
    )
    assert found.feasible
    assert found.fun < 1.01
