"""The digest of the engine that policies of MeCO-TR steer; another digest, another engine."""

from __future__ import annotations

from meco.files.source_digest import source_digest

ENGINE = ("meco.tr.engine", "meco.tr.features", "meco.policies.controller")
SEARCHED = ("meco.tr", "meco.engines.es")  # parts of the engine


def engine_digest() -> str:
    """What the engine does, as a policy's record names it."""
    return source_digest(ENGINE, SEARCHED)
