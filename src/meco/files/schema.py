"""What a JSON file must look like, said as a value: how JSON that others may have made is checked.

A form is int, Large(bits), float, str, bool, dict or object (anything); [form] is a list, {str: form} an object with
any names, {"name": form, ...} one that has at least these, Maybe(form) may also be null or absent.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from meco.errors import DamagedFile
from meco.files.regular_files import read_regular

LARGEST_JSON_BYTES = 1 << 26  # bytes
LARGEST_NUMBER = 1 << 63
WORDS = {
    int: "a whole number of at most 63 bits",
    float: "a finite number",
    str: "a text",
    bool: "true or false",
    dict: "an object",
}


class Large(NamedTuple):
    """A whole number from 0 on of at most so many bits: a seed."""

    bits: int


class Maybe(NamedTuple):
    """A form that may be null, or absent."""

    form: Any


def read_json(path: Path, largest: int = LARGEST_JSON_BYTES) -> Any:
    """What a JSON file holds; missing, too large, too deep, not UTF-8 or not JSON is a DamagedFile."""
    try:
        return parse_json(read_regular(path, largest), str(path))
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror or error}") from error


def parse_json(text: Any, where: str) -> Any:
    """What a JSON text, str or bytes, holds; anything else is a DamagedFile, which calls it `where`."""
    if not isinstance(text, (str, bytes)):  # a column of a table may hold anything
        raise DamagedFile(f"{where} is not a JSON text: it is {type(text).__name__}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, thousands of digits, or absurdly deep
        said = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DamagedFile(f"{where} is not a JSON file: {said}") from error


def check_form(value: Any, form: Any, where: str) -> None:
    """Refuse a value that has not the form: DamagedFile names the place, beginning with `where`.

    Entries of an object that its form does not name are let through, unless it has str for all.
    """
    if isinstance(form, Large):
        right = type(value) is int and 0 <= value < 1 << form.bits
        _require(right, where, f"a whole number of at most {form.bits} bits", value)
    elif isinstance(form, Maybe):
        if value is not None:
            check_form(value, form.form, where)
    elif isinstance(form, list):
        _require(isinstance(value, list), where, "a list", value)
        for i, item in enumerate(value):
            check_form(item, form[0], f"{where}[{i}]")
    elif isinstance(form, dict):
        _require(isinstance(value, dict), where, WORDS[dict], value)
        for name, inner in value.items() if str in form else ():
            check_form(inner, form[str], f"{where}.{name}")
        for name, inner in form.items():
            if name is not str:
                _require(name in value or isinstance(inner, Maybe), f"{where}.{name}", "there", "nothing")
                check_form(value.get(name), inner, f"{where}.{name}")
    else:
        _require(_is_kind(value, form), where, WORDS.get(form, form.__name__), value)


def _is_kind(value: Any, kind: type) -> bool:
    """Whether a value is of a kind; numbers must be finite and of sensible size, and True is none."""
    if kind is int:
        return type(value) is int and abs(value) < LARGEST_NUMBER
    if kind is float:
        return _is_kind(value, int) or (type(value) is float and math.isfinite(value))
    return isinstance(value, kind)


def _require(right: bool, where: str, wanted: str, value: Any) -> None:
    """DamagedFile for a value that is not right: where it stands, and what was wanted."""
    if not right:
        raise DamagedFile(f"{where} must be {wanted}; got {value!r:.60}")
