"""The families of generated problems, and the three sets they are split in.

A family fixes kinds and counts, a seed draws the rest. `train` is for learning, `choose` for choosing among what
was learnt, `confirm` for reporting; it has objectives that the others do not have. There are few different counts, so
that problems of many families run in lockstep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from meco.errors import UnknownName

THIRD = 0  # as a count: a third of the variables, at least one
Blocks = tuple[tuple[str, int], ...]  # kinds of constraints and how many of each


@dataclass(frozen=True)
class Family:
    """An objective (one kind, or a sum of two) under blocks of constraints; its name seeds its problems."""

    name: str
    set: str  # train, choose or confirm
    objective: tuple[str, ...]
    inequalities: Blocks = ()
    equalities: Blocks = ()
    whole: bool = False  # half of the variables are whole numbers

    @property
    def empty(self) -> bool:
        """Whether no point is feasible, by construction."""
        return any(kind == "opposed" for kind, _ in self.inequalities)

    def counts(self, dim: int) -> tuple[int, int]:
        """Inequalities and equalities in D variables."""
        p, q = (sum(n for _, n in self.count_columns(part, dim)) for part in (self.inequalities, self.equalities))
        return p, q

    @staticmethod
    def count_columns(blocks: Blocks, dim: int) -> Blocks:
        """The blocks with the number of their columns in D variables."""
        return tuple((kind, max(1, dim // 3) if count == THIRD else count) for kind, count in blocks)

    @property
    def about(self) -> str:
        """The family in words."""
        words = [" + ".join(self.objective)]
        words += [f"{count} {kind}" for kind, count in self.inequalities]
        words += [f"{count or 'D/3'} {kind} equalities" for kind, count in self.equalities]
        words += ["whole numbers"] if self.whole else []
        return ", ".join(words + (["no feasible point"] if self.empty else []))


_TABLE: tuple[Family, ...] = (
    Family("bowl-free", "train", ("bowl",)),
    Family("ripples-free", "train", ("ripples",)),
    Family("bowl-linear", "train", ("bowl",), (("linear", 6),)),
    Family("valley-inside", "train", ("valley",), (("inside", 2),)),
    Family("linear-inside", "train", ("linear",), (("inside", 4), ("linear", 2))),
    Family("ripples-linear", "train", ("ripples",), (("linear", 6),)),
    Family("ripples-ring", "train", ("ripples",), (("ring", 1), ("linear", 1))),
    Family("edges-many", "train", ("edges",), (("linear", 20),)),
    Family("steps-outside", "train", ("steps", "bowl"), (("outside", 2), ("linear", 4))),
    Family("bowl-planes", "train", ("bowl",), (), (("linear", THIRD),)),
    Family("ripples-curved", "train", ("bowl", "ripples"), (("linear", 2),), (("saddle", 1),)),
    Family("valley-cliff", "train", ("valley",), (("cliff", 2),)),
    Family("bowl-whole", "train", ("bowl",), (("linear", 6),), whole=True),
    Family("bowl-empty", "train", ("bowl",), (("opposed", 2),)),
    Family("funnels-linear", "train", ("funnels",), (("linear", 6),)),
    Family("valley-saddle", "train", ("valley", "edges"), (("saddle", 4), ("linear", 2))),
    Family("ring-curved", "train", ("linear",), (("ring", 1), ("linear", 5)), (("saddle", THIRD),)),
    Family("terrain-linear", "train", ("terrain",), (("linear", 6),)),
    Family("terrain-ring", "train", ("terrain", "bowl"), (("ring", 1), ("inside", 1))),
    Family("valley-planes", "choose", ("valley",), (("linear", 6),), (("linear", THIRD),)),
    Family("edges-maxima", "choose", ("edges",), (("maxima", 2),)),
    Family("ripples-wavy", "choose", ("ripples", "bowl"), (("wavy", 4), ("inside", 2))),
    Family("basin-free", "choose", ("basin", "ripples")),
    Family("bowl-islands", "choose", ("bowl",), (("islands", 1), ("inside", 1))),
    Family("edges-wave", "choose", ("edges", "bowl"), (("inside", 2),), (("wavy", 1),)),
    Family("basin-whole", "choose", ("basin",), (("maxima", 2),), whole=True),
    Family("funnels-empty", "choose", ("funnels", "edges"), (("inside", 4), ("opposed", 2))),
    Family("contact-contact", "choose", ("contact",), (("contact", 4), ("linear", 2))),
    Family("wells-free", "confirm", ("wells",)),
    Family("growth-growth", "confirm", ("growth",), (("growth", 6),)),
    Family("chain-tube", "confirm", ("chain",), (("tube", 1), ("growth", 1))),
    Family("wells-cubic", "confirm", ("wells",), (("cubic", 4), ("growth", 2))),
    Family("chain-many", "confirm", ("chain", "growth"), (("growth", 16), ("cubic", 4))),
    Family("growth-surface", "confirm", ("growth",), (("growth", 2),), (("cubic", 1),)),
    Family("chain-surfaces", "confirm", ("chain",), (("growth", 6),), (("cubic", THIRD),)),
    Family("growth-whole", "confirm", ("growth", "chain"), (("growth", 6),), whole=True),
    Family("wells-empty", "confirm", ("wells",), (("opposed", 2),)),
    Family("switching-switching", "confirm", ("switching",), (("switching", 4), ("growth", 2))),
    Family("switching-tube", "confirm", ("switching", "chain"), (("tube", 1), ("growth", 1))),
)
GENERATED = {family.name: family for family in _TABLE}
SETS = tuple(dict.fromkeys(family.set for family in _TABLE))


def problem_name(family: str, seed: int) -> str:
    """What a problem is called: "G-", its family and its seed."""
    return f"G-{family}-{seed:04d}"


def parse_name(name: str) -> tuple[Family, int] | None:
    """The family and the seed that a name such as "G-bowl-linear-0007" holds; None for other names.

    A name of that form with an unknown family is an error.
    """
    found = re.fullmatch(r"g-(.+)-(\d+)", str(name).strip().lower())
    if found is None:
        return None
    family, seed = found.groups()
    if family not in GENERATED:
        raise UnknownName("family of generated problems", family, GENERATED)
    return GENERATED[family], int(seed)


def first_problem_names(family_set: str | None = None) -> tuple[str, ...]:
    """The name of the first problem of every family, or of those of one set."""
    return tuple(problem_name(family.name, 1) for family in _TABLE if family_set in (None, family.set))
