"""The report of a results folder: one page to look at, and every table and figure as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from meco.errors import MissingExtra
from meco.experiments.plan.experiment import Experiment, Run
from meco.experiments.plan.paper import PAPER
from meco.experiments.report import curves, figures, heatmaps, page, plots, tables, trajectories
from meco.experiments.report.figure import Figure
from meco.experiments.report.result_set import Sample, sample
from meco.experiments.report.table import Table, to_csv, to_latex, to_markdown
from meco.experiments.run.folder import StoreError
from meco.experiments.run.record import Record
from meco.experiments.run.store import Store

Item = Table | Figure

EACH: dict[str, Callable[[Sample], list[Item | None]]] = {  # views of one dimension
    "critical": lambda s: [figures.critical_figure(s)],
    "values": lambda s: [*tables.value_tables(s)],
    "pairs": lambda s: [tables.pair_table(s)],
    "feasibility": lambda s: [heatmaps.feasibility_figure(s)],
    "progress": lambda s: [curves.progress_figure(s)],
    "ecdf": lambda s: [curves.ecdf_figure(s)],
    "convergence": lambda s: [*curves.convergence_figures(s)],
    "performance": lambda s: [figures.performance_figure(s)],
    "trajectories": lambda s: [trajectories.trajectory_figure(s)],
    "actions": lambda s: [heatmaps.action_figure(s)],
    "summary": lambda s: [tables.problem_table(s)],
}
TOGETHER: dict[str, Callable[[list[Sample]], list[Item | None]]] = {  # views of all dimensions
    "ranks": lambda s: [tables.rank_table(s[0]) if len(s) == 1 else tables.rank_overview(s)],
    "gain": lambda s: [tables.gain_table(s)],
    "heat": lambda s: [heatmaps.heat_figure(s)],
    "relative": lambda s: [figures.relative_figure(s)],
}


@dataclass
class Section:
    """An experiment as the page shows it."""

    experiment: Experiment
    samples: list[Sample]
    items: list[Item] = field(default_factory=list)

    @property
    def missing(self) -> dict[str, str]:
        """Contenders that are missing or incomplete, and why."""
        return {label: reason for s in self.samples for label, reason in s.reasons.items()}


@dataclass
class Report:
    """What was written, and lines for the terminal."""

    page: Path
    files: list[Path]
    lines: list[str]


def write_report(folder: str | os.PathLike[str], page_only: bool = False) -> Report:
    """Write DIR/report.html, and DIR/tables and DIR/figures beside it."""
    with Store(folder) as store:
        found, failed = dict(store.records()), store.failures()
        palette = figures.Palette()
        sections = [build(experiment, found, failed, palette) for experiment in known_experiments(store)]
        text = page.compose(sections, store)
    target = Path(folder) / "report.html"
    _write(target, text)
    files: list[Path] = []
    lines = [f"page: {target}"]
    if not page_only:
        items = [item for section in sections for item in section.items]
        files, note = _files(items, Path(folder))
        lines.append(f"{len(files)} files in {Path(folder) / 'tables'} and {Path(folder) / 'figures'}")
        lines += [note] if note else []
    return Report(target, files, lines + _headline(sections))


def known_experiments(store: Store) -> list[Experiment]:
    """The experiments of a store; the paper's with their present texts and order."""
    found = []
    for stored in store.experiments():
        if stored.name in PAPER:
            fresh = PAPER[stored.name]
            rank = {c.label: i for i, c in enumerate(fresh.contenders)}
            ordered = sorted(stored.contenders, key=lambda c: rank.get(c.label, len(rank)))
            stored = replace(
                fresh, contenders=tuple(ordered), problems=stored.problems, dims=stored.dims, runs=stored.runs,
                pins=stored.pins, instance=stored.instance, budget=stored.budget,
            )  # fmt: skip
        found.append(stored)
    place = {name: i for i, name in enumerate(PAPER)}
    return sorted(found, key=lambda e: place.get(e.name, len(place)))


def build(
    experiment: Experiment,
    found: Mapping[Run, Record],
    failed: Mapping[Run, str],
    palette: figures.Palette,
) -> Section:
    """Every table and figure of an experiment."""
    samples = [sample(experiment, dim, found, failed) for dim in experiment.dims]
    slots = palette.slots(samples)
    samples = [replace(s, slots=slots) for s in samples]
    section = Section(experiment, samples)
    full = [s for s in samples if s.records]
    for view in experiment.views if full else ():
        if view in TOGETHER:
            made = TOGETHER[view](full)
        else:
            made = [item for s in full for item in EACH[view](s)]
        section.items += [item for item in made if item is not None]
    return section


def _files(items: list[Item], folder: Path) -> tuple[list[Path], str]:
    """Every table as CSV, LaTeX and Markdown, every figure as PDF and SVG; a note where matplotlib is missing."""
    made: list[Path] = []
    for part in ("tables", "figures"):
        try:
            (folder / part).mkdir(exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make {folder / part}: {error.strerror}") from error
    note = ""
    for item in items:
        table = item if isinstance(item, Table) else item.table
        if table is not None:
            for kind, write in (("csv", to_csv), ("tex", to_latex), ("md", to_markdown)):
                path = folder / "tables" / f"{table.name}.{kind}"
                _write(path, write(table))
                made.append(path)
        if isinstance(item, Figure):
            try:
                made += plots.save(item, folder / "figures")
            except MissingExtra as error:
                note = f"no figure files: {error}"
            except OSError as error:
                for half in (folder / "figures").glob("*.part.*"):
                    half.unlink(missing_ok=True)
                raise StoreError(f"cannot write {folder / 'figures' / item.name}: {error.strerror}") from error
    return made, note


def _write(path: Path, text: str) -> None:
    """The whole file or none of it."""
    half = path.with_name(path.name + ".part")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror}; nothing of it was kept") from error


def _headline(sections: list[Section]) -> list[str]:
    """The average ranks in plain text, for the terminal."""
    lines = []
    for section in sections:
        for item in section.items:
            if isinstance(item, Table) and item.name == f"{section.experiment.name}-ranks":
                lines += ["", f"{section.experiment.name}: {item.title}", *_plain_table(item)]
    return lines


def _plain_table(table: Table) -> list[str]:
    heads = [c.label for c in table.columns]
    chosen = [i for i, head in enumerate(heads) if "*" not in head and head != "runs"]
    rows = [heads, *([cell.text for cell in row] for row in table.rows)]
    widths = {i: max(len(row[i]) for row in rows) for i in chosen}
    return [
        "  " + "  ".join(row[i].ljust(widths[i]) if i == 0 else row[i].rjust(widths[i]) for i in chosen) for row in rows
    ]
