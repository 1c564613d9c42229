"""Runs that are kept in a file, so that a table can be filled up later."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


class KeptRuns:
    """Rows of runs as lines of JSON, [key, row]: a second call goes on where the first was stopped. None: no file.

    A key is a list of all that a run depends on, its budget too. Lines that are no such pair, as one that was cut when
    a run was killed, are skipped, and their runs are made again.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        text = self.path.read_text() if self.path is not None and self.path.exists() else ""
        self.rows: dict[str, Any] = {json.dumps(key): row for key, row in _read_pairs(text)}
        self._ends_a_cut_line = "" if not text or text.endswith("\n") else "\n"

    def __call__(self, key: list[Any], make: Callable[[], Any]) -> Any:
        """The row of this key, made and appended to the file where it is not there yet."""
        name = json.dumps(key)
        if name not in self.rows:
            self.rows[name] = row = make()
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(f"{self._ends_a_cut_line}{json.dumps([key, row])}\n")
                self._ends_a_cut_line = ""
        return self.rows[name]

    def rows_of(self, *beginning: Any) -> list[Any]:
        """Rows whose keys begin like this, in the order of the rest of their keys."""
        size, keys = len(beginning), map(json.loads, self.rows)
        chosen = sorted(key for key in keys if key[:size] == [*beginning])
        return [self.rows[json.dumps(key)] for key in chosen]


def _read_pairs(text: str) -> Iterator[tuple[list[Any], Any]]:
    """The pairs of key and row that lines hold."""
    for line in text.splitlines():
        try:
            pair = json.loads(line)
        except ValueError:
            continue
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], list):
            yield pair[0], pair[1]
