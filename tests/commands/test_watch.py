"""meco watch: what a page shows of a run, to this machine alone, without touching the folder."""

import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib.resources import files

import pytest

import meco
from meco.commands.watch import server
from meco.commands.watched import seen
from meco.errors import InvalidInput


def fun(x):
    if x[2] > 4.5:
        raise RuntimeError("no mesh")
    return x @ x, {"reach": 2.0 - x[0] - x[1]}, {"level": x[2] - 0.5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("watch") / "run"
    meco.minimize(fun, [(-5, 5)] * 3, budget=120, method="SHADE-FR", seed=1, checkpoint=path)
    return path


@contextmanager
def serving(folder):
    with server(folder) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield made.server_address
        finally:
            made.shutdown()
            thread.join()


def get(address, path, host=None):
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_a_finished_run_is_told_in_numbers(folder):
    told = seen(folder)
    assert (told["nfev"], told["budget"], told["over"], told["left"]) == (120, 120, True, None)
    assert told["failures"]["raised"] > 0
    assert [c["name"] for c in told["constraints"]] == ["reach", "level"]
    best = [row[1] for row in told["curve"] if row[1] is not None]
    assert best == sorted(best, reverse=True)
    assert told["curve"][-1][0] == 120
    assert len(told["points"]) == 20
    assert told["points"][0]["x"] == told["best"]["x"]


def test_a_run_under_way_says_how_long_it_will_take(tmp_path):
    told = []

    def watching(result):
        told.append(seen(tmp_path / "run"))

    meco.minimize(
        fun, [(-5, 5)] * 3, budget=150, method="SHADE-FR", seed=1, checkpoint=tmp_path / "run", callback=watching
    )
    assert [t["nfev"] for t in told] == [50, 100, 150]
    assert not told[0]["over"]
    assert told[0]["left"] > 0


def test_a_run_that_has_not_begun_is_shown_as_such(tmp_path, folder):
    (tmp_path / "run.json").write_text((folder / "run.json").read_text())
    told = seen(tmp_path)
    assert (told["nfev"], told["best"], told["curve"], told["over"]) == (0, None, [], False)


def test_the_server_gives_the_page_and_its_numbers_and_nothing_else(folder):
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    with serving(folder) as address:
        assert address[0] == "127.0.0.1"
        status, page = get(address, "/")
        assert status == 200
        assert "<title>meco watch</title>" in page
        assert json.loads(get(address, "/seen")[1])["nfev"] == 120
        assert get(address, "/run.json")[0] == 404
        assert get(address, "/../run.json")[0] == 404
        assert get(address, "/seen", host="evil.example:80")[0] == 403
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before


def test_the_page_loads_nothing_from_elsewhere():
    page = files("meco.commands").joinpath("watch.html").read_text(encoding="utf-8")
    assert not re.findall(r"https?://|@import|src=", page)
    for name in re.findall(r'at\("(\w+)"\)', page):
        assert f'id="{name}"' in page


def test_other_folders_and_taken_ports_are_refused(tmp_path, folder):
    with pytest.raises(InvalidInput, match="is not the folder of a run"):
        server(tmp_path)
    with server(folder) as made, pytest.raises(InvalidInput, match=r"port \d+ cannot be used"):
        server(folder, made.server_address[1])


def test_the_command_stops_cleanly(folder):
    command = [sys.executable, "-m", "meco", "watch", str(folder)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = re.search(r"http://(127\.0\.0\.1):(\d+)/", started.stdout.readline())
    assert get((address[1], int(address[2])), "/seen")[0] == 200
    started.send_signal(signal.SIGINT)
    assert started.communicate(timeout=20)[1] == ""
    assert started.returncode == 0


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's script")
@pytest.mark.parametrize("begun", [True, False])
def test_the_script_of_the_page_draws_what_it_is_told(folder, tmp_path, begun):
    """In place of a browser: elements that keep what is written into them, and one answer of the server."""
    if not begun:
        (tmp_path / "run.json").write_text((folder / "run.json").read_text())
    told = json.dumps(seen(folder if begun else tmp_path))
    page = files("meco.commands").joinpath("watch.html").read_text(encoding="utf-8")
    script = re.search(r"<script>(.*)</script>", page, flags=re.DOTALL)[1]
    stand_in = """
    const made = {}, document = { getElementById: id => made[id] ??= {} };
    const setTimeout = () => console.log(JSON.stringify(made));
    const fetch = async () => ({ json: async () => JSON.parse(told) });
    """
    code = f"const told = {json.dumps(told)};{stand_in}{script}"
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    assert done.stderr == ""
    assert ("NaN" in done.stdout, "undefined" in done.stdout) == (False, False)
    if begun:
        assert made["facts"]["textContent"] == "SHADE-FR · seed 1 · ended"
        assert made["points"]["innerHTML"].count("<path") == 3 + 20
        assert "reach" in made["constraints"]["innerHTML"]
    else:
        assert made["headline"]["textContent"] == "no evaluation has succeeded yet, 0 of 120 evaluations"
