"""Archives of a release: stored runs and policies, refused unless their SHA-256 is the one that is listed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from meco.bench.plan.revise import read_policy_digest
from meco.bench.run.campaign_folder import PACKED_FILE, find_packed
from meco.bench.run.result_store import read_results
from meco.cli import main
from meco.files.archive import ARCHIVE_FOLDER, SUMS, DamagedArchive, find_archives, read_archive, read_file
from meco.paper import store
from meco.paper.store import load_policy, policy_names, policy_path, verify_policy

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "tests" / "reference" / "tables" / "bench" / PACKED_FILE
WEIGHTS = ROOT / "src" / "meco" / "paper" / "weights" / "meco-10d.safetensors"


@pytest.fixture
def archive_results(monkeypatch):
    """The function of tools/archive_results.py."""
    monkeypatch.syspath_prepend(str(ROOT))
    from tools.archive_results import archive_results

    yield archive_results
    sys.modules.pop("tools.archive_results", None)


@pytest.fixture
def results(tmp_path, archive_results):
    """A results folder whose archive holds a store of comparisons and a policy with a log."""
    folder = tmp_path / "results"
    (folder / "policies").mkdir(parents=True)
    shutil.copy(BENCH, folder)
    shutil.copy(WEIGHTS, folder / "policies" / "meco-fold-1.safetensors")
    (folder / "policies" / "meco-fold-1.training.jsonl").write_text("{}\n")
    archive_results(folder, "0.3.0")
    return folder


def flip_byte(path):
    """Change one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_an_archived_store_is_read_like_a_packed_one(results):
    assert not (results / PACKED_FILE).exists()
    assert len(read_results(results).runs) == 215
    assert main(["report", str(results), "--page-only"]) == 0


def test_a_store_beside_the_archive_comes_first_and_then_the_newest_release(results):
    archived = results / ARCHIVE_FOLDER / f"0.3.0-{PACKED_FILE}"
    assert find_packed(results) == archived
    newer = shutil.copy(archived, archived.with_name(f"0.10.0-{PACKED_FILE}"))
    assert find_packed(results) == newer
    shutil.copy(BENCH, results)
    assert find_packed(results) == results / PACKED_FILE


@pytest.mark.parametrize("command", [["report", "--page-only"], ["verify"]])
def test_a_changed_store_is_refused_in_one_line_that_names_the_file(results, command, capsys):
    flip_byte(results / ARCHIVE_FOLDER / f"0.3.0-{PACKED_FILE}")
    assert main([command[0], str(results), *command[1:]]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"0.3.0-{PACKED_FILE} is damaged: its SHA-256 is not the one in {SUMS}" in line


def test_an_archive_that_is_not_listed_is_refused(results):
    path = results / ARCHIVE_FOLDER / f"0.3.0-{PACKED_FILE}"
    (path.with_name(SUMS)).write_text("")
    with pytest.raises(DamagedArchive, match=f"{path.name} is not read: {SUMS}"):
        read_archive(path)
    (path.with_name(SUMS)).unlink()
    with pytest.raises(DamagedArchive, match=f"there is no {SUMS} beside it"):
        read_archive(path)


def test_archived_policies_are_found_by_name_and_by_path(results, monkeypatch):
    (path,) = find_archives(results, "policies.tar.xz")
    monkeypatch.setenv("MECO_POLICIES", str(path))
    assert "meco-fold-1" in policy_names()
    assert policy_path("meco-fold-1") == path / "meco-fold-1.safetensors"
    assert load_policy("meco-fold-1").metadata["digest"] == load_policy("meco-10d").metadata["digest"]
    assert load_policy(str(path / "meco-fold-1.safetensors")).metadata["name"] == "meco-fold-1"
    assert any("is not the log of the training" in line for line in verify_policy("meco-fold-1"))
    with pytest.raises(FileNotFoundError, match="has no meco-fold-2"):
        read_file(path / "meco-fold-2.safetensors", 10)


def test_a_changed_archive_of_policies_is_refused_in_one_line_that_names_the_file(results, monkeypatch, capsys):
    (path,) = find_archives(results, "policies.tar.xz")
    flip_byte(path)
    monkeypatch.setattr(store, "policy_folders", lambda: [path])
    assert main(["policy", "show", "meco-fold-1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path.name} is damaged: its SHA-256 is not the one in {SUMS}" in line
    read_policy_digest.cache_clear()
    with pytest.raises(DamagedArchive):  # not taken for a policy that is not installed
        read_policy_digest("meco-fold-1")


def test_archives_are_the_same_bytes_each_time_and_never_replaced(results, tmp_path, archive_results):
    again = tmp_path / "again"
    (again / "policies").mkdir(parents=True)
    (again / "policies" / "meco-fold-1.training.jsonl").write_text("{}\n")
    shutil.copy(WEIGHTS, again / "policies" / "meco-fold-1.safetensors")
    shutil.copy(BENCH, again)
    archive_results(again, "0.3.0")
    for path in (results / ARCHIVE_FOLDER).iterdir():
        assert path.read_bytes() == (again / ARCHIVE_FOLDER / path.name).read_bytes()
    shutil.copy(BENCH, again)
    with pytest.raises(ValueError, match="is there already"):
        archive_results(again, "0.3.0")


def test_the_archives_of_the_repository_are_those_that_are_listed():
    folder = ROOT / "results" / ARCHIVE_FOLDER
    if not folder.is_dir():
        pytest.skip("only a checkout has the archives")
    listed = [line.partition("  ")[2] for line in (folder / SUMS).read_text().splitlines()]
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.xz"))
    for name in listed:
        read_archive(folder / name)
