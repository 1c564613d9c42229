"""Targets of the Makefile install what they need and no more."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HEAVY = ("torch", "stable-baselines3", "gymnasium", "pymoo", "optuna", "dask")


@pytest.mark.parametrize("target", ["docs", "demo"])
def test_the_docs_and_the_demo_install_only_what_they_need(target):
    recipe = re.search(rf"^\$\(VENV\)/\.{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    facts = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = re.findall(r"\.\[([\w,]+)\]", recipe[1])
    asked = [
        need
        for names in extras
        for name in names.split(",")
        for need in facts["project"]["optional-dependencies"][name]
    ]
    for group in re.findall(r"--group (\w+)", recipe[1]):
        asked += facts["dependency-groups"][group]
    assert asked
    assert not [need for need in asked if str(need).startswith(HEAVY)]
