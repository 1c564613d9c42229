from __future__ import annotations

import sys

from meco.bench.report.campaign_report import write_tables
from tools.pages import scale
from tools.pages.renew import make_pages
from tools.pages.tables import ROOT


def main(words: list[str]) -> int:
    if words != ["--check"]:
        write_tables(ROOT / "results")
        scale.draw_scale(ROOT / "docs" / "images" / "scale.png")
    files = make_pages()
    old = [f for f, text in files.items() if not f.is_file() or f.read_text(encoding="utf-8") != text]
    if words == ["--check"]:
        print("\n".join(f"out of date: {f.relative_to(ROOT)}" for f in old) or "pages and tables agree")
        return 1 if old else 0
    for file in old:
        file.write_text(files[file], encoding="utf-8")
        print(f"wrote {file.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
