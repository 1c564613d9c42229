"""Command line: options, programs, advice to copy, exported files."""

import csv
import json
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import meco
from meco.cli import main

PROBLEM = """
import random
random.seed(1)
bounds = {"width": [0, 1], "height": [0, 1]}
def steady(x):
    return x["width"] + x["height"], {"area": 0.2 - x["width"] * x["height"]}
def noisy(x):
    f, g = steady(x)
    return f + random.gauss(0, 0.05), {"area": g["area"] + random.gauss(0, 0.01)}
"""


@pytest.fixture(autouse=True)
def problem_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("problem.py").write_text(PROBLEM)


def meco_command(*words):
    return main([str(word) for word in words])


def last_error(capsys):
    return capsys.readouterr().err.strip().splitlines()[-1]


# -- options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["bench", "--problems", "C01"], "--problem"),
        (["solve", "C01", "--bugdet=20"], "--budget"),
        (["export", "run", "--outptu", "x"], "--output"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest_one(words, nearest, capsys):
    with pytest.raises(SystemExit) as ended:
        meco_command(*words)
    assert ended.value.code == 2
    assert f"did you mean '{nearest}'?" in last_error(capsys)


@pytest.mark.parametrize("noise", ["0.05", "f=0.05,area=0.01", "yes"])
def test_the_noise_of_a_function_can_be_told(noise, capsys):
    words = ("problem.py:noisy", "--budget", 60, "--seed", 1, "--quiet", "--json", "--noise", noise)
    assert meco_command("solve", *words) in (0, 2)
    assert 0.0 <= json.loads(capsys.readouterr().out)["probability"] <= 1.0


def test_a_function_can_be_said_to_be_without_noise(capsys):
    words = ("problem.py:steady", "--budget", 40, "--seed", 1, "--quiet", "--json", "--noise", "no")
    assert meco_command("solve", *words) == 0
    assert json.loads(capsys.readouterr().out)["probability"] is None


@pytest.mark.parametrize("noise", ["much", "-1", "f="])
def test_noise_that_is_no_number_is_refused(noise, capsys):
    assert meco_command("solve", "problem.py:noisy", f"--noise={noise}", "--quiet") == 2
    assert "noise" in last_error(capsys)


def test_noise_that_was_told_holds_for_a_resumed_run(capsys):
    words = ("problem.py:noisy", "--seed", 1, "--quiet", "--json", "--noise", "0.05", "--checkpoint", "run")
    meco_command("solve", *words, "--budget", 40)
    capsys.readouterr()
    meco_command("resume", "run", "--budget", 60, "--quiet", "--json")
    assert json.loads(capsys.readouterr().out)["probability"] is not None


# -- reports -----------------------------------------------------------------------------------------


def test_an_experiment_without_ranks_prints_its_numbers(capsys):
    words = ("actions", "--quick", "--quiet", "--executor", "serial", "--out", "results")
    assert meco_command("reproduce", *words) in (0, 1)  # 1: policies of some rows are not kept
    said = capsys.readouterr().out
    numbers = next(Path("results/tables").glob("actions*.csv")).read_text().splitlines()
    assert all(cell in said for row in list(csv.reader(numbers))[1:] for cell in row[:1])


# -- advice ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["run one", "run;touch stolen", "it's $HOME"])
def test_a_command_in_a_message_can_be_copied_into_a_shell(folder, capsys):
    words = ("problem.py:steady", "--budget", 20, "--seed", 1, "--quiet", "--checkpoint", folder)
    assert meco_command("solve", *words, "--stop", "feasible") == 0
    advice = capsys.readouterr().err.split("`")[1]
    assert shlex.split(advice) == ["meco", "resume", folder]
    assert meco_command("solve", *words) == 2
    advice = last_error(capsys).split("`")[1]
    assert shlex.split(advice)[2] in (folder, str(Path(folder).absolute()))


# -- programs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["x{output}y", "x{input}y", "a b"])
def test_a_program_runs_in_a_folder_of_any_name(folder, tmp_path, monkeypatch, capsys):
    place = tmp_path / folder
    place.mkdir()
    monkeypatch.chdir(place)
    program = tmp_path / "simulate.py"
    program.write_text(
        "import json, sys\nx = json.load(open(sys.argv[1]))['x']\n"
        "json.dump({'f': sum(v * v for v in x)}, open(sys.argv[2], 'w'))\n"
    )
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(program))} {{input}} {{output}}"
    words = ("--bounds", "0,1 0,1", "--budget", 6, "--seed", 1, "--quiet", "--json", "--checkpoint", "run")
    assert meco_command("solve", "--command", command, *words) == 0
    assert json.loads(capsys.readouterr().out)["nfail"] == 0


# -- exported files ----------------------------------------------------------------------------------

NAMES = ("=1+1", "+a", "-b", "@sum")


def formula_run(**given):
    """A run whose names and categories are formulas to a spreadsheet."""
    bounds = dict.fromkeys(NAMES, (-1.0, 1.0)) | {"kind": ["=2+2", "plain"]}
    return meco.minimize(lambda x: (x["-b"], {"=cmd": -1.0}), bounds, budget=8, seed=1, **given)


def check_table(text):
    head, *rows = csv.reader(text.splitlines())
    assert not [name for name in head if name.startswith(("=", "+", "-", "@"))]
    assert {"'" + name for name in (*NAMES, "=cmd")} <= set(head)
    assert {row[head.index("kind")] for row in rows} == {"'=2+2", "plain"}
    assert float(rows[0][head.index("'=cmd")]) == -1.0  # numbers stay numbers


def test_no_name_is_a_formula_in_the_table_of_a_result():
    check_table(formula_run().to_csv())


def test_no_name_is_a_formula_in_an_exported_table(capsys):
    formula_run(checkpoint="run")
    assert meco_command("export", "run") == 0
    check_table(capsys.readouterr().out)


LIMITED = """
import resource, sys
from meco.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # every longer file fails as on a full disk
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("form", ["--csv", "--jsonl"])
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limits on files here")
def test_an_export_that_cannot_be_completed_leaves_the_old_file(form, tmp_path):
    meco.minimize(lambda x: float(x @ x), [(-1, 1)] * 8, budget=300, seed=1, method="SHADE", checkpoint="run")
    table = tmp_path / "table"
    for before in (None, "an older table\n"):
        if before is not None:
            table.write_text(before)
        words = [sys.executable, "-c", LIMITED, "export", "run", form, "--output", str(table)]
        ended = subprocess.run(words, text=True, capture_output=True, check=False)
        assert ended.returncode == 2, ended.stderr
        assert len(ended.stderr.splitlines()) == 1
        assert (table.read_text() if table.exists() else None) == before
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith("table")] == (
            [] if before is None else ["table"]
        )


def test_an_export_goes_to_a_device_and_through_a_link(tmp_path):
    formula_run(checkpoint="run")
    assert meco_command("export", "run", "--output", "/dev/null") == 0
    Path("link.csv").symlink_to(tmp_path / "table.csv")
    assert meco_command("export", "run", "--output", "link.csv") == 0
    assert Path("link.csv").is_symlink()
    check_table((tmp_path / "table.csv").read_text())


def test_a_table_of_a_result_replaces_the_old_one(tmp_path):
    found = formula_run()
    (tmp_path / "table.csv").write_text("old")
    found.to_csv("table.csv")
    assert (tmp_path / "table.csv").read_text() == found.to_csv()
    assert np.isfinite(found.fun)
