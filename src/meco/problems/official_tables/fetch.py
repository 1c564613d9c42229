"""Bring the organisers' archives and keep their numbers as one compact npz per suite."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import numpy as np

from meco.core.registry import Registry
from meco.errors import DamagedFile, MissingData, MissingExtra, load_extra
from meco.files.atomic import replace_file
from meco.problems.official_tables.load import TABLE_DIMS, TABLE_FILES, TABLE_SHAPES, find_misfit, user_data_folder

Arrays = dict[str, np.ndarray]

CEC2017_MEMBERS = "CEC2017 Matlab-Sept-2024/CEC2017 Pure Matlab"
LARGEST_ARCHIVE = 1 << 30  # bytes, unpacked
RWCO_MEMBERS = "Software/CEC2020/input data"


def _convert_cec2017(archive: zipfile.ZipFile) -> Arrays:
    """Shifts and matrices of the CEC 2017 constrained suite by name, from its Matlab files.

    KeyError where one is missing, MissingExtra without SciPy.
    """
    loadmat = load_extra("scipy.io", "data", "reading Matlab files").loadmat

    def member(name: str) -> dict[str, np.ndarray]:
        return loadmat(io.BytesIO(archive.read(f"{CEC2017_MEMBERS}/{name}.mat")))

    files = {f"{k:02d}": member(f"Function{k}") for k in range(1, 12)} | {"12_28": member("ShiftAndRotation")}
    arrays = {f"shift_{key}": content["o"].reshape(-1) for key, content in files.items()}
    for d in TABLE_DIMS:
        arrays[f"rotation_02_{d}"] = files["02"][f"M_{d}"]
        arrays[f"rotation_05a_{d}"] = files["05"][f"M1_{d}"]
        arrays[f"rotation_05b_{d}"] = files["05"][f"M2_{d}"]
        arrays[f"rotation_12_28_{d}"] = files["12_28"][f"M_{d}"]
    return arrays


def _convert_rwco(archive: zipfile.ZipFile) -> Arrays:
    """Tables of the CEC 2020 real-world suite by name, from its text files; KeyError where one is missing."""
    paths = (PurePosixPath(name) for name in archive.namelist())
    members = {path.stem: str(path) for path in paths if str(path.parent) == RWCO_MEMBERS}
    arrays = {}
    for key, shape in TABLE_SHAPES["rwco"].items():
        table = np.loadtxt(io.StringIO(archive.read(members[key]).decode().replace(",", " ")))
        arrays[key] = table.reshape(-1) if len(shape) == 1 else table
    return arrays


@dataclass(frozen=True)
class TableArchive:
    """An official archive, and the npz file its numbers are kept in."""

    repository: str  # on GitHub
    archive: str
    sha256: str
    filename: str
    convert: Callable[[zipfile.ZipFile], Arrays]

    @property
    def url(self) -> str:
        return f"https://github.com/{self.repository}/raw/refs/heads/master/{quote(self.archive)}"


SOURCES = Registry(
    "official data set",
    {
        "cec2017": TableArchive(
            repository="P-N-Suganthan/CEC2017",
            archive="CEC2017 Matlab-Sept-2024.zip",
            sha256="5188e0c57a221bec82c7326b0e22cf1524c997e59d5291a04ff309c9f609d8dd",
            filename=TABLE_FILES["cec2017"],
            convert=_convert_cec2017,
        ),
        "rwco": TableArchive(
            repository="P-N-Suganthan/2020-RW-Constrained-Optimisation",
            archive="SOFTWARE.zip",
            sha256="ad5f679d6cf46e690fce27f0e5cd79fdceb3aa4323948adb1b65e4863ed9b825",
            filename=TABLE_FILES["rwco"],
            convert=_convert_rwco,
        ),
    },
)


def fetch_tables(
    name: str, url: str | None = None, sha256: str | None = None, folder: str | os.PathLike[str] | None = None
) -> Path:
    """Download the archive of "cec2017" or "rwco", check it, and write its numbers into the user's data folder.

    A mirror is named by url and sha256, or by MECO_CEC2017_URL, MECO_CEC2017_SHA256, MECO_RWCO_URL
    and MECO_RWCO_SHA256. Returns the path of the npz file, which replaces an older one; a failure leaves nothing
    behind and is MissingData (no network) or DamagedFile (another archive).
    """
    name = SOURCES.resolve(name)
    source, prefix = SOURCES[name], f"MECO_{name.upper()}"
    url = url or os.environ.get(f"{prefix}_URL") or source.url
    sha256 = sha256 or os.environ.get(f"{prefix}_SHA256") or source.sha256
    with tempfile.TemporaryDirectory(prefix="meco-") as scratch:
        arrays = _read_archive(_download_archive(url, sha256, scratch, source, prefix), source, name, url)
    return _write_npz(arrays, Path(folder) if folder is not None else user_data_folder(), source.filename)


def _download_archive(url: str, sha256: str, scratch: str, source: TableArchive, prefix: str) -> Path:
    """Download the archive into the scratch folder and test its checksum; its path.

    MissingData without network, DamagedFile for another archive.
    """
    pooch = load_extra("pooch", "data", "fetching official data")
    digest = f"sha256:{sha256.removeprefix('sha256:')}"
    try:
        return Path(pooch.retrieve(url, known_hash=digest, fname="archive.zip", path=scratch))
    except ValueError as error:  # the hash does not match, or the address is none
        raise DamagedFile(
            f"what {url} gave is not the archive {source.archive}: {error}; "
            f"try again, or name a mirror with {prefix}_URL and {prefix}_SHA256"
        ) from error
    except OSError as error:
        raise MissingData(
            f"could not download {url}: {error}; try again, name a mirror with {prefix}_URL, "
            f"or set MECO_DATA to a folder that holds {source.filename}"
        ) from error


def _read_archive(path: Path, source: TableArchive, suite: str, url: str) -> Arrays:
    """The arrays of an archive, each of the shape that load.py wants; DamagedFile for any other archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST_ARCHIVE:
                raise ValueError(f"it unpacks to more than {LARGEST_ARCHIVE} bytes")
            arrays = {
                key: np.ascontiguousarray(value, dtype=np.float64) for key, value in source.convert(archive).items()
            }
    except MissingExtra:
        raise
    except Exception as error:  # a broken zip, Matlab or text file can fail in any way
        raise DamagedFile(f"the archive from {url} cannot be read: {type(error).__name__}: {error}") from error
    if problem := find_misfit(arrays, TABLE_SHAPES[suite]):
        raise DamagedFile(f"the archive from {url} does not hold the official tables: {problem}")
    return arrays


def _write_npz(arrays: Arrays, folder: Path, filename: str) -> Path:
    """Write the npz under a passing name and move it into place, so that no half file is ever seen; its path.

    Makes the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with replace_file(folder / filename, shared=True) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return folder / filename
