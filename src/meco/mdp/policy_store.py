"""The shelf of policies: save one with its record, load one by name or path, refuse what does not fit."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import meco
from meco.arrays import to_numpy
from meco.errors import DamagedFile, InvalidInput, MissingData, UnknownName
from meco.files.atomic import write_bytes
from meco.files.safetensors import read_tensors, write_tensors
from meco.mdp.action import DECODERS
from meco.mdp.network import OUTPUTS, SHAPES, Weights
from meco.mdp.state import CLIP, FEATURE_VERSION

if TYPE_CHECKING:
    from meco.mdp.policy import Greedy

SHELF = Path(__file__).parent / "weights"
SUFFIX = ".safetensors"
LOG_SUFFIX = ".training.jsonl"  # the training log beside a policy
RECORD = ("suite", "dim", "seed", "commit", "command", "log_digest")  # what a training should tell of itself


def policy_names() -> list[str]:
    """Policies that came with the library: meco-10d, meco-loo50-C01, ..."""
    return sorted((p.stem for p in SHELF.glob("*" + SUFFIX)), key=_natural)


def _natural(name: str) -> list[Any]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def policy_path(name_or_path: str | os.PathLike[str]) -> Path:
    """The file behind a name of policy_names() or a path."""
    text = os.fspath(name_or_path)
    if not isinstance(name_or_path, str) or text.endswith(SUFFIX) or os.path.basename(text) != text:
        if not os.path.isfile(text):
            raise MissingData(f"there is no policy file {text!r}; `meco policy list` shows the policies at hand")
        return Path(text)
    path = SHELF / (text + SUFFIX)
    if not path.is_file():
        known = policy_names()
        if known:
            raise UnknownName("policy", text, known)
        raise MissingData(f"policy {text!r} is not in this installation: train one with `meco train`, or give a file")
    return path


def load_policy(name_or_path: str | os.PathLike[str]) -> Greedy:
    """A greedy policy with its metadata, from the library or from a file.

    Raises DamagedFile for a file that is not whole, or was made for other features.
    """
    from meco.mdp.policy import Greedy

    path = policy_path(name_or_path)
    facts = path.stat()
    tensors, texts = _read(path, facts.st_size, facts.st_mtime_ns)
    weights = check_weights(tensors, str(path))
    metadata = check_metadata(texts, str(path))
    if metadata["digest"] != digest(weights):
        raise DamagedFile(f"{path} is damaged: its weights are not the ones that were saved")
    return Greedy(weights, {"name": path.stem, **metadata})


@lru_cache(maxsize=16)
def _read(path: Path, size: int, changed: int) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The content of a file, read once while it stays as it is."""
    return read_tensors(path)


def save_policy(path: str | os.PathLike[str], weights: Weights, metadata: Mapping[str, Any] | None = None) -> None:
    """Write one network and what is known of its training; the file appears whole or not at all.

    metadata: decoder, delta and q_output, the paper's unless given, and the record of the
    training: suite, dim, seed, commit, command, log_digest. Anything else that JSON can hold is kept.
    """
    numbers = Weights(*(np.asarray(to_numpy(w), dtype=np.float64) for w in weights))
    given = dict(metadata or {})
    decoder = DECODERS[given.get("decoder", "geometric")]
    record = {"delta": decoder.delta, "q_output": "linear", "licence": "MIT", **given}
    record |= {"decoder": decoder.name, "grid": decoder.grid.tolist(), "clip": CLIP, "digest": digest(numbers)}
    record |= {"feature_version": FEATURE_VERSION, "library_version": meco.__version__}
    record.pop("name", None)  # the file's name is its name
    try:
        texts = {"format": "meco-policy", "policy": json.dumps(record, allow_nan=False)}
        check_metadata(texts, "the record")
        check_weights(numbers._asdict(), "the network")
    except (TypeError, ValueError) as error:  # DamagedFile is a ValueError
        raise InvalidInput(f"cannot save {os.fspath(path)}: {error}") from error
    write_bytes(Path(path), write_tensors(numbers._asdict(), texts))


def verify(name_or_path: str | os.PathLike[str]) -> list[str]:
    """What is wrong with a policy, nothing if all is well: the file, its record, the training log beside it."""
    path = policy_path(name_or_path)
    try:
        told = load_policy(path).metadata
    except DamagedFile as error:
        return [str(error)]
    wrong = [f"{path}: its training record lacks {entry}" for entry in RECORD if told.get(entry) is None]
    log = path.with_name(path.stem + LOG_SUFFIX)
    if log.is_file() and hashlib.sha256(log.read_bytes()).hexdigest() != told.get("log_digest"):
        wrong.append(f"{log} is not the log of the training that made {path.name}")
    return wrong


def digest(weights: Weights) -> str:
    """sha256 of the numbers of a network."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(w, "<f8").tobytes() for w in weights)).hexdigest()


def check_weights(tensors: Mapping[str, np.ndarray], source: str) -> Weights:
    """The tensors as one network, if names and shapes are right and every number is finite."""
    if set(tensors) != set(Weights._fields):
        wanted, got = ", ".join(Weights._fields), ", ".join(sorted(tensors))
        raise DamagedFile(f"{source} must hold the tensors {wanted}; got {got or 'none'}")
    for name, shape in SHAPES._asdict().items():
        if tensors[name].shape != shape:
            raise DamagedFile(f"{source}: {name} must have shape {shape}; got {tensors[name].shape}")
        if not np.isfinite(tensors[name]).all():
            raise DamagedFile(f"{source}: {name} holds values that are not finite")
    return Weights(**tensors)


def check_metadata(texts: Mapping[str, str], source: str) -> dict[str, Any]:
    """What the file says of itself, if this version of the library can act on it."""
    try:
        record = json.loads(texts["policy"])
    except (KeyError, ValueError, RecursionError) as error:
        raise DamagedFile(f"{source} is not a policy of this library: it has no readable record") from error
    if not isinstance(record, dict):
        raise DamagedFile(f"{source} is damaged: its record is no JSON object")

    def expect(name: str, right: bool, wanted: str) -> None:
        if not right:
            raise DamagedFile(f"{source}: {name} must be {wanted}; got {record.get(name)!r}")

    version, decoder, delta = record.get("feature_version"), record.get("decoder"), record.get("delta")
    if version != FEATURE_VERSION:
        raise DamagedFile(
            f"{source} was made for features of version {version!r}; this library computes version {FEATURE_VERSION}"
        )
    expect("clip", record.get("clip") == CLIP, f"{CLIP}")
    expect("decoder", isinstance(decoder, str) and decoder in DECODERS, f"one of {', '.join(DECODERS)}")
    expect("grid", record.get("grid") == DECODERS[str(decoder)].grid.tolist(), f"the grid of {decoder!r}")
    expect("delta", isinstance(delta, (int, float)) and 0.0 < delta < float("inf"), "a positive number")
    expect("q_output", record.get("q_output") in OUTPUTS, f"one of {', '.join(OUTPUTS)}")
    expect("digest", isinstance(record.get("digest"), str), "a text")
    return record
