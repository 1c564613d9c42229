"""Run folders of another version, of failed runs, and paths that are no folders."""

import pytest

import meco
from meco import Checkpoint, Workers
from meco.errors import InvalidInput, MecoError

BOX = [(-4.0, 4.0)] * 3
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def fun(x):
    return float(x @ x), [1.0 - x[0]]


@pytest.mark.parametrize("workers", [Workers(1), Workers(1, asynchronous=True)], ids=["generations", "asynchronous"])
@pytest.mark.parametrize("calls", [3, 20])
def test_a_folder_of_another_version_goes_on_knowing_every_answer(tmp_path, monkeypatch, calls, workers):
    folder, made = tmp_path / "run", []

    def counted(x):
        made.append(x)
        if len(made) == calls + 1:
            raise KeyboardInterrupt
        return fun(x)

    meco.minimize(counted, BOX, budget=40, seed=1, checkpoint=folder, workers=workers)
    monkeypatch.setattr(meco, "__version__", "99.0")
    result = meco.minimize(counted, BOX, budget=40, seed=1, checkpoint=Checkpoint(folder, resume=True), workers=workers)
    assert result.nfev == 40
    assert len(made) == 41
    assert result.fun == pytest.approx(1.0, abs=1e-2)
    again = meco.minimize(counted, BOX, budget=40, seed=1, checkpoint=Checkpoint(folder, resume=True), workers=workers)
    assert again.fun == result.fun
    assert len(made) == 41


@pytest.mark.parametrize("method", ["TR", "SHADE-FR"])
def test_a_run_whose_calls_all_failed_gets_a_larger_budget(tmp_path, method):
    def dead(x):
        raise ValueError("no licence")

    options = {"seed": 1, "method": method, "on_error": "penalize"}
    meco.minimize(dead, BOX, budget=12, checkpoint=tmp_path / "run", **options)
    again = Checkpoint(tmp_path / "run", resume=True)
    assert meco.minimize(dead, BOX, budget=32, checkpoint=again, **options).nfev == 32


def test_a_file_given_as_checkpoint_is_refused_as_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInput, match="checkpoint must be a folder"):
        meco.minimize(fun, BOX, budget=12, checkpoint=tmp_path / "file")
    with pytest.raises(MecoError):
        meco.minimize(fun, BOX, budget=12, checkpoint=tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"
