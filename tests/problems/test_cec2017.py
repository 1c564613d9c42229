"""The CEC2017 formulas against the official code, and the facts that follow from them."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco import get_problem, get_suite
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.errors import InvalidInput, MecoError, UnknownName
from meco.problems.cec2017.functions import DEFINITIONS, NAMES
from meco.problems.cec2017.instances import draw_rotation


def error(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.max(np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs)))) if theirs.size else 0.0


@pytest.mark.parametrize("dim", [10, 30, 50, 100])
@pytest.mark.parametrize("name", NAMES)
def test_the_official_instance_gives_the_official_values(golden, name, dim):
    values = golden("cec2017c_golden.npz")
    problem = get_problem(name, dim, "official")
    expected = {k: values[f"{name}_D{dim}_{k}"] for k in "xfgh"}
    f, g, h = problem.raw(expected["x"])
    assert (problem.n_ineq, problem.n_eq) == (g.shape[-1], h.shape[-1])
    index = int(name[1:]) - 1
    assert (problem.n_ineq, problem.n_eq) == (values["n_g"][index], values["n_h"][index])
    assert problem.upper[0] == values["bound"][index]
    assert error(f, expected["f"]) <= 1e-10
    assert error(g, expected["g"][:, : problem.n_ineq]) <= 1e-10
    assert error(h, expected["h"][:, : problem.n_eq]) <= 1e-10


def test_the_paper_recipe_gives_its_check_values():
    shifted = get_problem("C01", 10)
    assert_allclose(shifted.raw(np.zeros(10))[0], 78347.48396051979, rtol=1e-14)
    assert_allclose(shifted.raw(np.zeros(10))[1], [-8535.379310874105], rtol=1e-13)
    assert_allclose(get_problem("C21", 10).raw(np.zeros(10))[0], 34877.90129504834, rtol=1e-14)
    assert_allclose(get_problem("C05", 10).raw(np.zeros(10))[0], 2097057.4692190774, rtol=1e-14)
    # its rotation comes from LAPACK, whose last bits are the processor's, and it multiplies them by ten thousand
    assert_allclose(get_problem("C28", 10).raw(np.zeros(10))[0], 55.007849001967145, rtol=1e-10)
    assert_allclose(shifted.known_x[:3], [-46.82600771, 93.83527547, 55.75018079], atol=5e-9)
    q = draw_rotation(np.random.default_rng(42), 10)
    assert_allclose(q[0, :3], [0.09091438, 0.51116308, -0.22111779], atol=5e-9)


@pytest.mark.parametrize("instance", ["paper", 0, 7])
@pytest.mark.parametrize("name", NAMES)
def test_one_point_a_population_and_lockstep_agree(name, instance):
    problem = get_problem(name, 12, instance)
    x = np.random.default_rng(3).uniform(problem.lower, problem.upper, (2, 5, 12))
    whole = problem.raw(x)
    for part, count in zip(whole, (None, problem.n_ineq, problem.n_eq)):
        assert part.shape == ((2, 5) if count is None else (2, 5, count))
    for single, together in zip(problem.raw(x[1, 3]), whole):
        assert_allclose(single, together[1, 3], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in NAMES if DEFINITIONS[n].good is not None])
@pytest.mark.parametrize("dim", [10, 50])
@pytest.mark.parametrize("instance", ["paper", 1, 2])
def test_known_points_are_feasible_and_best(name, dim, instance):
    problem = get_problem(name, dim, instance)
    if problem.known_x is None:
        pytest.skip("the optimum of this instance lies outside the box")
    ev = Evaluation.of(*problem.raw(problem.known_x[None, None]))
    assert ev.feasible.all()
    assert_allclose(ev.f, problem.best_known, atol=1e-9)


@pytest.mark.parametrize("name", ["C19", "C28"])
def test_c19_and_c28_have_no_feasible_point(name):
    problem = get_problem(name, 30)
    x = np.random.default_rng(0).uniform(problem.lower, problem.upper, (500, 30))
    assert problem.raw(x)[1][:, 0].min() >= 10 * 29 * (math.exp(5) - 1)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_to_be_finite_is_finite(name):
    rng = np.random.default_rng(3)
    for dim in (2, 10, 100):
        p = get_problem(name, dim)
        corners = np.where(rng.random((50, dim)) < 0.5, p.lower, p.upper)
        away = np.where(p.formula.numbers["o"] > 0, p.lower, p.upper)  # of the shift, as far as the box goes
        x = np.concatenate([p.lower + rng.random((200, dim)) * (p.upper - p.lower), corners, away[None]])
        assert p.finite
        assert all(np.isfinite(values).all() for values in p.raw(x))


def test_nothing_is_said_to_be_finite_beyond_what_was_looked_at():
    c11 = get_problem("C11", 100)
    assert not get_problem("C11", 200).finite  # a product of 200 factors may be too large
    assert not replace(c11, lower=1e3 * c11.lower, upper=1e3 * c11.upper).finite
    assert not replace(c11, formula=lambda x: c11.formula(x)).finite


def test_halves_round_away_from_zero_in_c18():
    problem = get_problem("C18", 4, 1)
    shift = problem.formula.constants.on(np.zeros(1))["o"]
    for half, rounded in ((0.75, 1.0), (-0.75, -1.0), (1.25, 1.5), (-1.25, -1.5)):
        ours = problem.raw(shift + np.array([half, 0.0, 0.0, 0.0]))[0]
        assert_allclose(ours, rounded**2 - 10 * math.cos(2 * math.pi * rounded) + 10, atol=1e-6)


def test_instances_differ_by_seed_and_repeat():
    x = np.zeros(10)
    assert get_problem("C21", 10, 1).raw(x)[0] != get_problem("C21", 10, 2).raw(x)[0]
    assert get_problem("C21", 10, 1).raw(x)[0] == get_problem("C21", 10, 1).raw(x)[0]
    assert [p.name for p in get_suite("cec2017", dim=10)] == list(NAMES)


def test_a_problem_travels_to_another_process():
    problem = get_problem("C22", 10)
    again = pickle.loads(pickle.dumps(problem))
    assert again.raw(np.ones(10))[0] == problem.raw(np.ones(10))[0]


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("C1O",), UnknownName, "did you mean 'C10'"),
        (("C01", 1), InvalidInput, "D >= 2"),
        (("C08", 11), InvalidInput, "even"),
        (("C01", 10, "papre"), UnknownName, "did you mean 'paper'"),
        (("C01", 20, "official"), InvalidInput, "10, 30, 50 and 100"),
        (("C01", 10, 1.5), InvalidInput, "integer seed"),
    ],
)
def test_a_wrong_name_or_size_is_explained(arguments, kind, words):
    with pytest.raises(kind, match=words):
        get_problem(*arguments)


def test_missing_official_tables_name_both_ways_out(monkeypatch, tmp_path):
    monkeypatch.setenv("MECO_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    with pytest.raises(MecoError, match=r"meco data fetch cec2017.*MECO_DATA"):
        get_problem("C01", 10, "official")


def test_a_damaged_table_file_is_named(monkeypatch, tmp_path):
    (tmp_path / "cec2017c.npz").write_bytes(b"PK\x03\x04 this is no archive")
    monkeypatch.setenv("MECO_DATA", str(tmp_path))
    with pytest.raises(MecoError, match=r"cec2017c\.npz is not a sound npz file.*meco data fetch cec2017"):
        get_problem("C01", 10, "official")


def test_a_wrong_shape_says_what_was_wanted():
    with pytest.raises(InvalidInput, match=r"C01 has 10 variables, so x must have shape \(\.\.\., 10\); got \(4, 3\)"):
        get_problem("C01", 10).raw(np.zeros((4, 3)))


@pytest.mark.parametrize("name", NAMES)
def test_instances_in_lockstep_have_the_bits_of_each_alone(name):
    problems = [get_problem(name, 10, instance) for instance in (1, 2, 2, 3)]
    evaluator = Evaluator.on(problems, 40, runs=4)
    assert len(evaluator.source._groups) == 1
    unit = np.random.default_rng(5).random((4, 7, 10))
    together = evaluator.evaluate(unit)
    for b, problem in enumerate(problems):
        alone = Evaluator.on(problem, 40).evaluate(unit[b : b + 1])
        for part in ("f", "g", "h"):
            assert_array_equal(getattr(together, part)[b], getattr(alone, part)[0])
