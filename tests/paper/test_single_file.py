"""The example that has MeCO in one file does what the package does."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import meco
from meco.paper.episode import Episode

torch = pytest.importorskip("torch")

FILE = Path(__file__).parents[2] / "examples" / "meco_single_file.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("meco_single_file", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["C01", "C04", "C12", "C19", "C22"])
def test_the_same_random_numbers_give_the_same_transitions(example, name):
    problem, f_star = meco.get_problem(name, dim=10), -3.0
    ours = Episode(problem, [7], references=np.array([f_star]))
    theirs = example.Episode(problem, np.random.default_rng(7), f_star)
    assert_allclose(theirs.s, ours.reset()[0], rtol=1e-9, atol=1e-12)
    for action in np.random.default_rng(1).choice(example.ACTIONS, 9):
        s, r, done = ours.step([action])
        assert_allclose(theirs.step(action), r[0], rtol=1e-8, atol=1e-10)
        assert_allclose(theirs.s, s[0], rtol=1e-8, atol=1e-10)
        assert_allclose(theirs.search.population.f, ours.f[0], rtol=1e-8, atol=1e-8)
    assert theirs.done == done[0]
    assert theirs.search.score == pytest.approx(ours.score[0], rel=1e-9)


def test_final_results_over_seeds_have_one_distribution(example):
    stats = pytest.importorskip("scipy.stats")
    problem = meco.get_problem("C04", dim=10)
    theirs = [example.solve(problem, seed) for seed in range(30)]
    ours = [r.score for r in meco.solve("MeCO-rand", problem, seeds=range(100, 130))]
    assert stats.ks_2samp(theirs, ours).pvalue > 0.01


def test_a_training_of_the_example_learns_at_every_step(example):
    learner = example.train([meco.get_problem(name, dim=10) for name in ("C01", "C02")], epochs=2, seed=1)
    assert learner.steps == 2 * 2 * 9 - 7
    assert all(torch.isfinite(p).all() for p in learner.online.parameters())


def test_the_example_imports_of_meco_its_problems_alone():
    lines = [line for line in FILE.read_text().splitlines() if line.startswith(("import", "from"))]
    assert [line for line in lines if "meco" in line] == ["import meco"]
