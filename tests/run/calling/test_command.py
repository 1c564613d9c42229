"""Programs that a run starts."""

import subprocess
import sys
import time

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
