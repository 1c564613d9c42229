"""The page: HTML around the tables and figures, with its style and script inside."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from meco.bench.report.headline import Headline, compose_headline
from meco.bench.report.overview import Overview, compose_overview
from meco.bench.run.store_contents import StoreContents
from meco.core.progress_line import format_duration
from meco.figures import svg
from meco.figures.figure import COLOURS, MARKS, Figure
from meco.figures.panel import MUTED, Panel
from meco.figures.table import Cell, Column, Table, to_html
from meco.files.names import safe_name

if TYPE_CHECKING:
    from meco.bench.report.campaign_report import Section

METRIC_TEXT = (
    "<p>Both metrics stand side by side throughout. <strong>f+ν</strong> is the least objective plus total violation "
    "over all evaluated points of a run, as in the paper's tables; it can be least at a useless point. "
    "<strong>Feasibility first</strong> puts feasible points before infeasible ones, feasible by f, infeasible by ν; a "
    "point is feasible when every g and every |h| is within the problem's tolerances (0 and 1e-4 unless set). Lines "
    "marked <em>pop</em> take only surviving populations, as the paper's own numbers do; <em>paper</em> is the printed "
    "value.</p>"
)
SESSION_DEFAULTS: dict[str, Any] = {  # of a session, where it does not say
    "started": "", "experiments": [], "runs": 0, "seconds": 0.0, "workers": 0, "executor": "?", "processor": "?",
    "cores": "?", "system": "?",
}  # fmt: skip
VERSIONS = {  # of a session's facts, where it has them
    "meco": "meco", "python": "Python", "numpy": "NumPy", "scipy": "SciPy", "cma": "cma", "pymoo": "pymoo",
    "torch": "torch",
}  # fmt: skip


def compose_page(sections: Sequence[Section], results: StoreContents) -> str:
    """The whole HTML page as text, with the present time; nothing in it is fetched from anywhere."""
    sets = [s for section in sections for s in section.sets]
    overview, folded = compose_overview(sets), len(sections) > 1
    top = _top_section(compose_headline(sets)) if overview is None else _overview_section(overview, results)
    links = (
        "".join(_contents_entry(s, folded=folded) for s in sections) + '<li><a href="#made">How this was made</a></li>'
    )
    body = "".join(_section_html(s, folded=folded) for s in sections)
    made = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    about = f"{len(results.runs):,} runs, meco {escape(results.meco)}, page of {made} UTC"
    guide = (
        f'<details class="about"><summary>How to read this page</summary>{METRIC_TEXT if _has_scores(sections) else ""}'
        "<p>Click a column head to sort by it. Point at a legend entry to bring a method out, click to keep it. Point "
        "at a curve to read it. Colours are of methods, strokes of families: solid SHADE and MeCO (paper), dashed "
        "evolution strategies, dotted models.</p></details>"
    )
    whole = f"{top}{guide}{body}{_provenance_section(sections, results, folded=folded)}"
    title = sections[0].experiment.title if len(sections) == 1 else "MeCO results"
    return frame_page(title, about, "Experiments", links, whole)


def _has_scores(sections: Sequence[Section]) -> bool:
    """Whether the page shows f+ν at all: a comparison on one problem does not."""
    return any(view != "choice" for section in sections for view in section.experiment.report.views)


@cache
def _read_asset(name: str) -> str:
    """A style sheet or script of the page, by its file name in the package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def frame_page(title: str, about: str, parts: str, links: str, body: str) -> str:
    """A page that stands alone: head, style, script, and the list of its parts beside the body.

    Only the title is escaped; about, parts, links and body are HTML.
    """
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{COLOURS}{_read_asset('page.css')}{MARKS}</style></head><body>"
        '<a class="skip" href="#main">Skip to the results</a>'
        f"<header><div><h1>{escape(title)}</h1><p>{about}</p></div>"
        '<button type="button" id="theme" aria-label="Switch between light and dark">◐</button></header>'
        f'<div class="frame"><nav aria-label="{parts}"><ol>{links}</ol></nav><main id="main">'
        f"{body}</main></div><script>{_read_asset('page.js')}</script></body></html>"
    )


def _top_section(headline: Headline | None) -> str:
    """The sentence and the picture that a reader sees first; "" without a headline."""
    if headline is None:
        return ""
    sentence, figure = escape(headline.sentence), figure_html(headline.figure)
    return f'<section class="top"><p class="headline">{sentence}</p>{figure}</section>'


def _overview_section(overview: Overview, results: StoreContents) -> str:
    """One line, the table of the suites and the pictures; what the bits of the numbers depend on."""
    shown = "".join(map(figure_html, overview.figures))
    said = f'<p class="headline">{escape(overview.sentence)}</p>'
    return f'<section class="top">{said}{table_html(overview.table)}{shown}{_platform_note(results)}</section>'


def _platform_note(results: StoreContents) -> str:
    """On what the results were made, in a line: a search may take another way where the last bits differ."""
    older = [run for run, record in results.runs.items() if not record.platform]  # before it was recorded
    made = {record.platform for record in results.runs.values() if record.platform}
    known = [results.platforms.get(each, {}) for each in made]
    if not made:
        said = "On which platform each run was made was not recorded."
    elif len({facts.get("arithmetic") for facts in known}) == 1:
        facts = dict(set.intersection(*(set(each.items()) for each in known)))  # unused packages may differ
        names = {"numpy": "NumPy", "scipy": "SciPy", "OPENBLAS_CORETYPE": "OpenBLAS kernel"}
        told = ", ".join(f"{text} {facts[key]}" for key, text in names.items() if key in facts)
        others = ", ".join(sorted({run.method for run in older}))
        but = f" but {len(older):,} older ones of {others}, of which it was not recorded," if older else ""
        said = f"All runs{but} were made on one platform: {told}."
    else:
        said = f"Runs of {len(made)} platforms are mixed."
    return f'<p class="caption">{escape(said)} Last bits, and with them single runs, depend on it.</p>'


def _contents_entry(section: Section, *, folded: bool) -> str:
    """The line of an experiment in the list of parts; with its items where it is not folded."""
    e = section.experiment
    if folded:
        return f'<li><a href="#{escape(e.name)}">{escape(e.title)}</a></li>'
    parts = "".join(f'<li><a href="#{escape(i.name)}">{escape(i.title)}</a></li>' for i in section.items)
    return f'<li><a href="#{escape(e.name)}">{escape(e.title)}</a><ul>{parts}</ul></li>'


def part_html(name: str, title: str, body: str, *, folded: bool) -> str:
    """A part of the page under its heading, HTML: a section, or closed until somebody opens it.

    name and title are escaped, body is not.
    """
    head = f"<h2>{escape(title)}</h2>"
    if not folded:
        return f'<section id="{escape(name)}">{head}{body}</section>'
    return f'<details class="fold" id="{escape(name)}"><summary>{head}</summary>{body}</details>'


def _section_html(section: Section, *, folded: bool) -> str:
    """An experiment as HTML: what was run, what is missing, then its tables and figures."""
    e = section.experiment
    parts = [f"<p>{escape(e.report.about)}</p>", _describe_runs(section)]
    parts += [f"<p>{escape(note)}</p>" for note in (*e.report.notes, *section.lacking)]
    if section.missing:
        items = "".join(f"<li><strong>{escape(k)}</strong>: {escape(v)}</li>" for k, v in section.missing.items())
        parts.append(f'<div class="missing" role="note"><p>Missing or incomplete:</p><ul>{items}</ul></div>')
    if not section.items:
        parts.append("<p>Nothing to show yet.</p>")
    parts += [_item_html(item, folded=folded) for item in section.items]
    return part_html(e.name, e.title, "".join(parts), folded=folded)


def _item_html(item: Table | Figure, *, folded: bool) -> str:
    """A table or figure; of many little panels a page with several experiments says only where they are."""
    if isinstance(item, Table):
        return table_html(item)
    if not (folded and item.small):
        return figure_html(item)
    where = f"{len(item.panels)} pictures: <code>figures/{escape(safe_name(item.name))}.svg</code> beside this page."
    head = f'<div class="item" id="{escape(item.name)}"><h3>{escape(item.title)}</h3>'
    return f'{head}<p class="caption">{where}</p></div>'


def _describe_runs(section: Section) -> str:
    """What was run, in one paragraph of HTML: contenders, runs, budgets, what is not finished, policies."""
    e = section.experiment
    counts = sorted({s.most_runs(m) for s in section.sets for m in range(len(s.labels))}, reverse=True)
    runs = " or ".join(str(c) for c in counts) or "0"
    budgets = sorted({p.budget for s in section.sets for p in s.cases})
    spread = f"{budgets[0]:,}" if len(budgets) == 1 else f"{budgets[0]:,} to {budgets[-1]:,}"
    counted = [(c, s.most_runs(m)) for s in section.sets[:1] for m, c in enumerate(s.contenders)]
    costly = [f"{c.label} {n}" for c, n in counted if c.most is not None and n < e.runs]
    fewest: dict[str, int] = {}  # over all problems and dimensions
    for s in section.sets:
        for m, label in enumerate(s.labels):
            fewest[label] = min(s.fewest_runs(m), fewest.get(label, e.runs))
    begun = [f"{c.label} {fewest[c.label]}" for c in e.contenders if fewest.get(c.label, e.runs) < e.run_count(c)]
    policies = [f"{c.label}: {c.options['policy']}" for c in e.contenders if "policy" in c.options]
    text = (
        f"{_count_text(len(e.contenders), 'contender')} on {_count_text(len(e.problems), 'problem')}, {runs} runs each "
        f"(seeds from {e.first_seed}), "
        f"{spread} evaluations a run."
    )
    if costly:
        text += f" Costly methods run less often: {', '.join(costly)}."
    if begun:
        text += f" Not finished (runs on the problem with fewest): {', '.join(begun)}."
    if policies:
        text += f" Policies: {'; '.join(policies)}."
    return f'<p class="run">{escape(text)}</p>'


def _count_text(number: int, noun: str) -> str:
    """A number with its noun, in the plural where it must be."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def table_html(table: Table) -> str:
    """A table with title and caption; a wide one has switches for the lines of its cells (page.js reads data-hide)."""
    switches = ""
    if table.wide:
        kinds = {kind for row in table.rows for cell in row for kind, _ in cell.lines}
        names = {"spread": "deviation", "population": "populations", "paper": "printed"}
        switches = "".join(_switch_html(f"no-{k}", names[k]) for k in names if k in kinds)
        if any(c.peer for c in table.columns):
            switches += _switch_html("no-peer", "methods beyond the paper")
        switches = f'<div class="switches" role="group" aria-label="What cells show">{switches}</div>'
    caption = f'<p class="caption">{escape(table.caption)}</p>' if table.caption else ""
    head = f'<div class="item" id="{escape(table.name)}"><h3>{escape(table.title)}</h3>'
    return f"{head}{switches}{to_html(table)}{caption}</div>"


def _switch_html(name: str, text: str) -> str:
    """A box that shows or hides lines of the cells."""
    return f'<label><input type="checkbox" checked data-hide="{name}"> {text}</label>'


def figure_html(figure: Figure) -> str:
    """A figure with its legend, panels, caption and numbers; page.js finds the series by data-s."""
    panels = "".join(_panel_html(figure, i, panel) for i, panel in enumerate(figure.panels))
    keys = "".join(
        f'<li><button type="button" class="{"m" if s == MUTED else f"s{s}"}{" broken" if dash else ""}" '
        f'data-s="{escape(label)}" aria-pressed="false"><span>{escape(label)}</span></button></li>'
        for label, s, dash, _ in figure.legend
    )
    legend = f'<ul class="legend" aria-label="Legend">{keys}</ul>' if keys else ""
    numbers = ""
    if figure.table is not None:
        numbers = f"<details><summary>The numbers</summary>{to_html(figure.table)}</details>"
    grid = f'<div class="panels{" small" if figure.small else ""}">{panels}</div>'
    if figure.small:
        links = "".join(f'<a href="#{_panel_anchor(figure, p)}">{escape(p.title)}</a> ' for p in figure.panels)
        said = f"{len(figure.panels)} problems"
        grid = f'<details open class="many"><summary>{said}</summary><p class="links">{links}</p>{grid}</details>'
    return (
        f'<figure class="item" id="{escape(figure.name)}"><h3>{escape(figure.title)}</h3>{legend}{grid}'
        f"<figcaption>{escape(figure.caption)}</figcaption>{numbers}</figure>"
    )


def _panel_html(figure: Figure, i: int, panel: Panel) -> str:
    """A picture with its title; in a figure of many each has a name to link to, and its numbers below."""
    head = f"<h4>{escape(panel.title)}</h4>" if len(figure.panels) > 1 else ""
    anchor, numbers = "", ""
    if figure.small:
        name = _panel_anchor(figure, panel)
        anchor = f' id="{name}"'
        head = f'<h4><a href="#{name}">{escape(panel.title)}</a></h4>'
    if panel.table is not None:
        numbers = f"<details><summary>The numbers</summary>{to_html(panel.table)}</details>"
    drawn = svg.draw_panel(panel, f"{figure.name}-{i}", figure.title)
    return f'<div{anchor} style="--width:{panel.size[0]}px">{head}{drawn}{numbers}</div>'


def _panel_anchor(figure: Figure, panel: Panel) -> str:
    """The name to link to a panel by."""
    return escape(f"{figure.name}-{panel.title}".replace(" ", "-"))


# -- what was run ----------------------------------------------------------------------------


def _provenance_section(sections: Sequence[Section], results: StoreContents, *, folded: bool) -> str:
    """The sessions that made the results, the time they took, and the digest of all results, as HTML."""
    columns = [
        Column(c, left=True)
        for c in ("started (UTC)", "experiments", "runs", "time", "workers", "processor", "versions")
    ]
    rows = [_make_session_row(facts) for facts in results.sessions.values()]
    times = _make_time_table(sections)
    parts = [table_html(Table("sessions", "Sessions", columns, rows, "Runs that were missing when the session began."))]
    if times is not None:
        parts.append(table_html(times))
    parts.append(
        "<p>Every run is named by its method, options, policy digest, problem, dimension, instance, budget and seed, "
        "and gives the same result on the same platform: versions of the packages, kernels of linear algebra, one "
        "thread. <code>meco verify</code> draws runs and repeats them. "
        f"Digest of all results: <code>{escape(results.digest[:16])}</code>.</p>"
    )
    return part_html("made", "How this was made", "".join(parts), folded=folded)


def _make_session_row(session: dict[str, Any]) -> list[Cell]:
    """A row of the table of sessions, from what the runner keeps of one (describe_session); absent facts may be."""
    facts = SESSION_DEFAULTS | {name: fact for name, fact in session.items() if fact is not None}
    seconds = float(facts["seconds"])
    names = facts["experiments"]
    return [
        Cell(facts["started"].replace("T", " ").removesuffix("Z"), facts["started"]),
        Cell(", ".join(names) if len(names) < 4 else f"{len(names)} experiments"),
        Cell(f"{facts['runs']:,}", float(facts["runs"])),
        Cell(format_duration(seconds) if seconds else "stopped", seconds),
        Cell(f"{facts['workers']} ({facts['executor']})", float(facts["workers"])),
        Cell(f"{facts['processor']}, {facts['cores']} cores, {facts['system']}"),
        Cell(", ".join(f"{label} {facts[key]}" for key, label in VERSIONS.items() if key in facts)),
    ]


def _make_time_table(sections: Sequence[Section]) -> Table | None:
    """Seconds of one core that a run took, by method, each run once; None where nothing ran."""
    each = {  # experiments share runs: each counts once
        id(record): (s.contenders[m].method, record.seconds)
        for section in sections
        for s in section.sets
        for (m, _, _), record in s.records.items()
    }
    spent: dict[str, list[float]] = {}
    for method, seconds in each.values():
        spent.setdefault(method, []).append(seconds)
    if not spent:
        return None
    rows = [
        [Cell(name, name), Cell(f"{len(v):,}", float(len(v))), Cell(f"{sum(v) / len(v):.3f}", sum(v) / len(v)),
         Cell(format_duration(sum(v)), sum(v))]
        for name, v in sorted(spent.items(), key=lambda pair: -sum(pair[1]))
    ]  # fmt: skip
    columns = [Column("Method", head=True), Column("runs"), Column("seconds a run"), Column("in all")]
    return Table(
        "times",
        "Time on one core",
        columns,
        rows,
        "Processor time; runs that advance together share the time of their group.",
    )
