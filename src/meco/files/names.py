"""File names from texts that others chose: nothing in them leads out of a folder."""

from __future__ import annotations

import re

LONGEST = 120


def safe_name(text: str) -> str:
    """The text as the name of a file in a folder: letters, digits and -_.+=,()@ stay, anything else becomes "_"."""
    name = re.sub(r"[^\w\-.+=,()@ ]", "_", text)[:LONGEST].strip(". ")
    return name or "_"
