"""A name that left the library is answered with one line that says what to use instead."""

import importlib

import pytest

import meco
from meco import gone
from meco.cli import COMMANDS, main
from meco.errors import UnknownName


@pytest.mark.parametrize("command", gone.NAMES["command"])
def test_a_command_that_left_says_what_to_use(command, capsys):
    assert command not in COMMANDS
    assert main([command, "--any", "thing"]) == 2
    assert (
        capsys.readouterr().err
        == f"meco: no command named {command!r}; it left in 0.4: {gone.NAMES['command'][command]}\n"
    )


@pytest.mark.parametrize("name", gone.NAMES["method"])
def test_a_method_that_left_says_what_to_use(name):
    with pytest.raises(UnknownName, match=f"no method named '{name}'; it left in 0.4: "):
        meco.solve(name, "tilted")


@pytest.mark.parametrize("name", gone.NAMES["policy"])
def test_a_policy_that_left_says_what_to_use(name):
    with pytest.raises(UnknownName, match=f"no policy named '{name}'; it left in 0.4: use "):
        meco.load_policy(name)


@pytest.mark.parametrize("name", gone.NAMES["experiment"])
def test_an_experiment_that_left_says_where_its_tables_are(name, capsys):
    assert main(["reproduce", name]) == 2
    assert f"no experiment named {name!r}; it left in 0.4: its stored tables" in capsys.readouterr().err


@pytest.mark.parametrize("module", gone.MODULES)
def test_an_import_of_a_module_that_left_says_what_to_use(module):
    for name in (f"meco.{module}", f"meco.{module}.anything"):
        with pytest.raises(ImportError, match=f"{module} left in 0.4: "):
            importlib.import_module(name)


@pytest.mark.parametrize("module", ["meco.paper"])
def test_an_import_of_a_name_that_left_says_what_to_use(module):
    for name in gone.NAMES[f"name of {module}"]:
        with pytest.raises(ImportError, match=f"name of {module} '{name}' left in 0.4: use "):
            getattr(importlib.import_module(module), name)


def test_an_import_of_a_module_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'meco\.nothing'"):
        importlib.import_module("meco.nothing")
