"""A black box that is any program: it reads a JSON file and writes one."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import DamagedFile, InvalidInput
from meco.files.regular_files import read_regular
from meco.run.answer import CannotCall

LARGEST_OUTPUT_BYTES = 1 << 24  # bytes
LARGEST_PROGRAM_BYTES = 1 << 28  # bytes


class ProgramFailed(RuntimeError):
    """The program ended with an error, or wrote no usable output."""


class Command:
    """Calls a program for each point, in a folder of its own, without a shell.

    {input} holds {"x": [...], "id": n}, where x is {name: value, ..} of variables with names; the program writes
    {"f": .., "g": [..], "h": [..]} to {output} and ends with code 0. Arguments that name existing files are given as
    absolute paths, because the program runs inside its call's folder. The folders of failed calls stay where folder
    is given.
    """

    numbered = True  # it wants to be told the number of the call
    isolated = True  # called in a worker process, whose whole group ends with its parent, however that ends

    def __init__(self, line: str, folder: str | os.PathLike[str] | None = None, keep_calls: bool = False) -> None:
        """Check the line, InvalidInput if it cannot be run; without a folder a temporary one is made until close()."""
        self.line, self.keep_calls = line, keep_calls
        self.arguments = _split_command(line)
        self.temporary = tempfile.mkdtemp(prefix="meco-") if folder is None else None
        self.folder = Path(self.temporary or folder or ".").absolute()
        self.__qualname__ = f"command {line}"

    def __call__(self, x: np.ndarray | dict[str, float], number: int) -> Any:
        """What the program answers at x [D], or a point by name; number names the folder of the call, made anew.

        ProgramFailed where it ends with an error or writes nothing usable; CannotCall where it cannot be started.
        """
        place = self.folder / f"{number:06d}"
        input_file, output_file = place / "input.json", place / "output.json"
        text = json.dumps({"x": x if isinstance(x, dict) else x.tolist(), "id": number})
        try:
            shutil.rmtree(place, ignore_errors=True)  # of a call that was cut short
            place.mkdir(parents=True)
            input_file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CannotCall(f"cannot write to {place}: {error.strerror or error}; make room and resume") from error
        paths = {"{input}": str(input_file), "{output}": str(output_file)}
        filled = [re.sub(r"\{(input|output)\}", lambda mark: paths[mark[0]], each) for each in self.arguments]
        self._run_program(filled, place)
        try:
            answer = json.loads(read_regular(output_file, LARGEST_OUTPUT_BYTES))
        except FileNotFoundError:
            raise ProgramFailed("the program wrote no output file") from None
        except DamagedFile as error:
            raise ProgramFailed(f"the program's output cannot be used: {error}") from None
        except (ValueError, RecursionError) as error:
            raise ProgramFailed(f"the program's output is not JSON: {error}") from None
        if not isinstance(answer, dict):
            raise ProgramFailed('the program\'s output must be {"f": .., "g": [..], "h": [..]}')
        if not self.keep_calls:
            shutil.rmtree(place, ignore_errors=True)
        return answer

    def fingerprint_parts(self) -> list[Any]:
        """What a fingerprint of this function reads: the arguments, and the content of those that name files."""
        found: list[Any] = list(self.arguments)
        for argument in self.arguments:
            with suppress(OSError, DamagedFile):
                found.append(hashlib.sha256(read_regular(Path(argument), LARGEST_PROGRAM_BYTES)).digest())
        return found

    def _run_program(self, arguments: list[str], place: Path) -> None:
        """Run to the end in the folder `place`; whatever ends this early also ends the program and its children.

        ProgramFailed unless it ends with code 0, CallNotMade where it cannot be started.
        """
        in_worker = multiprocessing.parent_process() is not None  # whose whole group is killed when it must be
        group: dict[str, Any] = {} if in_worker or os.name != "posix" else {"process_group": 0}
        with ExitStack() as files:
            try:
                out, err = (files.enter_context(open(place / f"std{name}.txt", "wb")) for name in ("out", "err"))
                process = subprocess.Popen(
                    arguments, cwd=place, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **group
                )
            except OSError as error:
                raise CannotCall(f"cannot run {arguments[0]}: {error.strerror or error}") from error
            try:
                code = process.wait()
            except BaseException:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL) if group else process.kill()
                process.wait()
                raise
        if code != 0:
            with open(place / "stderr.txt", "rb") as text:
                text.seek(-min(4096, text.seek(0, os.SEEK_END)), os.SEEK_END)
                said = text.read().decode(errors="replace").strip().splitlines()
            raise ProgramFailed(f"the program ended with code {code}" + (f": {said[-1]}" if said else ""))

    def close(self) -> None:
        """Remove the folder of calls, where it is a temporary one."""
        if self.temporary:
            shutil.rmtree(self.temporary, ignore_errors=True)


def _split_command(line: str) -> list[str]:
    """The program and its arguments, with paths that hold in any folder; a line that cannot be run is refused."""
    try:
        parts = shlex.split(line)
    except ValueError as error:
        raise InvalidInput(f"the command cannot be read ({error}): {line!r:.60}") from error
    for mark in ("{input}", "{output}"):
        if not any(mark in part for part in parts):
            raise InvalidInput(f'the command must contain {mark}, as in "./sim {{input}} {{output}}"; got {line!r}')
    program = shutil.which(parts[0])
    if program is None:
        raise InvalidInput(f"no program {parts[0]!r} that can be run; give its path, and make it executable")
    rest = [str(Path(part).absolute()) if os.path.exists(part) else part for part in parts[1:]]
    return [os.path.abspath(program), *rest]
