"""Where policies are kept: those that came with the library, those of the experiments, and your own.

The package carries what minimize() needs. The policies of the experiments, with the logs of their trainings,
are in results/archive of the repository, one file for each release; MECO_POLICIES names any other folder or archive.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from meco.errors import DamagedFile, MissingData, UnknownName
from meco.files.archive import TAR, find_archives, is_archived, read_file, read_members
from meco.files.schema import LARGEST_JSON_BYTES
from meco.paper.files import SUFFIX, read_policy, save_policy
from meco.paper.policy import Greedy

__all__ = [
    "LOG_SUFFIX", "SUFFIX", "load_policy", "policy_names", "policy_path", "save_policy", "training_entry",
    "verify_policy",
]  # fmt: skip

PACKAGE_FOLDER = Path(__file__).parent / "weights"
REPOSITORY = Path(__file__).parents[3]  # of the repository, where the package runs from one
POLICIES_VARIABLE = "MECO_POLICIES"  # the environment variable
LOG_SUFFIX = ".training.jsonl"  # the training log beside a policy
EXPERIMENT_POLICIES = re.compile(  # policies that only experiments use
    "meco-(loo50|split|aa|ca|r1|r2|r1r2|least|feasible|relaxed|release|released|score)-"
)
TRAINING_ENTRIES = ("suite", "dim", "seed", "commit", "command", "log_digest")  # what a training should tell of itself


def policy_folders() -> Iterator[Path]:
    """The folders and archives that are searched: the package, MECO_POLICIES, the repository's, newest release first.

    One after the other: a run that finds its policy in the package asks for no further one.
    """
    yield PACKAGE_FOLDER
    own = os.environ.get(POLICIES_VARIABLE)
    if own and (os.path.isdir(own) or (own.endswith(TAR) and os.path.isfile(own))):
        yield Path(own)
    if (REPOSITORY / "pyproject.toml").is_file():
        yield from find_archives(REPOSITORY / "results", f"policies{TAR}")


def _list_files(place: Path) -> list[str]:
    """The names of the files in a folder or an archive."""
    return list(read_members(place)) if place.is_file() else [path.name for path in place.iterdir()]


def _is_file(path: Path) -> bool:
    """Whether there is such a file, in a folder or as ARCHIVE.tar.xz/NAME."""
    return path.name in read_members(path.parent) if is_archived(path) else os.path.isfile(path)


def policy_names() -> list[str]:
    """Policies at hand by name: meco-10d, and in a checkout meco-loo50-C01, ..."""
    names = {name for place in policy_folders() for name in _list_files(place)}
    return sorted((n.removesuffix(SUFFIX) for n in names if n.endswith(SUFFIX)), key=_natural_sort_key)


def _natural_sort_key(name: str) -> list[Any]:
    """Numbers in a name count as numbers: C2 before C10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def policy_path(name_or_path: str | os.PathLike[str]) -> Path:
    """The file behind a name of policy_names() or a path; MissingData or UnknownName where there is none."""
    text = os.fspath(name_or_path)
    if not isinstance(name_or_path, str) or text.endswith(SUFFIX) or os.path.basename(text) != text:
        if not _is_file(Path(text)):
            raise MissingData(f"there is no policy file {text!r}; `meco policy list` shows those that are installed")
        return Path(text)
    found = (folder / (text + SUFFIX) for folder in policy_folders())
    path = next((p for p in found if _is_file(p)), None)  # False, not an error, where no file can be called so
    if path is None:
        raise _make_missing_policy_error(text)
    return path


def _make_missing_policy_error(name: str) -> Exception:
    """The error, for the caller to raise, that says what to do about a policy that is not at hand."""
    known = policy_names()
    if known and not EXPERIMENT_POLICIES.match(name):
        return UnknownName("policy", name, known)
    return MissingData(
        f"policy {name!r} is not installed (these are: {', '.join(known[:4])}{', ...' if len(known) > 4 else ''}); "
        f"those of the experiments are in results/archive of the repository (set {POLICIES_VARIABLE} to that file); "
        "or train one with `meco train`, or give a file"
    )


def load_policy(name_or_path: str | os.PathLike[str]) -> Greedy:
    """A policy with its metadata, by name or from a file.

    Raises DamagedFile for a damaged file, or one that was made for other features or controls, MissingData or
    UnknownName without one.
    """
    return read_policy(policy_path(name_or_path))


def training_entry(metadata: Mapping[str, Any], entry: str) -> Any:
    """An entry of a training's record, None without it; an installed package has its version in place of a commit."""
    found, versions = metadata.get(entry), metadata.get("versions")
    if found is None and entry == "commit" and isinstance(versions, Mapping) and "meco" in versions:
        return f"meco {versions['meco']}"
    return found


def verify_policy(name_or_path: str | os.PathLike[str]) -> list[str]:
    """What is wrong with a policy, [] if all is well: the file, its metadata, the log of its training if found.

    A policy that is not there is an error.
    """
    path = policy_path(name_or_path)
    try:
        metadata = load_policy(path).metadata
    except DamagedFile as error:
        return [str(error)]
    wrong = [
        f"{path}: its training record lacks {entry}"
        for entry in TRAINING_ENTRIES
        if training_entry(metadata, entry) is None
    ]
    log = next(
        (p for place in (path.parent, *policy_folders()) if _is_file(p := place / (path.stem + LOG_SUFFIX))), None
    )
    if log is not None and hashlib.sha256(read_file(log, LARGEST_JSON_BYTES)).hexdigest() != metadata.get("log_digest"):
        wrong.append(f"{log} is not the log of the training that made {path.name}")
    return wrong
