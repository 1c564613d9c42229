"""A fingerprint of a function: its code and the values it reads, so that an edit is noticed when a run goes on."""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"  # code of another Python cannot be compared
PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes, np.generic)
MOST_BYTES = 1 << 26  # of an array that is read whole
LONG = 1000  # items
CHANGING_CALLS = {
    "add", "append", "appendleft", "clear", "discard", "extend", "fill", "insert", "pop", "popitem", "remove",
    "setdefault", "sort", "update",
}  # fmt: skip
STORES = {"STORE_GLOBAL", "STORE_ATTR", "STORE_DEREF", "STORE_NAME", "DELETE_GLOBAL", "DELETE_ATTR"}


class Fingerprints(NamedTuple):
    """Of the function that a run calls, and of the one that gave it known points; None where there is none."""

    now: str | None = None
    known: str | None = None


NO_FINGERPRINTS = Fingerprints()


def fingerprint_function(*parts: Any) -> str | None:
    """What tells these functions and values from edited ones, the same in every process; None where no code is found.

    Read are the code without its lines and names of variables, defaults, closures, and what the code reads by name:
    plain values, containers of them, and further functions and classes that are not a library's. What the code itself
    changes, as a counter or a cache, does not count. Files that the function reads and compiled code cannot be seen. A
    function or object that has fingerprint_parts() says with it what else it stands for.
    """
    reader = _Reader()
    try:
        changed: set[str] = set()
        while True:  # what is changed is known once all code was seen
            reader = _Reader(frozenset(changed))
            reader.read(parts)
            if reader.changed <= changed:
                break
            changed |= reader.changed
    except Exception:  # whatever an unknown object does when it is read
        return None
    return f"{VERSION}:{reader.digest.hexdigest()}" if reader.found_code else None


def is_changed(before: str | None, now: str | None) -> bool:
    """Whether two fingerprints are known to be those of different functions."""
    return None not in (before, now) and before != now and str(before).partition(":")[0] == VERSION


class _Reader:
    """Feeds a digest with all that can be read from a value; each function and object once."""

    def __init__(self, ignored: frozenset[str] = frozenset()) -> None:
        """ignored are names of what the code changes."""
        self.digest, self.ignored = hashlib.sha256(), ignored
        self.changed: set[str] = set()  # names that the code changes
        self.found_code = False
        self._seen: dict[int, Any] = {}

    def _say(self, *words: Any) -> None:
        """Feed texts to the digest, each with its length."""
        for word in words:
            content = word if isinstance(word, bytes) else str(word).encode("utf-8", "backslashreplace")
            self.digest.update(f"{len(content)}:".encode() + content)

    def read(self, value: Any) -> None:
        """Feed whatever this is; of what is a library's, its name alone."""
        if isinstance(value, PLAIN):
            return self._say(type(value).__name__, repr(value))
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            whole = value.tobytes() if value.nbytes <= MOST_BYTES else b""
            return self._say("array", value.dtype, value.shape, whole)
        if isinstance(value, (tuple, list)):
            return self._read_sequence(value)
        if isinstance(value, (set, frozenset)):
            return self._say("set", *sorted(repr(each) for each in value if isinstance(each, PLAIN)))
        if isinstance(value, Mapping) and type(value).__module__ in ("builtins", "collections", "types"):
            return self._read_named(value)
        if isinstance(value, CodeType):
            return self._read_code(value)
        if id(value) in self._seen:
            return self._say("again")
        self._seen[id(value)] = value  # kept, so that no other object gets its id
        if not isinstance(value, type) and hasattr(value, "fingerprint_parts"):
            self.found_code = True
            for part in value.fingerprint_parts():
                self.read(part)
        elif isinstance(value, partial):
            self.read((value.func, value.args, value.keywords))
        elif isinstance(value, MethodType):
            self.read((value.__func__, value.__self__))
        elif isinstance(value, FunctionType):
            self._read_function(value)
        elif isinstance(value, type):
            self._read_class(value)
        else:
            self._read_object(value)

    def _read_sequence(self, values: tuple[Any, ...] | list[Any]) -> None:
        """Feed a tuple or list; a long one of numbers as an array."""
        self._say(type(values).__name__, len(values))
        array = np.asarray(values) if len(values) > LONG else None
        if array is not None and array.dtype.kind in "biuf":
            return self.read(array)
        for each in values:
            self.read(each)

    def _read_named(self, values: Mapping[Any, Any]) -> None:
        """Feed values by name, but for those that the code changes."""
        for name, each in values.items():
            if name not in self.ignored:
                self._say("name", name)
                self.read(each)

    def _read_code(self, code: CodeType) -> None:
        """Feed the steps of code with the constants that they load, other code among these."""
        self.found_code = True
        self._say("code", code.co_exceptiontable, *code.co_names)
        for step in dis.get_instructions(code):
            self._say(step.opname)
            self.read(step.argval if step.opcode in dis.hasconst else step.arg)
        if code.co_name != "__init__":  # which makes an object, and does not change it later
            self.changed |= set(_list_changed_names(code))

    def _read_function(self, function: FunctionType) -> None:
        """Feed a function: its code, defaults, closure, and what it reads by name in its module."""
        self._say("function", function.__qualname__)
        if _is_library(function.__module__):
            return self._read_closure(function) if function.__module__.startswith("meco.") else None
        self._read_code(function.__code__)
        self.read((function.__defaults__, function.__kwdefaults__))
        self._read_closure(function)
        for code in _list_codes(function.__code__):
            wanted = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
            found = {name: function.__globals__[name] for name in sorted(wanted) if name in function.__globals__}
            for name, each in found.items():
                if isinstance(each, ModuleType) and not _is_library(each.__name__):
                    found[name] = {n: vars(each)[n] for n in sorted(code.co_names) if n in vars(each)}
                elif isinstance(each, ModuleType):
                    found[name] = each.__name__
            self._read_named(found)

    def _read_closure(self, function: FunctionType) -> None:
        """Feed the values of the variables that a function has from the one around it."""
        cells: dict[str, Any] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                cells[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        self._read_named(cells)

    def _read_class(self, kind: type) -> None:
        """Feed a class: its name and, unless it is a library's, its functions and plain values."""
        self._say("class", kind.__qualname__)
        for base in kind.__mro__:
            if not _is_library(base.__module__):
                own = {n: getattr(v, "__func__", v) for n, v in sorted(vars(base).items()) if not n.startswith("__")}
                own |= {n: v for n in ("__call__", "__init__") if isinstance(v := vars(base).get(n), FunctionType)}
                self._read_named({n: v.fget if isinstance(v, property) else v for n, v in own.items()})

    def _read_object(self, value: Any) -> None:
        """Feed an object: its class and, unless that is a library's, its attributes."""
        kind = type(value)
        self.read(kind)
        for name in ("__wrapped__", "py_func"):  # of a cache around a function, and of a compiled one
            if isinstance(inner := getattr(value, name, None), FunctionType):
                self.read(inner)
        if not _is_library(kind.__module__):
            self._read_named(dict(sorted(getattr(value, "__dict__", {}).items())))
        elif kind.__module__.startswith("meco.") and is_dataclass(value):
            self._read_named({each.name: getattr(value, each.name) for each in fields(value)})


def _list_codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all those inside of it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _list_codes(each)


def _list_changed_names(code: CodeType) -> Iterator[str]:
    """Names whose values code changes: by assignment, by a method that changes them, or by storing an item."""
    steps = list(dis.get_instructions(code))
    for i, step in enumerate(steps):
        if step.opname in STORES and (step.opname != "STORE_DEREF" or step.argval in code.co_freevars):
            yield str(step.argval)
        elif step.argval in CHANGING_CALLS and i and _loads_shared(steps[i - 1]):
            yield str(steps[i - 1].argval)
        elif step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") or _reads_to_store(steps, i):
            container = _find_container(steps[:i])
            if container is not None and _loads_shared(container):
                yield str(container.argval)


def _reads_to_store(steps: list[dis.Instruction], at: int) -> bool:
    """Whether container and key, which the steps before have loaded, are copied to read an item and store it again."""
    return [(step.opname, step.arg) for step in steps[at : at + 2]] == [("COPY", 2), ("COPY", 2)]


def _find_container(steps: list[dis.Instruction]) -> dis.Instruction | None:
    """What loads the container after which these steps load its key; None where there is no such step."""
    depth = 0
    for i in range(len(steps) - 1, 0, -1):
        depth += dis.stack_effect(steps[i].opcode, steps[i].arg, jump=False)
        if depth == 1:
            return steps[i - 1]
    return None


def _loads_shared(step: dis.Instruction) -> bool:
    """Whether an instruction reads what outlives the call: a global, a variable of a closure, an attribute."""
    return step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD")


def _is_library(name: str | None) -> bool:
    """Whether a module is the standard library's, this one, or an installed package."""
    root = (name or "").partition(".")[0]
    if root in sys.stdlib_module_names - {"__main__"} or root == "meco":
        return True
    place = (getattr(sys.modules.get(name or ""), "__file__", None) or "").replace("\\", "/")
    return "/site-packages/" in place or "/dist-packages/" in place
