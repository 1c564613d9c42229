"""Files that somebody removes under a run are noticed, and odd folders, seeds and maps refused or kept."""

import pytest

import meco
from meco import Checkpoint
from meco.errors import InvalidInput

BOX = [(-5, 5)] * 2


def bowl(x):
    return float(x @ x), [1 - x[0]]


@pytest.mark.parametrize("name", ["evals.bin", "run.json"])
def test_a_file_that_is_removed_under_a_run_is_written_again_and_told(name, tmp_path):
    folder, calls = tmp_path / "run", []

    def fun(x):
        calls.append(1)
        if len(calls) == 25:
            (folder / name).unlink()
        return bowl(x)

    first = meco.minimize(fun, BOX, budget=40, seed=1, checkpoint=folder)
    assert f"The file {name} was removed" in first.message
    again = meco.minimize(fun, BOX, budget=40, seed=1, checkpoint=Checkpoint(folder, resume=True))
    assert len(calls) == 40
    assert (again.evaluations.x == first.evaluations.x).all()


def test_a_lock_that_is_removed_is_taken_again(tmp_path):
    folder, calls, second = tmp_path / "run", [], []

    def fun(x):
        calls.append(1)
        if len(calls) == 15:
            (folder / "lock").unlink()
        if len(calls) == 25:
            try:
                meco.minimize(bowl, BOX, budget=40, seed=1, checkpoint=Checkpoint(folder, resume=True))
            except InvalidInput as error:
                second.append(str(error))
        return bowl(x)

    meco.minimize(fun, BOX, budget=40, seed=1, checkpoint=folder)
    assert (folder / "lock").exists()
    assert second
    assert "in use" in second[0]


@pytest.mark.parametrize("seed", [2**63, 2**128 - 1])
def test_a_run_with_a_long_seed_can_be_resumed(seed, tmp_path):
    first = meco.minimize(bowl, BOX, budget=20, seed=seed, checkpoint=tmp_path / "run")
    again = meco.minimize(bowl, BOX, budget=20, seed=seed, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert (first.evaluations.x == again.evaluations.x).all()


@pytest.mark.parametrize(
    ("given", "said"), [({"seed": 2**300}, "at most 256 bits"), ({"budget": 10**30}, "at most 10")]
)
def test_seeds_and_budgets_that_no_file_could_hold_are_refused_before_the_first_call(given, said):
    with pytest.raises(InvalidInput, match=said):
        meco.minimize(bowl, BOX, **given)


@pytest.mark.parametrize("folder", ["", "a\0b"])
def test_a_folder_that_cannot_be_one_is_refused_in_words(folder):
    with pytest.raises(InvalidInput, match="checkpoint must be the path of a folder"):
        meco.minimize(bowl, BOX, budget=10, checkpoint=folder)


def test_a_map_that_returns_nothing_is_refused_in_words():
    with pytest.raises(InvalidInput, match="must return the results in order; it returned None"):
        meco.minimize(bowl, BOX, budget=10, seed=1, workers=lambda function, items: None)


class Enough(BaseException):
    """What a function raises to end everything."""


def ends_everything(x):
    raise Enough


def test_what_ends_a_worker_prints_no_traceback(capfd):
    result = meco.minimize(ends_everything, BOX, budget=4, seed=1, workers=2)
    assert result.run.failures == {"worker_lost": 4}
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("ending", ["callback", "target"])
def test_a_run_that_ended_early_is_resumed_whatever_was_confirmed_since(ending, tmp_path):
    """Confirming calls take no numbers of the run: a resumed search finds its own."""
    early = {"callback": lambda result: result.nfev >= 20} if ending == "callback" else {"stop": meco.Stop(target=2.0)}
    first = meco.minimize(bowl, BOX, budget=40, seed=1, checkpoint=tmp_path / "run", **early)
    meco.confirm(first, bowl, calls=4)
    again = meco.minimize(bowl, BOX, budget=40, seed=1, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    whole = meco.minimize(bowl, BOX, budget=40, seed=1)
    assert first.nfev < 40
    assert (again.evaluations.x == whole.evaluations.x).all()
