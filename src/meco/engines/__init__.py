"""Search strategies; ENGINES names those that take any rule, and so may be steered by a policy."""

from meco.core.registry import Later, Registry, later

ENGINES: Registry[Later] = Registry(
    "engine", {"shade": later("engines.de.shade:Shade"), "maes": later("engines.es.maes:MaEs")}
)
