"""Runs, states and policies of version 0.1: read and continued as they were recorded, or refused with the way out."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.blackbox.runreader import load_run
from meco.cli import main
from meco.errors import InvalidInput

DATA = Path(__file__).parent.parent / "data" / "v0.1"
BOX = [(-5.0, 5.0)] * 3
GO_ON = {
    "meco-finished": {"method": "MeCO", "budget": 60},
    "meco-interrupted": {"method": "MeCO", "budget": 90},
    "shade-interrupted": {"method": "SHADE", "budget": 70},
    "shade-early": {"method": "SHADE", "budget": 70},
    "shade-plain": {"method": "SHADE", "budget": 70},
    "shade-target": {"method": "SHADE-FR", "budget": 200, "eq_tol": 0.5, "stop": "feasible"},
    "shade-workers": {"method": "SHADE-FR", "budget": 60, "on_error": "retry"},
}
REFUSED = ("cobyqa-interrupted", "cobyqa-finished")


def named(x):
    if x[1] > 4:
        raise ValueError("no mesh")
    return float(x @ x), {"reach": 1.0 - x[0], "height": x[1] - 3.0}, [x[0] - x[2]]


def plain(x):
    return float(x @ x)


def values(x):
    return (x * x).sum(axis=-1), 1.0 - x[..., :2], x[..., :1] - x[..., 2:]


@pytest.fixture
def copied(tmp_path):
    def copy(name):
        return Path(shutil.copytree(DATA / name, tmp_path / name))

    return copy


@pytest.mark.parametrize("name", GO_ON)
def test_a_run_goes_on_with_the_population_and_seed_that_it_recorded(name, copied):
    folder, fun = copied(name), plain if name == "shade-plain" else named
    _, before, damaged = load_run(folder)
    assert damaged == 0
    calls = []

    def counted(x):
        calls.append(x)
        return fun(x)

    counted.__qualname__ = fun.__qualname__
    result = meco.minimize(counted, BOX, checkpoint=folder, resume=True, **GO_ON[name])
    assert len(calls) == result.nfev - len(before)
    assert result.nfev == (63 if name == "shade-target" else GO_ON[name]["budget"])
    whole = DATA / f"{name}-points.npy"
    if whole.exists():
        assert_array_equal(result.evaluations.x, np.load(whole))
    again = meco.minimize(fun, BOX, checkpoint=folder, resume=True, **GO_ON[name])  # now of this version's format
    assert_array_equal(again.evaluations.x, result.evaluations.x)
    assert again.constr == result.constr


@pytest.mark.parametrize("name", REFUSED)
def test_a_run_of_a_method_that_begins_elsewhere_now_is_refused_with_the_way_out(name, copied):
    folder = copied(name)
    with pytest.raises(InvalidInput, match=r"COBYQA .* made by meco 0\.1\.0; .*evaluated=<that folder>") as refused:
        meco.minimize(named, BOX, method="COBYQA", budget=70, checkpoint=folder, resume=True)
    assert "\n" not in str(refused.value)
    _, log, _ = load_run(folder)
    good = sum(entry.good for entry in log.entries.values())
    result = meco.minimize(named, BOX, method="SHADE-FR", budget=20, seed=1, evaluated=folder)
    assert result.evaluations.given.sum() == good


@pytest.mark.parametrize("name", [*GO_ON, *REFUSED])
def test_every_run_can_be_exported(name, copied, capsys):
    assert main(["export", str(copied(name))]) == 0
    lines = capsys.readouterr().out.splitlines()
    _, log, _ = load_run(DATA / name)
    assert len(lines) == 1 + len(log)
    assert lines[0].endswith("f" if name == "shade-plain" else "f,reach,height,h1")


@pytest.mark.parametrize("name", ["meco", "shade", "cma"])
def test_a_state_goes_on_where_it_was_taken(name):
    if name == "cma":
        pytest.importorskip("cma")
    with np.load(DATA / f"state-{name}.npz", allow_pickle=False) as state:
        search = meco.Optimizer.from_state(state)
    while not search.done:
        x = search.pending if len(search.pending) else search.ask()
        search.tell(x, *values(x))
    assert_array_equal(search.result.evaluations.x, np.load(DATA / f"state-{name}-points.npy"))


def test_a_policy_is_the_one_that_is_shipped():
    kept, shipped = meco.load_policy(DATA / "policy.safetensors"), meco.load_policy("meco-10d")
    assert kept.metadata["digest"] == shipped.metadata["digest"]
