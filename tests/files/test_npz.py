"""Arrays from elsewhere: what an npz claims of itself is checked before it is believed."""

import io
import struct
import zipfile

import numpy as np
import pytest

from meco.errors import DamagedFile
from meco.files.npz import read_npz


def packed(array: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", method) as archive:
        archive.writestr("text.npy", array)
    return inner.getvalue()


@pytest.mark.parametrize("shape", [(1 << 40,), (1 << 20, 1 << 20), (-1,), (1 << 62, 4), (0, 1 << 62), (3.5,)])
@pytest.mark.parametrize("kind", ["<f8", "|O", "<U9", "|V0"])
def test_an_array_that_claims_more_than_its_file_holds_is_refused(shape, kind):
    head = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) + 1) + head + b"\n" + b"\0" * 64
    with pytest.raises(DamagedFile, match=r"text\.npy"):
        read_npz(packed(array), "a file")


def test_an_archive_that_unpacks_to_too_much_is_refused():
    content = io.BytesIO()
    np.save(content, np.zeros(1 << 16))
    with pytest.raises(DamagedFile, match="more than 100000"):
        read_npz(packed(content.getvalue(), zipfile.ZIP_DEFLATED), "a file", 100_000)
