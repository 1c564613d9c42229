"""One test for many names: a fact about `name` is looked at for each, and a failure says for which it does not hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

import pytest


def for_every(*groups: Iterable[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a test with the argument name into one over all names of a group; each group is a case of its own."""

    def decorate(fact: Callable[..., None]) -> Callable[..., None]:
        def test(names: Iterable[str], **fixtures: object) -> None:
            failed = []
            for name in names:
                try:
                    fact(name=name, **fixtures)
                except Exception as error:
                    error.add_note(f"this was {name}")
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise ExceptionGroup(f"it does not hold for {len(failed)} names", failed)

        taken = inspect.signature(fact).parameters.values()
        kept = [one.replace(name="names") if one.name == "name" else one for one in taken]
        test.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]  # what pytest fills in
        test.__name__, test.__doc__, test.__module__ = fact.__name__, fact.__doc__, fact.__module__
        test.pytestmark = getattr(fact, "pytestmark", [])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("names", groups, ids=[str(i) for i in range(len(groups))])(test)

    return decorate
