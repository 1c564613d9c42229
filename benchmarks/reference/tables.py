"""Export every table and figure of a results folder as CSV at full precision.

    python -m benchmarks.reference.tables results tests/reference/tables-0.3.0.tar.xz
    python -m benchmarks.reference.tables runs/bench tests/reference/tables-bench-0.3.0.tar.xz

Run it with the report of 0.3.0 (commit dbed2ba3), whose functions it calls. The archive has these members:

    EXPERIMENT/NAME.csv          the numbers of a table, as `meco report` writes them, but with 17 digits
    EXPERIMENT/NAME.cells.csv    what the cells show: row, column, text, mark, then the smaller lines as kind=text
    EXPERIMENT/NAME.figure.csv   the marks of a figure: panel, title, mark, series label, x, y (numbers by spaces)
    EXPERIMENT/NAME.caption.txt  title and caption
    views.csv                    experiment, view, dimension, kind (table, figure), name
    suites/..., headline/...     the table, figures and sentence on top of the page

Besides the views of its plan, each experiment of EXTRA gets the other views of one dimension.
"""

from __future__ import annotations

import csv
import io
import math
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from meco.bench.report import campaign_report, headline, overview, result_figures
from meco.figures import table as tables
from meco.figures.figure import Figure
from meco.figures.table import Table

from meco.bench.run.result_store import read_results

EXTRA = ("uav", "cec2017-10d", "realworld")  # experiments whose runs also fill the views of `meco bench`


def full_precision(value: object) -> object:
    """A value as CSV text: floats with 17 digits, nothing for nan and None."""
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    return "" if value is None else value


def to_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV text."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def list_cells(table: Table) -> Iterable[list[object]]:
    """Text, mark and smaller lines of every cell."""
    yield ["row", "column", "text", "mark", "lines"]
    for i, row in enumerate((*table.rows, *table.footer)):
        for column, cell in zip(table.columns, row):
            lines = "; ".join(f"{kind}={text}" for kind, text in cell.lines)
            mark = f"{cell.mark}/{cell.paper_mark}" if cell.paper_mark else cell.mark
            yield [i, column.label, cell.text, mark, lines]


def list_marks(figure: Figure) -> Iterable[list[object]]:
    """The data of every mark of a figure."""

    def numbers(value: Any) -> str:
        return " ".join(repr(float(v)) for v in np.ravel(np.asarray(value, dtype=np.float64)))

    yield ["panel", "title", "mark", "label", "x", "y", "more"]
    for i, panel in enumerate(figure.panels):
        for mark in panel.marks:
            label = getattr(mark, "label", getattr(mark, "text", ""))
            more = numbers(getattr(mark, "beyond", getattr(mark, "share", ())))
            yield [i, panel.title, type(mark).__name__, label, numbers(mark.x), numbers(mark.y), more]


def export_item(folder: str, item: Table | Figure) -> dict[str, str]:
    """The members for a table, or for a figure with the tables behind it."""
    name = f"{folder}/{item.name}"
    made = {f"{name}.caption.txt": f"{item.title}\n\n{item.caption}\n"}
    if isinstance(item, Table):
        made[f"{name}.csv"] = tables.to_csv(item)
        made[f"{name}.cells.csv"] = to_text(list_cells(item))
        return made
    made[f"{name}.figure.csv"] = to_text(list_marks(item))
    behind = [item.table, *(panel.table for panel in item.panels)]
    for table in behind:
        if table is not None:
            made.update(export_item(folder, table))
    return made


def export(folder: Path) -> dict[str, str]:
    """Every member of the archive of a results folder."""
    results = read_results(folder)
    palette = result_figures.Palette()
    made: dict[str, str] = {}
    index: list[list[object]] = [["experiment", "view", "dim", "kind", "name"]]
    sections = []
    for experiment in campaign_report.list_known_experiments(results):
        section = campaign_report.build_section(experiment, results, palette)
        sections.append(section)
        sets = [s for s in section.sets if s.records]
        views = list(experiment.report.views)
        if experiment.name in EXTRA:
            views += [v for v in campaign_report.DIMENSION_VIEWS if v not in (*views, "trajectories", "summary")]
        for view in views:
            of_all = campaign_report.EXPERIMENT_VIEWS.get(view)
            for one in [None] if of_all else sets:
                items = of_all(sets) if of_all else campaign_report.DIMENSION_VIEWS[view](one)
                for item in items:
                    if item is None:
                        continue
                    members = export_item(experiment.name, item)
                    index.append(
                        [experiment.name, view, "" if one is None else one.dim, type(item).__name__, item.name]
                    )
                    made.update(members)
        print(f"{experiment.name}: {len(views)} views, {len(made)} members so far", file=sys.stderr, flush=True)
    sets = [s for section in sections for s in section.sets]
    top = overview.compose_overview(sets)
    if top is not None:
        made["suites/sentence.txt"] = top.sentence + "\n"
        for item in (top.table, *top.figures):
            made.update(export_item("suites", item))
    first = headline.compose_headline(sets)
    if first is not None:
        made["headline/sentence.txt"] = first.sentence + "\n"
        made.update(export_item("headline", first.figure))
    made["views.csv"] = to_text(index)
    return made


def write_archive(members: dict[str, str], path: Path) -> None:
    """Write the members as a tar file under xz; the same members give the same bytes."""
    with tarfile.open(path, "w:xz", preset=9) as archive:
        for name, text in sorted(members.items()):
            info = tarfile.TarInfo(name)
            content = text.encode()
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def main() -> None:
    folder, path = map(Path, sys.argv[1:3])
    tables._csv_value = full_precision  # type: ignore[attr-defined]
    members = export(folder)
    write_archive(members, path)
    print(f"{path}: {len(members)} members, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
