"""Files of a folder that are links, pipes, devices or folders: refused in one line, and nothing outside is touched."""

import os
import random

import pytest
from foreign_files import led_elsewhere

from meco.errors import DamagedFile, InvalidInput
from meco.files.atomic import DRAFT_SUFFIX, write_text
from meco.files.regular_files import check_regular, read_regular

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
WAYS = ("link", "link to a folder", "dangling", "loop", "folder", "fifo", "endless")


class Chosen(random.Random):
    """Chooses what it is told to."""

    def __init__(self, what):
        super().__init__(0)
        self.what = what

    def choice(self, some):
        return self.what


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
