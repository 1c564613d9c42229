"""One method for each engine class: what holds for an engine is stated for it once, whatever rules it is named with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
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


def few_evaluations(method: str, generations: int) -> int:
    """Evaluations of a short run: 30 where each costs a model, else as many as the given for some generations."""
    if method == "COBYQA":
        return 40  # its own steps come after a first sample
    return 30 if METHODS[method].models_functions else generations


def marked(methods: Iterable[str], fast: Iterable[str] | None = None) -> list[Any]:
    """Methods as cases of a test; with fast all others than these are slow."""
    quick = None if fast is None else set(fast)
    slow = [pytest.mark.slow]
    return [pytest.param(name, marks=slow if quick is not None and name not in quick else []) for name in methods]
