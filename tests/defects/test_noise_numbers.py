"""Noise that is told as a number, in tiny budgets, at extreme sizes, and calls that confirm an answer."""

import itertools

import numpy as np
import pytest

import meco
from meco import LinearConstraint, Tolerances, Workers

BOX = [(-4.0, 4.0)] * 2
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("method", ["TR"])
@pytest.mark.parametrize("noise", [True, 0.1])
def test_tiny_budgets_with_noise_run_to_their_end(method, noise):
    for dim, budget, batch in itertools.product((1, 2), (1, 2, 3, 5), (None, 1, 2)):
        workers = Workers(1, batch=batch)
        result = meco.minimize(
            lambda x: float(x @ x), [(-4, 4)] * dim, budget=budget, method=method, noise=noise, seed=1, workers=workers
        )
        assert result.nfev == budget


@pytest.mark.parametrize("noise", [0.1, [0.1]], ids=["number", "list"])
@pytest.mark.parametrize("kind", ["cheap", "linear"])
def test_exact_constraints_have_no_noise(noise, kind):
    for seed in range(5):
        draw = np.random.default_rng(seed)
        exact = (
            {"cheap": {"keep": lambda x: 1 - x[0]}}
            if kind == "cheap"
            else {"constraints": LinearConstraint([[1.0, 0.0]], 1.0, np.inf)}
        )
        result = meco.minimize(
            lambda x, draw=draw: float(x @ x) + 0.1 * draw.normal(), BOX, budget=60, seed=seed, noise=noise, **exact
        )
        assert result.success
        assert result.probability > 0.99
        assert result.x @ result.x < 1.15  # 1.3 to 2.6 before; noise of 0.1 hides the rest


def test_a_number_of_noise_is_still_that_of_other_constraints_beside_exact_ones():
    draw = np.random.default_rng(1)

    def fun(x):
        return float(x @ x) + 0.1 * draw.normal(), [1 - x[0] + 0.1 * draw.normal()]

    result = meco.minimize(fun, BOX, cheap={"keep": lambda x: x[1] - 2}, budget=80, seed=1, noise=0.1)
    np.testing.assert_allclose(result.repeated["constraint_spread"], [0.1, 0.0])


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-150, 1.0, 1e150, 1e200, 1e300])
def test_spreads_of_any_size_are_told(scale):
    unsure = []
    for seed in range(5):
        draw = np.random.default_rng(seed)

        def fun(x, draw=draw):
            return scale * (float(x @ x) + 0.1 * draw.normal()), [scale * (1 - x[0] + 0.05 * draw.normal())]

        result = meco.minimize(fun, BOX, budget=100, seed=seed, noise=True, tolerances=0)
        assert result.repeated["spread"] / scale == pytest.approx(0.1, rel=0.6)
        assert result.repeated["constraint_spread"][0] / scale == pytest.approx(0.05, rel=0.6)
        unsure.append(result.probability is None or (result.success and 1 - result.x[0] > 0.1))
    assert not any(unsure)


def test_confirm_takes_partial_answers():
    draw = np.random.default_rng(1)

    def staged(x):
        g = {"room": 1 - x[0] + 0.02 * draw.normal()}
        if g["room"] > 0:
            return {"g": g}
        g["stress"] = x[1] - 2 + 0.02 * draw.normal()
        return {"f": float(x @ x) + 0.05 * draw.normal(), "g": g}

    result = meco.minimize(staged, [(-4, 4)] * 3, budget=100, seed=1, noise=True)
    for _ in range(10):
        confirmed = meco.confirm(result, staged, calls=20)
        assert confirmed.nfev == result.nfev + 20
        assert confirmed.repeated["calls"] > 1


@pytest.mark.parametrize("names", [(), ("A", "B")])
def test_confirm_reads_constraints_by_the_names_of_the_function(names):
    draw, calls = np.random.default_rng(1), []

    def fun(x):
        calls.append(x)
        a, b = 1 - x[0], x[1] - 3.0
        return float(x @ x) + 0.1 * draw.normal(), {"a": a, "b": b} if len(calls) % 2 else {"b": b, "a": a}

    result = meco.minimize(fun, BOX, budget=60, seed=1, tolerances=Tolerances(names=names) if names else None)
    confirmed = meco.confirm(result, fun, calls=20)
    first, second = (each.value for each in confirmed.constraints.values())
    assert first == pytest.approx(1 - confirmed.x[0], abs=1e-9)
    assert second == pytest.approx(confirmed.x[1] - 3.0, abs=1e-9)


def test_limits_far_from_the_answer_have_price_zero_under_noise():
    for seed in range(4):
        draw = np.random.default_rng(seed)

        def fun(x, draw=draw):
            near, far = 1 - x[0] + 0.02 * draw.normal(), x[1] - 100.0 + 0.02 * draw.normal()
            return float(x @ x) + 0.05 * draw.normal(), {"near": near, "far": far}

        result = meco.minimize(fun, [(-4, 4)] * 3, budget=100, seed=seed, noise=True)
        assert result.multipliers["far"] == 0.0
