"""cheap=: no call outside of them, nothing of the budget, with every method and through every door."""

import numpy as np
import pytest

import meco
from interruption import kill_run
from meco import Checkpoint, Optimizer, Variable, Workers, minimize
from meco.cli import main
from meco.errors import InvalidInput

BOUNDS = [(-5.0, 5.0)] * 3
BEST = 17.92903  # by many starts of SLSQP


def thin_shell(x):
    """A shell of 2 % of its radius: 1e-3 of the box."""
    return [abs(x @ x - 1.0) - 0.02, x[0] * x[1] - 0.2]


class Recorder:
    """A function that remembers where it was called."""

    __qualname__ = "recorded"

    def __init__(self):
        self.points = []

    def __call__(self, x):
        self.points.append(np.array(x))
        return float((x - 3.0) @ (x - 3.0)), [x[0] - 0.9]

    @property
    def outside(self):
        return sum(max(thin_shell(x)) > 0.0 for x in self.points)


@pytest.mark.parametrize("method", ["TR", "SHADE-FR", "MA-ES", "SciPy-DE", "COBYQA", "COBRA"])
def test_no_method_calls_outside(method):
    fun = Recorder()
    result = minimize(fun, BOUNDS, budget=20, seed=1, method=method, cheap=thin_shell)
    assert (len(fun.points), fun.outside) == (20, 0)
    assert result.feasible
    assert list(result.constraints) == ["g1", "thin_shell 1", "thin_shell 2"]


def test_the_step_knows_them_exactly():
    result = minimize(Recorder(), BOUNDS, budget=50, seed=1, cheap={"shell": thin_shell})
    assert result.fun < BEST * (1.0 + 1e-6)
    assert list(result.constraints) == ["g1", "shell 1", "shell 2"]


def test_a_start_outside_is_moved_in_and_said():
    fun = Recorder()
    with pytest.warns(UserWarning, match="1 of 1 points violate cheap constraints"):
        minimize(fun, BOUNDS, budget=20, seed=1, cheap=thin_shell, x0=[4.0, 4.0, 4.0])
    assert fun.outside == 0
    assert abs(fun.points[0] @ fun.points[0] - 1.0) <= 0.02


@pytest.mark.parametrize("workers", [Workers(2, batch=4), Workers(2, asynchronous=True)])
def test_workers_stay_inside(workers):
    result = minimize(Recorder(), BOUNDS, budget=40, seed=1, cheap=thin_shell, workers=workers)
    assert max(max(thin_shell(x)) for x in result.evaluations.x) <= 0.0


def test_whole_numbers_and_named_variables():
    seen = []

    def fun(d):
        seen.append(dict(d))
        return (d["n"] - 2.2) ** 2 + (d["w"] + 1.3) ** 2 + d["m"] ** 2

    def fits(d):
        return abs(d["n"] * d["w"] + d["m"] - 3.05) - 0.02

    bounds = {"n": Variable(-6, 6, integer=True), "w": (-6, 6), "m": Variable(-5, 5, integer=True)}
    result = minimize(fun, bounds, budget=25, seed=2, cheap=fits)
    assert all(fits(d) <= 0.0 for d in seen)
    assert len({tuple(d.values()) for d in seen}) == 25  # no point twice, thin as the set is
    assert result.fun < 5.61


def test_a_vectorized_function_has_vectorized_cheap_constraints():
    shapes = []

    def shell(x):
        shapes.append(x.shape)
        return np.abs(np.sum(x * x, axis=1) - 1.0) - 0.02

    result = minimize(
        lambda x: np.sum((x - 3.0) ** 2, axis=1), BOUNDS, budget=40, seed=1, cheap=shell,
        workers=Workers(batch=4, vectorized=True),
    )  # fmt: skip
    assert all(len(shape) == 2 for shape in shapes)
    assert result.feasible
    assert (np.abs(np.sum(result.evaluations.x**2, axis=1) - 1.0) <= 0.02).all()


def test_constraints_of_scipy_and_linear_ones_may_be_cheap():
    plane = meco.LinearConstraint([[1.0, 1.0, 1.0]], lb=2.0, ub=2.1)
    result = minimize(
        lambda x: x @ x, BOUNDS, budget=40, seed=1, cheap=[plane, {"type": "ineq", "fun": lambda x: x[0]}]
    )
    sums = result.evaluations.x.sum(axis=1)
    assert (sums >= 2.0).all()
    assert (sums <= 2.1).all()
    assert (result.evaluations.x[:, 0] >= 0.0).all()
    assert result.fun < 4.0 / 3.0 + 1e-3


def test_an_equality_is_met():
    curve = {"type": "eq", "fun": lambda x: x[0] * x[1] - 2.0}
    result = minimize(lambda x: x @ x, [(0.1, 5.0)] * 2, budget=40, seed=1, cheap=curve)
    assert (np.abs(result.evaluations.x.prod(axis=1) - 2.0) <= 1e-4).all()
    assert result.fun < 4.001


def test_a_set_without_points_costs_no_call():
    fun = Recorder()
    with pytest.raises(InvalidInput, match="no point was found that keeps the cheap constraints"):
        minimize(fun, [(-1.0, 1.0)], budget=10, cheap=lambda x: x[0] ** 2 + 1.0)
    assert fun.points == []


def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    options = {"budget": 30, "seed": 1, "cheap": thin_shell}
    expected = minimize(Recorder(), BOUNDS, **options)
    kill_run(lambda fun: minimize(fun, BOUNDS, checkpoint=tmp_path / "run", **options), Recorder(), 20)
    result = minimize(Recorder(), BOUNDS, cheap=thin_shell, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    np.testing.assert_array_equal(result.evaluations.x, expected.evaluations.x)
    with pytest.raises(InvalidInput, match="its cheap is"):
        minimize(Recorder(), BOUNDS, checkpoint=Checkpoint(tmp_path / "run", resume=True))


def test_ask_and_tell_with_cheap_constraints_and_its_state():
    fun, search = Recorder(), Optimizer(BOUNDS, 1, budget=40, seed=1, cheap=thin_shell)
    for _ in range(12):
        tell_all(search, fun)
    with pytest.raises(InvalidInput, match="which no file holds"):
        Optimizer.from_state(search.state())
    again = Optimizer.from_state(search.state(), cheap=thin_shell)
    while not search.done:
        np.testing.assert_array_equal(tell_all(search, fun), tell_all(again, Recorder()))
    assert fun.outside == 0
    assert list(search.result.constraints) == ["g1", "thin_shell 1", "thin_shell 2"]


def tell_all(search, fun):
    x = search.ask()
    values = [fun(row) for row in x]
    search.tell(x, [f for f, _ in values], [g for _, g in values])
    return x


def test_the_command_line_takes_them_from_the_file_or_by_name(tmp_path, monkeypatch, capsys):
    (tmp_path / "beam.py").write_text(
        "bounds = [(-5, 5)] * 2\n"
        "def beam(x):\n    assert ring(x) <= 0\n    return (x[0] - 3)**2 + (x[1] - 3)**2\n"
        "def ring(x):\n    return abs(x[0]**2 + x[1]**2 - 1) - 0.02\n"
    )
    monkeypatch.chdir(tmp_path)
    options = ["--budget", "30", "--seed", "1", "--quiet", "--checkpoint", "run", "--on-error", "raise"]
    assert main(["solve", "beam.py:beam", "--cheap", "ring", *options]) == 0
    assert "ring" in capsys.readouterr().out
    assert main(["resume", "run", "--budget", "34", "--quiet"]) == 0


def test_a_report_shows_them(tmp_path):
    result = minimize(Recorder(), BOUNDS, budget=30, seed=1, cheap={"shell": thin_shell})
    assert "shell 1" in result.report(tmp_path / "page.html").read_text()
