"""Blocks about the methods, from their records: all of them as a table, and on which units a search depends."""

from __future__ import annotations

from meco.bench.report.names import shown_name
from meco.method_record import MethodRecord, native_pop_size, paper_pop_size
from meco.methods import METHODS
from tools.pages.tables import ROOT, markdown_table

PAGES = ROOT / "docs" / "methods"
HEAD = (
    "method",
    "family",
    "what it is",
    "population",
    "lockstep",
    "ask/tell",
    "depends on units of",
    "needs",
    "seconds",
)
UNITS = {  # what a method notices -> what its page says
    (): "The search does not depend on the unit of f or of any constraint.",
    (
        "f",
    ): "The search knows by the unit of f that it has converged: divide f by what is a large value of it. It does not "
    "depend on the units of the constraints.",
    (
        "each",
    ): "The search depends neither on the unit of f nor on one that all constraints share; but violations of different "
    "constraints are added up, so state them in units in which they are of like size.",
    (
        "all",
        "each",
    ): "The search does not depend on the unit of f, but on those of the constraints: divide each by what is a "
    "large value of it.",
    (
        "f",
        "all",
        "each",
    ): "The search adds violations to f, so it depends on the units of f and of the constraints: divide each "
    "by what is a large value of it.",
}
SIZES = {paper_pop_size: "50", native_pop_size: "4 + ⌊3 ln D⌋", None: ""}


def methods_table() -> str:
    """Every method of the library, one row each."""
    return markdown_table(
        HEAD, [_method_row(name, METHODS[name]) for name in METHODS if _method_page(name) is not None], "---", "---"
    )


def units_text(name: str) -> str:
    """What the page of a method says of units."""
    return f"**Units.** {UNITS[METHODS[name].scale_sensitive_to]}"


def _method_row(name: str, record: MethodRecord) -> tuple[str, ...]:
    """The row of a method, by HEAD."""
    size = record.population
    counted = SIZES[size] if size in SIZES else f"{size(50, 2500)} at D = 50"
    link = f"[{shown_name(name)}]({_method_page(name)})"
    return (
        link, record.family, record.about, counted, "yes" if record.lockstep else "",
        "yes" if record.has_ask else "",
        ", ".join(_SHORT[unit] for unit in record.scale_sensitive_to if unit in _SHORT),
        record.extra or "", f"{record.cost_seconds:g}",
    )  # fmt: skip


_SHORT = {"f": "f", "each": "constraints"}


def _method_page(name: str) -> str | None:
    """The page of a method, or of its family; a plug-in has none here."""
    names = (f"{stem.lower()}.md" for stem in (name, METHODS[name].family))
    return next((page for page in names if (PAGES / page).is_file()), None)
