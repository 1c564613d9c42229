"""The report of a results folder: one page to look at, and every table and figure as files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from meco.bench.plan.experiment import Experiment
from meco.bench.plan.experiments import EXPERIMENTS
from meco.bench.plan.revise import list_left_out
from meco.bench.report import (
    choice,
    curves,
    heatmaps,
    page,
    profile_figures,
    result_figures,
    result_tables,
    trajectories,
)
from meco.bench.report.run_arrays import RunArrays
from meco.bench.run.campaign_folder import StoreError, write_atomically
from meco.bench.run.result_store import read_results
from meco.bench.run.store_contents import StoreContents
from meco.errors import MissingExtra, load_extra
from meco.figures.figure import Figure
from meco.figures.table import Table, format_text, to_csv, to_latex, to_markdown
from meco.files.names import safe_name

Item = Table | Figure

DIMENSION_VIEWS: dict[str, Callable[[RunArrays], list[Item | None]]] = {  # of one dimension, by the names in plans
    "choice": lambda s: [*choice.make_choice_items(s)],
    "critical": lambda s: [result_figures.make_critical_difference_figure(s)],
    "values": lambda s: [*result_tables.make_value_tables(s)],
    "pairs": lambda s: [*result_tables.make_pair_tables(s)],
    "feasibility": lambda s: [heatmaps.make_feasibility_figure(s)],
    "progress": lambda s: [curves.make_progress_figure(s)],
    "ecdf": lambda s: [curves.make_ecdf_figure(s)],
    "profiles": lambda s: [*profile_figures.make_profile_figures(s)],
    "ert": lambda s: [profile_figures.make_running_time_table(s)],
    "u-score": lambda s: [profile_figures.make_u_score_table(s)],
    "convergence": lambda s: [*curves.make_convergence_figures(s)],
    "performance": lambda s: [result_figures.make_performance_figure(s)],
    "trajectories": lambda s: [trajectories.make_trajectory_figure(s)],
    "actions": lambda s: [heatmaps.make_action_figure(s)],
    "summary": lambda s: [result_tables.make_problem_table(s)],
}
EXPERIMENT_VIEWS: dict[str, Callable[[list[RunArrays]], list[Item | None]]] = {  # of all dimensions
    "ranks": lambda s: [result_tables.make_rank_table(s[0]) if len(s) == 1 else result_tables.make_rank_overview(s)],
    "gain": lambda s: [result_tables.make_gain_table(s)],
    "heat": lambda s: [heatmaps.make_heat_figure(s)],
    "relative": lambda s: [result_figures.make_relative_figure(s)],
}


@dataclass
class Section:
    """An experiment as the page shows it."""

    experiment: Experiment
    sets: list[RunArrays]
    items: list[Item] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)  # what cannot be shown here, and why

    @property
    def missing(self) -> dict[str, str]:
        """Contenders that are missing or incomplete, and why."""
        return {label: reason for s in self.sets for label, reason in s.reasons.items()}


@dataclass
class Report:
    """What was written, and lines for the terminal."""

    page: Path
    files: list[Path]
    lines: list[str]


def write_campaign_report(folder: str | os.PathLike[str], page_only: bool = False) -> Report:
    """Write DIR/report.html, and unless page_only DIR/tables and DIR/figures beside it; the packed store is enough.

    Older ones are replaced. A folder without results, or one that cannot be written to, is an error.
    """
    results = read_results(folder)
    sections = _build_sections(results)
    target = Path(folder) / "report.html"
    write_atomically(target, page.compose_page(sections, results))
    files, lines = [], [f"page: {target}"]
    if not page_only:
        items = [item for section in sections for item in section.items]
        files = _write_table_files(items, _make_folder(target.with_name("tables")))
        drawn, note = _write_figure_files(items, _make_folder(target.with_name("figures")))
        files += drawn
        lines += [f"{len(files)} files in {target.with_name('tables')} and {target.with_name('figures')}", *note]
    return Report(target, files, lines + _compose_terminal_lines(sections))


def write_tables(folder: str | os.PathLike[str]) -> list[Path]:
    """Write DIR/tables alone, over older ones; the files written."""
    items = [item for section in _build_sections(read_results(folder)) for item in section.items]
    return _write_table_files(items, _make_folder(Path(folder) / "tables"))


def _build_sections(results: StoreContents) -> list[Section]:
    """A section for each experiment of the results, with one palette for all."""
    palette = result_figures.Palette()
    return [build_section(experiment, results, palette) for experiment in list_known_experiments(results)]


def list_known_experiments(results: StoreContents) -> list[Experiment]:
    """The experiments of a folder; those of EXPERIMENTS, matched by name, with their present views and order.

    Their present texts, too, unless they were run with methods that the experiment no longer has.
    """
    found = []
    for stored in results.experiments:
        if stored.name in EXPERIMENTS:
            fresh = EXPERIMENTS[stored.name]
            rank = {c.label: i for i, c in enumerate(fresh.contenders)}
            ordered = sorted(stored.contenders, key=lambda c: rank.get(c.label, len(rank)))
            told = fresh.report
            if not {c.label for c in ordered} <= set(rank):
                told = replace(told, about=stored.report.about, focus=stored.report.focus)
            stored = replace(
                fresh, contenders=tuple(ordered), problems=stored.problems, dims=stored.dims, runs=stored.runs,
                pins=stored.pins, instance=stored.instance, budget=stored.budget,
                report=replace(told, notes=(*told.notes, *list_left_out(stored))),
            )  # fmt: skip
        found.append(stored)
    place = {name: i for i, name in enumerate(EXPERIMENTS)}
    return sorted(found, key=lambda e: place.get(e.name, len(place)))


def build_section(experiment: Experiment, results: StoreContents, palette: result_figures.Palette) -> Section:
    """Every table and figure of an experiment, in the order of its views; none where nothing has run.

    Takes colours from the palette for its contenders. A view that needs a package that is not here is noted, not drawn.
    """
    sets = [RunArrays.from_store(results, experiment, dim) for dim in experiment.dims]
    slots = palette.assign_slots(sets)
    section = Section(experiment, [replace(s, slots=slots) for s in sets])
    full = [s for s in section.sets if s.records]
    for view in experiment.report.views if full else ():
        try:
            if view not in EXPERIMENT_VIEWS and view not in DIMENSION_VIEWS:
                raise MissingExtra("this version knows no such view")
            if view in EXPERIMENT_VIEWS:
                made = EXPERIMENT_VIEWS[view](full)
            else:
                made = [item for s in full for item in DIMENSION_VIEWS[view](s)]
        except MissingExtra as error:  # the page is made without it
            section.lacking.append(f"{view}: {error}")
            continue
        section.items += [item for item in made if item is not None]
    return section


# -- files -----------------------------------------------------------------------------------


def _make_folder(path: Path) -> Path:
    """The folder, made where it is missing; StoreError for a link, or where it cannot be made."""
    try:
        path.mkdir(exist_ok=True)
        if path.is_symlink():
            raise StoreError(f"{path} leads elsewhere, where nothing is written; remove it")
    except OSError as error:
        raise StoreError(f"cannot make {path}: {error.strerror}") from error
    return path


def _write_table_files(items: list[Item], folder: Path) -> list[Path]:
    """Write every table as CSV, LaTeX and Markdown, those behind figures too; the files written."""
    made = []
    found = (item if isinstance(item, Table) else item.table for item in items)
    for table in (table for table in found if table is not None):
        for kind, write in (("csv", to_csv), ("tex", to_latex), ("md", to_markdown)):
            made.append(folder / f"{safe_name(table.name)}.{kind}")
            write_atomically(made[-1], write(table))
    return made


def _write_figure_files(items: list[Item], folder: Path) -> tuple[list[Path], list[str]]:
    """Write every figure as SVG, and as PDF where that can be made: the files, and a note where it cannot."""
    note, to_pdf = [], None
    try:
        to_pdf = load_extra("cairosvg", "plot", "a PDF of a figure").svg2pdf
    except (MissingExtra, OSError) as error:  # OSError: CairoSVG is there, and the cairo library is not
        note = [f"figures as SVG only: {error}"]
    made = []
    for figure in (item for item in items if isinstance(item, Figure)):
        text = figure.to_svg()
        made.append(folder / f"{safe_name(figure.name)}.svg")
        write_atomically(made[-1], text)
        if to_pdf is not None:
            made.append(folder / f"{safe_name(figure.name)}.pdf")
            write_atomically(made[-1], to_pdf(bytestring=text.encode()))
    return made, note


# -- the terminal ----------------------------------------------------------------------------


def _compose_terminal_lines(sections: list[Section]) -> list[str]:
    """What each experiment comes to in plain text: its tables NAME-choice..., else NAME-ranks, else its first one."""
    lines = []
    for section in sections:
        name = section.experiment.name
        tables_ = [item for item in section.items if isinstance(item, Table)]
        chosen = [t for t in tables_ if t.name.startswith(f"{name}-choice")]
        ranks = [t for t in tables_ if t.name == f"{name}-ranks"]
        behind = [item.table for item in section.items if isinstance(item, Figure) and item.table is not None]
        for item in chosen or ranks or [*tables_, *behind][:1]:
            lines += [
                "",
                item.title if chosen else f"{name}: {item.title}",
                *format_text(item, [c.label for c in item.columns if "*" in c.label or c.label == "runs"]),
            ]
            lines += ["", item.caption] if chosen else []
    return lines
