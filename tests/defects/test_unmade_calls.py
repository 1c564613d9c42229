"""A call that cannot be made is no evaluation: the run stops with a sentence and asks for the point again."""

import json
import os
import sys
import threading
from concurrent.futures import CancelledError, Future

import pytest

import meco
from meco import Checkpoint, Command, Workers

BOX = [(-4.0, 4.0)] * 3
posix = pytest.mark.skipif(os.name != "posix", reason="permissions")


def fun(x):
    return float(x @ x), [1.0 - x[0]]


@pytest.fixture
def program(tmp_path):
    """A program that writes f, and the line that calls it."""
    path = tmp_path / "simulate"
    path.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        "x = json.load(open(sys.argv[1]))['x']\n"
        "json.dump({'f': sum(v * v for v in x)}, open(sys.argv[2], 'w'))\n"
    )
    path.chmod(0o755)
    return path


def interrupted_by(break_it, program, tmp_path, calls=9):
    """A run whose command stops working after some generations, and the same resumed when it works again."""
    folder = tmp_path / "run"
    command = Command(f"{program} {{input}} {{output}}", folder=tmp_path / "calls")

    def watch(result):
        if result.nfev >= calls:
            break_it()

    first = meco.minimize(command, BOX, budget=30, seed=1, checkpoint=folder, callback=watch)
    return command, first


@posix
@pytest.mark.parametrize("kind", ["removed", "not executable", "folder full"])
def test_a_program_that_cannot_be_started_stops_the_run(program, tmp_path, kind):
    content = program.read_bytes()

    def break_it():
        if kind == "removed":
            program.unlink(missing_ok=True)
        elif kind == "not executable":
            program.chmod(0o644)
        else:
            (tmp_path / "calls").rename(tmp_path / "away")
            (tmp_path / "calls").write_text("no folder")

    command, first = interrupted_by(break_it, program, tmp_path)
    assert first.run.nfail == 0
    assert first.nfev < 30
    assert first.run.stop_reason == "workers"
    assert "cannot run" in first.message or "cannot write" in first.message
    if kind == "folder full":
        (tmp_path / "calls").unlink()
        (tmp_path / "away").rename(tmp_path / "calls")
    program.write_bytes(content)
    program.chmod(0o755)
    resumed = meco.minimize(command, BOX, budget=30, seed=1, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert (resumed.nfev, resumed.run.nfail) == (30, 0)
    assert json.loads((tmp_path / "run" / "result.json").read_text())["nfev"] == 30


class ClosedClientError(Exception):
    """As the client of a cluster raises it once it is closed."""


class Cluster:
    """An executor whose scheduler goes away after some calls."""

    def __init__(self, calls, error):
        self.calls, self.error, self.gone = calls, error, False

    def submit(self, call, *args):
        if self.gone:
            raise ClosedClientError("client is closed")
        future = Future()
        threading.Thread(target=self.work, args=(future, call, args)).start()
        return future

    def work(self, future, call, args):
        self.calls -= 1
        self.gone = self.calls < 0
        if self.gone:
            future.set_exception(self.error)
        else:
            future.set_result(call(*args))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("error", [CancelledError(), ClosedClientError("closed"), ConnectionError("scheduler")])
def test_a_scheduler_that_is_gone_stops_the_run(tmp_path, error, asynchronous):
    options = {"budget": 30, "seed": 1}
    workers = Workers(Cluster(12, error), batch=2, asynchronous=asynchronous)
    first = meco.minimize(fun, BOX, workers=workers, checkpoint=tmp_path / "run", **options)
    assert first.run.nfail == 0
    assert first.run.stop_reason == "workers"
    again = Checkpoint(tmp_path / "run", resume=True)
    workers = Workers(1, batch=2, asynchronous=asynchronous)
    resumed = meco.minimize(fun, BOX, workers=workers, checkpoint=again, **options)
    assert (resumed.nfev, resumed.run.nfail) == (30, 0)
