"""A page of the docs as a notebook: its text, its Python blocks as cells, the text blocks after them as their output.

python -m tools.notebook docs/tutorials/first-problem.md first-problem.ipynb
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

FENCE = re.compile(r"```(\w+)\n(.*?)```\n?", flags=re.DOTALL)


def make_notebook(page: str) -> dict[str, Any]:
    """The notebook (format 4.5) of a Markdown page; a block of another language stays part of the text."""
    cells: list[dict[str, Any]] = []
    written, at = "", 0
    for block in FENCE.finditer(page):
        between, at = page[at : block.start()], block.end()
        if (
            block[1] == "text"
            and not between.strip()
            and not written.strip()
            and cells
            and cells[-1]["cell_type"] == "code"
        ):
            cells[-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": _split_lines(block[2])}]
        elif block[1] == "python":
            written = _end_text_cell(cells, written + between)
            cells.append(
                {"cell_type": "code", "execution_count": None, "outputs": [], "source": _split_lines(block[2])}
            )
        else:
            written += between + block[0]
    _end_text_cell(cells, written + page[at:])
    for number, cell in enumerate(cells):
        cell |= {"id": f"cell-{number}", "metadata": {}}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}


def _end_text_cell(cells: list[dict[str, Any]], text: str) -> str:
    """Text so far as a cell, if it says anything; nothing is left to be written."""
    if text.strip():
        cells.append({"cell_type": "markdown", "source": _split_lines(text.strip())})
    return ""


def _split_lines(text: str) -> list[str]:
    return text.rstrip("\n").splitlines(keepends=True)


if __name__ == "__main__":
    page, made = map(Path, sys.argv[1:3])
    made.write_text(json.dumps(make_notebook(page.read_text(encoding="utf-8")), indent=1) + "\n", encoding="utf-8")
