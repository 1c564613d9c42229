"""Files that appear whole or not at all: a kill at any moment leaves the old one or the new one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

MANY_ENTRIES = 10_000  # of a list or a dict that is written in one line
DRAFT_SUFFIX = ".new"  # what a file is called until it is complete


@contextmanager
def replace_file(path: Path, *, fsync: bool = False, shared: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, which replaces the one of its name when the block ends without an error.

    Else nothing is left. With fsync the disk is waited for: the content before the name, so that the name never
    lies. shared is for files that several processes may write at once. The folder must exist.
    """
    draft = path.with_name(path.name + (f".{os.getpid()}" if shared else "") + DRAFT_SUFFIX)
    try:
        draft.unlink(missing_ok=True)
        with open(draft, "xb") as file:  # ours alone: a draft that is a link would lead elsewhere
            yield file
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """A text file in UTF-8 for a user's output, complete or absent; links are followed, devices and pipes opened."""
    target = Path(path).resolve()
    complete = target.is_file() or not target.exists()
    with replace_file(target) if complete else open(target, "wb") as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError, ValueError):
                text.detach()


def write_bytes(path: Path, content: bytes, *, fsync: bool = False) -> None:
    """Write bytes as a file, whole or not at all, over one that is there; with fsync the disk is waited for."""
    with replace_file(path, fsync=fsync) as file:
        file.write(content)


def write_text(path: Path, content: str, *, fsync: bool = False) -> None:
    """Write text as a file in UTF-8, as write_bytes() does; what UTF-8 cannot say is spelt out, as JSON does."""
    write_bytes(path, content.encode("utf-8", "backslashreplace"), fsync=fsync)


def write_json(path: Path, content: Any, *, fsync: bool = False) -> None:
    """Write a JSON file that people can read too, as write_bytes() does."""
    write_text(path, format_json(content) + "\n", fsync=fsync)


def format_json(content: Any) -> str:
    """JSON with a line for each number or text, but with MANY_ENTRIES or more of one key in one line.

    Those nobody reads line by line, and lines take three times as long.
    """
    if not isinstance(content, dict) or not content:
        return json.dumps(content, ensure_ascii=False, indent=1)
    parts = []
    for key, value in content.items():
        long = isinstance(value, (dict, list)) and len(value) >= MANY_ENTRIES
        text = json.dumps({key: value}, ensure_ascii=False, indent=None if long else 1)
        parts.append(f" {text[1:-1]}" if long else text[1:-1].strip("\n"))
    return "{\n" + ",\n".join(parts) + "\n}"
