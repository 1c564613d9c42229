"""Python files of a user, by path: "mine.py:Name" is what the file calls Name."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from meco.errors import InvalidInput
from meco.files.neighbours import find_neighbours

MARK = ".py:"
_BESIDE: dict[str, bytes] = {}  # modules that files loaded here import: what each held then, by its path


def names_a_file(text: str) -> bool:
    """Whether a text names something in a Python file, as "mine.py:Name" does; the file need not be there."""
    return MARK in text


def split_file_name(text: str) -> tuple[str, str]:
    """The file and the name in it: "mine.py:Name" -> ("mine.py", "Name"); the text must be one that names_a_file()."""
    path, _, name = text.partition(MARK)
    return f"{path}.py", name


def file_digest(path: str | Path) -> str:
    """Twelve hex digits of a file's content, so that results of an edited file are not mixed with older ones.

    Of a Python file the modules beside it that it imports count as well. A file that cannot be read is an error.
    """
    file = Path(path).absolute()
    try:
        total = hashlib.sha256(file.read_bytes())
        beside = find_neighbours(file) if file.suffix == ".py" else {}
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
    for name, content in sorted((os.path.relpath(each, file.parent), found) for each, found in beside.items()):
        total.update(f"{Path(name).as_posix()} {hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()[:12]


def load_file(path: str | Path) -> ModuleType:
    """Execute a Python file and give its module; its neighbours can be imported, as if it had been started.

    Puts its folder on sys.path, and it into sys.modules unless a module has its name. Neighbours that were edited
    since a file was last loaded here are imported anew. What it raises, SystemExit too, and a missing file are
    InvalidInput.
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
    _forget_edited(find_neighbours(file))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's file may do
        raise InvalidInput(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _forget_edited(beside: dict[Path, bytes]) -> None:
    """Take modules out of sys.modules whose files no longer hold what they did when a file that needs them was loaded.

    All of them where one was: those that import it hold its old names.
    """
    now = {str(path): content for path, content in beside.items()}
    if any(_BESIDE.get(path, content) != content for path, content in now.items()):
        for name, module in list(sys.modules.items()):
            if getattr(module, "__file__", None) in now:
                del sys.modules[name]
        importlib.invalidate_caches()
    _BESIDE.update(now)
