"""Every experiment that `meco reproduce` knows, by name: the paper's, then those beyond it."""

from __future__ import annotations

from collections.abc import Sequence

from meco.bench.plan.contender import split_name_and_options
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.further import FURTHER
from meco.bench.plan.paper import PAPER
from meco.bench.plan.revise import find_contender, list_labels
from meco.core.registry import Registry
from meco.errors import InvalidInput, UnknownName
from meco.methods import METHODS

# Stored campaigns are matched by these names, and a report shows experiments in this order.
EXPERIMENTS: Registry[Experiment] = Registry("experiment", {**PAPER, **FURTHER})


def find_experiments(name: str) -> list[Experiment]:
    """The experiment of that name in a list, or every one for "all"; any other name is an error."""
    if name == "all":
        return list(EXPERIMENTS.values())
    try:
        found = EXPERIMENTS[name]
    except UnknownName:
        raise UnknownName("experiment", name, [*EXPERIMENTS, "all"]) from None
    if not isinstance(found, Experiment):
        raise InvalidInput(f"{name!r:.60} is no experiment; known are {', '.join(EXPERIMENTS)} and all")
    return [found]


def match_methods(experiments: Sequence[Experiment], methods: Sequence[str]) -> list[tuple[Experiment, list[str]]]:
    """Each experiment with those of the methods that it has; experiments without any are left out.

    A method that none of them has is an error.
    """
    for text in methods:
        if any(find_contender(e, text) for e in experiments):
            continue
        if split_name_and_options(text)[0] not in METHODS:
            raise UnknownName(
                "method", text, dict.fromkeys([*METHODS, *(n for e in experiments for n in list_labels(e))])
            )
        raise InvalidInput(
            f"none of the experiments has {text!r}; name one of {', '.join(EXPERIMENTS)} to add it there"
        )
    chosen = [(e, [text for text in methods if find_contender(e, text)]) for e in experiments]
    return [(e, own) for e, own in chosen if own]
