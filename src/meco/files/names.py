"""Texts that others chose, as names of files and on a terminal: nothing leads out of a folder or moves the cursor."""

from __future__ import annotations

import re

LONGEST = 120
UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"  # what commands a terminal


def safe_name(text: str) -> str:
    """The text as the name of a file in a folder: letters, digits and -_.+=,()@ stay, anything else becomes "_"."""
    name = re.sub(r"[^\w\-.+=,()@ ]", "_", text)[:LONGEST].strip(". ")
    return name or "_"


def escape_for_terminal(text: str) -> str:
    """The text for a terminal: what would move the cursor, hide or turn what is written is spelt out."""
    return re.sub(UNSEEN, lambda found: found[0].encode("unicode_escape").decode(), text)
