"""One policy in one file: its network, the features and controls it names, and its metadata."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import meco
from meco.core.arrays import to_numpy
from meco.errors import DamagedFile, InvalidInput
from meco.files.archive import is_archived, read_file
from meco.files.atomic import write_bytes
from meco.files.safetensors import LARGEST_TENSORS_BYTES, pack_tensors, parse_tensors
from meco.gone import VERSION, find_advice
from meco.paper.action import DECODERS
from meco.paper.controls import CONTROLS, DECODER_OF_CONTROLS, find_control_set_name
from meco.paper.features import FEATURES
from meco.paper.network import PAPER_SHAPE, Q_OUTPUTS, NetworkShape, Weights
from meco.paper.policy import Greedy, find_network_shape
from meco.paper.reading import BEST, GUIDE_ORDERS, RELAXED

SUFFIX = ".safetensors"
METADATA_DIGEST = "record_digest"  # the entry that notices a change of the others
DEFAULT_METADATA = {"features": "population-10", "kind": "greedy", "q_output": "linear", "licence": "MIT"}


def read_policy(path: Path) -> Greedy:
    """The policy in a file, or in ARCHIVE.tar.xz/NAME, with its metadata.

    Raises DamagedFile for a damaged file, or one that was made for other features or controls, OSError without one. A
    file that did not change is read once.
    """
    file = (path.parent if is_archived(path) else path).stat()
    found = _read_unchanged(path, file.st_size, file.st_mtime_ns)
    return replace(found, metadata=dict(found.metadata))


@lru_cache(maxsize=16)
def _read_unchanged(path: Path, size: int, changed_ns: int) -> Greedy:
    """What read_policy gives, or DamagedFile; size and time of change make a changed file be read again."""
    tensors, texts = parse_tensors(read_file(path, LARGEST_TENSORS_BYTES), str(path))
    metadata = check_metadata(texts, str(path))
    weights = check_weights(tensors, str(path), find_network_shape(metadata, count_hidden_units(tensors)))
    if metadata["digest"] != (found := digest_weights(weights)):
        raise DamagedFile(
            f"{path} is damaged: its weights are not the ones that were saved: digest must be "
            f"{metadata['digest'][:12]}; got {found[:12]}"
        )
    if metadata.pop(METADATA_DIGEST, None) != digest_metadata(json.loads(texts["policy"])):
        raise DamagedFile(f"{path} was changed or damaged: its record is not the one that was saved")
    return Greedy(weights, {"name": path.stem, **asdict(RELAXED), **metadata})  # which files of 0.3 do not say


def save_policy(path: str | os.PathLike[str], weights: Weights, metadata: Mapping[str, Any] | None = None) -> None:
    """Write one network and what is known of its training, atomically and over a file that is there.

    metadata: features, controls (or the decoder of the paper's control) and kind, the paper's
    unless given, and of the training: suite, dim, seed, commit, command, log_digest.
    Anything else that JSON can hold is kept. Weights or metadata that could not be read back are InvalidInput.
    """
    numbers = Weights(*(np.asarray(to_numpy(w), dtype=np.float64) for w in weights))
    entries = {key: value for key, value in (metadata or {}).items() if key != METADATA_DIGEST}
    written = {**DEFAULT_METADATA, **entries, "digest": digest_weights(numbers)}
    written.setdefault("controls", find_control_set_name(written.get("decoder", "geometric")))
    features, controls = FEATURES[written["features"]], CONTROLS[written["controls"]]
    written |= {
        "feature_version": features.version,
        "clip": features.bound,
        "grid": [list(row) for row in controls.grid],
    }
    if controls.name in DECODER_OF_CONTROLS:
        decoder = DECODER_OF_CONTROLS[controls.name]
        written = {"delta": DECODERS[decoder].delta, **written, "decoder": decoder}
    written["library_version"] = meco.__version__
    written.pop("name", None)  # the file's name is its name
    written[METADATA_DIGEST] = digest_metadata(written)
    try:
        texts = {"format": "meco-policy", "policy": json.dumps(written, allow_nan=False)}
        checked = check_metadata(texts, "the record")
        check_weights(
            numbers._asdict(), "the network", find_network_shape(checked, count_hidden_units(numbers._asdict()))
        )
    except (TypeError, ValueError) as error:  # DamagedFile is a ValueError
        raise InvalidInput(f"cannot save {os.fspath(path)}: {error}") from error
    target = Path(path)
    write_bytes(target, pack_tensors(numbers._asdict(), texts))


def digest_metadata(metadata: Mapping[str, Any]) -> str:
    """A hash of what metadata says: the weights have their digest, and this notices a change of anything else."""
    entries = {key: value for key, value in metadata.items() if key not in (METADATA_DIGEST, "digest")}
    return hashlib.sha256(json.dumps(entries, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def digest_weights(weights: Weights) -> str:
    """sha256 of the numbers of a network, in the order of the fields of Weights."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(w, "<f8").tobytes() for w in weights)).hexdigest()


def count_hidden_units(tensors: Mapping[str, np.ndarray]) -> int:
    """Units of the hidden layer, the paper's where the file does not say."""
    return len(tensors["b1"]) if "b1" in tensors and tensors["b1"].ndim == 1 else PAPER_SHAPE.hidden


def check_weights(tensors: Mapping[str, np.ndarray], source: str, shape: NetworkShape = PAPER_SHAPE) -> Weights:
    """The tensors as one network; DamagedFile unless names and shapes are right and every number is finite."""
    if set(tensors) != set(Weights._fields):
        wanted, got = ", ".join(Weights._fields), ", ".join(sorted(tensors))
        raise DamagedFile(f"{source} must hold the tensors {wanted}; got {got or 'none'}")
    for name, sizes in shape.layers._asdict().items():
        if tensors[name].shape != sizes:
            raise DamagedFile(f"{source}: {name} must have shape {sizes}; got {tensors[name].shape}")
        if not np.isfinite(tensors[name]).all():
            wrong = tensors[name][~np.isfinite(tensors[name])][0]
            raise DamagedFile(f"{source}: {name} holds values that are not finite: numbers are needed; got {wrong}")
    return Weights(**tensors)


def check_metadata(texts: Mapping[str, str], source: str) -> dict[str, Any]:
    """The metadata of a file; DamagedFile unless this version of the library can act on it."""
    try:
        metadata = json.loads(texts["policy"])
    except (KeyError, ValueError, RecursionError) as error:
        raise DamagedFile(f"{source} is not a policy of this library: it has no readable record") from error
    if not isinstance(metadata, dict):
        raise DamagedFile(f"{source} is damaged: its record is no JSON object")

    def expect(name: str, right: bool, wanted: str) -> None:
        """Refuse the file unless the entry is right; the error says what was wanted of it."""
        if not right:
            raise DamagedFile(f"{source}: {name} must be {wanted}; got {metadata.get(name)!r}")

    def expect_one_of(name: str, known: Any) -> None:
        """Refuse the file unless the entry is a known name."""
        expect(name, isinstance(metadata.get(name), str) and metadata[name] in known, f"one of {', '.join(known)}")

    if told := find_advice("feature set", metadata.get("features")):
        made_for = f"the features {metadata['features']!r}, which left in {VERSION}"
        raise DamagedFile(f"{source} was made for {made_for}: {told}")
    expect_one_of("features", FEATURES)
    expect_one_of("controls", CONTROLS)
    expect_one_of("kind", (DEFAULT_METADATA["kind"],))
    expect_one_of("q_output", Q_OUTPUTS)
    _check_features_and_controls(metadata, source, expect)
    for entry, known in (("best", BEST), ("guide_order", GUIDE_ORDERS)):
        if entry in metadata:  # files of 0.3 do not say it
            expect_one_of(entry, known)
    expect("digest", isinstance(metadata.get("digest"), str), "a text")
    return metadata


def _check_features_and_controls(
    metadata: dict[str, Any], source: str, expect: Callable[[str, bool, str], None]
) -> None:
    """DamagedFile unless features and controls mean here what they meant when the policy was made."""
    features, controls = FEATURES[metadata["features"]], CONTROLS[metadata["controls"]]
    version, delta = metadata.get("feature_version"), metadata.get("delta")
    if version != features.version:
        raise DamagedFile(
            f"{source} was made for {features.name!r} features of version {version!r}; "
            f"this library computes version {features.version}"
        )
    expect("clip", metadata.get("clip") == features.bound, f"{features.bound}")
    expect("grid", metadata.get("grid") == list(map(list, controls.grid)), f"the grid of {controls.name!r}")
    if controls.name in DECODER_OF_CONTROLS:
        expect("delta", isinstance(delta, (int, float)) and 0.0 < delta < float("inf"), "a positive number")
