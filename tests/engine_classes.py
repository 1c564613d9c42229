"""One method for each engine class: what holds for an engine is stated for it once, whatever rules it is named with."""

from __future__ import annotations

from functools import partial

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
