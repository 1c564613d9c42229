"""One method for each engine class: what holds for an engine is stated for it once, whatever rules it is named with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest

from meco import METHODS
from meco.core.registry import LazyCallable
from meco.method_record import MethodRecord


def engine_of(record: MethodRecord) -> object:
    """What tells engines apart: the class; of a steered engine the module that builds it, whatever its policy."""
    build = record.build
    if isinstance(build, LazyCallable):
        return build.place if build.place.startswith("engines.") else build.place.partition(":")[0]
    return build.func if isinstance(build, partial) else build


FIRST = {engine_of(METHODS[name]): name for name in reversed(list(METHODS))}
ENGINE_CLASSES = [name for name in METHODS if name in FIRST.values()]  # the first method of each

PACKAGES = {"nomad": "PyNomad", "scbo": "botorch"}  # extras that are not in all -> what they bring
SLOW = ("Optuna-GP", "SCBO")  # half a second and more for each evaluation


def few_evaluations(method: str, generations: int) -> int:
    """Evaluations of a short run: 30 where each costs a model, else as many as the given for some generations."""
    if method == "COBYQA":
        return 40  # its own steps come after a first sample
    return 30 if METHODS[method].models_functions or method == "Optuna-TPE" else generations


def marked(methods: Iterable[str], fast: Iterable[str] | None = None) -> list[Any]:
    """Methods as cases of a test: skipped, loudly, where an extra that is not in all is missing.

    Those of SLOW are slow, and with fast all others than these.
    """
    quick = None if fast is None else set(fast)
    return [pytest.param(name, marks=_marks(name, quick is not None and name not in quick)) for name in methods]


def _marks(method: str, slow: bool) -> list[Any]:
    package = PACKAGES.get(METHODS[method].extra or "")
    missing = package is not None and find_spec(package) is None
    marks = [pytest.mark.skipif(missing, reason=f"METHOD NOT CHECKED: {method}: {package} is not installed")]
    return [*marks, pytest.mark.slow] if slow or method in SLOW else marks
