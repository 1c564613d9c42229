"""Files of a folder that are links, pipes, devices or folders: refused in one line, and nothing outside is touched."""

import os
import random
import shutil

import pytest
from foreign_files import led_elsewhere
from in_process import call, complaint

from meco.errors import DamagedFile, InvalidInput
from meco.files.atomic import DRAFT_SUFFIX, write_text
from meco.files.regular_files import check_regular, read_regular
from meco.run.folder import FILES

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
WAYS = ("link", "link to a folder", "dangling", "loop", "folder", "fifo", "endless")
RUN = "solve p.py:fun --budget 12 --method SHADE --pop-size 6 --seed 1 --quiet --checkpoint r"


class Chosen(random.Random):
    """Chooses what it is told to."""

    def __init__(self, what):
        super().__init__(0)
        self.what = what

    def choice(self, some):
        return self.what


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    (place / "p.py").write_text("bounds = [(-5, 5)] * 2\ndef fun(x):\n    return float(x @ x), [1 - x[0]]\n")
    assert call(RUN.split(), place)[0] == 0
    return place


@pytest.mark.parametrize("what", WAYS)
def test_no_file_of_a_run_is_written_or_read_through(made, tmp_path, what):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "prey").write_text("not ours")
    for name in (*FILES, "result.json" + DRAFT_SUFFIX, "state.bin" + DRAFT_SUFFIX):
        place = tmp_path / "deep" / f"{name} {what}"
        shutil.copytree(made, place)
        before = sorted(p.name for p in (tmp_path / "deep").iterdir())
        led_elsewhere(place / "r" / name, Chosen(what))
        for line in ("resume r --quiet --yes", RUN, "export r", "watch r --port x"):
            code, said, _ = call(line.split(), place)
            assert not complaint(code, said), f"{name}, {line}"
        assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == before
        assert (tmp_path / "deep" / "prey").read_text() == "not ours"


@pytest.mark.parametrize("what", WAYS)
def test_a_plain_file_is_one(tmp_path, what):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "prey").write_text("not ours")
    file = tmp_path / "deep" / "file"
    led_elsewhere(file, Chosen(what))
    with pytest.raises(InvalidInput, match="no plain file, and nothing is written through it"):
        check_regular(file.parent, ["none", "file"])
    if what == "link":
        assert read_regular(file, 100) == b"not ours"  # reading changes nothing
    else:
        with pytest.raises((DamagedFile, OSError)):
            read_regular(file, 100)
    if what != "folder":
        write_text(tmp_path / "deep" / "other", "ours")
        os.rename(file, tmp_path / "deep" / ("other" + DRAFT_SUFFIX))  # a draft that somebody laid out
        write_text(tmp_path / "deep" / "other", "ours again")
        assert (tmp_path / "deep" / "other").read_text() == "ours again"
        assert (tmp_path / "deep" / "prey").read_text() == "not ours"


def test_files_that_are_too_large_are_not_read(tmp_path):
    (tmp_path / "file").write_bytes(bytes(101))
    with pytest.raises(DamagedFile, match="it has 101 bytes, and at most 100 are expected"):
        read_regular(tmp_path / "file", 100)
