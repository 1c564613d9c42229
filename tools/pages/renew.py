"""Pages with their blocks and numbers as the tables, records and measurements have them now."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from meco.bench.plan.contender import AS_PRINTED
from meco.bench.report.names import OURS
from tools.pages import designs, methods, results, scale, steering, store
from tools.pages.picture import draw_headline
from tools.pages.standings import headline_standings
from tools.pages.tables import ROOT, format_percent, parse_number, read_table

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "methods").glob("*.md")))
PICTURE = DOCS / "images" / "results.svg"
BLOCK = re.compile(r"(<!-- numbers: ([^>]+?) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
INLINE = re.compile(r"(<!--=([^>]+)-->).*?(<!--/-->)", flags=re.DOTALL)
BLOCKS: dict[str, Callable[..., str]] = {
    "headline": results.headline_table,
    "verdict": results.verdict_text,
    "exceptions": results.exceptions_text,
    "summary": results.suite_summary,
    "ranks": results.rank_table,
    "losses": results.losses_table,
    "printed": results.printed_comparison,
    "beside": results.side_by_side_table,
    "table": results.full_table,
    "protocol": results.run_counts_text,
    "policy": steering.policy_table,
    "learned": steering.learned_text,
    "methods": methods.methods_table,
    "units": methods.units_text,
    "scale": scale.scale_text,
    "designs": designs.designs_table,
    "designs-verdict": designs.designs_verdict,
}
COUNTED: dict[str, Callable[..., str]] = {  # numbers that no table has
    "duels": results.count_duels,  # A|B|SUITES: on how many problems A is ahead of B, feasibility first
    "instead": results.rank_instead,  # A|B|SUITE: the rank of A in the place of B among the paper's methods
    "judged": steering.describe_judged,  # a profile, chance, "best" (of the profiles) or "policy": its quantile and p
    "stored": lambda which: f"{store.count_runs(which):,}",  # all, or older
}


def format_table_number(place: str) -> str:
    """A number of a table: TABLE|ROW|COLUMN, and how it is written. Others, by the first word, are in COUNTED."""
    name, row, *rest = place.split("|")
    if name in COUNTED:
        return COUNTED[name](row, *rest)
    column, *form = rest
    rows = read_table(name) or {}
    if row not in rows and (not rows or row in (*OURS, AS_PRINTED)):  # not run yet; any other name is a mistake
        return "–"
    found = rows[row][column]
    return format_percent(found) if form == ["%"] else format(parse_number(found), form[0] if form else ".2f")


def renew_page(text: str) -> str:
    """A page with its blocks and numbers as they are now."""

    def block(seen: re.Match[str]) -> str:
        kind, *arguments = seen[2].split()
        return f"{seen[1]}\n{BLOCKS[kind](*arguments)}\n\n{seen[3]}"

    return INLINE.sub(lambda seen: seen[1] + format_table_number(seen[2]) + seen[3], BLOCK.sub(block, text))


def make_pages() -> dict[Path, str]:
    """Every file, as it should be."""
    return {
        **{page: renew_page(page.read_text(encoding="utf-8")) for page in PAGES},
        PICTURE: draw_headline(headline_standings()),
    }
