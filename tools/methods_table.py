"""The table of docs/methods/index.md, from the records of METHODS; a test compares them.

python tools/methods_table.py
"""

from __future__ import annotations

from pathlib import Path

from meco.method import Method, by_dimension, fifty
from meco.methods import METHODS

PAGES = Path(__file__).parent.parent / "docs" / "methods"
BEGIN, END = "<!-- begin: tools/methods_table.py -->", "<!-- end -->"
SIZES = {fifty: "50", by_dimension: "4 + ⌊3 ln D⌋", None: ""}


def table() -> str:
    """Every method of the library, one row each."""
    head = "| method | family | what it is | population | lockstep | ask/tell | needs | seconds |"
    rows = [_row(name, METHODS[name]) for name in METHODS if _page(name) is not None]
    return "\n".join([head, "|---|---|---|---|---|---|---|---|", *rows])


def _row(name: str, record: Method) -> str:
    size = record.population
    counted = SIZES[size] if size in SIZES else f"{size(50, 2500)} at D = 50"
    facts = (
        f"[{name}]({_page(name)})", record.family, record.about, counted, "yes" if record.lockstep else "",
        "yes" if record.asked else "", record.extra or "", f"{record.seconds:g}",
    )  # fmt: skip
    return "| " + " | ".join(facts) + " |"


def _page(name: str) -> str | None:
    """The page of a method, or of its family; a plug-in has none here."""
    names = (f"{stem.lower()}.md" for stem in (name, METHODS[name].family))
    return next((page for page in names if (PAGES / page).is_file()), None)


def renewed(text: str) -> str:
    """The page with its table as the records have it now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    index = PAGES / "index.md"
    index.write_text(renewed(index.read_text(encoding="utf-8")), encoding="utf-8")
