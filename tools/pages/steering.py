"""Blocks about what the learned policy adds, from its judgement on the confirm families and from the suites' tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from meco.bench.report.names import STEERED
from meco.methods import DEFAULT
from tools.pages.standings import FIRST, headline_standings
from tools.pages.tables import KEPT, join_words, markdown_table

CONSTANT = "default"  # what the judgement calls the default
AHEAD = re.compile(r"(\S+)  (.+?)  +\S+ ahead by (\S+) \+- (\S+)  effect (\S+)  p (\S+) ")
ITSELF = re.compile(r"(\S+)  (\S+) *")


@dataclass(frozen=True)
class Rival:
    """What the shipped policy was judged against: its quantile, and the lead of the policy over it."""

    quantile: float
    lead: float
    error: float
    p: str  # as it was printed


@dataclass(frozen=True)
class Judgement:
    """The shipped policy beside every profile, other networks and chance: benchmarks/results/steering.txt."""

    problems: int
    families: int
    policy: str
    quantile: float  # of the policy
    rivals: dict[str, Rival]

    @cached_property
    def profiles(self) -> list[str]:
        """The profiles that were held throughout, best first."""
        held = [n for n in self.rivals if not re.match(r"tr-profiles|untrained|random", n)]
        return sorted(held, key=lambda n: -self.rivals[n].quantile)


def read_judgement() -> Judgement:
    """The table on top of the kept output; a line that it does not know is an error."""
    text = (KEPT / "steering.txt").read_text(encoding="utf-8")
    counted = re.search(r"^(\d+) problems of (\d+) families$", text, flags=re.MULTILINE)
    if counted is None:
        raise ValueError("steering.txt must say how many problems of how many families it has")
    rivals: dict[str, Rival] = {}
    policy, quantile = "", 0.0
    for line in text[counted.end() :].strip().partition("\n\n")[0].splitlines():
        if found := AHEAD.match(line):
            mean, name, lead, error, _, p = found.groups()
            rivals[name] = Rival(float(mean), float(lead), float(error), p)
        elif found := ITSELF.fullmatch(line):
            quantile, policy = float(found[1]), found[2]
        else:
            raise ValueError(f"steering.txt has a line that is neither the policy nor a rival of it: {line!r}")
    if not policy:
        raise ValueError("steering.txt has no line of the policy itself")
    return Judgement(int(counted[1]), int(counted[2]), policy, quantile, rivals)


def policy_table() -> str:
    """Mean quantiles of the policy and of what it was judged against, leads and their p-values."""
    seen = read_judgement()
    rows = [(seen.quantile, ["**MeCO-TR, the shipped policy**", f"**{seen.quantile:.3f}**", "", ""])]
    for name, rival in seen.rivals.items():
        if name.startswith("tr-profiles") and name != f"{seen.policy}-tree":
            continue  # other seeds have a table of their own
        told = [_name_rival(name, seen), f"{rival.quantile:.3f}", f"{rival.lead:+.3f} ± {rival.error:.3f}", rival.p]
        rows.append((rival.quantile, told))
    ordered = [row for _, row in sorted(rows, key=lambda item: -item[0])]
    return markdown_table(["", "quantile", "the shipped policy is ahead by", "p"], ordered)


def _name_rival(name: str, seen: Judgement) -> str:
    """What a page calls a rival."""
    if name == CONSTANT:
        return f"**{DEFAULT}, the default**"
    if name in seen.profiles:
        return f"profile `{name}`"
    return name.replace("untrained", "untrained network").replace(f"{seen.policy}-tree", "the shipped policy as a tree")


def learned_text() -> str:
    """What the policy is worth, in three sentences: on families, and on the suites beside the default."""
    seen = read_judgement()
    best, constant, chance = seen.profiles[0], seen.rivals[CONSTANT], seen.rivals["random profiles"]
    both = [s for s in headline_standings() if {STEERED, DEFAULT} <= set(s.table)]
    ranks = [f"{s.rank(STEERED, FIRST):.1f} and {s.rank(DEFAULT, FIRST):.1f} on the {s.in_words}" for s in both]
    return (
        f"**What the learned policy adds:** on {seen.problems} problems of {seen.families} families that it was "
        f"neither trained nor chosen on, {STEERED} ends at a mean quantile of {seen.quantile:.3f} among the runs of "
        f"all profiles, {DEFAULT} at {constant.quantile:.3f} ({_format_lead(constant)}), the best of its "
        f"{len(seen.profiles)} profiles held throughout at {seen.rivals[best].quantile:.3f} "
        f"({_format_lead(seen.rivals[best])}), random profiles at {chance.quantile:.3f} ({_format_lead(chance)}); in "
        f"brackets the lead of {STEERED} with its standard error. Average ranks of {STEERED} and {DEFAULT}, "
        f"feasibility first: {join_words(ranks)}."
    )


def _format_lead(rival: Rival) -> str:
    """By how much the policy is ahead, with the standard error and p."""
    return f"{rival.lead:+.3f} ± {rival.error:.3f}, p {rival.p}"


def describe_judged(name: str) -> str:
    """The mean quantile of the policy ("policy"), of its best profile ("best") or of a rival, with its lead and p."""
    seen = read_judgement()
    if name == "policy":
        return f"{seen.quantile:.3f}"
    rival = seen.rivals[seen.profiles[0] if name == "best" else name]
    return f"{rival.quantile:.3f} ({_format_lead(rival)})"
