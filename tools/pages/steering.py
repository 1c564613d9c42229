"""Blocks about what the learned policy adds, from benchmarks/results/control.json, which was made with 0.2.0."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.bench.report import stats
from tools.pages.standings import FIRST, standings
from tools.pages.tables import KEPT, table

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

    def of(self, name: str) -> np.ndarray:
        return self.quantiles[:, self.names.index(name)]

    def mean(self, name: str) -> float:
        return float(self.of(name).mean())

    def without(self, ending: str) -> Steering:
        """The problems of the families whose names end otherwise."""
        kept = np.array([not family.endswith(ending) for family in self.families])
        return Steering(self.names, self.families[kept], self.quantiles[kept])

    @property
    def constant(self) -> str:
        """The constant that is best on these problems."""
        return max((n for n in self.names if n.startswith("theta")), key=self.mean)

    def p(self, name: str, policy: str = "MeCO-TR") -> float:
        """Two-sided signed-rank test over problems."""
        return stats.wilcoxon(self.of(policy), self.of(name))

    def gains(self, name: str, policy: str = "MeCO-TR") -> dict[str, float]:
        """Family -> mean lead of the policy, the largest first."""
        lead = self.of(policy) - self.of(name)
        found = {str(f): float(lead[self.families == f].mean()) for f in np.unique(self.families)}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def control() -> dict[str, Any]:
    """What was kept of the training and of its judgement."""
    return dict(json.loads((KEPT / "control.json").read_text(encoding="utf-8")))


def steering(chosen: str = "confirm") -> Steering:
    kept = control()[chosen]
    rows = kept["problems"]
    return Steering(kept["names"], np.array([r[0] for r in rows]), np.array([r[4:] for r in rows], dtype=float))


def _rivals() -> list[str]:
    found = steering()
    untrained = [n for n in found.names if n.startswith("untrained")]
    return ["MeCO-TR", found.constant, "own rule", *sorted(untrained, key=lambda n: -found.mean(n)), "random"]


def policy() -> str:
    """Mean final quantiles, leads and their p-values; then a sentence on what they say."""
    found, rows = steering(), []
    for name in _rivals():
        lead = found.mean("MeCO-TR") - found.mean(name)
        called = CALLED.get(name) or (f"constant {name}" if name.startswith("theta") else f"network, {name}")
        told = ["", ""] if name == "MeCO-TR" else [f"{lead:+.3f}", f"{found.p(name):.2g}"]
        rows.append([called, f"{found.mean(name):.3f}", *told])
    return table([f"{len(found.families)} problems", "mean final quantile", "MeCO-TR is ahead by", "p"], rows)


def gains() -> str:
    """Where the policy gains on the rule, and where not."""
    found, far = steering(), steering("beyond")
    rest = found.without("empty")
    told = [f"{family} {lead:+.2f}" for family, lead in found.gains("own rule").items()]
    own, best = (_lead(rest, name) for name in ("own rule", found.constant))
    there = ", ".join(f"{name} {far.mean(name):.3f}" for name in ("MeCO-TR", "own rule", found.constant))
    return (
        f"Ahead of the engine's own rule, by family: {', '.join(told)}. Without the family that has no feasible point: "
        f"{own} ahead of the own rule, {best} ahead of {found.constant}.\n\n"
        f"Beyond the sizes of its training, on {len(far.families)} problems of 30 variables: {there}, and the constant "
        f"that is best there, {far.constant}, {far.mean(far.constant):.3f}. MeCO-TR is {_lead(far, 'own rule')} ahead "
        f"of the own rule and {_lead(far, far.constant)} of that constant."
    )


def _lead(found: Steering, name: str) -> str:
    return f"{found.mean('MeCO-TR') - found.mean(name):+.3f} (p {found.p(name):.2g})"


def learned() -> str:
    """The same in three sentences, with what one family makes of it."""
    found, best = steering(), steering().constant
    means = {name: f"{found.mean(name):.2f}" for name in found.names}
    rest = found.without("empty")
    over = rest.mean("MeCO-TR") - rest.mean("own rule")
    return (
        f"**What the learned policy adds:** on {len(found.families)} problems of families that it was neither trained "
        f"nor chosen on, MeCO-TR ends at a mean quantile of {means['MeCO-TR']} among reference runs, TR-ES by its own "
        f"rule at {means['own rule']} (p {found.p('own rule'):.1g}), random control at {means['random']}. The best "
        f"constant setting reaches {means[best]} (p {found.p(best):.1g}{_sure(found.p(best))}), and without the one "
        f"family that has no feasible point the lead over the own rule is {over:.2f} "
        f"(p {rest.p('own rule'):.1g}{_sure(rest.p('own rule'))}). {_beside()} Its training: {control()['trained']}."
    )


def _beside() -> str:
    """MeCO-TR and TR-ES on the suites."""
    both = [s for s in standings() if {"MeCO-TR", "TR-ES"} <= set(s.table)]
    told = (f"{s.rank('MeCO-TR', FIRST):.1f} and {s.rank('TR-ES', FIRST):.1f} on the {s.in_words}" for s in both)
    return f"Average ranks of MeCO-TR and TR-ES, feasibility first: {', '.join(told)}."


def _sure(p: float) -> str:
    return ": may be chance" if p > 0.05 else ""
