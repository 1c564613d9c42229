"""Search strategies; ENGINES names those that take any rule, and so may be steered by a policy."""

from meco.core.registry import LazyCallable, Registry, lazy_callable

ENGINES: Registry[LazyCallable] = Registry(
    "engine", {"shade": lazy_callable("engines.de.shade:Shade"), "maes": lazy_callable("engines.es.maes:MaEs")}
)
