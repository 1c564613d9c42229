"""A digest of what source files do: comments, docstrings and layout do not change it."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]


def source_digest(modules: Iterable[str], within: Iterable[str] = ()) -> str:
    """Of some modules of this package and, where these lie in the parts named, of the modules that they import.

    Reads their files; a module that is not there is left out.

    >>> len(source_digest(["meco.core.registry"]))
    64
    """
    waiting, seen = list(modules), {}
    parts = tuple(within)
    while waiting:
        name = waiting.pop()
        if name in seen or not (file := _module_file(name)).is_file():
            continue
        seen[name], imported = _read_module(file, file.stat().st_mtime_ns)
        waiting += [other for other in imported if other.startswith(parts)] if parts else []
    return hashlib.sha256(json.dumps(sorted(seen.items())).encode()).hexdigest()


@lru_cache(maxsize=512)
def _read_module(file: Path, changed_ns: int) -> tuple[Any, set[str]]:
    """A module's syntax as lists and what it imports; the time of its change is the cache's."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return syntax_as_lists(tree), _find_imports(tree)


def _find_imports(tree: ast.AST) -> set[str]:
    """What is imported anywhere in a module; a name from a package may be a module, so both are here."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _module_file(module: str) -> Path:
    """Where a module would be; a package is its __init__."""
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def syntax_as_lists(node: Any) -> Any:
    """A syntax tree as lists, without docstrings, places and empty fields, so alike for every version of Python."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
        return [type(node).__name__, *([name, syntax_as_lists(value)] for name, value in fields if name != "kind")]
    if isinstance(node, list):
        return [syntax_as_lists(each) for each in node if not _is_docstring(each)]
    return repr(node)


def _is_docstring(node: Any) -> bool:
    """Whether a statement is a text by itself."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
