"""The safetensors layout, read and written with NumPy: numbers and text, nothing that runs.

Eight bytes hold the length of a JSON header, which names each tensor's type, shape and
place; the numbers follow, little-endian, without gaps.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import DamagedFile
from meco.files.regular_files import read_regular

LARGEST_HEADER = 1 << 20  # bytes; a policy's header is about a thousand
LARGEST_TENSORS_BYTES = 1 << 26
MOST_DIMENSIONS = 32  # NumPy's arrays have at most 64
TYPES: dict[str, np.dtype[Any]] = {"F64": np.dtype("<f8"), "F32": np.dtype("<f4")}
EXACT: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"), "I64": np.dtype("<i8"), "U64": np.dtype("<u8"), "BOOL": np.dtype("?"),
}  # fmt: skip


def pack_tensors(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str], *, exact: bool = False) -> bytes:
    """Tensors as float64 and texts as one block of bytes; exact keeps whole numbers and truth values what they are."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    blocks, at = [], 0
    for name, values in tensors.items():
        kind = next((k for k, dtype in EXACT.items() if exact and dtype == np.asarray(values).dtype), "F64")
        block = np.ascontiguousarray(values, dtype=EXACT[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(np.shape(values)), "data_offsets": [at, at + len(block)]}
        blocks.append(block)
        at += len(block)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the numbers start at a multiple of eight
    return len(text).to_bytes(8, "little") + text + b"".join(blocks)


def read_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and texts of a file, every claim of its header checked.

    DamagedFile for others, OSError without a file.
    """
    return parse_tensors(read_regular(path, LARGEST_TENSORS_BYTES), str(path))


def parse_tensors(content: bytes, source: str, *, exact: bool = False) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and texts from bytes by pack_tensors; exact reads what was written so, and nothing else.

    Anything else is DamagedFile, which names the source; infinite numbers and nan are read as they are.
    """
    types = EXACT if exact else TYPES
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(LARGEST_HEADER, len(content) - 8):
        raise DamagedFile(f"{source} is not a policy file, or is cut short: no header within its {len(content)} bytes")
    header = _read_header(content[8 : 8 + length], source)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise DamagedFile(f"{source} is damaged: its metadata must be texts by name")
    data, end, tensors = content[8 + length :], 0, {}
    for name, entry in sorted(header.items(), key=lambda item: _check_span(item[1], item[0], source, types)):
        dtype, shape, (start, stop) = types[entry["dtype"]], entry["shape"], _check_span(entry, name, source, types)
        if start != end or stop > len(data):
            raise DamagedFile(
                f"{source} is damaged: {name} takes bytes {start} to {stop} of {len(data)}, not from {end}"
            )
        if stop - start != math.prod(shape) * dtype.itemsize:
            raise DamagedFile(f"{source} is damaged: {name} of shape {shape} does not fill {stop - start} bytes")
        found = np.frombuffer(data[start:stop], dtype).reshape(shape)
        tensors[name] = found.astype(dtype.newbyteorder("=") if exact else np.float64)
        end = stop
    if end != len(data):
        raise DamagedFile(f"{source} is damaged: {len(data) - end} bytes belong to no tensor")
    return tensors, metadata


def _read_header(text: bytes, source: str) -> dict[str, Any]:
    """The JSON header, in which no name may occur twice; DamagedFile for any other text."""

    def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """An object of the header; JSON itself would take the last of two values of a name."""
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name occurs twice")
        return found

    try:
        header = json.loads(text.decode(), object_pairs_hook=refuse_repeats)
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or JSON of absurd depth
        raise DamagedFile(f"{source} is damaged: its header cannot be read ({error})") from error
    if not isinstance(header, dict):
        raise DamagedFile(f"{source} is damaged: its header is no JSON object")
    return header


def _check_span(entry: Any, name: str, source: str, types: Mapping[str, Any]) -> tuple[int, int]:
    """First and last byte of a tensor by its header entry; DamagedFile where that has not the form it must have."""

    def counts(values: Any) -> bool:
        return isinstance(values, list) and all(type(v) is int and 0 <= v <= LARGEST_TENSORS_BYTES for v in values)

    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise DamagedFile(f"{source} is damaged: {name} must have dtype, shape and data_offsets, and nothing else")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in types:
        raise DamagedFile(f"{source}: {name} must be of type {' or '.join(types)}; got {entry['dtype']!r}")
    if not counts(entry["shape"]) or not counts(entry["data_offsets"]) or len(entry["data_offsets"]) != 2:
        raise DamagedFile(f"{source} is damaged: shape and data_offsets of {name} must be sizes in bytes")
    if len(entry["shape"]) > MOST_DIMENSIONS:
        raise DamagedFile(
            f"{source} is damaged: {name} has {len(entry['shape'])} dimensions, {MOST_DIMENSIONS} allowed"
        )
    start, stop = entry["data_offsets"]
    return start, stop
