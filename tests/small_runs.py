"""A run of forty evaluations, what it minimizes, a function that remembers its calls, a command without extras."""

import os
import subprocess
import sys

import pytest

import meco
from meco import Method

BOX = [(-5.0, 5.0)] * 3
posix = pytest.mark.skipif(os.name != "posix", reason="signals, fork and full disks are those of POSIX")


def f_and_g(x):
    return float(x @ x), [1.0 - x[0]]


def named(x):
    """The same with names, another limit and an equality."""
    return {"f": x @ x, "g": {"reach": 1.0 - x[0], "height": x[1] - 3.0}, "h": {"level": x[1] - x[2]}}


SMALL = Method("SHADE-FR", pop_size=10)


def run(fun=f_and_g, **options):
    return meco.minimize(fun, BOX, **({"method": SMALL, "budget": 40, "seed": 1} | options))


def noted(fun):
    """The function, with the points that it was called at as its attribute `seen`."""
    seen = []

    def call(x):
        seen.append(x)
        return fun(x)

    call.seen = seen
    return call


def run_command_without(packages, *words, code=0):
    """Run a command of MeCO in a new interpreter that cannot import these packages; what it printed."""
    hidden = "".join(f"sys.modules[{name!r}] = None\n" for name in packages)
    program = f"import sys\n{hidden}from meco.cli import main\nsys.exit(main({list(words)!r}))\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout
