"""A table as data, and the ways to write it: HTML, LaTeX, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Cell:
    """What a cell says: its main text, what it sorts by, whether it is best or second, and lines below."""

    text: str
    value: float | str | None = None
    mark: str = ""  # best, second
    lines: tuple[tuple[str, str], ...] = ()  # (kind, text); kinds: spread, population, paper
    paper_mark: str = ""  # best, second among the printed values


@dataclass(frozen=True)
class Column:
    """A column's head; peer columns are ours, beside the paper's methods."""

    label: str
    hint: str = ""
    peer: bool = False
    head: bool = False  # whether its cells are row headings
    left: bool = False  # words, not numbers


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns, with a file name, a title and a caption."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    footer: Sequence[Sequence[Cell]] = ()
    long: tuple[Sequence[str], Sequence[Sequence[object]]] | None = None  # other CSV than the cells
    wide: bool = False


def format_number(value: float, digits: int = 3) -> str:
    """A number as tables print it: 1.01e5, 0.925, 17.4; a dash for nan, ∞ for infinity."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value != 0 and not 1e-3 <= abs(value) < 10 ** max(4, digits):
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:.0f}"
    return f"{value:#.{digits}g}"


def format_fixed(value: float, decimals: int) -> str:
    """A number with so many decimals; a dash for nan."""
    return "–" if math.isnan(value) else f"{value:.{decimals}f}"


def format_share(share: float) -> str:
    """A share of [0, 1] in percent: 100 %, 37 %, two digits below a tenth (4.2 %), so that few are not none."""
    percent = 100 * share
    return f"{percent:.2g} %" if 0 < share < 0.1 else f"{math.floor(percent + 0.5)} %"


def mark_best(values: Sequence[float], decimals: int | None = None) -> list[str]:
    """Marks "best" and "second" for the two least values, else ""; equal values share their mark, nan has none."""
    shown = [v if decimals is None else round(v, decimals) for v in values]
    distinct = sorted({v for v in shown if not math.isnan(v)})[:2]
    names = dict(zip(distinct, ("best", "second")))
    return [names.get(v, "") for v in shown]


def format_text(table: Table, without: Sequence[str] = ()) -> list[str]:
    """The lines of a table in plain text, headings first; columns of these labels are left out."""
    heads = [c.label for c in table.columns]
    chosen = [i for i, head in enumerate(heads) if head not in without]
    rows = [heads, *([cell.text for cell in row] for row in table.rows)]
    widths = {i: max(len(row[i]) for row in rows) for i in chosen}
    return [
        "  " + "  ".join(row[i].ljust(widths[i]) if i == 0 else row[i].rjust(widths[i]) for i in chosen) for row in rows
    ]


# -- HTML ------------------------------------------------------------------------------------


def to_html(table: Table) -> str:
    """The table as HTML for the page: sortable, its first column a row heading; texts are escaped."""
    named = any(column.label for column in table.columns)
    heads = f"<thead><tr>{''.join(map(_html_head, table.columns))}</tr></thead>" if named else ""
    body = "".join(f"<tr>{_html_row(table, row)}</tr>" for row in table.rows)
    foot = "".join(f"<tr>{_html_row(table, row)}</tr>" for row in table.footer)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f"<table{_class_attribute('wide' if table.wide else '')}><caption>{escape(table.title)}</caption>"
        f"{heads}<tbody>{body}</tbody>{f'<tfoot>{foot}</tfoot>' if foot else ''}</table></div>"
    )


def _html_head(column: Column) -> str:
    """The head of a column, which sorts the rows when it is pressed; one without a name does not."""
    if not column.label:
        return "<td></td>"
    classes = _class_attribute("peer" * column.peer or "left" * column.left)
    hint = f' title="{escape(column.hint)}"' if column.hint else ""
    button = f'<button type="button"{hint}>{escape(column.label)}</button>'
    return f'<th scope="col"{classes} aria-sort="none">{button}</th>'


def _html_row(table: Table, row: Sequence[Cell]) -> str:
    """The cells of a row; page.js sorts by data-v and hides the lines by their classes."""
    parts = []
    for column, cell in zip(table.columns, row):
        tag = "th" if column.head else "td"
        scope = ' scope="row"' if column.head else ""
        value = "" if cell.value is None else f' data-v="{escape(_sort_value(cell.value))}"'
        classes = _class_attribute(" ".join(filter(None, ("peer" * column.peer, "left" * column.left, cell.mark))))
        spoken = f'<span class="sr"> ({cell.mark})</span>' if cell.mark else ""
        lines = "".join(
            f'<span class="{kind}{" " + cell.paper_mark if kind == "paper" else ""}">{escape(text)}</span>'
            for kind, text in cell.lines
        )
        parts.append(f"<{tag}{scope}{classes}{value}><b>{escape(cell.text)}</b>{spoken}{lines}</{tag}>")
    return "".join(parts)


def _sort_value(value: float | str) -> str:
    """What a column is sorted by, as an attribute's text; nan and -inf come last too."""
    if isinstance(value, str):
        return value
    return "Infinity" if math.isnan(value) or math.isinf(value) else f"{value:.9g}"


def _class_attribute(names: str) -> str:
    """A class attribute; nothing without names."""
    return f' class="{names}"' if names else ""


def _join_lines(text: str) -> str:
    """The text without ends of lines, of which every program knows others: what follows one is no longer a comment."""
    return " ".join(text.splitlines())


# -- LaTeX -----------------------------------------------------------------------------------

_TEX = {
    "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$", "{": r"\{", "}": r"\}", "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": "$<$", ">": "$>$", "|": "$|$",
    "ν": r"$\nu$", "ε": r"$\epsilon$", "–": "--", "±": r"$\pm$", "∞": r"$\infty$", "²": r"$^2$", "Δ": r"$\Delta$",
    "≤": r"$\leq$", "×": r"$\times$",
}  # fmt: skip


def to_latex(table: Table) -> str:
    """The table as LaTeX with booktabs rules; best bold, second underlined; texts are escaped."""
    align = "".join("l" if c.head or c.left or i == 0 else "r" for i, c in enumerate(table.columns))
    lines = [
        "% " + _join_lines(table.title),
        r"\begin{tabular}{" + align + "}",
        r"\toprule",
        " & ".join(_escape_tex(c.label) for c in table.columns) + r" \\",
        r"\midrule",
        *(_tex_row(row) for row in table.rows),
        *([r"\midrule"] if table.footer else []),
        *(_tex_row(row) for row in table.footer),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _tex_row(row: Sequence[Cell]) -> str:
    """A row of LaTeX, with its end."""
    return " & ".join(_tex_cell(cell) for cell in row) + r" \\"


def _tex_cell(cell: Cell) -> str:
    """The text, bold or underlined as marked, with the lines below it in small print."""
    main = _escape_tex(cell.text)
    main = {"best": rf"\textbf{{{main}}}", "second": rf"\underline{{{main}}}"}.get(cell.mark, main)
    if not cell.lines:
        return main
    below = r" \\ ".join(r"{\scriptsize " + _escape_tex(text) + "}" for _, text in cell.lines)
    return r"\shortstack{" + main + r" \\ " + below + "}"


def _escape_tex(text: str) -> str:
    """Text in which LaTeX reads no command."""
    escaped = "".join(_TEX.get(char, char) for char in _join_lines(text))
    escaped = re.sub(r"^[\[*]", r"{\g<0>}", escaped)  # the line break before it would read it as its own argument
    return re.sub(r"(?<![\w.])(-?\d[\d.]*)e(-?\d+)", r"$\1\\mathrm{e}{\2}$", escaped)


# -- Markdown --------------------------------------------------------------------------------


def to_markdown(table: Table) -> str:
    """The main numbers for a README: best bold, second in italics; lines below follow in brackets."""
    head = "| " + " | ".join(_escape_markdown(c.label) for c in table.columns) + " |"
    rule = "|" + "|".join(":--" if c.head or c.left else "--:" for c in table.columns) + "|"
    rows = ["| " + " | ".join(_markdown_cell(cell) for cell in row) + " |" for row in (*table.rows, *table.footer)]
    return "\n".join([head, rule, *rows]) + "\n"


def _markdown_cell(cell: Cell) -> str:
    """The text of a cell, bold or in italics as marked."""
    text = _escape_markdown(cell.text)
    marked = {"best": f"**{text}**", "second": f"*{text}*"}.get(cell.mark, text)
    return " ".join([marked, *(f"({_escape_markdown(line)})" for kind, line in cell.lines if kind != "population")])


def _escape_markdown(text: str) -> str:
    """Text that ends neither its cell nor its row."""
    return _join_lines(text).replace("|", r"\|")


# -- CSV -------------------------------------------------------------------------------------


def to_csv(table: Table) -> str:
    """The numbers as CSV text with a head: one row per row, or the long form a table brings with it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if table.long is not None:
        writer.writerow(table.long[0])
        writer.writerows([_csv_value(v) for v in row] for row in table.long[1])
        return out.getvalue()
    writer.writerow([c.label for c in table.columns])
    for row in (*table.rows, *table.footer):
        writer.writerow([_csv_value(c.text if c.value is None else c.value) for c in row])
    return out.getvalue()


def _csv_value(value: object) -> object:
    """A value as CSV keeps it: floats to ten digits, nothing for nan and None."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.10g}"
    return "" if value is None else value
