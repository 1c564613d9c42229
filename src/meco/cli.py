"""The command line: a table of commands, each loaded when it is called."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from meco import __version__
from meco.errors import MecoError

COMMANDS = {
    "solve": "solve a benchmark problem, a Python function, a program or a mission file",
    "resume": "continue an interrupted run",
    "watch": "follow a run in a browser",
    "demo": "solve two real problems and show the result",
    "train": "train a relaxation policy",
    "bench": "compare methods on problems",
    "reproduce": "reproduce a table or figure of the paper",
    "report": "write the report page of a results folder",
    "policy": "list, show or verify policies",
    "list": "list problems, suites and methods",
    "data": "fetch official benchmark tables",
    "export": "write the evaluations of a run as CSV or JSON lines",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors of ours become one line on standard error and exit code 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="meco",
        description="Minimise something expensive under constraints.",
        epilog="meco COMMAND --help says more. Exit codes: 0 done (solve, resume: feasible), 1 no feasible point, "
        "2 a mistake in what was asked, 130 interrupted before there was a result",
    )
    parser.add_argument("--version", action="version", version=f"meco {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    called = next((a for a in arguments if not a.startswith("-")), None)
    for name, about in COMMANDS.items():
        command = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        if name == called:
            _module(name).configure(command)
    args = parser.parse_args(arguments)
    try:
        return _module(args.command).run(args) or 0
    except MecoError as error:
        print(f"meco: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0


def _module(name: str):
    return importlib.import_module(f"meco.commands.{name}")


if __name__ == "__main__":
    sys.exit(main())
