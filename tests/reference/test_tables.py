"""The tables of 0.3.0, against the stored tables and against the report as it is."""

from __future__ import annotations

import csv
import io
import shutil
import tarfile
from pathlib import Path

import pytest

from meco.bench.report.campaign_report import write_tables

HERE = Path(__file__).parent / "tables"
STORED = Path(__file__).parents[2] / "results" / "tables"


def read_archive(name: str) -> dict[str, str]:
    """Text of every table of an archive, by the name of its file."""
    with tarfile.open(HERE / name) as archive:
        found = {m.name: archive.extractfile(m) for m in archive.getmembers()}
        return {Path(k).name: v.read().decode() for k, v in found.items() if v is not None and "/" in k}


def assert_equal_tables(text: str, reference: str) -> None:
    """Every cell is the same text, or the same number to nine digits."""
    ours, theirs = (list(csv.reader(io.StringIO(t))) for t in (text, reference))
    assert [len(row) for row in ours] == [len(row) for row in theirs]
    for a, b in ((a, b) for row, other in zip(ours, theirs) for a, b in zip(row, other)):
        if a != b:
            assert float(a) == pytest.approx(float(b), rel=1e-9, abs=1e-12)


def test_every_stored_table_of_reproduce_is_in_the_reference_to_its_ten_digits() -> None:
    reference = read_archive("reproduce.tar.xz")
    stored = sorted(STORED.glob("*.csv"))
    assert stored
    for path in stored:
        assert_equal_tables(path.read_text(encoding="utf-8"), reference[path.name])


def test_the_report_of_stored_comparisons_has_the_numbers_of_0_3_0(tmp_path: Path) -> None:
    shutil.copy(HERE / "bench" / "runs.sqlite.xz", tmp_path)
    made = [path for path in write_tables(tmp_path) if path.suffix == ".csv"]
    reference = read_archive("bench.tar.xz")
    assert made
    for path in made:
        assert_equal_tables(path.read_text(encoding="utf-8"), reference[path.name])
