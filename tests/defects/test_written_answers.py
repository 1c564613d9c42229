"""An answer is in the run folder before anything else happens with it."""

import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import meco
from meco import Checkpoint, Workers
from meco.cli import main
from meco.errors import CannotWrite

posix = pytest.mark.skipif(os.name != "posix", reason="signals")
BOX = [(-4.0, 4.0)] * 3


def written(folder, capsys):
    """Evaluations that `meco export` finds in a folder."""
    capsys.readouterr()
    assert main(["export", str(folder), "--jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@posix
def test_answers_that_came_together_survive_a_kill(tmp_path, capsys):
    """Four workers answer at once; then every call waits, and the process is killed."""
    script = tmp_path / "run.py"
    script.write_text(
        textwrap.dedent(f"""
        import os, time
        import meco
        from pathlib import Path

        SEEN = Path({str(tmp_path / "seen")!r})

        def fun(x):
            number = len(list(SEEN.iterdir()))
            (SEEN / f"{{os.getpid()}}-{{time.monotonic_ns()}}").touch()
            while len(list(SEEN.iterdir())) < 4:
                time.sleep(0.01)
            if number >= 4:
                time.sleep(60)
            return float(x @ x)

        if __name__ == "__main__":
            SEEN.mkdir()
            meco.minimize(fun, [(-4, 4)] * 3, budget=40, seed=1, workers=4, checkpoint={str(tmp_path / "run")!r})
        """)
    )
    process = subprocess.Popen([sys.executable, str(script)], start_new_session=True)
    try:
        seen, begun = tmp_path / "seen", time.monotonic()
        while time.monotonic() - begun < 60 and not (seen.exists() and len(list(seen.iterdir())) >= 7):
            time.sleep(0.05)  # four were answered, and the rest of the first design is under way
        time.sleep(0.5)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert len(written(tmp_path / "run", capsys)) == 4


def test_every_answer_is_written_before_the_next_call(tmp_path, capsys):
    counts = []

    def fun(x):
        if (tmp_path / "run").exists():
            counts.append(len(written(tmp_path / "run", capsys)))
        return float(x @ x)

    meco.minimize(fun, BOX, budget=12, seed=1, checkpoint=tmp_path / "run")
    assert counts == list(range(12))


def test_with_fsync_every_answer_is_on_the_disk_before_the_next_call(tmp_path, monkeypatch):
    synced, counts = [], []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), fsync(descriptor)))

    def fun(x):
        counts.append(len(synced))
        return float(x @ x)

    meco.minimize(fun, BOX, budget=7, seed=1, checkpoint=Checkpoint(tmp_path / "run", fsync=True))
    assert all(after > before for before, after in itertools.pairwise(counts))


def test_the_answer_that_a_full_disk_refuses_is_in_the_result(tmp_path, monkeypatch):
    calls, write = [], os.write

    def fun(x):
        calls.append(x)
        return float(x @ x), [1.0 - x[0]]

    def full(descriptor, content):
        if len(calls) == 5:
            raise OSError(28, "No space left on device")
        return write(descriptor, content)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(CannotWrite) as caught:
            meco.minimize(fun, BOX, budget=30, seed=1, checkpoint=tmp_path / "run")
    assert caught.value.result.nfev == len(calls) == 5
    resumed = meco.minimize(fun, BOX, budget=30, seed=1, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert resumed.nfev == 30


@pytest.mark.parametrize("torn", [1, 7])
def test_a_torn_row_does_not_shift_what_follows(tmp_path, torn):
    folder = tmp_path / "run"

    def fun(x):
        made.append(x)
        if len(made) == 12:
            raise KeyboardInterrupt
        if x[0] > 1.0:
            raise RuntimeError("mesh")
        return float(x @ x)

    made = []
    meco.minimize(fun, BOX, budget=20, seed=1, checkpoint=folder, workers=Workers(1))
    log = folder / "events.jsonl"
    log.write_bytes(log.read_bytes()[:-torn])
    result = meco.minimize(fun, BOX, budget=20, seed=1, checkpoint=Checkpoint(folder, resume=True))
    assert result.nfev == 20
    assert all(map(json.loads, log.read_text().splitlines()))
