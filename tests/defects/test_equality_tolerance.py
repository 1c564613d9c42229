"""Default tolerances of equalities: 1e-4 for values of size 1 and above, in proportion below."""

import json
import warnings

import numpy as np
import pytest

import meco
from meco import Checkpoint, Optimizer, Tolerances, Workers

PUMPS = {"q1": (0, 5e-5), "q2": (0, 5e-5)}  # m3/s


def pumps(d):
    q1, q2 = d["q1"], d["q2"]
    return {
        "f": 4e14 * q1**3 + 7e14 * q2**3 + 1.0,
        "h": {"balance": q1 + q2 - 3e-5},
        "g": {"q1 max": q1 - 2.5e-5},
    }


BEST = 4.5026  # of f, where the balance holds


def circle(scale):
    """Least x0 + x1 on the circle of radius 2, its equality in other units."""

    def fun(x):
        return float(x[0] + x[1]), [], [scale * (x[0] ** 2 + x[1] ** 2 - 4.0)]

    return fun


BOX = [(-3.0, 3.0)] * 2


def tolerance_of(result):
    return [each.tolerance for each in result.constraints.values()][-1]


@pytest.mark.parametrize("method", ["TR"])
def test_an_equality_in_small_units_holds(method):
    result = meco.minimize(pumps, PUMPS, budget=100, seed=1, method=method)
    assert result.success
    assert result.design["q1"] + result.design["q2"] == pytest.approx(3e-5, rel=1e-3)
    assert result.fun == pytest.approx(BEST, rel=1e-3)


def test_an_equality_in_small_units_that_is_violated_is_no_success():
    result = meco.minimize(pumps, PUMPS, budget=12, seed=1, method="SHADE")
    assert abs(result.constraints["balance"].value) > 1e-4 * 3e-5
    assert not result.success


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_equalities_of_size_one_and_above_keep_the_tolerance(scale):
    result = meco.minimize(circle(scale), BOX, budget=60, seed=1)
    assert tolerance_of(result) == 1e-4


def test_the_tolerance_is_never_below_what_rounding_leaves_of_large_values():
    result = meco.minimize(circle(1e12), BOX, budget=60, seed=1)
    largest = np.abs(result.evaluations.h[:5]).max()
    assert tolerance_of(result) == pytest.approx(1e-12 * largest)


def test_equalities_of_different_units_have_tolerances_of_their_own():
    def fun(x):
        return float(x @ x), [], [1e-6 * (x[0] - 1.0), 1e6 * (x[1] + x[0] ** 2 - 2.0)]

    result = meco.minimize(fun, BOX, budget=80, seed=1)
    small, large = (each.tolerance for each in result.constraints.values())
    assert 1e-12 < small < 1e-9
    assert large == 1e-4
    np.testing.assert_allclose(result.x, [1.0, 1.0], atol=1e-3)


@pytest.mark.parametrize("given", [1e-4, {"h1": 1e-4}, Tolerances(eq=1e-4), Tolerances(eq=[1e-4])])
def test_a_tolerance_that_is_given_is_never_changed(given):
    result = meco.minimize(circle(1e-6), BOX, budget=40, seed=1, tolerances=given)
    assert tolerance_of(result) == 1e-4


def test_a_dict_of_tolerances_leaves_the_default_of_other_equalities():
    def fun(d):
        return d["a"] ** 2, {}, {"first": 1e-6 * (d["a"] - 1.0), "second": 1e-6 * (d["b"] - 1.0)}

    result = meco.minimize(fun, {"a": (-3, 3), "b": (-3, 3)}, budget=40, seed=1, tolerances={"first": 1e-9})
    assert result.constraints["first"].tolerance == 1e-9
    assert 1e-12 < result.constraints["second"].tolerance < 1e-9


@pytest.mark.parametrize("on_its_own", [{}, {"workers": Workers(1, asynchronous=True)}])
@pytest.mark.parametrize("calls", [2, 4, 9, 30])
def test_a_resumed_run_has_the_same_tolerance(tmp_path, on_its_own, calls):
    made = []

    def fun(x):
        made.append(0)
        if len(made) == calls + 1:
            raise KeyboardInterrupt
        return circle(1e-6)(x)

    whole = meco.minimize(circle(1e-6), BOX, budget=60, seed=1, **on_its_own)
    meco.minimize(fun, BOX, budget=60, seed=1, checkpoint=tmp_path / "run", **on_its_own)
    again = Checkpoint(tmp_path / "run", resume=True)
    resumed = meco.minimize(fun, BOX, budget=60, seed=1, checkpoint=again, **on_its_own)
    assert resumed.nfev == 60
    if not on_its_own:
        np.testing.assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
    assert tolerance_of(resumed) == tolerance_of(whole)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("told", [1, 5, 20])
def test_an_optimizer_has_the_tolerance_of_minimize_also_from_a_state(asynchronous, told):
    search = Optimizer(BOX, 0, 1, budget=60, seed=1, workers=Workers(1, asynchronous=asynchronous))
    fun, count = circle(1e-6), 0
    while not search.done:
        for x in search.ask(1):
            f, _, h = fun(x)
            search.tell(x, f, h=h)
            count += 1
            if count == told:
                search = Optimizer.from_state(search.state())
    whole = meco.minimize(fun, BOX, budget=60, seed=1, workers=Workers(1, asynchronous=asynchronous))
    assert tolerance_of(search.result) == tolerance_of(whole)
    assert search.result.success


def test_a_cheap_equality_in_small_units_holds_at_every_call():
    called = []

    def fun(d):
        called.append(d["q1"] + d["q2"])
        return 4e14 * d["q1"] ** 3 + 7e14 * d["q2"] ** 3 + 1.0

    cheap = {"balance": lambda d: d["q1"] + d["q2"]}
    equal = {"balance": meco_equality(cheap["balance"], 3e-5)}
    result = meco.minimize(fun, PUMPS, cheap=equal, budget=60, seed=1)
    np.testing.assert_allclose(called, 3e-5, rtol=1e-3)
    assert result.success
    assert result.fun == pytest.approx(BEST, rel=1e-3)


def meco_equality(fun, value):
    """A constraint object with equal limits."""

    class Equality:
        lb = ub = value

    Equality.fun = staticmethod(fun)
    return Equality()


def test_an_equality_that_rounding_alone_keeps_from_zero_stays_feasible():
    def fun(x):
        share = np.abs(x) + 0.1
        share = share / share.sum()
        return float((x - 1.0) @ (x - 1.0)), [], [float(share[0] + share[1] + share[2] - 1.0)]

    result = meco.minimize(fun, [(-3.0, 3.0)] * 3, budget=60, seed=1)
    assert result.evaluations.feasible.all()


@pytest.mark.parametrize("stop", ["feasible", meco.Stop(target=-2.0)])
def test_a_stop_is_judged_by_the_same_tolerance(stop):
    result = meco.minimize(circle(1e-6), BOX, budget=200, seed=1, stop=stop)
    assert result.success
    assert result.nfev < 200
    assert abs(result.x @ result.x - 4.0) < 1e-2


def test_a_wide_tolerance_is_named_in_message_and_notes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = meco.minimize(pumps, PUMPS, budget=60, seed=1, tolerances={"balance": 1e-4})
    (note,) = (note for note in result.run.notes if "balance" in note)
    assert "1 %" in note
    assert note[1:] in result.message
    fine = meco.minimize(pumps, PUMPS, budget=60, seed=1)
    assert not any("balance" in note for note in fine.run.notes)


def test_export_judges_by_the_tolerance_of_the_run(tmp_path, capsys):
    from meco.cli import main

    result = meco.minimize(circle(1e-6), BOX, budget=60, seed=1, checkpoint=tmp_path / "run")
    assert main(["export", str(tmp_path / "run"), "--jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["feasible"] for row in rows] == result.evaluations.feasible.tolist()


def test_named_benchmark_problems_keep_their_tolerance(tmp_path, capsys):
    from meco.cli import main

    folder = tmp_path / "run"
    main(["solve", "C03", "--dim", "2", "--budget", "30", "--seed", "1", "--quiet", "--checkpoint", str(folder)])
    found = json.loads((folder / "result.json").read_text())
    assert [each["tolerance"] for each in found["constraints"].values()][-1] == 1e-4
