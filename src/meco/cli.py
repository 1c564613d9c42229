"""The door of the command line, `meco` and `python -m meco`: a table of commands, each loaded when it is called.

What a command does is in meco.commands, a module each.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import NoReturn

from meco import __version__
from meco.errors import MecoError, UnknownName
from meco.files.names import escape_for_terminal
from meco.gone import find_advice

COMMANDS = {
    "solve": "solve a benchmark problem, a Python function, a program or a mission file",
    "resume": "continue an interrupted run",
    "demo": "solve two real problems and show the result",
    "train": "train the policy of MeCO, on a suite or on your own problems",
    "bench": "compare methods on problems",
    "reproduce": "reproduce a table or figure of the paper",
    "report": "write the report page of a results folder",
    "verify": "repeat stored runs and compare them bit for bit",
    "policy": "list, show or verify policies",
    "list": "list problems, suites and methods",
    "data": "fetch official benchmark tables",
    "export": "write the evaluations of a run as CSV or JSON lines",
}


EXIT_CODES = """exit codes:
  0    done; for solve and resume: a feasible point was found
  1    part of it is missing or wrong (bench, reproduce, verify, policy verify)
  2    no feasible point was found, or by noisy calls none surely; or the input cannot be used: one line says which
  70   a defect of meco; MECO_TRACEBACK=1 shows where
  130  ended by Ctrl-C before there was a result; 128 + n: a campaign ended by signal n
"""


class Parser(argparse.ArgumentParser):
    """Mistakes in one line, with the way to help."""

    def error(self, message: str) -> NoReturn:
        """End the process with code 2 and one line on standard error."""
        self.exit(2, f"meco: {message}; `{self.prog} --help` says more\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; whatever goes wrong becomes one line on standard error and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # names of files and messages may not be UTF-8
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with _show_warnings_as_lines():
            code = _run_command(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read this has enough
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("MECO_TRACEBACK"):
            raise
        code, said = _explain_error(error)
        print("meco: " + escape_for_terminal(" ".join(said.split())), file=sys.stderr)
        return code


@contextmanager
def _show_warnings_as_lines() -> Iterator[None]:
    """Inside the block Python's warnings are lines as others are, without the place in the source."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"meco: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


def _run_command(arguments: list[str]) -> int:
    """Parse the arguments and run the command they name; its module alone is imported. The exit code."""
    parser = Parser(
        prog="meco",
        description="Minimise something expensive under constraints.",
        epilog=f"meco COMMAND --help says more\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"meco {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    called = next((a for a in arguments if not a.startswith("-")), None)
    if called is not None and find_advice("command", called):
        raise UnknownName("command", called, COMMANDS)
    for option in (word.partition("=")[0] for word in arguments):
        if find_advice(f"option of {called}", option):
            raise UnknownName(f"option of {called}", option, ())
    for name, about in COMMANDS.items():
        command = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        if name == called:
            _import_command(name).configure(command)
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        _refuse_arguments(commands.choices[args.command], unknown)
    return _import_command(args.command).run(args) or 0


def _refuse_arguments(command: argparse.ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """End the process because a command lacks these arguments; an option is answered with the nearest one."""
    name = unknown[0].partition("=")[0]
    if not name.startswith("--"):
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    options = [option for option in command._option_string_actions if option.startswith("--")]
    command.error(str(UnknownName("option", name, options)))


def _explain_error(error: Exception) -> tuple[int, str]:
    """Exit code and line of an error: 2 for what the user can mend, 70 for a defect of meco."""
    if isinstance(error, MecoError):
        return 2, error.command_line or str(error)
    if isinstance(error, OSError):
        named = f": {error.filename}" if error.filename is not None else ""
        return 2, f"{error.strerror or error}{named}"
    if isinstance(error, (MemoryError, RecursionError)):
        return 2, f"this asks for more memory than there is ({type(error).__name__})"
    return 70, f"{type(error).__name__}: {error} (a defect of meco: MECO_TRACEBACK=1 shows where; please report it)"


def _import_command(name: str) -> ModuleType:
    """The module of a command, with its configure() and run(); the name must be one of COMMANDS."""
    return importlib.import_module(f"meco.commands.{name.replace('-', '_')}")


if __name__ == "__main__":
    sys.exit(main())
