"""meco solve, resume and export: functions, programs, benchmarks, signals."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
import noisy_problems
from event_logs import events_of
from meco.cli import main
from meco.methods import DEFAULT
from meco.run.command import Command
from meco.run.log import FILE_NAME, encode
from meco.run.recorded import read_recorded

PROBLEM = """
import os, time

bounds = [(-5, 5)] * 3

def beam(x):
    return float(x @ x), {"reach": 1 - x[0], "height": x[1] - 3}

def slow(x):
    time.sleep(float(os.environ.get("SECONDS_OF_A_CALL", 0)))
    return beam(x)

def rows(x):
    return (x * x).sum(axis=1), 1 - x[:, :1]
"""

NOWHERE = """
def far(x):
    return (x[0] - 300) ** 2 + x[1] ** 2, 1 - x[0] - x[1]

bounds = [(None, None), (0, None)]
"""

SIMULATOR = """
import json, sys
call = json.load(open(sys.argv[1]))
x = call["x"]
if x[0] > 3:
    sys.exit("mesh failed")
if x[0] < -4:
    open(sys.argv[2], "w").write("{not json")
else:
    json.dump({"f": sum(v * v for v in x), "g": [1 - x[0]], "h": []}, open(sys.argv[2], "w"))
"""

QUICK = ["--method", "SHADE-FR", "--budget", "60", "--seed", "1", "--quiet"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "problem.py").write_text(PROBLEM)
    (tmp_path / "sim.py").write_text(SIMULATOR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def printed(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_a_python_function_is_solved(folder, capsys):
    out = json.loads(printed(capsys, "solve", "problem.py:beam", *QUICK, "--json"))
    same = meco.minimize(
        lambda x: (float(x @ x), {"reach": 1 - x[0], "height": x[1] - 3}),
        [(-5, 5)] * 3,
        method="SHADE-FR",
        budget=60,
        seed=1,
    )
    assert_array_equal(out["x"], same.x)
    assert out["fun"] == same.fun
    assert list(out["constraints"]) == ["reach", "height"]
    assert out["stop_reason"] == "budget"


def test_the_result_is_told_in_words(folder, capsys):
    out = printed(capsys, "solve", "problem.py:beam", *QUICK)
    assert "Stopped after 60 evaluations" in out
    assert "reach" in out


@pytest.mark.parametrize(
    "bounds", [["-5,5", "-5,5", "0,2"], ["-5,5 -5,5 0,2"], ["[[-5, 5], [-5, 5], [0, 2]]"], ["bounds.json"]]
)
def test_bounds_are_given_in_many_ways(folder, capsys, bounds):
    (folder / "bounds.json").write_text("[[-5, 5], [-5, 5], [0, 2]]")
    out = json.loads(printed(capsys, "solve", "problem.py:beam", "--bounds", *bounds, *QUICK, "--json"))
    assert 0 <= out["x"][2] <= 2


def test_one_pair_serves_many_variables(folder, capsys):
    out = printed(
        capsys, "solve", "problem.py:rows", "--vectorized", "--bounds", "-1,2", "--dim", "7", *QUICK, "--json"
    )
    assert len(json.loads(out)["x"]) == 7


def test_options_reach_the_run(folder, capsys):
    out = printed(
        capsys, "solve", "problem.py:beam", *QUICK, "--json", "--x0", "-1,2,3", "--integer", "0,2", "--names", "a,b",
        "--stop", "feasible",
    )  # fmt: skip
    found = json.loads(out)
    assert found["stop_reason"] == "feasible"
    assert list(found["constraints"]) == ["a", "b"]
    assert_array_equal(np.round(found["x"])[[0, 2]], np.array(found["x"])[[0, 2]])


def test_a_program_that_is_not_python_is_solved(folder, capsys):
    command = f"{sys.executable} sim.py {{input}} {{output}}"
    words = ["solve", "--command", command, "--bounds", "-5,5", "-5,5", "--checkpoint", "run", *QUICK, "--json"]
    out = json.loads(printed(capsys, *words, "--workers", "2", "--budget", "24"))
    assert out["feasible"]
    assert out["nfev"] == 24
    assert out["failures"]["raised"] > 0
    entries = read_recorded(folder / "run").answers.entries
    failures = {number: entry.answer for number, entry in entries.items() if not entry.good}
    said = {answer.reason.split(": ", 2)[-1] for answer in failures.values()}
    assert "mesh failed" in said or any("not JSON" in s for s in said)
    kept = {int(path.name) for path in (folder / "run" / "calls").iterdir()}
    assert kept == set(failures)  # the folders of failed calls stay, for a look at them
    again = json.loads(printed(capsys, "resume", "run", "--json", "--quiet"))
    assert again["x"] == out["x"]


def test_a_program_gets_its_number_and_a_folder_of_its_own(tmp_path):
    script = tmp_path / "sim.py"
    script.write_text(
        "import json, os, sys\nx = json.load(open(sys.argv[1]))\n"
        "json.dump({'f': x['id'], 'g': [len(x['x'])], 'h': [len(os.listdir('.'))]}, open(sys.argv[2], 'w'))"
    )
    command = Command(f"{sys.executable} {script} {{input}} {{output}}", tmp_path / "calls", keep_calls=True)
    assert command(np.zeros(4), 7) == {"f": 7, "g": [4], "h": [3]}
    assert json.loads((tmp_path / "calls" / "000007" / "input.json").read_text()) == {"x": [0.0] * 4, "id": 7}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["solve"], "one thing to solve"),
        (["solve", "C99"], "did you mean"),
        (["solve", "problem.py:beem"], "did you mean 'beam'"),
        (["solve", "nothing.py:f"], "no file"),
        (["solve", "--command", "./sim {input}", "--bounds", "0,1"], "{output}"),
        (["solve", "--command", "./nosim {input} {output}", "--bounds", "0,1"], "no program"),
        (["solve", "problem.py:beam", "--bounds", "0;x"], "--bounds wants pairs"),
        (["solve", "problem.py:beam", "--runs", "3"], "--runs"),
        (["solve", "tilted", "--runs", "0"], "at least 1"),
        (["resume", "nowhere"], "no events.jsonl"),
        (["export", "nowhere"], "no events.jsonl"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_two(folder, capsys, words, said):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_run_started_from_python_is_resumed_there(folder, capsys):
    meco.minimize(lambda x: x @ x, [(-5, 5)] * 2, method="SHADE-FR", budget=20, seed=1, checkpoint="run")
    assert main(["resume", "run"]) == 2
    assert "resume=True" in capsys.readouterr().err


def test_benchmark_problems_run_side_by_side(capsys):
    out = json.loads(printed(capsys, "solve", "tilted", "--dim", "4", "--runs", "3", *QUICK, "--json"))
    assert [r["seed"] for r in out] == [1, 2, 3]
    same = meco.solve("SHADE-FR", meco.get_problem("tilted", 4), budget=60, seeds=[2])[0]
    assert_array_equal(out[1]["x"], same.x)
    assert "3 of 3 runs" in printed(capsys, "solve", "tilted", "--dim", "4", "--runs", "3", *QUICK)


def test_a_benchmark_problem_can_be_checkpointed(folder, capsys):
    words = ["solve", "C01", "--dim", "5", "--instance", "3", *QUICK, "--json"]
    out = json.loads(printed(capsys, *words, "--checkpoint", "run"))
    again = json.loads(printed(capsys, "resume", "run", "--json", "--quiet"))
    assert again["x"] == out["x"]


def test_every_evaluation_is_exported(folder, capsys):
    printed(capsys, "solve", "problem.py:beam", *QUICK, "--checkpoint", "run")
    rows = list(csv.reader(io.StringIO(printed(capsys, "export", "run"))))
    assert rows[0] == ["number", "attempt", "fault", "feasible", "seconds", "x1", "x2", "x3", "f", "reach", "height"]
    table = np.array([[float(v) for v in row[5:]] for row in rows[1:]])
    assert table.shape == (60, 6)
    assert_allclose(table[:, 3], (table[:, :3] ** 2).sum(axis=1), rtol=1e-12)
    main(["export", "run", "--jsonl", "--output", "out.jsonl"])
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert_array_equal([line["x"] for line in lines], table[:, :3])
    assert lines[0]["g"].keys() == {"reach", "height"}


def test_named_variables_of_a_file_are_told_and_exported_by_name(folder, capsys):
    (folder / "named.py").write_text(
        'bounds = {"width": (0, 2, "mm"), "f": (1, 3)}\n'
        'def area(v):\n    return v["width"] * v["f"], {"w": 1 - v["f"]}\n'
    )
    out = printed(capsys, "solve", "named.py:area", *QUICK, "--checkpoint", "run")
    assert "width [mm]" in out
    rows = list(csv.reader(io.StringIO(printed(capsys, "export", "run"))))
    assert rows[0][5:] == ["width", "f", "f", "w"]
    lines = [json.loads(line) for line in printed(capsys, "export", "run", "--jsonl").splitlines()]
    assert all(line["f"] == line["x"]["width"] * line["x"]["f"] for line in lines)


def test_pictures_are_written(folder, capsys):
    printed(capsys, "solve", "problem.py:beam", *QUICK, "--plot", "a.svg")
    printed(capsys, "solve", "tilted", *QUICK, "--plot", "b.svg")
    printed(capsys, "solve", "UAV-01", *QUICK, "--plot", "c.svg")
    for name, word in (("a.svg", "Best feasible f"), ("b.svg", "f + ν"), ("c.svg", "hover point")):
        assert word in (folder / name).read_text(encoding="utf-8")


def test_a_mission_file_is_solved(folder, capsys):
    (folder / "field.json").write_text(
        json.dumps({"area": [3000, 3000], "start": [0, 0], "end": [3000, 0], "sensors": [[1500, 1000]]})
    )
    out = json.loads(printed(capsys, "solve", "field.json", *QUICK, "--json"))
    assert len(out[0]["x"]) == 18


def hear_interrupts():
    """A shell starts background jobs deaf to Ctrl-C, and their children inherit it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(
    ("number", "workers"),
    [
        (signal.SIGINT, "1"),
        (signal.SIGTERM, "2"),
        pytest.param(signal.SIGINT, "2", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "1", marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_cleanly_with_a_resumable_folder(folder, capsys, number, workers):
    words = ["solve", "problem.py:slow", "--method", "SHADE-FR", "--budget", "90", "--seed", "1", "--checkpoint", "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "meco", *words, "--workers", workers, "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "SECONDS_OF_A_CALL": "0.2"},
        preexec_fn=hear_interrupts if os.name == "posix" else None,
    )  # fmt: skip
    log = folder / "run" / "events.jsonl"
    while process.poll() is None and not (log.exists() and b'["tell"' in log.read_bytes()):
        time.sleep(0.01)
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in error
    found = json.loads(out)
    assert found["stop_reason"] == "interrupt"
    assert 0 < found["nfev"] < 90
    resumed = json.loads(printed(capsys, "resume", "run", "--quiet", "--json"))
    whole = json.loads(printed(capsys, "solve", "problem.py:beam", *words[2:-2], "--json", "--quiet"))
    assert resumed["x"] == whole["x"]
    assert resumed["nfev"] == 90


def test_the_demo_writes_pictures_and_a_page(folder, capsys):
    out = printed(capsys, "demo", "--method", "SHADE-FR", "--budget", "60", "--output", "shown", "--quiet")
    assert "index.html" in out
    page = (folder / "shown" / "index.html").read_text()
    assert page.count("<svg ") == 3
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names))
    assert "http" not in page.replace("http://www.w3.org", "")


def test_where_tables_are_is_told(capsys):
    assert set(json.loads(printed(capsys, "data", "where", "--json"))) == {"cec2017", "rwco"}


def test_the_demo_needs_nothing_but_numpy(folder, capsys, monkeypatch):
    found = importlib.util.find_spec
    hidden = ("matplotlib", "jinja2", "scipy", "rich")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name in hidden else found(name, *a))
    for missing in (*hidden, "scipy.optimize"):
        monkeypatch.setitem(sys.modules, missing, None)
    out = printed(capsys, "demo", "--budget", "40", "--output", "shown", "--quiet")
    assert out.count(f"{DEFAULT}: f =") == 2
    assert "COBYQA" not in out
    assert not (folder / "shown").exists()


@pytest.mark.docs
def test_the_demo_shows_problems_that_the_default_solves(folder, capsys, monkeypatch):
    monkeypatch.setattr("meco.commands.demo.RIVALS", ())
    out = printed(capsys, "demo", "--output", "shown", "--quiet")
    assert out.count("every constraint kept") == 2


@pytest.mark.docs
def test_the_demo_stands_beside_scipy_on_the_same_budget(folder, capsys):
    pytest.importorskip("scipy")
    out = printed(capsys, "demo", "--budget", "120", "--output", "shown", "--quiet")
    assert out.count("SciPy-DE") == out.count("COBYQA") == 2
    assert "above the best known 1.67022" in out


def test_a_benchmark_shows_its_best_point_and_says_by_its_exit_code_whether_it_is_feasible(capsys):
    assert main(["solve", "RC19", "--seed", "1", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "weld thickness (in)" in out
    assert "shear stress" in out
    assert main(["solve", "UAV-07", "--method", "SHADE", "--budget", "60", "--quiet"]) == 2
    out = capsys.readouterr().out
    assert "the least violation" in out
    assert " over by " in out
    assert "f + nu" not in out.partition("best point")[0]


def test_a_function_without_a_feasible_point_ends_with_code_1(folder):
    (folder / "never.py").write_text("bounds = [(0, 1)]\ndef never(x):\n    return x[0], {'gap': 1 + x[0]}\n")
    assert main(["solve", "never.py:never", *QUICK]) == 2


@pytest.mark.parametrize(
    ("text", "wanted"), [("0.5", [0.5, 0.5]), ("0.5,0.25", [0.5, 0.25]), ("height=0.25", [1e-8, 0.25])]
)
def test_tolerances_are_given_on_the_command_line(folder, capsys, text, wanted):
    out = json.loads(printed(capsys, "solve", "problem.py:beam", *QUICK, "--json", "--ineq-tol", text))
    assert [found["tolerance"] for found in out["constraints"].values()] == wanted


def test_a_run_of_the_default_resumes_with_its_batch(folder, capsys):
    words = ["solve", "problem.py:beam", "--budget", "60", "--seed", "1", "--quiet", "--json", "--checkpoint", "run"]
    first = json.loads(printed(capsys, *words, "--workers", "3"))
    again = json.loads(printed(capsys, "resume", "run", "--workers", "1", "--quiet", "--json"))
    assert again["x"] == first["x"]


def test_the_command_line_knows_these_options_and_resumes_with_them(tmp_path, monkeypatch, capsys):
    from meco.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "disc.py").write_text(
        'def disc(x):\n    return {"f": -x[0] - x[1], "g": {"disc": float(x @ x) - 1.0}}\n', encoding="utf-8"
    )
    asked = "solve disc.py:disc --bounds 0.01,2 0.01,2 --x0 0.1,0.1 --log 0,1 --keep disc --confirm 5 --budget 40"
    assert main([*asked.split(), "--seed", "1", "--checkpoint", "run", "--quiet"]) == 0
    assert "Confirmed by" in capsys.readouterr().out
    inputs = read_recorded(tmp_path / "run").inputs
    assert [variable["log"] for variable in inputs["variables"]] == [True, True]
    assert inputs["tolerances"]["keep_feasible"] == ["disc"]
    assert main(["resume", "run", "--stop", "converged", "--quiet"]) == 0


@pytest.mark.parametrize("bounds", [["-inf,inf", "0,inf"], ["[[null, null], [0, null]]"], None])
def test_bounds_may_be_infinite_and_the_run_goes_on_from_its_folder(tmp_path, monkeypatch, capsys, bounds):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nowhere.py").write_text(NOWHERE)
    given = [] if bounds is None else ["--bounds", *bounds]
    line = ["solve", "nowhere.py:far", *given, "--budget", "60", "--seed", "1", "--quiet", "--json"]
    assert main([*line, "--x0", "1,1", "--checkpoint", "run"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert_allclose(found["x"], [300.0, 0.0], atol=1e-4)
    assert main(["resume", "run", "--quiet"]) == 0
    assert "f" in capsys.readouterr().out
    assert main(line) == 2
    assert "give x0=" in capsys.readouterr().err


def test_a_file_without_a_function_asks_for_one_by_name(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("bounds = [(0, 1)]\n\ndef bowl(x):\n    return x[0]\n")
    assert main(["solve", str(file)]) != 0
    assert f"name a function of the file: {file}:bowl" in capsys.readouterr().err


def test_progress_as_json_is_an_object_a_line_on_standard_error(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("bounds = [(0, 1)] * 2\n\ndef bowl(x):\n    return float(x @ x)\n")
    assert main(["solve", f"{file}:bowl", "--budget", "40", "--seed", "1", "--progress", "json"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert json.loads(lines[-1])["nfev"] == 40


def test_a_run_is_resumed_with_a_larger_budget(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("bounds = [(0, 1)] * 2\n\ndef bowl(x):\n    return float(x @ x)\n")
    folder = str(tmp_path / "run")
    main(["solve", f"{file}:bowl", "--budget", "30", "--seed", "1", "--quiet", "--checkpoint", folder])
    assert main(["resume", folder, "--budget", "50", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["nfev"] == 50


def test_bounds_of_the_command_line_may_name_variables_and_units(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("def area(x):\n    return x['width'] * x['height'] + 1\n")
    bounds = '{"width": [0, 2, "mm"], "height": [0, 5]}'
    assert main(["solve", f"{file}:area", "--bounds", bounds, "--budget", "30", "--seed", "1", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "width [mm]" in said
    assert "height" in said


def test_integer_and_logarithmic_variables_are_given_by_name_or_position(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("def area(x):\n    return abs(x['teeth'] - 2.4) + abs(x['rate'] - 0.01)\n")
    line = [
        "solve",
        f"{file}:area",
        "--bounds",
        '{"rate": [1e-4, 1], "teeth": [1, 9]}',
        "--budget",
        "30",
        "--seed",
        "1",
    ]
    line += ["--quiet", "--json"]
    by_name = json.loads(printed(capsys, *line, "--integer", "teeth", "--log", "rate"))
    assert by_name["x"][1] == 2
    assert by_name["x"] == json.loads(printed(capsys, *line, "--integer", "1", "--log", "0"))["x"]
    assert main([*line, "--integer", "tooth"]) == 2
    assert "--integer wants names of variables, or positions from 0 to 1" in capsys.readouterr().err


def test_a_folder_that_holds_a_run_is_told_with_the_command_that_goes_on(folder, capsys):
    line = ["solve", "problem.py:beam", *QUICK, "--checkpoint", "kept"]
    printed(capsys, *line)
    assert main(line) == 2
    assert f"`meco resume {folder / 'kept'}` continues it" in capsys.readouterr().err


def test_a_program_that_always_fails_is_told_in_words_of_the_command_line(folder, capsys):
    (folder / "sim.py").write_text("import sys\nsys.exit('no licence')\n")
    command = f"{sys.executable} sim.py {{input}} {{output}}"
    assert main(["solve", "--command", command, "--bounds", "0,1", "--budget", "30", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "the program ended with code 1: no licence; " in said  # and no line of the library
    assert "begin at one that works: --x0; --on-error penalize goes on" in said


def test_a_problem_of_a_file_is_solved_as_a_function_is(tmp_path, capsys):
    """bench, train and solve take the same file."""
    file = tmp_path / "mine.py"
    file.write_text(
        'import meco\n\n@meco.problem("b", bounds=[(0, 4)] * 2, integrality=[True, False])\n'
        "def bowl(x):\n    return (x**2).sum(-1), [1.5 - x[..., 0]], []\n"
    )
    folder = str(tmp_path / "run")
    assert main(["solve", f"{file}:bowl", "--budget", "40", "--seed", "1", "--quiet", "--checkpoint", folder]) == 0
    assert "Best feasible f = 4" in capsys.readouterr().out
    assert main(["resume", folder, "--quiet", "--budget", "50"]) == 0
    assert main(["solve", f"{file}:bowll"]) == 2
    assert "did you mean 'bowl'" in capsys.readouterr().err


def test_a_folder_from_elsewhere_does_not_run_the_file_of_a_benchmark(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "tilted", "--checkpoint", "run", *QUICK]) == 0
    (tmp_path / "other.py").write_text("from pathlib import Path\nPath('was-run').touch()\n")
    events = events_of(tmp_path / "run")
    begin = events[0][1]
    begin["source"]["target"], begin["place"] = "other.py:tilted", "elsewhere"
    (tmp_path / "run" / FILE_NAME).write_bytes(b"".join(map(encode, events)))
    assert main(["resume", "run", "--quiet"]) == 2
    assert "resuming it runs 'other.py:tilted'; add --yes" in capsys.readouterr().err
    assert not (tmp_path / "was-run").exists()


def test_an_answer_that_is_feasible_in_the_mean_is_not_called_infeasible(tmp_path, capsys):
    file = tmp_path / "press.py"
    file.write_text(Path(noisy_problems.__file__).read_text(encoding="utf-8") + "\nbounds = [(0, 1)]\n")
    line = ["solve", f"{file}:doubtful", "--method", "SHADE", "--budget", "10", "--seed", "1", "--quiet"]
    assert main(line) == 2
    told, said = capsys.readouterr()
    assert said.splitlines()[-1].startswith("meco: feasible in the mean, with probability 0.024, below the 0.95")
    assert "o feasible point" not in told + said
    assert main([*line, "--confirm", "20"]) == 0  # all calls of a point are the same


@pytest.mark.parametrize("option", ["--report", "--plot"])
@pytest.mark.parametrize(
    ("place", "said"), [("nodir/a.svg", "there is no folder"), (".", "is a folder|Use a name that ends")]
)
def test_a_page_or_picture_that_cannot_be_written_is_refused_before_the_first_call(
    option, place, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("bounds = [(0, 1)] * 2\ndef fun(x):\n    raise SystemExit('called')\n")
    assert main(["solve", "mine.py:fun", option, place, *QUICK]) == 2
    assert re.search(said, capsys.readouterr().err)


def test_a_budget_may_be_written_as_a_power_of_ten(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(PROBLEM)
    assert main(["solve", f"{tmp_path}/mine.py:beam", *QUICK, "--budget", "1.2e1", "--json"]) in (0, 2)
    assert json.loads(capsys.readouterr().out)["nfev"] == 12
    with pytest.raises(SystemExit):
        main(["solve", f"{tmp_path}/mine.py:beam", "--budget", "12.5"])
    assert "--budget: a whole number such as 200 is wanted; got '12.5'" in capsys.readouterr().err


METALS = """
bounds = {"width": (0, 2, "mm"), "metal": ["S355", "brass"]}

def price(d):
    return d["width"] + (d["metal"] == "brass"), {"load": 1 - d["width"]}
"""


def test_a_starting_point_with_a_category_is_asked_for_as_json(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(METALS)
    target = f"{tmp_path}/mine.py:price"
    assert main(["solve", target, *QUICK, "--x0", "0.1,S355"]) == 2
    assert '--x0 wants numbers such as "1,2,3", or JSON for names and categories' in capsys.readouterr().err
    assert main(["solve", target, *QUICK, "--x0", '{"width": 1.5, "metal": "brass"}', "--json"]) == 0


def test_json_has_the_design_by_name(tmp_path, capsys):
    (tmp_path / "mine.py").write_text("bounds = {'a': (-5, 5)}\ndef fun(d):\n    return d['a'] ** 2\n")
    main(["solve", f"{tmp_path}/mine.py:fun", *QUICK, "--checkpoint", str(tmp_path / "run"), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["design"] == {"a": found["x"][0]}
    assert json.loads((tmp_path / "run" / "result.json").read_text())["design"] == found["design"]
    main(["solve", "tilted", *QUICK, "--json"])
    (found,) = json.loads(capsys.readouterr().out)
    assert list(found["design"].values()) == found["x"]


def test_the_page_of_a_run_folder_is_written_by_resume_and_by_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(PROBLEM)
    main(["solve", "mine.py:beam", *QUICK, "--checkpoint", "run"])
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    capsys.readouterr()
    assert main(["report", "../run", "--output", "now.html"]) == 0
    assert "Best feasible f" in (tmp_path / "other" / "now.html").read_text()
    assert main(["report", "../run", "--follow"]) == 0  # the run has ended
    page = (tmp_path / "run" / "report.html").read_text()
    assert 'http-equiv="refresh"' not in page
    assert main(["resume", "../run", "--quiet", "--report", "page.html"]) == 0
    assert (tmp_path / "other" / "page.html").is_file()
