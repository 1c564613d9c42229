"""Sources as trees: a file is parsed once for all tests that read it."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(file: Path) -> ast.Module:
    """What a source file says; nobody changes it."""
    return ast.parse(file.read_text(encoding="utf-8"))
