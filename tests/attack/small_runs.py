"""A run of forty evaluations, and what it minimizes."""

import os

import pytest

import meco

BOX = [(-5.0, 5.0)] * 3
posix = pytest.mark.skipif(os.name != "posix", reason="signals, fork and full disks are those of POSIX")


def f_and_g(x):
    return float(x @ x), [1.0 - x[0]]


def run(fun=f_and_g, **options):
    return meco.minimize(fun, BOX, **({"method": "SHADE-FR", "budget": 40, "pop_size": 10, "seed": 1} | options))
