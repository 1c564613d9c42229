"""JSON files that people can read, also where very much is in them."""

import json

import pytest

from meco.files.atomic import format_json

NESTED = {"a": 1, "b": [1, {"c": []}], "ö": {"x": {}, "y": [[2]]}, "s": "l\nm", "none": None}


@pytest.mark.parametrize("content", [{}, NESTED, [1, NESTED], 3, {"e": [], "f": {}}])
def test_a_file_has_a_line_for_each_number_or_text(content):
    assert format_json(content) == json.dumps(content, ensure_ascii=False, indent=1)


def test_very_many_entries_of_one_key_stand_in_one_line():
    content = {"first": [1, 2], "many": {f"g{i}": {"value": 0.5} for i in range(20_000)}, "more": [0.25] * 10_000}
    text = format_json(content)
    assert json.loads(text) == content
    assert text.count("\n") == 2 + 4 + 1 + 1 - 1
