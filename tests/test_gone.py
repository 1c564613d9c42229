"""Names removed in 0.4 answer with what replaces them."""

from __future__ import annotations

import importlib

import pytest

import meco
from meco import gone
from meco.cli import COMMANDS, main
from meco.errors import UnknownName
from meco.problems.suite import get_suite


@pytest.mark.parametrize("name", gone.METHODS)
def test_a_removed_method_names_its_replacement(name):
    with pytest.raises(UnknownName) as raised:
        meco.METHODS.resolve(name.lower())
    assert gone.METHODS[name] in str(raised.value)


@pytest.mark.parametrize("name", gone.MODULES)
def test_a_removed_module_names_its_replacement(name):
    with pytest.raises(ImportError) as raised:
        importlib.import_module(name)
    assert gone.MODULES[name] in str(raised.value)


@pytest.mark.parametrize("name", gone.COMMANDS)
def test_a_removed_command_names_its_replacement_in_one_line(name, capsys):
    assert name not in COMMANDS
    with pytest.raises(SystemExit) as stop:
        main([name, "--verbose"])
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert gone.COMMANDS[name] in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("name", gone.SUITES)
def test_a_removed_suite_names_its_replacement(name):
    with pytest.raises(UnknownName) as raised:
        get_suite(name)
    assert gone.SUITES[name] in str(raised.value)
