"""HTML pages that stand alone: sections of text, tables and figures, rendered by one template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, ClassVar

from meco.errors import load_extra
from meco.plot.style import printable


@dataclass(frozen=True)
class PageTable:
    """A table of texts; the first column names the rows. A line break in a cell begins a smaller line."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    marks: Sequence[Sequence[str]] = ()  # "best", "second" or "" for each cell but the first of a row
    text_columns: Sequence[int] = ()  # numbers of columns that are aligned left, the first after the name is 1
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class PagePicture:
    """A figure as SVG text, with its caption and the table of its numbers."""

    title: str
    svg: str
    caption: str = ""
    table: PageTable | None = None
    kind: ClassVar[str] = "picture"


@dataclass(frozen=True)
class Note:
    """Lines that a reader must not miss."""

    lines: Sequence[str]
    kind: ClassVar[str] = "note"


@dataclass(frozen=True)
class Listing:
    """Text in columns, shown as it is."""

    text: str
    kind: ClassVar[str] = "listing"


@dataclass(frozen=True)
class Section:
    """A part of a page: paragraphs (text), tables, pictures and notes in order."""

    ident: str
    title: str
    items: list[str | PageTable | PagePicture | Note | Listing] = field(default_factory=list)
    folded: bool = False


def render_page(title: str, about: str, sections: Sequence[Section], refresh: int = 0) -> str:
    """The page as HTML text that needs no other file; refresh: seconds after which a browser loads it again."""
    markup = load_extra("markupsafe", "plot", "a page").Markup
    trusted = [_trust_pictures(section, markup) for section in sections]
    return _load_template().render(title=title, about=about, sections=trusted, refresh=refresh)


def _trust_pictures(section: Section, markup: Any) -> Section:
    """A section for the template, in which the SVG of pictures is not escaped."""
    items = [replace(item, svg=markup(item.svg)) if isinstance(item, PagePicture) else item for item in section.items]
    return replace(section, items=items)


@cache
def _load_template() -> Any:
    """The template; every text that enters it is escaped."""
    jinja2 = load_extra("jinja2", "plot", "a page")
    source = resources.files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_clean)
    return environment.from_string(source)


def _clean(value: Any) -> Any:
    """A plain text without control characters; SVG and everything else as it is."""
    return printable(value) if type(value) is str else value
