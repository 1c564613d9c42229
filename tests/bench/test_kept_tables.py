"""results/tables holds what the packed store gives."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from meco.files.archive import ARCHIVE_FOLDER
from meco.report.page import write_tables

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.slow
def test_the_tables_are_those_of_the_store(tmp_path):
    pytest.importorskip("scipy")
    shutil.copytree(RESULTS / ARCHIVE_FOLDER, tmp_path / ARCHIVE_FOLDER)
    made = {file.name: file.read_bytes() for file in write_tables(tmp_path) if file.suffix == ".csv"}
    assert made == {file.name: file.read_bytes() for file in (RESULTS / "tables").glob("*.csv")}
