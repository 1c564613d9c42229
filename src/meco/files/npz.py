"""Arrays of npz files that others may have made: nothing in them runs, and what they claim is checked first."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from meco.errors import DamagedFile
from meco.files.regular_files import open_regular

LARGEST_CONTENT = 1 << 27  # bytes, unpacked
MOST_ARRAYS = 10_000


def read_npz(source: Path | bytes, where: str, largest: int = LARGEST_CONTENT) -> dict[str, np.ndarray]:
    """Every array by name, from a file or its content; at most `largest` bytes in all, whatever it says of itself.

    A missing, foreign or damaged file is DamagedFile, which calls it `where`; nothing of it is executed.
    """
    opened = nullcontext(io.BytesIO(source)) if isinstance(source, bytes) else open_regular(source, largest)
    try:
        with opened as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            claimed = sum(member.file_size for member in members)
            if claimed > largest or len(members) > MOST_ARRAYS:
                raise DamagedFile(f"{where} is damaged: it would unpack to {claimed} bytes, more than {largest}")
            return {m.filename.removesuffix(".npy"): _read_array(archive.read(m), m.filename, where) for m in members}
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, NotImplementedError) as error:
        if isinstance(error, DamagedFile):
            raise
        raise DamagedFile(f"{where} is damaged: it is not a sound npz file: {error}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise DamagedFile(f"{where} is damaged: it is not a sound npz file: {error}") from error


def _read_array(content: bytes, name: str, where: str) -> np.ndarray:
    """One array, a copy; DamagedFile unless its header tells the very number of bytes that follow it."""
    file = io.BytesIO(content)
    try:
        shape, by_columns, dtype = _read_header(file)
    except Exception as error:  # a header is Python text, which can be wrong in any way
        raise DamagedFile(f"{where} is damaged: {name} is not an array ({type(error).__name__})") from error
    data = content[file.tell() :]
    if dtype.hasobject or dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise DamagedFile(f"{where} is damaged: {name} says it holds {shape} of {dtype}, in {len(data)} bytes")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C").copy()


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether it is stored by columns, and type of the array that follows in the file, which moves on."""
    version = npy.read_magic(file)
    return npy.read_array_header_1_0(file) if version == (1, 0) else npy.read_array_header_2_0(file)
