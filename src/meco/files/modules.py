"""Python files of a user, by path: "mine.py:Name" is what the file calls Name."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from meco.errors import InvalidInput

MARK = ".py:"


def names_a_file(text: str) -> bool:
    """Whether a text names something in a Python file, as "mine.py:Name" does; the file need not be there."""
    return MARK in text


def split_file_name(text: str) -> tuple[str, str]:
    """The file and the name in it: "mine.py:Name" -> ("mine.py", "Name"); the text must be one that names_a_file()."""
    path, _, name = text.partition(MARK)
    return f"{path}.py", name


def file_digest(path: str | Path) -> str:
    """Twelve hex digits of a file's content, so that results of an edited file are not mixed with older ones.

    A file that cannot be read is an error.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error


def load_file(path: str | Path) -> ModuleType:
    """Execute a Python file and give its module; its neighbours can be imported, as if it had been started.

    Puts its folder on sys.path, and it into sys.modules unless a module has its name. What it raises, SystemExit too,
    and a missing file are InvalidInput.
    """
    file = Path(path).absolute()
    if not file.is_file():
        raise InvalidInput(f"there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    sys.modules.setdefault(file.stem, module)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's file may do
        raise InvalidInput(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module
