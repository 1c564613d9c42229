"""The constants of theta and share that policies of MeCO-TR-v0 are compared with."""

from __future__ import annotations

from itertools import product

CONSTANT_CONTROLS = tuple(product((0.0, 0.3, 0.5, 0.9), (0.0, 0.3, 0.9)))  # theta and share
OWN_RULE_NAME = "own rule"
COMPARISON_SEED = 12345  # of the first run
