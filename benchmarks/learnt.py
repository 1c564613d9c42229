"""What the policy of MeCO-TR learnt: the gap to hindsight, the features it needs, and what each control is worth.

    python benchmarks/learnt.py judge JUDGED.npz --device cuda     # policy, constants, own rule, untrained, random
    python benchmarks/learnt.py judge JUDGED.npz --ablate          # the policy in part, too
    python benchmarks/learnt.py here HERE.npz --dims 5,10          # policy, own rule and share 0 alone, on the CPU
    python benchmarks/learnt.py keep CONFIRM.npz --beyond BEYOND.npz --trained "6 minutes"    # results/control.json
    python benchmarks/learnt.py kinds JUDGED.npz                   # everyone who was judged, beside the policy
    python benchmarks/learnt.py gap JUDGED.npz                     # who is ahead, by family and D; share of the gap
    python benchmarks/learnt.py parts JUDGED.npz --dims 5,10       # groups of features mixed, one control alone

judge plays 336 problems of the confirm families, four seeds each. gap counts quantiles so that no side is favoured:
runs of two seeds are ranked among the runs of the other two seeds of every constant, of the own rule and of the
policy, so that everyone meets as many runs of its own kind, at most 1; all splits of the seeds, both ways round.
parts plays the policy again on the CPU, whole and in part, with equal random numbers, among the same references: a
group of features is mixed when the policy sees those of another search, drawn from all that were recorded.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from control import GROUPS, SEEN, OnlyControls, signed_rank
from meco.arrays import Array
from meco.engines.model.trust_region_es import TrustRegionES
from meco.mdp.controls import ControlSet
from meco.mdp.model_search import correcting_shape, steered_search
from meco.mdp.network import draw_weights
from meco.mdp.policy import Choosing, Correcting, Masked, Policy
from meco.mdp.quantile import Outcomes, quantile
from meco.mdp.resolve import find_policy
from meco.process_pool import process_map
from meco.training.judging import CONSTANTS, STEADY, judged
from meco.training.matches import Match, drawn_matches, in_lockstep, play, read_layout
from references import held_at

TRAINED = 20  # variables, at most
CONTROL = Path(__file__).parent / "results" / "control.json"
LAYOUT = "2:50,5:50,10:50,20:50,10:100,5:200"  # D and evaluations per variable
POLICY, RULE = "MeCO-TR", "own rule"
RIVALS = (*STEADY, RULE)
PARTS = GROUPS | {"rule": ("theta by the rule", "share by the rule")}


@dataclass(frozen=True, eq=False)
class Judged:
    """Results [N, K, S] of K kinds of control on N matches with S seeds each."""

    names: list[str]
    matches: list[Match]
    outcomes: Outcomes

    def of(self, kinds: Iterable[str], seeds: Iterable[int]) -> Outcomes:
        """All results of some kinds and seeds, side by side: [N, R]."""
        places = [self.names.index(name) for name in kinds]
        chosen = (part[:, places][..., list(seeds)] for part in self.outcomes)
        return Outcomes(*(part.reshape(len(part), -1) for part in chosen))


def read_judged(path: Path) -> Judged:
    """What judge kept."""
    with np.load(path) as kept:
        matches = [Match(str(m[0]), *map(int, m[1:])) for m in kept["matches"]]
        return Judged(kept["names"].tolist(), matches, Outcomes(kept["f"], kept["nu"], kept["feasible"]))


def judge(args: argparse.Namespace) -> None:
    """Play every kind of control on the confirm families and keep the results."""
    untrained = (Correcting(draw_weights(np.random.default_rng(k), correcting_shape())) for k in range(3))
    policy = find_policy("meco-tr", [1])
    each = {POLICY: policy} | {f"untrained {k}": policy for k, policy in enumerate(untrained)}
    if args.ablate:
        each |= in_part(policy)
    each |= {str(path): find_policy(str(path), [1]) for path in args.also}
    matches = drawn_matches("confirm", read_layout(args.layout), args.problems, args.families)
    with process_map(args.processes) as call:
        verdict = judged(each, matches, args.seeds, call, args.device)
    rows = np.array([[str(value) for value in match] for match in matches])
    np.savez(args.judged, names=verdict.names, quantiles=verdict.quantiles, matches=rows, **verdict.outcomes._asdict())


def in_part(policy: Policy) -> dict[str, Policy]:
    """The policy with one control alone, and without each group of features."""
    found: dict[str, Policy] = {f"{name} only": OnlyControls(policy, (name,)) for name in ("theta", "share")}
    hidden = {group: tuple(1 + SEEN.index(name) for name in names) for group, names in PARTS.items()}
    return found | {f"without {group}": Masked(policy, places) for group, places in hidden.items()}


def here(path: Path, dims: list[int], per: int, problems: int, seeds: int) -> None:
    """Play the policy, the own rule and the constants without offspring on the CPU, as users do; keep the results."""
    alone = [pair for pair in CONSTANTS if pair[1] == 0.0]
    names = [*(STEADY[CONSTANTS.index(pair)] for pair in alone), RULE, POLICY]
    matches = drawn_matches("confirm", [(dim, per) for dim in dims], problems)
    makers: list[tuple[Any, int]] = [
        (partial(held_at, alone), len(alone)),
        (TrustRegionES, 1),
        (partial(steered_search, find_policy("meco-tr", [1])), 1),
    ]
    found = np.empty((3, len(matches), len(names), seeds))
    for group in in_lockstep(matches):
        numbers, runs = [*range(1, seeds + 1)] * len(group), [matches[i] for i in group for _ in range(seeds)]
        parts = [[part[:, -1] for part in play(runs, numbers, make, copies)] for make, copies in makers]
        each = np.concatenate(parts, axis=1).reshape(3, len(names), len(group), seeds)
        found[:, group] = np.swapaxes(each, 1, 2)
    rows = np.array([[str(value) for value in match] for match in matches])
    np.savez(path, names=names, matches=rows, f=found[0], nu=found[1], feasible=found[2] > 0.0)


def ranked(runs: Outcomes, references: Outcomes) -> np.ndarray:
    """Mean quantile of runs [N, S] among references [N, R], at most 1: [N]."""
    each = [quantile(Outcomes(*(part[:, s] for part in runs)), references) for s in range(runs.f.shape[1])]
    return np.minimum(np.stack(each, -1), 1.0).mean(-1)


def contenders(known: Judged) -> list[str]:
    """The constants that were played, the own rule and the policy, in this order."""
    return [name for name in (*RIVALS, POLICY) if name in known.names]


def fair_quantiles(known: Judged) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each half of the seeds, quantiles [N, K] of the rivals and the policy in it, and in the other half."""
    kinds, count = contenders(known), known.outcomes.f.shape[-1]
    for one in combinations(range(count), count // 2):
        two = [s for s in range(count) if s not in one]
        first = [ranked(known.of([k], one), known.of(kinds, two)) for k in kinds]
        second = [ranked(known.of([k], two), known.of(kinds, one)) for k in kinds]
        yield np.stack(first, 1), np.stack(second, 1)


@dataclass(frozen=True, eq=False)
class Gap:
    """Quantiles of each problem [N]: of every kind, and of the constant that hindsight chose on other seeds."""

    scores: dict[str, np.ndarray]
    hindsight: np.ndarray

    @property
    def best(self) -> str:
        """The constant of largest mean."""
        return max((name for name in STEADY if name in self.scores), key=lambda name: self.scores[name].mean())

    def closed(self, chosen: Any = slice(None)) -> float:
        """Share of the way from the best constant to hindsight that the policy goes; nan where there is no way."""
        base = self.scores[self.best][chosen].mean()
        way = self.hindsight[chosen].mean() - base
        return float((self.scores[POLICY][chosen].mean() - base) / way) if way > 0.0 else np.nan


def gap(known: Judged) -> Gap:
    """Everyone's fair quantiles, means over the splits of the seeds."""
    halves = list(fair_quantiles(known))
    each = np.mean([second for _, second in halves], axis=0)
    kinds, rows = contenders(known), np.arange(len(known.matches))
    picks = [second[rows, first[:, : kinds.index(RULE)].argmax(1)] for first, second in halves]
    return Gap(dict(zip(kinds, each.T)), np.mean(picks, axis=0))


def difference(a: np.ndarray, b: np.ndarray) -> str:
    """Mean, standard error and Wilcoxon's p of paired values."""
    d = a - b
    return f"{d.mean():+.4f} +- {d.std(ddof=1) / np.sqrt(len(d)):.4f}, p {signed_rank(a, b):.2g}"


def gap_lines(known: Judged) -> Iterator[str]:
    """The comparison in words and numbers, whole and by family and D."""
    found = gap(known)
    policy, best, rule = (found.scores[name] for name in (POLICY, found.best, RULE))
    yield f"{len(policy)} problems, {known.outcomes.f.shape[-1]} seeds; best constant: {found.best}"
    for name, values in ((POLICY, policy), (found.best, best), (RULE, rule), ("hindsight", found.hindsight)):
        yield f"  {values.mean():.4f}  {name:<20} to the best constant {difference(values, best)}"
    yield f"  to the own rule {difference(policy, rule)}"
    rng = np.random.default_rng(1)
    drawn = [found.closed(rng.integers(len(policy), size=len(policy))) for _ in range(2000)]
    yield f"  closes {found.closed():.0%} of the gap (80 % of resampled problems: {_between(drawn)})"
    kinds: dict[str, list[Any]] = {"family": [m.family for m in known.matches], "D": [m.dim for m in known.matches]}
    for title, labels in kinds.items():
        yield f"{title:<16}    N   policy   less best constant   less own rule   hindsight less best constant"
        for label in dict.fromkeys(labels):
            at = np.array([other == label for other in labels])
            told = [_mean(v[at]) for v in (policy - best, policy - rule, found.hindsight - best)]
            yield f"{label!s:<16} {at.sum():4d}   {policy[at].mean():.3f}   " + "   ".join(told)


def kinds_lines(known: Judged) -> Iterator[str]:
    """Everyone who was judged, the best first, and how far the policy is ahead of each."""
    seeds = range(known.outcomes.f.shape[-1])
    scores = {name: ranked(known.of([name], seeds), known.of(contenders(known)[:-1], seeds)) for name in known.names}
    yield f"{len(known.matches)} problems, {len(seeds)} seeds"
    for name in sorted(scores, key=lambda name: -scores[name].mean()):
        lead = "" if name == POLICY else f"{POLICY} ahead by {difference(scores[POLICY], scores[name])}"
        yield f"  {scores[name].mean():.4f}  {name:<20} {lead}".rstrip()


def _between(values: list[float]) -> str:
    low, high = np.nanquantile(values, [0.1, 0.9])
    return f"{low:.0%} to {high:.0%}"


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():+.3f} +- {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


@dataclass(frozen=True, eq=False)
class Recording(Policy):
    """A policy that keeps what it saw."""

    policy: Policy
    states: list[np.ndarray] = field(default_factory=list)

    @property
    def metadata(self):  # type: ignore[override]
        return self.policy.metadata

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        self.states.append(np.array(s))
        return self.policy.decide(s, u, controls)


@dataclass(frozen=True, eq=False)
class Foreign(Policy):
    """A policy that sees some features of another search: rows of a bank [M, F], drawn at each decision."""

    policy: Policy
    bank: np.ndarray
    places: tuple[int, ...]
    rng: np.random.Generator = field(default_factory=partial(np.random.default_rng, 1))

    @property
    def metadata(self):  # type: ignore[override]
        return self.policy.metadata

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        return self.policy.decide(mixed(np.array(s), self.bank, self.places, self.rng), u, controls)


def mixed(s: np.ndarray, bank: np.ndarray, places: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """States [B, F] whose features at some places are those of rows of a bank, together."""
    s = s.copy()
    s[:, list(places)] = bank[rng.integers(len(bank), size=len(s))][:, list(places)]
    return s


def parts_of(policy: Policy, bank: np.ndarray) -> dict[str, Policy]:
    """The policy with one control alone, and with each group of features mixed."""
    found: dict[str, Policy] = {f"{name} only": OnlyControls(policy, (name,)) for name in ("theta", "share")}
    places = {group: tuple(SEEN.index(name) for name in names) for group, names in PARTS.items()}
    places["everything"] = tuple(range(len(SEEN)))
    return found | {f"mixed {group}": Foreign(policy, bank, at) for group, at in places.items()}


def scored(known: Judged, rows: list[int], policy: Policy, seeds: int) -> np.ndarray:
    """Mean final quantile [N] on some of the matches among the rivals that were judged."""
    references, found = known.of(RIVALS, range(known.outcomes.f.shape[-1])), np.empty(len(known.matches))
    for group in in_lockstep([known.matches[i] for i in rows]):
        here = [rows[g] for g in group]
        numbers = [number for _ in here for number in range(1, seeds + 1)]
        runs = [known.matches[i] for i in here for _ in range(seeds)]
        tenths = play(runs, numbers, partial(steered_search, policy))
        final = Outcomes(*(part[:, -1].reshape(len(here), seeds) for part in tenths))
        found[here] = ranked(final, Outcomes(*(part[here] for part in references)))
    return found[rows]


def regret(policy: Choosing, bank: np.ndarray, places: tuple[int, ...]) -> tuple[float, float]:
    """Share of decisions that change when features are mixed, and what they lose by the network's own values."""
    true, seen = (policy.outputs(s) for s in (bank, mixed(bank, bank, places, np.random.default_rng(1))))
    rows, before, after = np.arange(len(bank)), true.argmax(1), seen.argmax(1)
    return float(np.mean(before != after)), float(np.mean(true[rows, before] - true[rows, after]))


def parts_lines(known: Judged, dims: list[int], problems: int, seeds: int) -> Iterator[str]:
    """What is lost without a group of features or a control, by playing, and of single features by the values."""
    counts: dict[Any, int] = {}
    for i, match in enumerate(known.matches):
        counts[i] = sum(m[:1] + m[2:] == match[:1] + match[2:] for m in known.matches[:i])
    rows = [i for i, m in enumerate(known.matches) if m.dim in dims and counts[i] < problems]
    policy = find_policy("meco-tr", [1])
    assert isinstance(policy, Choosing)
    recording = Recording(policy)
    whole = scored(known, rows, recording, seeds)
    bank = np.concatenate(recording.states)
    yield f"{len(rows)} problems at D = {dims}, {seeds} seeds: {whole.mean():.4f} whole; {len(bank)} decisions recorded"
    for name, part in parts_of(policy, bank).items():
        yield f"  {name:<20} {difference(scored(known, rows, part, seeds), whole)}"
    yield "of single features: decisions that change, and the loss by the network's own values"
    each = {name: regret(policy, bank, (k,)) for k, name in enumerate(SEEN)}
    for name, (changed, loss) in sorted(each.items(), key=lambda item: -item[1][1]):
        yield f"  {name:<28} {changed:5.1%}  {loss:.4f}"


def keep(confirm: Path, beyond: Path, trained: str) -> None:
    """Write what the pages quote: the quantiles of every problem, mean of its runs."""
    parts = {
        "what": "final quantiles of MeCO-TR beside constants, its engine's own rule, untrained and random controls: "
        "family, problem, variables, evaluations, then one number for each name, the mean of the runs; a run ahead of "
        "every reference counts 1, as the best reference could",
        "train": "meco train-tr --device cuda --processes 8",
        "trained": trained,
    }
    text = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in parts.items())
    sets = []
    for name, path in (("confirm", confirm), ("beyond", beyond)):
        with np.load(path) as kept:
            far = [name == "confirm" or int(m[2]) > TRAINED for m in kept["matches"]]  # missions have a D of their own
            rows = zip(kept["matches"][far], kept["quantiles"][far].round(6).tolist())
            told = ",\n".join(f"  {json.dumps([str(m[0]), *map(int, m[1:]), *q])}" for m, q in rows)
            sets.append(f' "{name}": {{"names": {json.dumps(kept["names"].tolist())}, "problems": [\n{told}\n ]}}')
    CONTROL.write_text("{\n" + text + ",\n".join(sets) + "\n}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["judge", "here", "keep", "kinds", "gap", "parts"])
    parser.add_argument("judged", type=Path)
    parser.add_argument("--layout", default=LAYOUT, help="of judge: D:evaluations per variable")
    parser.add_argument("--families", nargs="*", default=[], help="of judge: these of the confirm families")
    parser.add_argument("--ablate", action="store_true", help="judge the policy in part, too")
    parser.add_argument("--dims", default="2,5,10,20")
    parser.add_argument("--per-variable", type=int, default=50)
    parser.add_argument("--problems", type=int, default=4, help="of each family at each place")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1, help="of judge; on one GPU they share it")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="of judge: other policies, files")
    parser.add_argument("--beyond", type=Path, help="of keep: judged at a D beyond training")
    parser.add_argument("--trained", default="", help="of keep: what the training took")
    args = parser.parse_args()
    dims = [int(dim) for dim in args.dims.split(",")]
    if args.what == "judge":
        judge(args)
        return
    if args.what == "here":
        here(args.judged, dims, args.per_variable, args.problems, args.seeds)
        return
    if args.what == "keep":
        keep(args.judged, args.beyond, args.trained)
        return
    known = read_judged(args.judged)
    made = {"gap": gap_lines, "kinds": kinds_lines}.get(args.what)
    for line in parts_lines(known, dims, args.problems, args.seeds) if made is None else made(known):
        print(line, flush=True)


if __name__ == "__main__":
    main()
