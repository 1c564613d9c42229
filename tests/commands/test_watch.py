"""meco watch: what a page shows of a run, to this machine alone, without touching the folder."""

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib.resources import files

import numpy as np
import pytest

import meco
from meco.bench.run.result_store import ResultStore, read_results
from meco.cli import main
from meco.commands.campaign_status import read_campaign_status
from meco.commands.run_status import read_run_status
from meco.commands.watch import Follower, make_server
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


def test_the_best_point_is_the_answer_of_the_run(tmp_path):
    """Points that are feasible by their tolerance alone come after those with every g <= 0, however low their f."""
    result = meco.minimize(lambda x: (x[0] ** 2 + x[1], {"g": 1 - x[0]}), [(0, 3), (0, 1)], budget=60, seed=1,
                           x0=[0.9995, 0.0], tolerances=1e-3, checkpoint=tmp_path / "r")  # fmt: skip
    assert result.evaluations.f[result.evaluations.feasible].min() < result.fun
    told = read_run_status(tmp_path / "r")
    assert told["best"]["f"] == result.fun
    assert told["constraints"][0]["value"] <= 0.0


@contextmanager
def serving(folder):
    with make_server(folder) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield made.server_address
        finally:
            made.shutdown()
            thread.join()


def get(address, path, host=None):
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_a_finished_run_is_told_in_numbers(folder):
    told = read_run_status(folder)
    assert (told["nfev"], told["budget"], told["over"], told["left"]) == (120, 120, True, None)
    assert told["failures"]["raised"] > 0
    assert [c["name"] for c in told["constraints"]] == ["reach", "level"]
    best = [row[1] for row in told["curve"] if row[1] is not None]
    assert best == sorted(best, reverse=True)
    assert told["curve"][-1][0] == 120
    assert told["points"][0]["x"] == told["best"]["x"]
    assert told["reasons"][-1].endswith("RuntimeError: no mesh")


def test_bounds_that_are_infinite_are_told_as_null_and_drawn_by_the_points(tmp_path):
    bounds = [(-np.inf, np.inf), (0.0, np.inf), (-5, 5)]
    meco.minimize(fun, bounds, x0=[1.0, 1.0, 1.0], budget=60, method="TR", seed=1, checkpoint=tmp_path / "run")
    told = json.loads(json.dumps(read_run_status(tmp_path / "run")), parse_constant=pytest.fail)
    assert (told["lower"], told["upper"]) == ([None, 0.0, -5.0], [None, None, 5.0])
    x = np.array([point["x"] for point in told["points"]])
    assert told["drawn"] == [[x[:, 0].min(), x[:, 0].max()], [0.0, x[:, 1].max()], [-5.0, 5.0]]


def test_named_variables_are_shown_with_their_units(tmp_path):
    bounds = {"width": (0.0, 2.0, "mm"), "teeth": meco.Variable(8, 40, integer=True)}
    meco.minimize(lambda v: v["width"] * v["teeth"], bounds, budget=30, method="SHADE", checkpoint=tmp_path / "run")
    told = read_run_status(tmp_path / "run")
    assert told["variables"] == ["width [mm]", "teeth"]
    assert (told["lower"], told["upper"]) == ([0.0, 8.0], [2.0, 40.0])


def test_designs_that_an_eye_takes_for_one_are_shown_once(folder):
    x = np.array([point["x"] for point in read_run_status(folder)["points"]]) / 10.0
    apart = np.abs(x[:, None] - x[None]).max(axis=-1)
    assert 1 < len(x) <= 20
    assert apart[~np.eye(len(x), dtype=bool)].min() >= 0.01


def test_a_constraint_says_how_often_it_was_kept_lately(folder):
    with open(folder / "result.json", encoding="utf-8") as file:
        kept = json.load(file)["constraints"]
    for told in read_run_status(folder)["constraints"]:
        assert told["value"] == kept[told["name"]]["value"]
        assert 0.0 <= told["kept"] <= 1.0


def test_partial_answers_are_counted_and_constraints_say_how_often_they_were_told(tmp_path):
    def staged(x):
        early = {"early": 1.0 - x[0]}
        return {"g": early} if x[0] < 1.0 else {"f": x[0] ** 2, "g": early | {"late": x[0] - 3.0}}

    result = meco.minimize(staged, [(0, 4)], budget=40, seed=1, checkpoint=tmp_path / "run")
    told, partial = read_run_status(tmp_path / "run"), result.evaluations.partial
    assert told["partial"] == partial.sum() > 0
    assert [c["told"] for c in told["constraints"]] == [1.0, 1.0 - partial.mean()]
    assert told["constraints"][0]["kept"] == 1.0 - partial.mean()


def test_a_constraint_that_no_late_answer_told_of_has_no_share(tmp_path):
    calls = []

    def staged(x):
        calls.append(x)
        return (1.0, {"early": -1.0, "late": -1.0}) if len(calls) <= 10 else {"g": {"early": 1.0}}

    meco.minimize(staged, [(0, 4)], budget=115, method="SHADE", seed=1, checkpoint=tmp_path / "run")
    early, late = read_run_status(tmp_path / "run")["constraints"]
    assert (early["kept"], early["told"]) == (0.0, 1.0)
    assert (late["kept"], late["told"]) == (None, 0.0)


def test_a_run_without_a_whole_answer_says_that_its_answers_are_partial(tmp_path):
    meco.minimize(lambda x: {"g": {"early": 1.0 + x[0]}}, [(0, 4)], budget=5, seed=1, checkpoint=tmp_path / "run")
    told = read_run_status(tmp_path / "run")
    assert (told["best"], told["partial"]) == (None, 5)


def test_what_the_method_did_is_drawn(tmp_path):
    meco.minimize(fun, [(-5, 5)] * 3, budget=60, seed=1, checkpoint=tmp_path / "run")
    told = {t["name"]: t for t in read_run_status(tmp_path / "run")["steering"]}
    assert list(told) == ["theta", "delta"]
    assert told["theta"]["curve"][-1][0] == 60
    assert told["theta"]["share"]
    assert read_run_status(tmp_path / "run")["over"]


def test_a_run_under_way_says_how_long_it_will_take(tmp_path):
    told = []

    def watching(result):
        told.append(read_run_status(tmp_path / "run"))

    meco.minimize(
        fun, [(-5, 5)] * 3, budget=150, method="SHADE-FR", seed=1, checkpoint=tmp_path / "run", callback=watching
    )
    assert [t["nfev"] for t in told] == [50, 100, 150]
    assert not told[0]["over"]
    assert told[0]["left"] > 0


def test_a_run_that_has_not_begun_is_shown_as_such(tmp_path, folder):
    (tmp_path / "run.json").write_text((folder / "run.json").read_text())
    told = read_run_status(tmp_path)
    assert (told["nfev"], told["best"], told["curve"], told["over"]) == (0, None, [], False)


def test_a_folder_is_read_again_only_when_it_has_changed(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "run")
    looks = []
    follow = Follower(tmp_path / "run", lambda path: looks.append(path) or read_run_status(path))
    first = follow()
    assert follow()["quiet"] >= first["quiet"]
    assert len(looks) == 1
    (tmp_path / "run" / "result.json").unlink()
    assert not follow()["over"]
    assert len(looks) == 2


def test_the_server_gives_the_page_and_its_numbers_and_nothing_else(folder):
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    with serving(folder) as address:
        assert address[0] == "127.0.0.1"
        status, page = get(address, "/")
        assert status == 200
        assert "<title>meco watch</title>" in page
        assert json.loads(get(address, "/status")[1])["nfev"] == 120
        assert get(address, "/watch.js")[0] == get(address, "/watch.css")[0] == 200
        assert get(address, "/run.json")[0] == 404
        assert get(address, "/../run.json")[0] == 404
        assert get(address, "/status", host="evil.example:80")[0] == 403
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["watch.html", "watch.css", "watch.js"])
def test_the_page_loads_nothing_from_elsewhere(name):
    text = files("meco.commands").joinpath(name).read_text(encoding="utf-8")
    assert not re.findall(r"https?://|@import|url\(", text)
    assert set(re.findall(r'(?:src|href)="([^"]*)"', text)) <= {"data:,", "/watch.css", "/watch.js"}


def test_other_folders_and_taken_ports_are_refused(tmp_path, folder):
    with pytest.raises(InvalidInput, match="is not the folder of a run or a campaign"):
        make_server(tmp_path)
    with make_server(folder) as made, pytest.raises(InvalidInput, match=r"port \d+ cannot be used"):
        make_server(folder, made.server_address[1])
    with pytest.raises(InvalidInput, match="port 70000 cannot be used"):
        make_server(folder, 70000)


def test_the_command_stops_cleanly(folder):
    command = [sys.executable, "-m", "meco", "watch", str(folder)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = re.search(r"http://(127\.0\.0\.1):(\d+)/", started.stdout.readline())
    assert get((address[1], int(address[2])), "/status")[0] == 200
    started.send_signal(signal.SIGINT)
    assert started.communicate(timeout=120)[1] == ""
    assert started.returncode == 0


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    path = tmp_path_factory.mktemp("watch") / "campaign"
    given = "--problem sphere C01 --methods SHADE MA-ES --runs 2 --budget 120 --workers 1 --quiet --no-report"
    assert main(["bench", *given.split(), "--executor", "serial", "--out", str(path)]) == 0
    return path


def test_a_campaign_is_told_in_numbers(campaign):
    told = read_campaign_status(campaign)
    assert (told["done"], told["failed"], told["wanted"], told["over"], told["left"]) == (8, 0, 8, True, 0.0)
    (made,) = told["experiments"]
    assert made["problems"] == ["sphere", "C01"]
    assert [m["name"] for m in made["methods"]] == ["SHADE", "MA-ES"]
    assert sum(m["rank"] for m in made["methods"]) == 3.0
    assert [m["cells"] for m in made["methods"]] == [[1.0, 1.0]] * 2


def test_a_campaign_under_way_says_what_is_left(campaign, tmp_path):
    results = read_results(campaign)
    (first, kept), *others = results.runs.items()
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_experiment(results.experiments[0])
        store.add_runs([(first, kept)])
        store.add_failures([others[0][0]], "no licence")
        told = read_campaign_status(tmp_path)
    assert (told["done"], told["failed"], told["wanted"], told["over"]) == (1, 1, 8, False)
    assert told["left"] == pytest.approx(6 * kept.seconds)
    assert told["reasons"] == [f"{others[0][0].method}: no licence (1 runs)"]
    assert told["experiments"][0]["methods"][0].get("rank") is None  # one method alone has no rank


def test_watching_a_campaign_changes_nothing_in_its_folder(campaign):
    before = {p.name: p.read_bytes() for p in campaign.iterdir()}
    with serving(campaign) as address:
        assert json.loads(get(address, "/status")[1])["kind"] == "campaign"
    assert {p.name: p.read_bytes() for p in campaign.iterdir()} == before


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost:80"])
def test_a_host_without_a_port_is_this_machine_too(folder, host):
    with serving(folder) as address:
        assert get(address, "/", host)[0] == 200


def test_a_second_host_header_and_a_port_that_is_none_are_refused(folder):
    with serving(folder) as address:
        assert get(address, "/", "127.0.0.1:evil.com")[0] == 403
        connection = http.client.HTTPConnection(*address, timeout=60)
        connection.putrequest("GET", "/", skip_host=True)
        for host in ("localhost", "evil.com"):
            connection.putheader("Host", host)
        connection.endheaders()
        assert connection.getresponse().status == 403


def test_no_page_of_others_may_frame_it_or_guess_its_type(folder):
    with serving(folder) as address:
        connection = http.client.HTTPConnection(*address, timeout=60)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert "frame-ancestors 'none'" in answer.getheader("Content-Security-Policy")


def test_half_a_request_is_dropped_and_too_many_are_turned_away(folder, monkeypatch):
    monkeypatch.setattr("meco.commands.watch.MOST_REQUESTS", 4)
    monkeypatch.setattr("meco.commands.watch.Page.timeout", 0.3)
    with serving(folder) as address:
        half = [socket.create_connection(address, timeout=60) for _ in range(8)]
        for each in half:
            each.sendall(b"GET / HT")
        for each in half:
            assert each.recv(1) == b""  # closed by the server, at once or when its time was over
            each.close()
        assert get(address, "/")[0] == 200


def test_an_honest_client_is_answered_while_others_send_half_requests(folder, monkeypatch):
    monkeypatch.setattr("meco.commands.watch.MOST_REQUESTS", 4)
    with serving(folder) as address:
        half = [socket.create_connection(address, timeout=60) for _ in range(12)]
        for each in half:
            each.sendall(b"GET / HT")
        assert [get(address, "/")[0] for _ in range(3)] == [200] * 3
        assert half[0].recv(1) == b""  # the oldest made room
        for each in half:
            each.close()


def test_however_many_ask_one_reads(folder):
    reads, gate = [], threading.Event()

    def read(path):
        reads.append(path)
        gate.wait(60)
        return {"quiet": None}

    follower = Follower(folder, read)
    threads = [threading.Thread(target=follower) for _ in range(8)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert len(reads) == 1


def test_a_number_that_is_none_is_null_and_the_page_stays_json(folder):
    follower = Follower(folder, lambda path: {"quiet": None, "left": float("nan")})
    assert json.loads(json.dumps(follower(), allow_nan=False))["left"] is None
