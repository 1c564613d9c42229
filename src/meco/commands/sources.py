"""Things to solve that can be named on the command line, and found again by `meco resume`."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from meco.core.problem import Problem
from meco.errors import DamagedFile, InvalidInput, UnknownName
from meco.files.modules import file_digest, load_file, names_a_file
from meco.files.schema import Maybe, check_form
from meco.problems.suite import get_problem
from meco.run.command import Command
from meco.variables import Variables


class FileFunction:
    """A function of a Python file, as in "problem.py:fun", or a meco.Problem in it."""

    def __init__(self, path: str, name: str) -> None:
        """Execute the file; `source` is what the log keeps and open_source() reads.

        InvalidInput or UnknownName where the file or the function is missing.
        """
        file = Path(path).absolute()
        if not file.is_file():
            raise InvalidInput(f"there is no file {path!r} to take {name!r} from")
        self.module = load_file(file)
        found = getattr(self.module, name, None)
        if not callable(found) and not isinstance(found, Problem):
            kinds = {k: callable(v) or isinstance(v, Problem) for k, v in vars(self.module).items()}
            raise UnknownName(f"function in {path}", name, [k for k in kinds if kinds[k] and not k.startswith("_")])
        self.problem = found if isinstance(found, Problem) else None
        self.fun: Any = found if self.problem is None else self.problem.raw
        self.source: dict[str, Any] = {"kind": "file", "path": str(file), "function": name}
        self.__qualname__ = name

    def __call__(self, x: np.ndarray) -> Any:
        return self.fun(x)

    def fingerprint_parts(self) -> list[Any]:
        """What a fingerprint of this function reads: the function itself."""
        return [self.fun]

    @property
    def bounds(self) -> Any:
        """Bounds that the file declares, or None; those of a problem are its own."""
        if self.problem is not None:
            return Variables.of(self.problem.lower, self.problem.upper, self.problem.integrality)
        return getattr(self.module, "bounds", None)

    @property
    def cheap(self) -> Any:
        """Constraints that cost nothing, as the file declares them, or None."""
        return getattr(self.module, "cheap", None)

    def close(self) -> None:
        """Nothing: a file that was executed holds nothing open."""


class Benchmark:
    """A problem of the library or a mission file, as a function of rows of points."""

    def __init__(self, problem: Problem, source: dict[str, Any]) -> None:
        self.problem, self.source = problem, source
        self.__qualname__ = problem.name

    def __call__(self, x: np.ndarray) -> Any:
        return self.problem.raw(x)

    @property
    def bounds(self) -> Any:
        """The box of the problem: [D, 2]."""
        return np.stack([self.problem.lower, self.problem.upper], axis=1)

    @property
    def cheap(self) -> Any:
        """None: no constraint of a benchmark is taken for cheap."""
        return None

    def close(self) -> None:
        """Nothing: a problem holds nothing open."""


class Program(Command):
    """A command that remembers how it was called."""

    bounds = cheap = None

    def __init__(self, line: str, folder: str | None = None, keep_calls: bool = False) -> None:
        super().__init__(line, folder, keep_calls)
        self.source: dict[str, Any] = {"kind": "command", "command": line, "keep": keep_calls}


def find_cheap(text: str | None, fun: FileFunction | Benchmark | Program) -> Any:
    """Cheap constraints that a text names, "fits,clears" of the function's file or "other.py:fits"; else the file's.

    InvalidInput where one is not there.
    """
    if text is None:
        return fun.cheap
    found = {}
    for each in text.split(","):
        path, _, name = each.strip().rpartition(":")
        if not path and not isinstance(fun, FileFunction):
            raise InvalidInput(f"--cheap wants a function of a Python file, as in constraints.py:{name}; got {each!r}")
        place = FileFunction(path or fun.source["path"], name)
        found[name] = place.fun
    return found


def find_problem(target: str, dim: int | None = None, instance: str | int = "paper") -> Problem:
    """A benchmark problem by name, or the mission in a JSON file; a Python file is refused with the way to name it."""
    if target.lower().endswith(".json"):
        from meco.problems.uav.mission import load_mission

        return load_mission(target).problem()
    if target.lower().endswith(".py"):
        raise InvalidInput(f"name a function of the file: {target}:{_first_function(target)}")
    return get_problem(target, dim, instance)


def _first_function(path: str) -> str:
    """The name of the first function that a Python file defines, or a word for one; the file is read, not run."""
    try:
        body = ast.parse(Path(path).read_text(encoding="utf-8")).body
    except (OSError, ValueError, SyntaxError):
        return "name"
    return next((part.name for part in body if isinstance(part, ast.FunctionDef)), "name")


def names_a_function(target: str) -> bool:
    """Whether a target names a function of a Python file."""
    return names_a_file(target)


def open_source(source: dict[str, Any], run: Path) -> FileFunction | Benchmark | Program:
    """What a run folder's source describes: a file that is executed, a program, or a benchmark problem.

    A source that is damaged, or a mission that changed since, is an error.
    """
    forms: dict[str, Any] = {
        "file": {"path": str, "function": str},
        "command": {"command": str, "keep": bool},
        "benchmark": {"target": str, "dim": Maybe(int), "instance": object},
    }
    if source["kind"] not in forms:
        raise DamagedFile(f"{run}: a run is of {', '.join(forms)}; got {source['kind']!r:.60}")
    check_form(source, forms[source["kind"]], f"{run / 'events.jsonl'}: source")
    if source["kind"] == "file":
        return FileFunction(source["path"], source["function"])
    if source["kind"] == "command":
        return Program(source["command"], str(run / "calls"), source["keep"])
    if source.get("digest") not in (None, mission_digest(source["target"])):
        raise InvalidInput(
            f"{source['target']} changed since the run began; start a new run with --evaluated {shlex.quote(str(run))}"
        )
    return Benchmark(find_problem(source["target"], source["dim"], source["instance"]), source)


def mission_digest(target: str) -> str | None:
    """The digest of a mission file, which names its version; None for a problem of the library."""
    return file_digest(target) if target.lower().endswith(".json") else None
