"""One run of a campaign: which method, on which case, with which seed."""

from __future__ import annotations

import json
from typing import NamedTuple

from meco.errors import DamagedFile


class TestCase(NamedTuple):
    """Where a run happens: a problem at a dimension, its instance, and the evaluations allowed.

    Stores keep it as a list in this order.
    """

    problem: str
    dim: int
    instance: str
    budget: int


class Run(NamedTuple):
    """One run, named by what its result depends on within one version of the packages.

    Stores keep it as a list in this order.
    """

    method: str
    options: str  # JSON with sorted keys
    case: TestCase
    seed: int

    def to_json(self) -> str:
        """The name as text, by which stores know the run."""
        return json.dumps(self, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Run:
        """Read the text of to_json(); DamagedFile for another text."""
        try:
            method, options, case, seed = json.loads(text)
            return cls(method, options, TestCase(*case), seed)
        except (TypeError, ValueError, RecursionError) as error:
            raise DamagedFile(f"run {text!r:.80} is damaged: {error}") from error
