"""What the docs build adds to the pages: pictures, tutorials as notebooks, and the report page (see mkdocs.yml)."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from meco.report.page import write_campaign_report  # noqa: E402
from tools import gallery  # noqa: E402
from tools.notebook import make_notebook  # noqa: E402

REDIRECTS = {  # pages that are gone -> where their readers go
    "challenge": "train-your-own/#another-learner",
    "control": "train-your-own/#learning-to-control-tr",
    "old-names": "architecture/",
    "repaired": "promises/",
    "doors/optiprofiler": "adapters/",
    **{f"methods/{name}": "methods/" for name in ("colshade", "nomad", "optuna-gp", "optuna-tpe", "scbo")},
}
REDIRECT = """<!doctype html>
<meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{0}">
<meta http-equiv="refresh" content="0; url={0}"><p>This page is <a href="{0}">here</a> now.</p>
"""


def on_files(files: Files, config: Any) -> Files:
    """Files that are made, beside those that are written."""
    for name, place in REDIRECTS.items():
        address = "../" * (1 + name.count("/")) + place
        files.append(File.generated(config, f"{name}/index.html", content=REDIRECT.format(address)))
    for name, draw in gallery.PICTURES.items():
        files.append(File.generated(config, f"made/{name}", content=draw()))
    for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        made = json.dumps(make_notebook(page.read_text(encoding="utf-8")), indent=1)
        files.append(File.generated(config, f"tutorials/{page.stem}.ipynb", content=made))
    files.append(File.generated(config, "report.html", content=compose_report()))
    return files


@cache  # a server builds the pages again and again
def compose_report() -> bytes:
    """The page of our results, from the packed store."""
    return write_campaign_report(ROOT / "results", page_only=True).page.read_bytes()
