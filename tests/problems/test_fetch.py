"""Official archives arrive whole or not at all; a local server stands in for the organisers' one."""

import hashlib
import io
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco import get_problem as make_problem
from meco.errors import DamagedFile, MissingData, UnknownName
from meco.problems.official_tables import load as tables
from meco.problems.official_tables.fetch import CEC2017_MEMBERS, RWCO_MEMBERS, SOURCES, fetch_tables
from meco.problems.suite import get_problem

pytest.importorskip("pooch")
savemat = pytest.importorskip("scipy.io").savemat

CEC2017_SHAPES, RWCO_SHAPES = tables.TABLE_SHAPES["cec2017"], tables.TABLE_SHAPES["rwco"]
OFFICIAL = os.environ.get("MECO_DATA")


@pytest.fixture(scope="module")
def server():
    """Serves whatever bytes a test puts into `files`."""
    files = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()

    def serve(body, name="/archive.zip"):
        files[name] = body
        return f"http://127.0.0.1:{httpd.server_port}{name}", hashlib.sha256(body).hexdigest()

    yield serve
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A user without any official data, on a Linux machine."""
    for name in list(os.environ):
        if name.startswith("MECO_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "meco"


def numbers(shapes, filename):
    """The official arrays where they are at hand, else random ones of the same shapes."""
    if OFFICIAL and (Path(OFFICIAL) / filename).is_file():
        return dict(np.load(Path(OFFICIAL) / filename))
    rng = np.random.default_rng(1)
    arrays = {key: rng.normal(size=shape) for key, shape in shapes.items()}
    if "FunctionPS14_linedata" in arrays:
        lines = arrays["FunctionPS14_linedata"]
        lines[:, 0], lines[:, 1] = np.arange(1, 38), np.arange(2, 39)
    return arrays


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def rwco_zip(arrays):
    texts = {}
    for key, table in arrays.items():
        lines = ["   ".join(repr(float(value)) for value in np.atleast_1d(row)) for row in table]
        texts[f"{RWCO_MEMBERS}/{key}.txt"] = "\r\n".join(lines) + "\r\n"
    return zipped({"Software/CEC2020/readme.txt": "tables", **texts})


def cec2017_zip(arrays):
    contents = {f"Function{k}": {"o": arrays[f"shift_{k:02d}"][None]} for k in range(1, 12)}
    contents["ShiftAndRotation"] = {"o": arrays["shift_12_28"][None]}
    for d in (10, 30, 50, 100):
        contents["Function2"][f"M_{d}"] = arrays[f"rotation_02_{d}"]
        contents["Function5"][f"M1_{d}"] = arrays[f"rotation_05a_{d}"]
        contents["Function5"][f"M2_{d}"] = arrays[f"rotation_05b_{d}"]
        contents["ShiftAndRotation"][f"M_{d}"] = arrays[f"rotation_12_28_{d}"]
    members = {}
    for name, content in contents.items():
        buffer = io.BytesIO()
        savemat(buffer, content)
        members[f"{CEC2017_MEMBERS}/{name}.mat"] = buffer.getvalue()
    return zipped(members)


def test_default_addresses_are_the_organisers_files():
    assert SOURCES["rwco"].url == (
        "https://github.com/P-N-Suganthan/2020-RW-Constrained-Optimisation/raw/refs/heads/master/SOFTWARE.zip"
    )
    assert SOURCES["cec2017"].url == (
        "https://github.com/P-N-Suganthan/CEC2017/raw/refs/heads/master/CEC2017%20Matlab-Sept-2024.zip"
    )


def test_fetched_tables_serve_the_problems_that_need_them(server, home, monkeypatch):
    arrays = numbers(RWCO_SHAPES, "rwco.npz")
    with pytest.raises(MissingData):
        make_problem("RC40").raw(make_problem("RC40").lower)
    url, sha256 = server(rwco_zip(arrays))
    path = fetch_tables("rwco", url, sha256)
    assert path == home / "rwco.npz" == tables.find_table_file("rwco.npz")
    fetched = {
        name: make_problem(name).raw(make_problem(name).upper) for name in ("RC34", "RC36", "RC40", "RC53", "RC57")
    }
    if not OFFICIAL:
        pytest.skip("MECO_DATA is not set: the fetched tables are random, so there is nothing to compare with")
    monkeypatch.setenv("MECO_DATA", OFFICIAL)
    for name, values in fetched.items():
        for ours, official in zip(values, make_problem(name).raw(make_problem(name).upper)):
            assert_array_equal(ours, official)


def test_fetched_shifts_and_matrices_are_those_of_the_matlab_files(server, home, monkeypatch):
    arrays = numbers(CEC2017_SHAPES, "cec2017c.npz")
    url, sha256 = server(cec2017_zip(arrays))
    fetch_tables("cec2017", url, sha256)
    kept = tables.load_tables("cec2017c.npz", "cec2017")
    assert set(kept) == set(CEC2017_SHAPES)
    for key in CEC2017_SHAPES:
        assert_array_equal(kept[key], arrays[key])
    fetched = get_problem("C05", dim=10, instance="official").raw(np.ones(10))
    if not OFFICIAL:
        pytest.skip("MECO_DATA is not set: the fetched numbers are random, so there is nothing to compare with")
    monkeypatch.setenv("MECO_DATA", OFFICIAL)
    for ours, official in zip(fetched, get_problem("C05", dim=10, instance="official").raw(np.ones(10))):
        assert_array_equal(ours, official)


def test_mirrors_and_folders_can_be_named(server, home, monkeypatch, tmp_path):
    url, sha256 = server(rwco_zip(numbers(RWCO_SHAPES, "rwco.npz")), "/mirror.zip")
    monkeypatch.setenv("MECO_RWCO_URL", url)
    monkeypatch.setenv("MECO_RWCO_SHA256", sha256.upper())
    assert fetch_tables("rwco", folder=tmp_path / "elsewhere") == tmp_path / "elsewhere" / "rwco.npz"
    assert os.listdir(tmp_path / "elsewhere") == ["rwco.npz"]


def test_an_unexpected_archive_is_refused_and_leaves_nothing_behind(server, home):
    url, _ = server(rwco_zip(numbers(RWCO_SHAPES, "rwco.npz")))
    with pytest.raises(DamagedFile, match=r"SOFTWARE\.zip.*hash.*MECO_RWCO_URL"):
        fetch_tables("rwco", url)
    assert not home.exists()


@pytest.mark.parametrize("name", ["rwco", "cec2017"])
def test_a_damaged_archive_is_refused_and_leaves_nothing_behind(server, home, name):
    make, shapes = {"rwco": (rwco_zip, RWCO_SHAPES), "cec2017": (cec2017_zip, CEC2017_SHAPES)}[name]
    whole = make({key: np.zeros(shape) for key, shape in shapes.items()})
    small = make({key: np.zeros([n + 1 for n in shape]) for key, shape in shapes.items()})
    for broken in (whole[: len(whole) // 2], b"not a zip", zipped({"readme.txt": "empty"}), small):
        with pytest.raises(DamagedFile, match=r"archive from http"):
            fetch_tables(name, *server(broken))
    assert not home.exists()


def test_garbage_inside_the_archive_is_refused(server, home):
    members = {f"{CEC2017_MEMBERS}/Function{k}.mat": b"MATLAB 5.0 but not really" for k in range(1, 12)}
    with pytest.raises(DamagedFile, match="cannot be read"):
        fetch_tables("cec2017", *server(zipped(members)))
    words = {f"{RWCO_MEMBERS}/{key}.txt": "one two three" for key in RWCO_SHAPES}
    with pytest.raises(DamagedFile, match="cannot be read"):
        fetch_tables("rwco", *server(zipped(words)))
    assert not home.exists()


def test_a_failed_write_keeps_the_old_file(server, home, monkeypatch):
    url, sha256 = server(rwco_zip(numbers(RWCO_SHAPES, "rwco.npz")))
    path = fetch_tables("rwco", url, sha256)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("meco.problems.official_tables.fetch.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        fetch_tables("rwco", url, sha256)
    assert os.listdir(home) == ["rwco.npz"]
    assert path.read_bytes() == before


def test_an_unreachable_address_is_a_clear_error(server, home):
    url, _ = server(b"")
    with pytest.raises(MissingData, match=r"could not download .*missing\.zip.*MECO_DATA"):
        fetch_tables("rwco", url.replace("archive", "missing"))
    assert not home.exists()


def test_an_unknown_data_set_is_named_with_its_nearest():
    with pytest.raises(UnknownName, match="did you mean 'cec2017'"):
        fetch_tables("cec2018")


def test_missing_tables_name_both_ways_to_get_them(home, monkeypatch):
    problem = make_problem("RC35")
    assert (problem.dim, problem.n_eq, problem.best_known) == (153, 148, 0.079963854)
    with pytest.raises(MissingData, match=r"meco data fetch rwco.*MECO_DATA"):
        problem.raw(problem.lower)
    monkeypatch.setenv("MECO_DATA", str(home))
    with pytest.raises(MissingData, match=r"cec2017c\.npz.*meco data fetch cec2017.*MECO_DATA"):
        tables.load_tables("cec2017c.npz", "cec2017")


def test_a_damaged_table_file_is_a_clear_error(home, monkeypatch, tmp_path):
    monkeypatch.setenv("MECO_DATA", str(tmp_path))
    file = tmp_path / "rwco.npz"
    whole = io.BytesIO()
    np.savez(whole, **{key: np.zeros(shape) for key, shape in RWCO_SHAPES.items()})
    sound = whole.getvalue()
    vector = io.BytesIO()
    np.save(vector, np.zeros(3))
    objects = io.BytesIO()
    np.savez(objects, FunctionPS1_G=np.array([None]))
    for content in (b"", b"junk", sound[: len(sound) // 2], vector.getvalue(), objects.getvalue()):
        file.write_bytes(content)
        with pytest.raises(DamagedFile, match=r"rwco\.npz.*meco data fetch rwco"):
            make_problem("RC51").raw(np.ones(59))
    np.savez(file, FunctionPS1_G=np.zeros((30, 30)))
    with pytest.raises(DamagedFile, match="no array 'FunctionPS1_B'"):
        make_problem("RC51").raw(np.ones(59))
    np.savez(file, FunctionPS1_G=np.zeros((3, 30)))
    with pytest.raises(DamagedFile, match=r"FunctionPS1_G must have shape \(30, 30\); got \(3, 30\)"):
        make_problem("RC51").raw(np.ones(59))
    file.write_bytes(sound)
    assert np.isfinite(make_problem("RC51").raw(np.ones(59))[0])


def test_the_user_folder_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    expected = {
        "linux": ".local/share/meco",
        "darwin": "Library/Application Support/meco",
        "win32": "AppData/Local/meco",
    }
    for platform, folder in expected.items():
        monkeypatch.setattr("sys.platform", platform)
        assert tables.user_data_folder() == tmp_path / folder
