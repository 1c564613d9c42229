"""The report of a results folder: one page, and every table and figure as files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from meco.bench.plan.contender import is_removed
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.experiments import EXPERIMENTS
from meco.bench.plan.revise import list_left_out
from meco.bench.run.campaign_folder import StoreError, write_atomically
from meco.bench.run.result_store import read_results
from meco.bench.run.store_contents import StoreContents
from meco.errors import MissingExtra
from meco.files.names import safe_name
from meco.gone import find_advice
from meco.plot.page import Note, PagePicture, PageTable, Section, render_page
from meco.report import advice, figures, tables
from meco.report.claims import format_verdict
from meco.report.figures import Colours, Palette, Picture
from meco.report.frame import ExperimentRuns, read_runs
from meco.report.tables import Table

Item = Table | Picture
Made = Sequence[Item | None]

SUITES = {  # experiments that stand for a suite -> what their problems are called
    "cec2017-10d": "CEC2017, 10 variables",
    "cec2017-30d": "CEC2017, 30 variables",
    "table1": "CEC2017, 50 variables",
    "cec2017-100d": "CEC2017, 100 variables",
    "uav": "UAV missions",
    "rwco": "real-world problems",
    "rwco-large": "real-world, over 30 variables",
    "realworld": "engineering problems",
    "families": "generated families",
}
MOST_METHODS = 12  # in the overview
MOST_SESSIONS = 20  # in a section that is not folded
SMALL_PAGE = 1  # experiments from which on sections are folded
VIEWS: dict[str, Callable[[ExperimentRuns, Colours], Made]] = {  # of one dimension, by the names in plans
    "choice": lambda runs, colours: [
        item
        for p, problem in enumerate(runs.problems)
        if (runs.table.problem == problem).any()
        for item in (advice.make_advice_table(runs, problem), figures.draw_best_feasible(runs, p, colours))
    ],
    "critical": lambda runs, colours: [figures.draw_critical(runs, colours)],
    "values": lambda runs, colours: tables.make_value_tables(runs),
    "pairs": lambda runs, colours: tables.make_pair_tables(runs),
    "feasibility": lambda runs, colours: [figures.draw_feasible_share(runs)],
    "progress": lambda runs, colours: [figures.draw_progress(runs, colours)],
    "ecdf": lambda runs, colours: [figures.draw_ecdf(runs, colours)],
    "profiles": lambda runs, colours: figures.draw_profiles(runs, colours),
    "ert": lambda runs, colours: [tables.make_running_time_table(runs)],
    "u-score": lambda runs, colours: [tables.make_u_score_table(runs)],
    "convergence": lambda runs, colours: figures.draw_convergence(runs, colours),
    "performance": lambda runs, colours: [figures.draw_performance(runs, colours)],
    "trajectories": lambda runs, colours: [figures.draw_routes(runs, colours)],
    "actions": lambda runs, colours: [figures.draw_actions(runs)],
    "summary": lambda runs, colours: [tables.make_problem_table(runs)],
}
JOINT_VIEWS: dict[str, Callable[[Sequence[ExperimentRuns], Colours], Made]] = {  # of all dimensions
    "ranks": lambda sets, colours: [tables.make_rank_table(sets)],
    "gain": lambda sets, colours: [tables.make_gain_table(sets)],
    "heat": lambda sets, colours: [figures.draw_heat(sets)],
    "relative": lambda sets, colours: [figures.draw_relative(sets, colours)],
}


@dataclass
class Chapter:
    """An experiment with everything that the report shows of it."""

    experiment: Experiment
    sets: list[ExperimentRuns]
    items: list[Item] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)  # views that need a missing package
    missing: list[str] = field(default_factory=list)  # runs that are not there, and why


@dataclass
class Report:
    """What was written, and lines for the terminal."""

    page: Path
    files: list[Path]
    lines: list[str]


def write_campaign_report(folder: str | os.PathLike[str], page_only: bool = False) -> Report:
    """Write DIR/report.html, and unless page_only DIR/tables and DIR/figures; older files are replaced."""
    contents = read_results(folder)
    chapters = build_chapters(contents)
    target = Path(folder) / "report.html"
    write_atomically(target, compose_page(chapters, contents))
    files, lines = [], [f"page: {target}"]
    if not page_only:
        items = [item for chapter in chapters for item in chapter.items]
        files = write_table_files(items, _make_folder(target.with_name("tables")))
        files += write_figure_files(items, _make_folder(target.with_name("figures")))
        lines.append(f"{len(files)} files in {target.with_name('tables')} and {target.with_name('figures')}")
    return Report(target, files, lines + _compose_terminal_lines(chapters))


def write_tables(folder: str | os.PathLike[str]) -> list[Path]:
    """Write DIR/tables alone; gives the files."""
    items = [item for chapter in build_chapters(read_results(folder)) for item in chapter.items]
    return write_table_files(items, _make_folder(Path(folder) / "tables"))


def build_chapters(contents: StoreContents) -> list[Chapter]:
    """A chapter for each experiment of a store without removed methods, with the same colours throughout."""
    palette = Palette()
    known = [e for e in list_known_experiments(contents) if find_advice("experiment", e.name) is None]
    kept = [drop_removed(experiment) for experiment in known]
    return [build_chapter(experiment, contents, palette) for experiment in kept if experiment.contenders]


def drop_removed(experiment: Experiment) -> Experiment:
    """The experiment without methods that this version does not have any more; a note of its report names them."""
    lost = [c.label for c in experiment.contenders if is_removed(c.method)]
    if not lost:
        return experiment
    kept = tuple(c for c in experiment.contenders if c.label not in lost)
    note = f"Stored runs of removed methods are not shown: {', '.join(lost)}."
    return replace(
        experiment, contenders=kept, report=replace(experiment.report, notes=(*experiment.report.notes, note))
    )


def list_known_experiments(contents: StoreContents) -> list[Experiment]:
    """The experiments of a store; those that this version knows with its present texts, views and order."""
    found = []
    for stored in contents.experiments:
        if stored.name in EXPERIMENTS:
            fresh = EXPERIMENTS[stored.name]
            place = {c.label: i for i, c in enumerate(fresh.contenders)}
            ordered = sorted(stored.contenders, key=lambda c: place.get(c.label, len(place)))
            plan = fresh.report
            if not {c.label for c in ordered} <= set(place):
                plan = replace(plan, about=stored.report.about, focus=stored.report.focus)
            stored = replace(
                fresh, contenders=tuple(ordered), problems=stored.problems, dims=stored.dims, runs=stored.runs,
                pins=stored.pins, instance=stored.instance, budget=stored.budget,
                report=replace(plan, notes=(*plan.notes, *list_left_out(stored))),
            )  # fmt: skip
        found.append(stored)
    number = {name: i for i, name in enumerate(EXPERIMENTS)}
    return sorted(found, key=lambda e: number.get(e.name, len(number)))


def build_chapter(experiment: Experiment, contents: StoreContents, palette: Palette) -> Chapter:
    """All tables and figures of an experiment, in the order of its views."""
    sets = [runs for dim in experiment.dims if (runs := read_runs(contents, experiment, dim)) is not None]
    chapter = Chapter(experiment, sets, missing=tables.list_missing(sets))
    if not sets:
        return chapter
    colours = palette.choose(sets)
    for view in experiment.report.views:
        try:
            if view in JOINT_VIEWS:
                made = [*JOINT_VIEWS[view](sets, colours)]
            elif view in VIEWS:
                made = [item for runs in sets for item in VIEWS[view](runs, colours)]
            else:
                raise MissingExtra("this version has no such view")
        except MissingExtra as error:
            chapter.lacking.append(f"{view}: {error}")
            continue
        chapter.items += [item for item in made if item is not None]
    return chapter


# -- the page ------------------------------------------------------------------------------------


def compose_page(chapters: Sequence[Chapter], contents: StoreContents) -> str:
    """The whole page as HTML text."""
    folded = len(chapters) > SMALL_PAGE
    sections = [*_make_overview(chapters)]
    sections += [_make_section(chapter, folded) for chapter in chapters]
    sections.append(_make_provenance(chapters, contents, folded))
    title = chapters[0].experiment.title if len(chapters) == 1 else "MeCO results"
    made = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    return render_page(title, f"{len(contents.runs):,} runs, meco {contents.meco}, page of {made} UTC", sections)


def page_table(table: Table) -> PageTable:
    """A table as a page shows it."""
    texts, marks = table.texts(), table.cell_marks()
    rows = [[str(name), *map(str, cells)] for name, cells in zip(texts.index, texts.to_numpy().tolist())]
    text_columns = [
        j
        for j, name in enumerate(texts.columns, 1)
        if table.shown is None and table.frame[name].dtype.kind not in "fiub"
    ]
    columns = [str(texts.index.name or ""), *map(str, texts.columns)]
    return PageTable(table.title, columns, rows, table.caption, marks.to_numpy().tolist(), text_columns)


def _page_item(item: Item) -> PageTable | PagePicture:
    if isinstance(item, Table):
        return page_table(item)
    return PagePicture(item.title, item.svg, item.caption, None if item.table is None else page_table(item.table))


def _make_section(chapter: Chapter, folded: bool) -> Section:
    """What was run, what is missing, then tables and figures."""
    plan, items = chapter.experiment.report, []
    items += [text for text in (plan.about, _describe_runs(chapter), *plan.notes) if text]
    notes = [*chapter.lacking, *(["Missing runs:", *chapter.missing] if chapter.missing else [])]
    shown: list[Any] = [*items, *([Note(notes)] if notes else [])]
    shown += [_page_item(item) for item in chapter.items] or ["No runs yet."]
    return Section(chapter.experiment.name, chapter.experiment.title, shown, folded)


def _describe_runs(chapter: Chapter) -> str:
    """Number of methods, problems, runs and evaluations, and the policies."""
    e = chapter.experiment
    budgets = sorted({case.budget for runs in chapter.sets for case in runs.cases})
    if not budgets:
        return ""
    spread = f"{budgets[0]:,}" if len(budgets) == 1 else f"{budgets[0]:,} to {budgets[-1]:,}"
    counts = [runs.table.groupby(["label", "problem"], observed=True).size() for runs in chapter.sets]
    least, most = min(int(c.min()) for c in counts), max(int(c.max()) for c in counts)
    text = (
        f"{len(e.contenders)} methods, {len(e.problems)} problems, {most if least == most else f'{least} to {most}'} "
        f"runs each (seeds from {e.first_seed}), {spread} evaluations per run."
    )
    policies = [f"{c.label}: {c.options['policy']}" for c in e.contenders if "policy" in c.options]
    return text + (f" Policies: {'; '.join(policies)}." if policies else "")


def _make_overview(chapters: Sequence[Chapter]) -> list[Section]:
    """Average ranks on the suites of a page; [] with fewer than two suites."""
    sets = {chapter.experiment.name: chapter.sets[0] for chapter in chapters if chapter.sets}
    seen = {
        title: sets[name]
        for name, title in SUITES.items()
        if name in sets and len(sets[name].complete) > 1 and len(sets[name].problems) > 1
    }
    if len(seen) < 2:
        return []
    table = tables.make_suite_table(seen, MOST_METHODS)
    labels = list(table.frame.index)
    colours = dict(zip(labels, figures.COLOURS)) | dict.fromkeys(labels[len(figures.COLOURS) :], figures.MUTED)
    picture = figures.draw_suite_ranks(seen, labels, colours)
    return [Section("overview", "Average ranks", [page_table(table), _page_item(picture), METRIC_TEXT])]


METRIC_TEXT = (
    "f+ν is the least objective plus total violation of all evaluated points, as in the paper's tables. Feasibility "
    "first ranks feasible points before infeasible ones, feasible points by f and infeasible ones by ν. A point is "
    "feasible when every constraint is within its tolerance."
)


def _make_provenance(chapters: Sequence[Chapter], contents: StoreContents, folded: bool) -> Section:
    """Sessions, time per method, and the digest of the results."""
    rows = [
        [
            str(facts.get("started", "")),
            ", ".join(map(str, facts.get("experiments", []))),
            f"{facts.get('runs', 0):,}",
            f"{facts.get('seconds', 0.0) / 60:.1f}",
            ", ".join(str(facts[key]) for key in ("processor", "cores", "system") if key in facts),
            ", ".join(f"{key} {facts[key]}" for key in ("meco", "python", "numpy", "scipy", "torch") if key in facts),
        ]
        for facts in contents.sessions.values()
    ]
    columns = ["started (UTC)", "experiments", "runs", "minutes", "computer", "versions"]
    sessions = PageTable("Sessions", columns, rows, text_columns=[1, 4, 5])
    seconds: dict[str, list[float]] = {}
    for chapter in chapters:
        for runs in chapter.sets:
            for label, part in runs.table.groupby("label", observed=True):
                seconds.setdefault(str(label), []).extend(part.seconds)
    times = sorted(((sum(s), len(s), label) for label, s in seconds.items()), reverse=True)
    cost = [[label, f"{total / 3600:.2f}", f"{total / count:.3g}"] for total, count, label in times]
    items: list[Any] = [sessions, PageTable("Time by method", ["Method", "core hours", "seconds per run"], cost)]
    items.append(f"SHA-256 of the numbers of all runs: {contents.digest}")
    return Section("made", "How this was made", items, folded or len(rows) > MOST_SESSIONS)


# -- files -----------------------------------------------------------------------------------


def _make_folder(path: Path) -> Path:
    """The folder, made where it is missing; StoreError for a link, or where it cannot be made."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"Cannot make {path}: {error.strerror}") from error
    if path.is_symlink():
        raise StoreError(f"{path} is a link to another folder; remove it")
    return path


def write_table_files(items: Sequence[Item], folder: Path) -> list[Path]:
    """Write every table, those of figures too, as CSV, LaTeX and Markdown."""
    made = []
    for item in items:
        table = item if isinstance(item, Table) else item.table
        if table is None:
            continue
        for suffix, write in (("csv", table.to_csv), ("tex", table.to_latex), ("md", table.to_markdown)):
            made.append(folder / f"{safe_name(table.name)}.{suffix}")
            write_atomically(made[-1], write())
    return made


def write_figure_files(items: Sequence[Item], folder: Path) -> list[Path]:
    """Write every figure as SVG and PDF."""
    made = []
    for item in items:
        if isinstance(item, Picture):
            for suffix in ("svg", "pdf"):
                made.append(folder / f"{safe_name(item.name)}.{suffix}")
                item.save(made[-1])
    return made


def _compose_terminal_lines(chapters: Sequence[Chapter]) -> list[str]:
    """The advice, the table of ranks, or else the first table of each experiment as text; then its verdict."""
    lines = []
    for chapter in chapters:
        made = [item for item in chapter.items if isinstance(item, Table)]
        name = chapter.experiment.name
        choices = [table for table in made if table.name.startswith(f"{name}-choice")]
        ranks = [table for table in made if table.name == f"{name}-ranks"]
        others = [item.table for item in chapter.items if isinstance(item, Picture) and item.table is not None]
        for table in choices or ranks or [*made, *others][:1]:
            title = table.title if choices else f"{name}: {table.title}"
            lines += ["", title, *table.to_text(), *(["", table.caption] if choices else [])]
        if said := format_verdict(name, chapter.sets):
            lines += ["", *said]
    return lines
