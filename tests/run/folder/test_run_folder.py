"""The folder of a run: where it lies, what it holds, and what becomes of it on a full disk."""

import os

import pytest
from numpy.testing import assert_array_equal

from meco import Checkpoint
from meco.errors import CannotWrite, InvalidInput, MecoError
from small_runs import f_and_g, posix, run


def test_a_relative_folder_stays_where_it_was_when_the_function_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def moves(x):
        os.chdir(tmp_path / "elsewhere")
        return f_and_g(x)

    run(moves, checkpoint="r")
    assert (tmp_path / "r" / "result.json").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_texts_that_are_not_utf8_are_kept(tmp_path):
    def fun(x):
        raise ValueError("\udc80 broken \udcff")

    result = run(fun, checkpoint=tmp_path / "r", on_error="penalize")
    assert result.run.nfail == 40
    assert "broken" in (tmp_path / "r" / "result.json").read_text()
    assert "broken" in (tmp_path / "r" / "events.jsonl").read_text()


class FullDisk:
    """os.write that takes only so many bytes to log files, as a full disk does."""

    def __init__(self, room):
        self.room, self.write = room, os.write

    def __call__(self, descriptor, content):
        if self.room < len(content):
            if self.room > 0:
                written, self.room = self.write(descriptor, bytes(content)[: self.room]), 0
                return written
            raise OSError(28, "No space left on device")
        self.room -= len(content)
        return self.write(descriptor, content)


@posix
@pytest.mark.parametrize("room", [50, 150, 1300, 1333, 1700, 2200, 3000])
def test_a_full_disk_gives_an_error_with_the_result_and_a_folder_that_resumes(tmp_path, monkeypatch, room):
    whole = run(lambda x: {"f": float(x @ x), "g": {"left": 1.0 - x[0]}})

    def named(x):
        return {"f": float(x @ x), "g": {"left": 1.0 - x[0]}}

    with monkeypatch.context() as patch:
        patch.setattr("meco.run.log.os.write", FullDisk(room))
        with pytest.raises(CannotWrite, match="No space left") as caught:
            run(named, checkpoint=tmp_path / "r")
    assert str(tmp_path / "r") in str(caught.value)
    if caught.value.result is not None:  # the very first bytes may be what did not fit
        assert caught.value.result.nfev <= 40
    again = run(named, checkpoint=Checkpoint(tmp_path / "r", resume=True))  # the lock is free
    assert_array_equal(again.evaluations.x, whole.evaluations.x)
    assert_array_equal(again.evaluations.g, whole.evaluations.g)
    assert list(again.constraints) == ["left"]


def test_a_file_where_a_folder_should_be_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MecoError, match="file"):
        run(checkpoint=tmp_path / "file")
    with pytest.raises(InvalidInput, match="checkpoint"):
        run(checkpoint=7)
