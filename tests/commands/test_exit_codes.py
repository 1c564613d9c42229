"""Every exit code that docs/promises.md and `meco --help` name, and no other."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from meco import cli
from meco.paper.store import policy_path

FILES = {
    "good.py": "bounds = [(-5, 5)] * 2\ndef fun(x):\n    return float(x @ x), [1 - x[0]]\n",
    "never.py": "bounds = [(-5, 5)] * 2\ndef fun(x):\n    return float(x @ x), [1.0]\n",
    "raises.py": "bounds = [(-5, 5)] * 2\ndef fun(x):\n    raise ValueError('no mesh')\n",
    "bad.py": "import meco\ndef raw(x):\n    raise ValueError('no')\n"
    "bad = meco.Problem('bad', [-5.0] * 2, [5.0] * 2, 1, 0, raw)\n",
    "broken.py": "raise RuntimeError('broken file')\n",
}
SOLVE = "--method SHADE-FR --budget 12 --pop-size 6 --seed 1 --quiet"
BENCH = "--methods SHADE --runs 1 --budget 12 --executor serial --quiet --no-report --out b"
CODES = {
    0: [
        f"solve good.py:fun {SOLVE}", f"solve good.py:fun {SOLVE} --json", "list methods", "export run", "data where",
        "resume run --quiet", "policy verify meco-10d", "policy list", f"bench --problem sphere --dim 2 {BENCH}",
        "demo --budget 30 --output demo",
    ],
    1: ["policy verify spoilt.safetensors", f"bench --problem sphere bad.py:bad --dim 2 {BENCH}"],
    2: [
        f"solve never.py:fun {SOLVE}", f"solve never.py:fun {SOLVE} --json", f"solve raises.py:fun {SOLVE}",
        f"solve good.py:fun {SOLVE} --checkpoint early --max-time 0", "resume run --yes --quiet --workers x",
        f"solve broken.py:fun {SOLVE}", f"solve none.py:fun {SOLVE}", "solve", "nope", "", "resume nowhere",
        "solve good.py:fun --budget x", "solve good.py:fun --budget 12 --method nope", "export nowhere",
        "report nowhere", "watch nowhere", "policy show nowhere",
        "list nothing", "data nothing", "reproduce nothing", "train --preset nothing",
        "bench --problem nothing", "demo --budget 0", f"solve good.py:fun {SOLVE} --checkpoint good.py",
    ],
}  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    content = bytearray(policy_path("meco-10d").read_bytes())
    content[-100] ^= 1
    (tmp_path / "spoilt.safetensors").write_bytes(content)
    return tmp_path


def ended(line):
    try:
        return cli.main(line.split())
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize(("code", "line"), [(code, line) for code, lines in CODES.items() for line in lines])
def test_a_command_ends_with_the_code_that_is_promised(place, capsys, code, line):
    if " run" in f" {line} ":
        assert ended(f"solve good.py:fun {SOLVE} --checkpoint run") == 0
        capsys.readouterr()
    assert ended(line) == code
    said = capsys.readouterr()
    if code == 2 and "never" not in line:
        assert said.err.startswith("meco: ") or "meco: " in said.err
    assert "Traceback" not in said.err


def test_a_defect_is_one_line_and_seventy(monkeypatch, capsys):
    def broken(args):
        raise AssertionError("two\nlines")

    monkeypatch.setattr("meco.commands.list.run", broken)
    assert cli.main(["list"]) == 70
    said = capsys.readouterr().err
    assert said.startswith("meco: AssertionError: two lines (a defect of meco")
    assert said.count("\n") == 1
    monkeypatch.setenv("MECO_TRACEBACK", "1")
    with pytest.raises(AssertionError):
        cli.main(["list"])


def test_ctrl_c_before_there_is_a_result_is_130(monkeypatch, capsys):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr("meco.commands.list.run", interrupted)
    assert cli.main(["list"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_during_a_run_leaves_its_result_and_its_code(place):
    (place / "slow.py").write_text("import time\n" + FILES["good.py"].replace("return", "time.sleep(0.05); return"))
    words = f"{SOLVE} --json".replace("--budget 12", "--budget 100000")
    line = [sys.executable, "-m", "meco", "solve", "slow.py:fun", *words.split(), "--checkpoint", "r"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = place / "r" / "events.jsonl"
    while process.poll() is None and not (log.exists() and log.stat().st_size > 2000):  # before, there is no result
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 2), err
    assert '"stop_reason": "interrupt"' in out


@pytest.mark.skipif(shutil.which("head") is None, reason="no head here")
def test_whoever_has_read_enough_is_no_error(place):
    line = f"{sys.executable} -m meco list problems | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr == ""


def test_the_page_and_the_help_name_the_same_codes():
    page = (Path(__file__).parents[2] / "docs" / "promises.md").read_text()
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE)}
    assert told == {int(code) for code in re.findall(r"^  (\d+) ", cli.EXIT_CODES, flags=re.MULTILINE)}
    assert told == {*CODES, 70, 130}
