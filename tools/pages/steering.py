"""Blocks about what the learned policy adds, from its judgement on the confirm families and from the suites' tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import inf
from statistics import fmean

from meco.bench.report.names import STEERED, SUITES, shown_name
from meco.methods import DEFAULT
from tools.pages.standings import FIRST, SURE, Standing, headline_standings, read_standing
from tools.pages.tables import KEPT, bold_if, join_words, markdown_table, parse_number, read_table

CONSTANT = "default"  # what the judgement calls the default
AHEAD = re.compile(r"(\S+)  (.+?)  +\S+ ahead by (\S+) \+- (\S+)  effect (\S+)  p (\S+) ")
ITSELF = re.compile(r"(\S+)  (\S+) *")
SUITE_OF = {  # experiment -> the suite whose problems it has
    "steering-10d": "cec2017-10d",
    "steering-30d": "cec2017-30d",
    "steering-uav": "uav",
    "steering-families": "families",
}


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


def profiles_table(*experiments: str) -> str:
    """Average ranks, feasibility first, of the policy and of each profile on the suites, and their mean; best first.

    A star and a sign where a signed-rank test over problems, corrected by Holm, tells a profile from the policy. Those
    that did not run everywhere have no mean, and stand last.
    """
    seen = [s for e in experiments if (s := read_standing(e)) is not None]
    everyone = list(dict.fromkeys(m for s in seen for m in s.methods))
    mean = {m: fmean(s.rank(m, FIRST) for s in seen) for m in everyone if all(m in s.table for s in seen)}
    best = min(mean.values())
    rows = [
        [
            _name_contender(m),
            *(_format_rank(s, m) if m in s.table else "–" for s in seen),
            bold_if(f"{mean[m]:.2f}", mean[m] == best) if m in mean else "–",
        ]
        for m in sorted(everyone, key=lambda m: mean.get(m, inf))
    ]
    titles = (SUITES[SUITE_OF[s.suite]].replace(", ", ",<br>") for s in seen)
    table = markdown_table(["average rank,<br>feasibility first", *titles, "mean"], rows)
    return f"{table}\n\n\\*+ surely ahead of {STEERED}, \\*− surely behind it; – not run."


def _name_contender(label: str) -> str:
    """What a page calls a contender of these experiments."""
    return f"`{label.removeprefix('profile ')}`" if label.startswith("profile ") else shown_name(label)


def _format_rank(s: Standing, label: str) -> str:
    """An average rank, bold where it is the best, with a star and a sign where it is surely not that of the policy."""
    rank = bold_if(f"{s.rank(label, FIRST):.2f}", s.place(label, FIRST) == 1)
    if label == STEERED:
        return rank
    row = (read_table(f"{s.suite}-pairs-meco-tr") or {}).get(label)
    if row is None:
        raise ValueError(f"results/tables/{s.suite}-pairs-meco-tr.csv has no test of {STEERED} against {label}")
    if parse_number(row["p (Holm), feasibility first"]) >= SURE:
        return rank
    return f"{rank} \\*{'+' if s.rank(label, FIRST) < s.rank(STEERED, FIRST) else '−'}"
