"""Names that left the library in 0.4, and what to use instead; errors and imports answer with these lines until 0.5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

VERSION = "0.4"
NAMES: dict[str, dict[str, str]] = {  # by kind, as UnknownName has it
    "command": {
        "challenge": "judge a policy with meco bench, e.g. --methods MeCO:policy=mine.safetensors MeCO",
        "episodes": "record your own from gymnasium.make('meco.gym:MeCO-v0')",
    },
}
MODULES = {  # below meco, with all that is inside
    "learn.challenge": "gymnasium.make('meco.gym:MeCO-v0') has the decisions of MeCO, and meco bench compares policies",
}


def find_advice(kind: str, name: object) -> str | None:
    """What to use instead of a name of this kind that left, whatever its capitalisation; None for other names."""
    return next((told for gone, told in NAMES.get(kind, {}).items() if gone.lower() == str(name).lower()), None)


class GoneModules:
    """A finder for sys.meta_path that answers an import of a module that left with the line of MODULES."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        """None for other modules; ImportError for one that left."""
        for gone, told in MODULES.items():
            if f"{name}.".startswith(f"meco.{gone}."):
                raise ImportError(f"meco.{gone} left in {VERSION}: {told}", name=name)
