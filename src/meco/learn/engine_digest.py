"""The digest of the engine that policies of MeCO-TR steer; it changes with the engine's source."""

from __future__ import annotations

from meco.files.source_digest import source_digest

ENGINE_MODULES = ("meco.tr.engine", "meco.tr.features", "meco.policies.profile_search", "meco.policies.controller")
ENGINE_PACKAGES = ("meco.tr", "meco.engines.es")  # whose modules belong to it where it imports them


def engine_digest() -> str:
    """A hash of the source of the engine that MeCO-TR's policies steer, as their metadata has it."""
    return source_digest(ENGINE_MODULES, ENGINE_PACKAGES)
