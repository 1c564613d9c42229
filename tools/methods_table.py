"""What docs/methods say from the records of METHODS: the table, and on which units a search depends; a test compares.

python tools/methods_table.py
"""

from __future__ import annotations

from pathlib import Path

from meco.method import Method, by_dimension, fifty
from meco.methods import METHODS

PAGES = Path(__file__).parent.parent / "docs" / "methods"
BEGIN, END = "<!-- begin: tools/methods_table.py -->", "<!-- end -->"
UNITS = {  # what a method notices -> what its page says
    (): "The search does not depend on the unit of f or of any constraint.",
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
SIZES = {fifty: "50", by_dimension: "4 + ⌊3 ln D⌋", None: ""}


def table() -> str:
    """Every method of the library, one row each."""
    head = "| method | family | what it is | population | lockstep | ask/tell | depends on units of | needs | seconds |"
    rows = [_row(name, METHODS[name]) for name in METHODS if _page(name) is not None]
    return "\n".join([head, "|---|---|---|---|---|---|---|---|---|", *rows])


def _row(name: str, record: Method) -> str:
    size = record.population
    counted = SIZES[size] if size in SIZES else f"{size(50, 2500)} at D = 50"
    facts = (
        f"[{name}]({_page(name)})", record.family, record.about, counted, "yes" if record.lockstep else "",
        "yes" if record.has_ask else "", ", ".join(_SHORT[unit] for unit in record.notices if unit in _SHORT),
        record.extra or "", f"{record.seconds:g}",
    )  # fmt: skip
    return "| " + " | ".join(facts) + " |"


_SHORT = {"f": "f", "each": "constraints"}


def _page(name: str) -> str | None:
    """The page of a method, or of its family; a plug-in has none here."""
    names = (f"{stem.lower()}.md" for stem in (name, METHODS[name].family))
    return next((page for page in names if (PAGES / page).is_file()), None)


def renewed(text: str) -> str:
    """The page with its table as the records have it now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def pages() -> dict[Path, str]:
    """Each method's page, and what it should say of units."""
    return {PAGES / page: f"**Units.** {UNITS[METHODS[n].notices]}" for n in METHODS if (page := _page(n)) is not None}


def with_units(text: str, said: str) -> str:
    """A method's page that says this of units, before it tells how sure we are."""
    kept = [part for part in text.split("\n\n") if not part.startswith("**Units.**")]
    at = next((i for i, part in enumerate(kept) if part.startswith("**Confidence")), len(kept))
    return "\n\n".join([*kept[:at], said, *kept[at:]])


if __name__ == "__main__":
    index = PAGES / "index.md"
    index.write_text(renewed(index.read_text(encoding="utf-8")), encoding="utf-8")
    for page, said in pages().items():
        page.write_text(with_units(page.read_text(encoding="utf-8"), said), encoding="utf-8")
