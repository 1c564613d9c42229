"""Pages with their blocks and numbers as the tables, records and measurements have them now."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tools.pages import methods, results, scale, steering
from tools.pages.picture import picture
from tools.pages.standings import OURS, standings
from tools.pages.tables import ROOT, percent, read, value

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "methods").glob("*.md")))
PICTURE = DOCS / "images" / "results.svg"
BLOCK = re.compile(r"(<!-- numbers: ([^>]+?) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
INLINE = re.compile(r"(<!--=([^>]+)-->).*?(<!--/-->)", flags=re.DOTALL)
BLOCKS: dict[str, Callable[..., str]] = {
    "headline": results.headline, "verdict": results.verdict, "summary": results.summary, "ranks": results.ranks,
    "losses": results.losses, "printed": results.printed, "beside": results.beside, "table": results.whole,
    "protocol": results.protocol, "policy": steering.policy, "gains": steering.gains, "learned": steering.learned,
    "methods": methods.methods, "units": methods.units, "scale": scale.scale,
}  # fmt: skip


def cell(place: str) -> str:
    """A number of a table: TABLE|ROW|COLUMN, and how it is written; control|trained is what a training took."""
    name, row, *rest = place.split("|")
    if name == "control":
        return str(steering.control()[row])
    column, *form = rest
    rows = read(name) or {}
    if row not in rows and (not rows or row in OURS):  # not run yet; any other name is a mistake
        return "–"
    found = rows[row][column]
    return percent(found) if form == ["%"] else format(value(found), form[0] if form else ".2f")


def renew_page(text: str) -> str:
    """A page with its blocks and numbers as they are now."""

    def block(seen: re.Match[str]) -> str:
        kind, *arguments = seen[2].split()
        return f"{seen[1]}\n{BLOCKS[kind](*arguments)}\n\n{seen[3]}"

    return INLINE.sub(lambda seen: seen[1] + cell(seen[2]) + seen[3], BLOCK.sub(block, text))


def make_pages() -> dict[Path, str]:
    """Every file, as it should be."""
    return {**{page: renew_page(page.read_text(encoding="utf-8")) for page in PAGES}, PICTURE: picture(standings())}
