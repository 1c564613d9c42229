"""How many runs the kept results have."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache

from meco.bench.run.result_store import ResultStore
from tools.pages.tables import ROOT

COUNTED = {"all": "SELECT count(*) FROM runs", "older": "SELECT count(*) FROM runs WHERE platform = ''"}


@lru_cache
def count_runs(which: str) -> int:
    """All stored runs, or those of older campaigns, which did not record their platform."""
    with ResultStore.open(ROOT / "results") as kept, closing(sqlite3.connect(":memory:")) as store:
        store.deserialize(kept.as_bytes())
        (found,) = store.execute(COUNTED[which]).fetchone()
    return int(found)
