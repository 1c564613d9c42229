"""Which optional packages a run computes with: results depend on their versions, and on no others."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from meco.bench.plan.run import Run, TestCase
from meco.core.platform import PACKAGES
from meco.core.registry import LazyCallable
from meco.errors import MecoError
from meco.files.modules import file_digest, names_a_file, split_file_name
from meco.files.neighbours import list_foreign_imports
from meco.methods import METHODS
from meco.problems.suite import find_problem_module

NOT_KNOWN = frozenset(PACKAGES) - {"numpy"}  # all of them may have been used
OF_EXTRAS = {
    "peers": frozenset({"scipy", "cma", "pymoo"}),
}
OF_IMPORTS = {
    "scipy": frozenset({"scipy"}),
    "cma": frozenset({"cma"}),
    "pymoo": frozenset({"pymoo", "scipy", "cma"}),
    "torch": frozenset({"torch"}),
}
NUMPY_ALONE = frozenset({"numpy", "meco", *sys.stdlib_module_names})  # imports that need no optional package
PACKAGED = ("meco.engines.external", "meco.engines.rbf")  # modules of ours that need some
FOREIGN = ("meco.problems.plugins",)  # modules that make problems of others


def packages_of_run(run: Run, files: Mapping[str, str]) -> frozenset[str]:
    """The optional packages that a run may have computed with; files are users' problems, name -> path.

    Of Python files of a user, what they import tells; all packages where that cannot be known.
    """
    used = _packages_of_method(run.method) | _packages_of_problem(run.case, files)
    for value in json.loads(run.options).values():
        if isinstance(value, str) and names_a_file(value):
            used |= _packages_of_name(value)
    return used


def _packages_of_method(method: str) -> frozenset[str]:
    """Those that the engine of a method needs."""
    if names_a_file(method):
        return _packages_of_name(method)
    record = METHODS.get(method)
    if record is None or not _is_of_this_library(record.build):
        return NOT_KNOWN
    return frozenset() if record.extra is None else OF_EXTRAS.get(record.extra, NOT_KNOWN)


def _is_of_this_library(build: Callable[..., Any]) -> bool:
    """Whether what makes an engine is ours."""
    made = build.func if isinstance(build, partial) else build
    return isinstance(made, LazyCallable) or getattr(made, "__module__", "").startswith("meco.")


def _packages_of_problem(case: TestCase, files: Mapping[str, str]) -> frozenset[str]:
    """Those that the formula of a problem needs; ours need none."""
    if case.problem in files:
        return _packages_of_file(files[case.problem], case.instance)
    try:
        return NOT_KNOWN if find_problem_module(case.problem)[0].module in FOREIGN else frozenset()
    except MecoError:
        return NOT_KNOWN


def _packages_of_name(text: str) -> frozenset[str]:
    """Those of what a file calls a name, "path.py:Name@digest"."""
    path, name = split_file_name(text)
    return _packages_of_file(path, name.partition("@")[2])


@lru_cache(maxsize=64)
def _packages_of_file(path: str, digest: str) -> frozenset[str]:
    """Those that a file imports, and the modules beside it; all where it is no longer the file of that digest."""
    try:
        if file_digest(path) != digest:
            return NOT_KNOWN
    except MecoError:
        return NOT_KNOWN
    used: frozenset[str] = frozenset()
    for name in list_foreign_imports(Path(path).absolute()):
        top = name.partition(".")[0]
        if name.startswith(PACKAGED) or (top not in NUMPY_ALONE and top not in OF_IMPORTS):
            return NOT_KNOWN
        used |= OF_IMPORTS.get(top, frozenset())
    return used
