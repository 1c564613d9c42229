"""Blocks about what the learned policy adds, from benchmarks/results/control.json, which was made with 0.2.0."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.bench.report import stats
from tools.pages.standings import FIRST, headline_standings
from tools.pages.tables import KEPT, markdown_table

CALLED = {
    "own rule": "the engine's own rule (TR-ES)",
    "random": "random controls",
    "MeCO-TR": "MeCO-TR, the learned policy",
}


@dataclass(frozen=True)
class Steering:
    """Final quantiles of the learned policy and of what it is judged against, problem by problem."""

    names: list[str]
    families: np.ndarray  # [P]
    quantiles: np.ndarray  # [P, names]

    def quantiles_of(self, name: str) -> np.ndarray:
        """Final quantiles [P] of one of the names."""
        return self.quantiles[:, self.names.index(name)]

    def mean(self, name: str) -> float:
        """Mean final quantile of one of the names."""
        return float(self.quantiles_of(name).mean())

    def without(self, ending: str) -> Steering:
        """The problems of the families whose names end otherwise."""
        kept = np.array([not family.endswith(ending) for family in self.families])
        return Steering(self.names, self.families[kept], self.quantiles[kept])

    @property
    def constant(self) -> str:
        """The constant that is best on these problems."""
        return max((n for n in self.names if n.startswith("theta")), key=self.mean)

    def p_value(self, name: str, policy: str = "MeCO-TR") -> float:
        """Two-sided signed-rank test over problems."""
        return stats.wilcoxon_p(self.quantiles_of(policy), self.quantiles_of(name))

    def gains(self, name: str, policy: str = "MeCO-TR") -> dict[str, float]:
        """Family -> mean lead of the policy, the largest first."""
        lead = self.quantiles_of(policy) - self.quantiles_of(name)
        found = {str(f): float(lead[self.families == f].mean()) for f in np.unique(self.families)}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def read_control() -> dict[str, Any]:
    """What was kept of the training and of its judgement."""
    return dict(json.loads((KEPT / "control.json").read_text(encoding="utf-8")))


def read_steering(chosen: str = "confirm") -> Steering:
    """The judgement on one set of problems: confirm, or beyond."""
    kept = read_control()[chosen]
    rows = kept["problems"]
    return Steering(kept["names"], np.array([r[0] for r in rows]), np.array([r[4:] for r in rows], dtype=float))


def _rival_names() -> list[str]:
    """The policy and what it is compared with, in the order of the table."""
    found = read_steering()
    untrained = [n for n in found.names if n.startswith("untrained")]
    return ["MeCO-TR", found.constant, "own rule", *sorted(untrained, key=lambda n: -found.mean(n)), "random"]


def policy_table() -> str:
    """Mean final quantiles, leads and their p-values; then a sentence on what they say."""
    found, rows = read_steering(), []
    for name in _rival_names():
        lead = found.mean("MeCO-TR") - found.mean(name)
        called = CALLED.get(name) or (f"constant {name}" if name.startswith("theta") else f"network, {name}")
        told = ["", ""] if name == "MeCO-TR" else [f"{lead:+.3f}", f"{found.p_value(name):.2g}"]
        rows.append([called, f"{found.mean(name):.3f}", *told])
    return markdown_table([f"{len(found.families)} problems", "mean final quantile", "MeCO-TR is ahead by", "p"], rows)


def gains_text() -> str:
    """Where the policy gains on the rule, and where not."""
    found, far = read_steering(), read_steering("beyond")
    rest = found.without("empty")
    told = [f"{family} {lead:+.2f}" for family, lead in found.gains("own rule").items()]
    own, best = (_describe_lead(rest, name) for name in ("own rule", found.constant))
    there = ", ".join(f"{name} {far.mean(name):.3f}" for name in ("MeCO-TR", "own rule", found.constant))
    return (
        f"Ahead of the engine's own rule, by family: {', '.join(told)}. Without the family that has no feasible point: "
        f"{own} ahead of the own rule, {best} ahead of {found.constant}.\n\n"
        f"Beyond the sizes of its training, on {len(far.families)} problems of 30 variables: {there}, and the constant "
        f"that is best there, {far.constant}, {far.mean(far.constant):.3f}. MeCO-TR is "
        f"{_describe_lead(far, 'own rule')} ahead of the own rule and "
        f"{_describe_lead(far, far.constant)} of that constant."
    )


def _describe_lead(found: Steering, name: str) -> str:
    """The mean lead of the policy over one of the names, with its p-value."""
    return f"{found.mean('MeCO-TR') - found.mean(name):+.3f} (p {found.p_value(name):.2g})"


def learned_text() -> str:
    """The same in three sentences, with what one family makes of it."""
    found, best = read_steering(), read_steering().constant
    means = {name: f"{found.mean(name):.2f}" for name in found.names}
    rest = found.without("empty")
    over = rest.mean("MeCO-TR") - rest.mean("own rule")
    return (
        f"**What the learned policy adds:** on {len(found.families)} problems of families that it was neither trained "
        f"nor chosen on, MeCO-TR ends at a mean quantile of {means['MeCO-TR']} among reference runs, TR-ES by its own "
        f"rule at {means['own rule']} (p {found.p_value('own rule'):.1g}), random control at {means['random']}. The "
        f"best constant setting reaches {means[best]} "
        f"(p {found.p_value(best):.1g}{_chance_remark(found.p_value(best))}), and without the one "
        f"family that has no feasible point the lead over the own rule is {over:.2f} "
        f"(p {rest.p_value('own rule'):.1g}{_chance_remark(rest.p_value('own rule'))}). {_describe_suite_ranks()} "
        f"Its training: {read_control()['trained']}."
    )


def _describe_suite_ranks() -> str:
    """MeCO-TR and TR-ES on the suites."""
    both = [s for s in headline_standings() if {"MeCO-TR", "TR-ES"} <= set(s.table)]
    told = (f"{s.rank('MeCO-TR', FIRST):.1f} and {s.rank('TR-ES', FIRST):.1f} on the {s.in_words}" for s in both)
    return f"Average ranks of MeCO-TR and TR-ES, feasibility first: {', '.join(told)}."


def _chance_remark(p: float) -> str:
    """A warning where p is not small."""
    return ": may be chance" if p > 0.05 else ""
