"""Runs that are kept in a file, so that a table can be filled up later."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
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
        if not self.has(key):
            self._add(key, make())
        return self.rows[json.dumps(key)]

    def has(self, key: list[Any]) -> bool:
        """Whether the row of this key is there."""
        return json.dumps(key) in self.rows

    def fill(self, keys: Iterable[list[Any]], make: Callable[[list[Any]], Any], processes: int = 1) -> None:
        """Make the rows of these keys that are not there yet by make(key), and append them to the file as they come.

        With several processes, which are started here and end with this call, make must be a function of a module. A
        row whose making fails is named on stderr and left out; a second call tries again.
        """
        left = [key for key in keys if not self.has(key)]
        if processes == 1:
            for key in left:
                done: Future[Any] = Future()
                try:
                    done.set_result(make(key))
                except Exception as error:
                    done.set_exception(error)
                self._take(key, done)
            return
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            asked = {pool.submit(make, key): key for key in left}
            for future in as_completed(asked):
                self._take(asked[future], future)

    def _take(self, key: list[Any], done: Future[Any]) -> None:
        error = done.exception()
        if error is not None:
            print(f"LEFT OUT: {key}: {type(error).__name__}: {error}", file=sys.stderr)
        else:
            self._add(key, done.result())

    def _add(self, key: list[Any], row: Any) -> None:
        self.rows[json.dumps(key)] = row
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(f"{self._ends_a_cut_line}{json.dumps([key, row])}\n")
            self._ends_a_cut_line = ""

    def pairs(self) -> list[tuple[list[Any], Any]]:
        """Keys and rows, in the order in which they were made."""
        return [(json.loads(name), row) for name, row in self.rows.items()]

    def rows_of(self, *beginning: Any) -> list[Any]:
        """Rows whose keys begin like this, in the order of the rest of their keys."""
        size, keys = len(beginning), map(json.loads, self.rows)
        chosen = sorted(key for key in keys if key[:size] == [*beginning])
        return [self.rows[json.dumps(key)] for key in chosen]


def read_rows(paths: Iterable[str | Path]) -> list[tuple[list[Any], Any]]:
    """Keys and rows of several files, sorted by key; of a key that several have, the last one counts."""
    rows = {json.dumps(key): (key, row) for path in paths for key, row in _read_pairs(Path(path).read_text())}
    return sorted(rows.values(), key=lambda pair: json.dumps(pair[0]))


def _read_pairs(text: str) -> Iterator[tuple[list[Any], Any]]:
    """The pairs of key and row that lines hold."""
    for line in text.splitlines():
        try:
            pair = json.loads(line)
        except ValueError:
            continue
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], list):
            yield pair[0], pair[1]
