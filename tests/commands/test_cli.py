"""The command line answers quickly, clearly, and with an exit code that says how it went."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meco import METHODS, __version__
from meco.cli import COMMANDS, main
from meco.problems.suite import SUITES


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in COMMANDS)


def test_version_is_printed(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    assert "usage: meco" in capsys.readouterr().out


def test_list_shows_methods_problems_and_suites(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in (*METHODS, "C28", "RC32", "UAV-16", "realworld"))
    assert main(["list", "methods", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["methods"]) == set(METHODS)


def test_list_shows_rules_and_the_page_of_methods_names_them(capsys):
    assert main(["list", "rules", "--json"]) == 0
    rules = json.loads(capsys.readouterr().out)["rules"]
    page = (Path(__file__).parents[2] / "docs" / "methods" / "index.md").read_text(encoding="utf-8")
    assert all(rules.values())
    assert all(f"`{name}`" in page for name in rules)


def test_the_help_of_bench_names_every_suite(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    said = "".join(capsys.readouterr().out.split())  # a long line breaks at hyphens
    assert all(name in said for name in SUITES)


def test_list_shows_generated_families_by_set(capsys):
    assert main(["list", "generated"]) == 0
    assert "G-bowl-linear-0001" in capsys.readouterr().out
    assert main(["list", "generated", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["generated"]) == ["train", "choose", "confirm"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "metods"], "did you mean 'methods'"),
        (["list", "policies"], "policies are listed by meco policy list"),
        (["solve", "C99"], "no problem named 'C99'"),
        (["solve", "C01", "--method", "SHADE-esp"], "no method named 'SHADE-esp'; did you mean 'SHADE-eps'?"),
        (["solve", "C01", "--instance", "papre"], "did you mean 'paper'"),
        (["solve", "C01", "--dim", "10", "--budget", "0"], "at least 1"),
        (["solve", "RC20", "--dim", "50"], "RC20 has 2 variables"),
    ],
)
def test_a_wrong_word_is_one_clear_line(arguments, words, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_solve_prints_runs_of_a_benchmark_problem(capsys):
    assert main(["solve", "C01", "--dim", "10", "--method", "SHADE", "--runs", "3", "--budget", "200"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("\n") >= 3


def test_the_methods_are_exactly_the_promised_ones():
    promised = {
        "MeCO", "MeCO-u", "MeCO-rand", "SHADE", "SHADE-eps", "SHADE-BOC", "SHADE-FR", "MDE-CGO", "C2oDE", "MA-ES",
        "BP-epsMAg-ES", "CMA-ES", "CMA-ES-native", "COBRA", "SACOBRA", "NSGA-III", "CMA-ES-AL", "SciPy-DE",
        "COBYQA", "ISRES", "TR", "SLSQP", "COBYLA",
    }  # fmt: skip
    assert sorted(METHODS) == sorted(promised)
    assert METHODS.resolve("SHADE-ε") == "SHADE-eps"
    assert METHODS.resolve("C²oDE") == "C2oDE"


def test_a_demo_without_evaluations_is_refused(tmp_path, capsys):
    assert main(["demo", "--budget", "0", "--quiet", "--output", str(tmp_path / "demo")]) == 2
    assert "budget must be" in capsys.readouterr().err
