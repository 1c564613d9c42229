"""Numbers of README.md and of the docs, written from results/tables and benchmarks/results/control.json.

    python tools/results_text.py            # rewrite the pages and the picture
    python tools/results_text.py --check    # say which of them are out of date

A block stands between `<!-- numbers: KIND ARGUMENTS -->` and `<!-- end -->`; a number in a sentence is written
`<!--=TABLE|ROW|COLUMN-->3.21<!--/-->`, and `|%` or `|.4f` after the column formats it. Neither is seen on a page.
A number of a table that is not there yet is a dash, and a block says that its experiment has not been run.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "src")]

from tools.results_blocks import BLOCKS, percent  # noqa: E402
from tools.results_numbers import OURS, ROOT, control, read, standings, value  # noqa: E402
from tools.results_picture import picture  # noqa: E402

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", DOCS / "results.md", DOCS / "index.md", DOCS / "methods" / "index.md")
PICTURE = ROOT / "docs" / "images" / "results.svg"
BLOCK = re.compile(r"(<!-- numbers: ([^>]+?) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
INLINE = re.compile(r"(<!--=([^>]+)-->).*?(<!--/-->)", flags=re.DOTALL)


def cell(place: str) -> str:
    """A number of a table: TABLE|ROW|COLUMN, and how it is written; control|trained is what a training took."""
    name, row, *rest = place.split("|")
    if name == "control":
        return str(control()[row])
    column, *form = rest
    rows = read(name) or {}
    if row not in rows and (not rows or row in OURS):  # not run yet; any other name is a mistake
        return "–"
    found = rows[row][column]
    return percent(found) if form == ["%"] else format(value(found), form[0] if form else ".2f")


def renewed(text: str) -> str:
    """A page with its blocks and numbers as the tables have them now."""

    def block(seen: re.Match[str]) -> str:
        kind, *arguments = seen[2].split()
        return f"{seen[1]}\n{BLOCKS[kind](*arguments)}\n\n{seen[3]}"

    return INLINE.sub(lambda seen: seen[1] + cell(seen[2]) + seen[3], BLOCK.sub(block, text))


def made() -> dict[Path, str]:
    """Every file, as it should be."""
    return {**{page: renewed(page.read_text(encoding="utf-8")) for page in PAGES}, PICTURE: picture(standings())}


def main() -> int:
    old = [f for f, text in made().items() if not f.is_file() or f.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        print("\n".join(f"out of date: {f.relative_to(ROOT)}" for f in old) or "pages and tables agree")
        return 1 if old else 0
    for file, text in made().items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
