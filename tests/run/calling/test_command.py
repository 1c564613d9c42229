"""Programs that a run starts."""

import subprocess
import sys
import time

import pytest

from meco import Command, minimize
from meco.errors import MecoError
from small_runs import posix


@posix
def test_children_of_a_command_end_with_a_killed_parent(tmp_path):
    program = tmp_path / "sim"
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep 300\n")
    program.chmod(0o755)
    line = [sys.executable, "-m", "meco", "solve", "--command", f"{program} {{input}} {{output}}", "--bounds", "0,1"]
    process = subprocess.Popen([*line, "--budget", "5", "--quiet"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    child = int((tmp_path / "pid").read_text())
    process.kill()
    process.wait()
    wait_for(lambda: not alive(child))


@posix
def test_constraints_under_another_key_of_a_programs_answer_are_not_dropped(tmp_path):
    program = tmp_path / "sim"
    program.write_text('#!/bin/sh\necho \'{"f": 1.0, "constraints": [1.0]}\' > $2\n')
    program.chmod(0o755)
    simulate = Command(f"{program} {{input}} {{output}}", tmp_path / "calls")
    with pytest.raises(MecoError, match='"constraints" is no key of an answer: did you mean "g"') as stopped:
        minimize(simulate, [(0, 1)] * 2, budget=40, seed=1)
    assert stopped.value.result.nfev <= 10


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)
