"""A name that left the library is answered with one line that says what to use instead."""

import importlib

import pytest

from meco import gone
from meco.cli import COMMANDS, main


@pytest.mark.parametrize("command", gone.NAMES["command"])
def test_a_command_that_left_says_what_to_use(command, capsys):
    assert command not in COMMANDS
    assert main([command, "--any", "thing"]) == 2
    assert (
        capsys.readouterr().err
        == f"meco: no command named {command!r}; it left in 0.4: {gone.NAMES['command'][command]}\n"
    )


@pytest.mark.parametrize("module", gone.MODULES)
def test_an_import_of_a_module_that_left_says_what_to_use(module):
    for name in (f"meco.{module}", f"meco.{module}.anything"):
        with pytest.raises(ImportError, match=f"{module} left in 0.4: "):
            importlib.import_module(name)


def test_an_import_of_a_module_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'meco\.nothing'"):
        importlib.import_module("meco.nothing")
