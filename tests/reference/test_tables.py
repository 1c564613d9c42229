"""The numbers of every stored table, computed again by the report."""

from __future__ import annotations

import csv
import io
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from meco.bench.run.result_store import read_results
from meco.report.figures import Palette, Picture
from meco.report.page import build_chapter, list_known_experiments

HERE = Path(__file__).parent / "tables"
RENAMED = {"duels won, %": "duels won", "seconds a run": "seconds per run"}  # columns since 0.3.0
RESULTS = Path(__file__).parents[2] / "results"
RENAMED_TABLES = {"pairs-score": "pairs", "pairs-relaxed": "pairs-as-printed"}  # since 0.3.0
RELAXED = "relaxed f_best"
LABELS = {  # of contenders since 0.3.0, where f_best was the best individual of the relaxed order
    "MeCO on MA-ES": "MeCO, f+ν reward, on MA-ES",
    **{name: f"{name}, {RELAXED}" for name in
       ("MeCO-u", "MeCO-rand", "MeCO-AA", "MeCO-CA", "MeCO-r1", "MeCO-r2", "MeCO-r1+r2")},
}  # fmt: skip
FEWER_ROWS = ("printed-seeds",)  # experiments without some rows of 0.3.0, whose policies were not kept


def rename_label(text: str) -> str:
    """The label of a contender of 0.3.0 as stored plans have it now; other texts stay."""
    if "MeCO, as printed" in text:
        return text.replace("MeCO, as printed", f"MeCO, {RELAXED}")
    if re.fullmatch(r"action [\d.]+", text):
        return f"{text}, guides by the relaxed order"
    return LABELS.get(text, text)


def find_reference(table: str, reference: dict[str, str]) -> str:
    """The text of a table of 0.3.0, whose name may have been another."""
    for new, old in RENAMED_TABLES.items():
        if table.endswith(new) and f"{table}.csv" not in reference:
            return reference[f"{table.removesuffix(new)}{old}.csv"]
    return reference[f"{table}.csv"]


def read_archive(name: str) -> dict[str, str]:
    """Text of every table of an archive, by the name of its file."""
    with tarfile.open(HERE / name) as archive:
        found = {m.name: archive.extractfile(m) for m in archive.getmembers()}
        return {Path(k).name: v.read().decode() for k, v in found.items() if v is not None and "/" in k}


def read_numbers(text: str, rename: Callable[[str], str] = str) -> dict[tuple[str, ...], dict[str, float]]:
    """Numbers of a CSV by row and column; rows are named by their texts, and by D where methods repeat."""
    head, *rows = ([rename(cell) for cell in row] for row in csv.reader(io.StringIO(text)))
    names = 2 if head[:2] in (["problem", "method"], ["Method", "D"]) else 1
    columns = [RENAMED.get(name, name) for name in head[names:]]
    return {
        tuple(c.removesuffix(".0") for c in row[:names]): dict(zip(columns, map(parse, row[names:]))) for row in rows
    }


def parse(cell: str) -> float:
    try:
        return float(cell or "nan")
    except ValueError:
        return float("nan")


def build_all(contents):
    """Every experiment with all its stored methods, removed ones too, and the views of its plan."""
    return [build_chapter(e, contents, Palette()) for e in list_known_experiments(contents)]


def count_equal(chapters, reference: dict[str, str], rename: Callable[[str], str] = str) -> int:
    """Numbers that agree to 1e-9; AssertionError where one does not, or where a table is not in the reference."""
    count = 0
    for item in (item for chapter in chapters for item in chapter.items):
        table = item.table if isinstance(item, Picture) else item
        if table is None:
            continue
        ours, theirs = read_numbers(table.to_csv()), read_numbers(find_reference(table.name, reference), rename)
        for row, cells in theirs.items():
            if row == ("below printed",):  # a line of the page, not a number of a method
                continue
            # Columns of the printed values and of ranks among the printed methods (*): MeCO there is another row now.
            known = {k: value for k, value in cells.items() if value == value and "*" not in k and "printed" not in k}
            assert {column: ours[row].get(column) for column in known} == pytest.approx(known, rel=1e-9, abs=1e-9), (
                table.name,
                row,
            )
            count += len(known)
    return count


def test_the_report_of_a_stored_comparison_has_the_numbers_of_its_reference(tmp_path: Path) -> None:
    shutil.copy(HERE / "bench" / "runs.sqlite.xz", tmp_path)
    assert count_equal(build_all(read_results(tmp_path)), read_archive("bench.tar.xz")) > 50


def test_small_experiments_of_the_paper_have_the_numbers_of_their_reference() -> None:
    contents, reference = read_results(RESULTS), read_archive("reproduce.tar.xz")
    few = [e for e in list_known_experiments(contents) if e.name in ("training-gain", "ablation-action", "actions")]
    assert count_equal([build_chapter(e, contents, Palette()) for e in few], reference, rename_label) > 100


@pytest.mark.slow
def test_every_stored_table_has_the_numbers_of_its_reference(capsys: pytest.CaptureFixture[str]) -> None:
    chapters = [c for c in build_all(read_results(RESULTS)) if c.experiment.name not in FEWER_ROWS]
    count = count_equal(chapters, read_archive("reproduce.tar.xz"), rename_label)
    with capsys.disabled():
        print(f"{count} stored numbers are equal to 1e-9")
    assert count > 30_000
