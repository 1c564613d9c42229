"""Modules beside a Python file that it imports: what it computes depends on them, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path


def find_neighbours(path: Path) -> dict[Path, bytes]:
    """The Python files in a file's folder, or in packages there, that it imports, with what they hold.

    Those that they import in turn are here as well, the file itself is not. Nothing is executed: what is imported by
    a name that is only made at run time is not seen.
    """
    root, found = path.parent, {}
    waiting = [(path, path.read_bytes())]
    while waiting:
        file, content = waiting.pop()
        for place in _list_places(root, file.parent, _read_imports(content)):
            if place != path and place not in found and place.is_file():
                found[place] = place.read_bytes()
                waiting.append((place, found[place]))
    return found


@lru_cache(maxsize=256)
def _read_imports(content: bytes) -> tuple[tuple[int, str], ...]:
    """What a module imports anywhere, as dots before a name and the name; nothing where it is not Python."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return ()
    found: dict[tuple[int, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):  # a name from a package may be a module of it
            start = f"{node.module}." if node.module else ""
            found |= dict.fromkeys((node.level, start + alias.name) for alias in node.names)
    return tuple(found)


def _list_places(root: Path, folder: Path, imports: tuple[tuple[int, str], ...]) -> Iterator[Path]:
    """Where modules may be that a file of a folder imports; root is where names without dots are looked for."""
    for dots, name in imports:
        place = root if dots == 0 else (folder, *folder.parents)[min(dots - 1, len(folder.parents))]
        for part in name.split("."):  # importing a module runs the packages around it, too
            place = place / part
            yield place.with_name(f"{part}.py")
            yield place / "__init__.py"
