"""With which engine a policy was trained, and for which one it was said since that it still serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

DIGITS = 12  # of a digest, where people read it


class EngineStamp(NamedTuple):
    """What a policy's record says of engines, by digests of their source."""

    trained_with: str
    stamped_for: str  # the same as trained_with where the engine has not changed since
    since: str = ""  # what has changed
    version: str = ""  # of the library that trained it, "" where it is not recorded

    def describe(self, here: str) -> dict[str, str]:
        """Lines for people, by name; here is the digest of the present engine."""
        made = f"meco {self.version}" if self.version else "a version that is not recorded"
        told = {"trained with": f"engine {self.trained_with[:DIGITS]} of {made}"}
        if self.stamped_for != self.trained_with:
            changed = f"not trained anew; since the training: {self.since}"
            told["stamped for"] = f"engine {self.stamped_for[:DIGITS]}, {changed}"
        told["engine here"] = f"{here[:DIGITS]}, {self._compare(here)}"
        return told

    def _compare(self, here: str) -> str:
        """In words, which of the two engines the present one is."""
        if here == self.trained_with:
            return "the one that it was trained with"
        return "the one that it was stamped for" if here == self.stamped_for else "another one than both"


def read_engine_stamp(metadata: Mapping[str, Any]) -> EngineStamp | None:
    """The stamp in the record of a policy; None for policies that do not depend on the engine's source.

    In records up to 0.3.0.dev0 `engine` is the engine it was stamped for, beside `trained_with`.
    """
    engine = metadata.get("engine")
    if engine is None:
        return None
    first = metadata.get("trained_with", engine)
    versions = metadata.get("versions")
    known = versions.get("meco") if isinstance(versions, Mapping) else None
    version = metadata.get("trained_version") or known or ""
    stamped = engine if "trained_with" in metadata else metadata.get("stamped_for", engine)
    return EngineStamp(str(first), str(stamped), str(metadata.get("since", "")), str(version))


def stamp_record(metadata: Mapping[str, Any], present: str, since: str) -> dict[str, Any]:
    """The record of a policy that is kept for the present engine: what it was trained with stays as it is."""
    stamp = read_engine_stamp(metadata)
    assert stamp is not None, "only policies that name an engine are stamped"
    kept = {key: value for key, value in metadata.items() if key not in ("trained_with", "stamped_for", "since")}
    return {**kept, "engine": stamp.trained_with, "stamped_for": present, "since": since}
