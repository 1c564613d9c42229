"""What steering is worth: policies of MeCO-TR against constants, the engine's own rule, untrained and random controls.

    python benchmarks/control.py --set confirm --problems 5 --dims 2,5,10,20,40 --seeds 4 --policies meco-tr
    python benchmarks/control.py --policies meco-tr --ablate           # masked features and controls
    python benchmarks/control.py --policies meco-tr --importance       # each feature taken from another run

The unit is the problem: its mean final quantile over seeds among the reference runs (constants, own rule, random
controls, every one with every seed), feasibility first, at most 1; a reference is ranked among the others. Hindsight
is the best constant of each problem, chosen on half of the seeds and scored on the other half, both ways round.
The reply is a table; --out keeps every problem's numbers as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meco.arrays import Array, Constants
from meco.mdp.controls import ControlSet
from meco.mdp.features import FEATURES
from meco.mdp.model_search import SEARCH_FEATURES, correcting_shape, steered_search
from meco.mdp.policy import Correcting, Masked, Policy
from meco.mdp.quantile import Outcomes, quantile
from meco.mdp.resolve import find_policy
from meco.process_pool import process_map
from meco.training.holding_search import PROPOSERS
from meco.training.judging import CONSTANTS
from meco.training.matches import Match, drawn_matches, in_lockstep, play
from references import NAMES, Pool, make_pool

SEEN = FEATURES[SEARCH_FEATURES].names
GROUPS = {
    "models": ("r2 of f", "r2 of the worst constraint", "steps accepted", "steps refused", "geometry points"),
    "points": ("feasible points", "failed points", "violation", "progress of f", "progress of the violation"),
    "proposers": PROPOSERS,
    "region": ("radius", "radius over sigma", "starts", "ends apart", "ends behind"),
    "constraints": ("active constraints", "flat constraints", "inequalities", "equalities"),
    "task": ("variables", "whole variables", "evaluations per variable", "budget spent"),
}


@dataclass(frozen=True)
class OnlyControls(Policy):
    """A policy that sets some controls; the others follow the engine's own rule, the last features."""

    policy: Policy
    kept: tuple[str, ...]

    @property
    def metadata(self):  # type: ignore[override]
        return self.policy.metadata

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        own = {name: s[:, k - len(controls.names)] for k, name in enumerate(controls.names)}
        return own | {k: v for k, v in self.policy.decide(s, u, controls).items() if k in self.kept}


@dataclass(frozen=True)
class Mixed(Policy):
    """A policy that sees one feature of another run of its batch, at the same moment."""

    policy: Policy
    feature: int

    @property
    def metadata(self):  # type: ignore[override]
        return self.policy.metadata

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        order = np.random.default_rng([self.feature, s.shape[0]]).permutation(s.shape[0])
        here = Constants(here=np.arange(s.shape[1]) == self.feature).on(s)["here"] > 0.0
        return self.policy.decide(s * ~here + s[order, :] * here, u, controls)


class Job(NamedTuple):
    """Matches of one shape, a seed each, under a policy or what names one."""

    matches: list[Match]
    seeds: list[int]
    policy: Any
    device: str


def played(job: Job) -> Outcomes:
    """Best points at each tenth: [M, 10]."""
    policy = find_policy(job.policy, job.seeds, correcting_shape(), Correcting)
    return play(job.matches, job.seeds, partial(steered_search, policy), device=job.device)


def final_quantiles(pool: Pool, policy: Any, seeds: Sequence[int], call: Any, device: str) -> np.ndarray:
    """Of a policy on every match and seed: [N, S]."""
    q, size = np.empty((len(pool.matches), len(seeds))), 32 if device == "cpu" else 4096
    runs = [(i, k) for g in in_lockstep(pool.matches) for i in g for k in range(len(seeds))]
    shapes = [pool.matches[i].shape for i, _ in runs]
    starts = [0, *(n for n in range(1, len(runs)) if shapes[n] != shapes[n - 1]), len(runs)]
    parts = [runs[n : min(n + size, end)] for first, end in pairwise(starts) for n in range(first, end, size)]
    jobs = [Job([pool.matches[i] for i, _ in p], [seeds[k] for _, k in p], policy, device) for p in parts]
    for part, found in zip(parts, call(played, jobs)):
        values = pool.quantile([i for i, _ in part], found)[:, -1]
        for (i, k), value in zip(part, values):
            q[i, k] = min(value, 1.0)
    return q


def reference_quantiles(pool: Pool) -> np.ndarray:
    """Of the references, each among the others: [N, kinds, S]."""
    final = Outcomes(*(part[:, -1] for part in pool.outcomes))
    count = len(pool.controls)
    each = []
    for r in range(count):
        others = np.arange(count) != r
        q = quantile(Outcomes(*(p[:, r] for p in final)), Outcomes(*(p[:, others] for p in final)))
        each.append(np.minimum(q, 1.0))
    q = np.stack(each, axis=1)
    return np.stack([q[:, pool.controls == k] for k in range(len(NAMES))], axis=1)


def hindsight(q: np.ndarray) -> np.ndarray:
    """Best constant of each problem, chosen on half of the seeds and scored on the other: q [N, K, S] -> [N]."""
    half = q.shape[-1] // 2
    first, second = q[..., :half].mean(-1), q[..., half:].mean(-1)
    pick = np.arange(len(q))
    return 0.5 * (second[pick, first.argmax(1)] + first[pick, second.argmax(1)])


def signed_rank(a: np.ndarray, b: np.ndarray) -> float:
    """p of Wilcoxon's two-sided signed-rank test on pairs, by its normal limit with ties."""
    d = a - b
    d = d[d != 0.0]
    if not d.size:
        return 1.0
    size = np.abs(d)
    less = (size[:, None] > size[None]).sum(1)
    rank = less + 0.5 * ((size[:, None] == size[None]).sum(1) + 1)
    z = np.sum(np.sign(d) * rank) / math.sqrt(np.sum(rank**2))
    return math.erfc(abs(z) / math.sqrt(2.0))


def contenders(args: argparse.Namespace) -> dict[str, Any]:
    """What is scored beside the references, by name."""
    found: dict[str, Any] = {"untrained": "untrained"}
    for name in args.policies:
        policy = find_policy(name, [1])
        label = Path(name).stem
        found[label] = policy
        if args.ablate:
            found[f"{label}, theta only"] = OnlyControls(policy, ("theta",))
            found[f"{label}, share only"] = OnlyControls(policy, ("share",))
            for group, names in GROUPS.items():
                found[f"{label}, without {group}"] = Masked(policy, tuple(1 + SEEN.index(n) for n in names))
        if args.importance:
            found |= {f"{label}, mixed {n}": Mixed(policy, k) for k, n in enumerate(SEEN)}
    return found


def lines(scores: dict[str, np.ndarray], best: str, hind: np.ndarray) -> Iterable[str]:
    """The table: mean quantile, difference to the best constant with p, and the share of the hindsight gap closed."""
    base = scores[best]
    gap = float(np.mean(hind - base))
    yield f"{len(base)} problems; best constant: {best}; hindsight {hind.mean():.4f}, {gap:+.4f} above it"
    for name, q in sorted(scores.items(), key=lambda item: -item[1].mean()):
        change = float(np.mean(q - base))
        closed = f"{change / gap:6.0%}" if gap > 0 else "     -"
        yield f"  {q.mean():.4f}  {change:+.4f}  p {signed_rank(q, base):.1e}  closes {closed}  {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="confirm", help="families: train, choose or confirm")
    parser.add_argument("--families", default="", help="some of them only, by name")
    parser.add_argument("--problems", type=int, default=4, help="of each family at each D")
    parser.add_argument("--first", type=int, default=5001, help="seed of the first problem")
    parser.add_argument("--dims", default="2,5,10,20")
    parser.add_argument("--per-variable", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--policies", nargs="*", default=["meco-tr"])
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--importance", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    places = [(int(dim), args.per_variable) for dim in args.dims.split(",")]
    families = [name for name in args.families.split(",") if name]
    matches = drawn_matches(args.set, places, args.problems, families, args.first)
    seeds = list(range(1, 1 + args.seeds))
    with process_map(args.processes if args.device == "cpu" else 1) as call:
        widest = 48 if args.device == "cpu" else 4096
        pool = make_pool(matches, seeds, call, args.device, widest, lambda share: print(f"\r{share:4.0%}", end=""))
        known = reference_quantiles(pool)  # [N, kinds, S]
        given = {name: final_quantiles(pool, p, seeds, call, args.device) for name, p in contenders(args).items()}
    scores = {name: known[:, k].mean(-1) for k, name in enumerate(NAMES)}
    best = max(NAMES[: len(CONSTANTS)], key=lambda name: scores[name].mean())
    scores |= {name: q.mean(-1) for name, q in given.items()}
    hind = hindsight(known[:, : len(CONSTANTS)])
    print()
    for line in lines(scores, best, hind):
        print(line)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with args.out.open("w") as file:
            for i, match in enumerate(matches):
                row = {**match._asdict(), "hindsight": round(float(hind[i]), 5)}
                row["quantile"] = {name: round(float(q[i]), 5) for name, q in scores.items()}
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
