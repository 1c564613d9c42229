"""Noise and failures where points come in batches, one by one, from a folder or through adapters."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco import Workers

BOX = [(-2, 2)] * 2


def half(x):
    """Fails beyond x1 = 0.1, where f would fall."""
    return float("nan") if x[0] > 0.1 else (float((x[0] - 1.0) ** 2 + x[1] ** 2), [-1.0 - x[1]])


WAYS = {
    "batch": {"workers": Workers(batch=3)},
    "asynchronous": {"workers": Workers(1, batch=2, asynchronous=True)},
    "noise told": {"noise": 0.01},
}


@pytest.mark.parametrize("given", WAYS.values(), ids=WAYS)
def test_a_border_is_followed(given):
    budget = 60 if given == WAYS["batch"] else 40  # which learns after three calls
    seeds = (1, 2, 3) if given == WAYS["batch"] else (1,)  # 30, 26 and 23 fail
    results = [meco.minimize(half, BOX, budget=budget, seed=seed, **given) for seed in seeds]
    assert max(result.fun for result in results) < 0.95  # 0.81 is possible
    # where 48 % of the box fail and f falls towards them
    assert np.median([result.run.nfail for result in results]) < budget // 2


def test_a_search_with_failures_is_resumed_bit_for_bit(tmp_path):
    calls, kw = [], {"budget": 30, "seed": 2}

    def counted(x):
        calls.append(x)
        return half(x)

    whole = meco.minimize(half, BOX, **kw)
    meco.minimize(counted, BOX, checkpoint=tmp_path, callback=lambda r: len(calls) > 15, **kw)
    again = meco.minimize(counted, BOX, checkpoint=meco.Checkpoint(tmp_path, resume=True), **kw)
    assert_array_equal(again.evaluations.x, whole.evaluations.x)


def test_points_asked_for_are_those_of_minimize():
    search = meco.Optimizer(BOX, n_ineq=1, budget=25, seed=2)
    while not search.done:
        for x in search.ask():
            told = half(x)
            if isinstance(told, float):
                search.tell(x, np.nan, [np.nan], failed=True)
            else:
                search.tell(x, *told)
    assert_array_equal(search.result.evaluations.x, meco.minimize(half, BOX, budget=25, seed=2).evaluations.x)


def test_a_failed_trial_of_optuna_teaches_where_it_fails():
    optuna = pytest.importorskip("optuna")
    from meco.adapters.optuna import MecoSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=MecoSampler(seed=1, budget=40))
    failed = 0
    for _ in range(40):
        trial = study.ask()
        told = half(np.array([trial.suggest_float(name, -2, 2) for name in ("a", "b")]))
        failed += isinstance(told, float)
        if isinstance(told, float):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, told[0])
    assert failed < 22
    assert study.best_value < 1.0


def test_nan_of_pymoo_teaches_where_it_fails():
    pytest.importorskip("pymoo")
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.optimize import minimize

    from meco.adapters.pymoo import MeCO

    class Half(ElementwiseProblem):
        failed = 0

        def __init__(self):
            super().__init__(n_var=2, n_obj=1, n_ieq_constr=1, xl=-2.0, xu=2.0)

        def _evaluate(self, x, out, *args, **kwargs):
            told = half(x)
            Half.failed += isinstance(told, float)
            out["F"], out["G"] = (np.nan, [np.nan]) if isinstance(told, float) else told

    result = minimize(Half(), MeCO(), ("n_eval", 50), seed=1)
    assert Half.failed < 25
    assert result.F[0] < 1.0
