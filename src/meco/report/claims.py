"""What the paper claims of each of its experiments, and a verdict on it from stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from meco.bench.plan import printed
from meco.bench.plan.contender import AS_PRINTED
from meco.bench.plan.paper import THE_TWELVE
from meco.report import stats
from meco.report.frame import ExperimentRuns

LEAST_P = 0.05
FEWEST_RUNS = 4  # of each of two methods, below which a rank-sum test cannot reach LEAST_P


@dataclass(frozen=True)
class Claim:
    """A method is ahead of others by average rank, where the paper says so."""

    place: str  # its table or figure
    text: str
    others: tuple[str, ...]
    ahead: str = AS_PRINTED
    metric: str = "score"  # or "first", feasibility first


class Verdict(NamedTuple):
    """What was found, and one word for it: reproduced, partly reproduced, not reproduced or not shown."""

    found: str
    word: str


_OTHERS = THE_TWELVE[:-1]
_BASELINES = ("SHADE-eps", "SHADE", "SHADE-BOC", "MDE-CGO", "C2oDE", "NSGA-III", "BP-epsMAg-ES", "CMA-ES")
CLAIMS = {  # by experiment, in the order of the paper
    "table1": Claim("table 1", "MeCO has the best average rank of the twelve methods", _OTHERS),
    "transfer": Claim("figure 2", "trained on 10D alone, MeCO is ahead of the baselines at 50D and 100D", _BASELINES),
    "uav": Claim("figure 3", "MeCO achieves strong normalized performance on the missions", _OTHERS),
    "actions": Claim("figure 4", "the controller adapts its actions to the state", ()),
    "ablation-state": Claim(
        "figure 5", "hiding s7 to s10 weakens the transfer", ("MeCO, s7-s10 hidden",)
    ),
    "ablation-action": Claim("figure 6", "geometric decoding is more stable than AA and CA", ("MeCO-AA", "MeCO-CA")),
    "ablation-reward": Claim(
        "figure 7", "the full reward is more stable than its parts", ("MeCO-r1", "MeCO-r2", "MeCO-r1+r2")
    ),
    "training-gain": Claim(
        "table 2", "training gains over untrained weights and random actions", ("MeCO-u", "MeCO-rand")
    ),
    "trajectories": Claim("figure A.2", "MeCO finds competitive routes", ("SHADE", "CMA-ES"), metric="first"),
    "realworld": Claim(
        "table A.2", "MeCO has the best average rank on the engineering problems",
        ("SHADE", "SHADE-eps", "SHADE-BOC", "SACOBRA", "NSGA-III", "BP-epsMAg-ES", "CMA-ES"), metric="first",
    ),
}  # fmt: skip


def judge(claim: Claim, sets: Sequence[ExperimentRuns]) -> Verdict | None:
    """The verdict on a claim from the runs at each dimension; None where its methods did not run."""
    if not claim.others:
        return judge_actions(sets)
    said, pairs, few = [], [], 99
    for runs in sets:
        labels = [label for label in (claim.ahead, *claim.others) if label in runs.complete]
        if claim.ahead not in labels or len(labels) < 2:
            continue
        mean = stats.ranks(runs, claim.metric, labels).mean()
        place = int((mean < mean[claim.ahead]).sum()) + 1
        where = f"D = {runs.dim}: " if len(sets) > 1 else ""
        said.append(f"{where}average rank {mean[claim.ahead]:.2f}, place {place} of {len(labels)}")
        pairs += [float(mean[claim.ahead] < mean[label]) for label in labels if label != claim.ahead]
        few = min(few, int(runs.table[runs.table.label == claim.ahead].groupby("problem", observed=True).size().min()))
    if not pairs:
        return None
    ahead = float(np.mean(pairs))
    if few < FEWEST_RUNS:
        word = f"not shown ({few} runs cannot reach {LEAST_P})"
    elif ahead == 1.0:
        word = "reproduced"
    else:
        word = "partly reproduced" if ahead >= 0.5 else "not reproduced"
    return Verdict("; ".join(said), word)


def judge_actions(sets: Sequence[ExperimentRuns]) -> Verdict | None:
    """Mean actions of the policy as printed in the first and last third of its runs; None without actions."""
    said, changes = [], []
    for runs in sets:
        for problem in runs.problems if AS_PRINTED in runs.labels else ():
            found = runs.actions(AS_PRINTED, problem)
            if found is None:
                continue
            first, _, last = (float(np.nanmean(part)) for part in np.array_split(found[1][:, :-1], 3, axis=1))
            said.append(f"{problem} {first:.2f} at first, {last:.2f} at last")
            changes.append(abs(first - last) > 0.05)
    if not said:
        return None
    word = "reproduced" if all(changes) else "partly reproduced" if any(changes) else "not reproduced"
    return Verdict("mean action on " + "; ".join(said), word)


def rank_in_printed_place(runs: ExperimentRuns, label: str) -> float | None:
    """The average rank that a method of ours has in MeCO's place in the printed table 1; None without its runs."""
    if label not in runs.complete:
        return None
    mean = runs.table[runs.table.label == label].groupby("problem", observed=True).score.mean()
    cells, places = printed.read_cells("table1"), []
    for problem in runs.problems:
        others = [value for other in _OTHERS if (value := cells[problem, other].mean) is not None]
        ahead = sum(value < mean[problem] for value in others)
        level = sum(value == mean[problem] for value in others)
        places.append(1.0 + ahead + 0.5 * level)
    return float(np.mean(places))


def format_printed_places(name: str, sets: Sequence[ExperimentRuns]) -> list[str]:
    """A line for a terminal: what rules on SHADE would have in MeCO's place in the printed table 1; [] elsewhere."""
    if name != "table1" or not sets:
        return []
    rules = (AS_PRINTED, "MeCO-u", "MeCO-rand", "SHADE", "SHADE-FR", "SHADE-BOC", "SHADE-eps")
    found = {label: rank_in_printed_place(sets[0], label) for label in rules}
    said = ", ".join(f"{label} {rank:.2f}" for label, rank in found.items() if rank is not None)
    return [f"  in MeCO's place in the printed table (2.25): {said}"] if said else []


def format_verdict(name: str, sets: Sequence[ExperimentRuns]) -> list[str]:
    """Lines for a terminal: the claim, what was found, the verdict; [] for an experiment that is not the paper's."""
    verdict = judge(CLAIMS[name], sets) if name in CLAIMS else None
    if verdict is None:
        return []
    claim = CLAIMS[name]
    lines = [f"{name} ({claim.place} of the paper): {claim.text}", f"  found: {verdict.found}"]
    return [*lines, *format_printed_places(name, sets), f"  {verdict.word}"]
