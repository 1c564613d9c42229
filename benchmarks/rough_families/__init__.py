"""Generated problems that are rough, noisy or fail, as simulation programs are: TR's constants were tuned with them.

    from rough_families import ROUGH, make_batch
    make_batch("growth-mesh", seeds=range(100), dim=10)

A family is one of meco.problems.generated with a simulator (simulator_kinds.py), noise (noise_kinds.py) or failures
(failure_kinds.py). The known point keeps its values, and no feasible point gets better than the best known one.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import meco
from meco.core.arrays import Array, namespace
from meco.core.problem import Problem
from meco.problems.generated.batch import GeneratedBatch, Numbers, StackingFormula, Values
from meco.problems.generated.draw import draw_problem
from meco.problems.generated.families import THIRD, Family
from meco.problems.generated.formula import evaluate_model, scale_outputs
from rough_families.failure_kinds import FAILURES
from rough_families.noise_kinds import NOISES
from rough_families.simulator_kinds import SIMULATORS


@dataclass(frozen=True)
class RoughFamily(Family):
    """A family with a program around its model: each field is a key of the kinds, or None."""

    failing: str | None = None  # of FAILURES: where or when it gives nan
    simulator: str | None = None  # of SIMULATORS: what makes it rough
    noise: str | None = None  # of NOISES: how calls of one point differ

    @property
    def about(self) -> str:
        """The family in words."""
        words = [super().about]
        words += [f"rough ({self.simulator})"] if self.simulator else []
        words += [f"noisy ({self.noise})"] if self.noise else []
        words += [f"fails ({self.failing})"] if self.failing else []
        return ", ".join(words)


_TABLE = (
    RoughFamily("bowl-fails", "train", ("bowl", "edges"), (("inside", 2), ("linear", 4)), failing="region"),
    RoughFamily("steps-cliff", "train", ("steps", "edges"), (("cliff", 1), ("linear", 1)), failing="region"),
    RoughFamily("bowl-digits", "train", ("bowl",), (("linear", 4), ("inside", 2)), simulator="digits"),
    RoughFamily("valley-digits", "train", ("valley",), (("cliff", 1), ("linear", 1)), simulator="digits"),
    RoughFamily("bowl-even", "train", ("bowl",), (("linear", 6),), noise="even"),
    RoughFamily("valley-even", "train", ("valley",), (("inside", 2),), noise="even"),
    RoughFamily("bowl-beside", "train", ("bowl",), (("linear", 4), ("inside", 2)), failing="beside"),
    RoughFamily("valley-chance", "train", ("valley", "bowl"), (("linear", 6),), failing="chance"),
    RoughFamily(
        "ripples-many", "choose", ("ripples",), (("inside", 8), ("maxima", 8), ("outside", 4)), failing="patches"
    ),
    RoughFamily("bowl-stepped", "choose", ("bowl",), (("inside", 2),), simulator="stepped"),
    RoughFamily("basin-stepped", "choose", ("basin",), (("maxima", 4), ("linear", 2)), simulator="stepped"),
    RoughFamily("edges-proportional", "choose", ("edges", "bowl"), (("maxima", 6),), noise="proportional"),
    RoughFamily("bowl-rare", "choose", ("bowl",), (("wavy", 1), ("inside", 1)), noise="rare"),
    RoughFamily("valley-holes", "choose", ("valley",), (("maxima", 2),), failing="holes"),
    RoughFamily("basin-rising", "choose", ("basin", "bowl"), (("linear", 6),), failing="rising"),
    RoughFamily("growth-mesh", "confirm", ("growth",), (("growth", 4), ("cubic", 2)), simulator="mesh"),
    RoughFamily("chain-mesh", "confirm", ("chain",), (("growth", 2),), simulator="mesh"),
    RoughFamily("wells-table", "confirm", ("wells",), (("growth", 6),), simulator="table"),
    RoughFamily("growth-table", "confirm", ("growth", "chain"), (), (("cubic", THIRD),), simulator="table"),
    RoughFamily("chain-heavy", "confirm", ("chain",), (("growth", 6),), noise="heavy"),
    RoughFamily("growth-moved", "confirm", ("growth",), (("tube", 1), ("growth", 1)), noise="moved"),
    RoughFamily("chain-pocket", "confirm", ("chain", "growth"), (("growth", 6),), failing="pocket"),
    RoughFamily("wells-bands", "confirm", ("wells",), (("cubic", 1), ("growth", 1)), failing="bands"),
    RoughFamily("growth-strained", "confirm", ("growth",), (("growth", 6),), failing="strained"),
)
ROUGH = {family.name: family for family in _TABLE}


def make_batch(name: str, seeds: Iterable[int], dim: int = 10) -> GeneratedBatch:
    """Problems of one family, one for each seed, evaluated in one call."""
    return GeneratedBatch([draw_rough_problem(ROUGH[name], seed, dim) for seed in seeds])


def get_problem(name: str, dim: int = 10) -> Problem:
    """A problem by name, such as "G-growth-mesh-0007"; one that is of no rough family is meco's own."""
    found = re.fullmatch(r"G-(.+)-(\d+)", name)
    if found is None or found[1] not in ROUGH:
        return meco.get_problem(name, dim)
    return draw_rough_problem(ROUGH[found[1]], int(found[2]), dim)


def draw_rough_problem(family: RoughFamily, seed: int, dim: int) -> Problem:
    """The problem of a seed in D variables. The order of draws is part of the seed."""
    rng = np.random.default_rng([zlib.crc32(family.name.encode()), seed, dim])
    smooth = draw_problem(family, seed, dim, rng)
    numbers: Numbers = dict(smooth.formula.numbers)  # type: ignore[attr-defined]
    known, half = numbers["x"]["known"][0], numbers["x"]["half"][0]
    outputs = 1 + sum(family.counts(dim))
    if family.failing:
        numbers["fail"] = FAILURES[family.failing].draw(rng, (known - smooth.lower) / half - 1.0)
    if family.simulator:
        numbers["simulator"] = SIMULATORS[family.simulator].draw(rng, dim, outputs)
    if family.noise:
        numbers["noise"] = NOISES[family.noise].draw_level(rng, dim, outputs)
    formula = StackingFormula(
        partial(evaluate_rough, family),
        numbers,
        (family.name, dim),
        finite_within=-1.0 if family.failing else math.inf,
        draws=_count_draws(family, dim),
    )
    return replace(smooth, formula=formula, title=family.about)


def evaluate_rough(family: RoughFamily, x: Array, p: Mapping[str, Mapping[str, Any]], z: Array | None = None) -> Values:
    """Values of a family's problems with numbers p at x [B, N, D]: f [B, N], g [B, N, p], h [B, N, q].

    nan where the family fails. z [B, N, draws] are normal numbers for what chance does; None: it does nothing.
    """
    v = (x - p["x"]["known"]) / p["x"]["half"]  # exactly 0 at the known point
    noise = None if z is None or family.noise is None else NOISES[family.noise]
    seen = noise.disturb(v, z, p["noise"]) if noise is not None and noise.of_point else v
    if family.simulator is not None:
        seen = SIMULATORS[family.simulator].see(seen, p["simulator"])
    value, g, h = evaluate_model(family, seen, p)
    failed = _find_failed(family, v, g, p, z)
    if family.simulator is not None:
        report = SIMULATORS[family.simulator].report
        value, g, h = _change_outputs(lambda outputs: report(outputs, v, p["simulator"]), value, g, h)
    if noise is not None and not noise.of_point:
        disturb = noise.disturb
        value, g, h = _change_outputs(lambda outputs: disturb(outputs, z, p["noise"]), value, g, h)
    value, g, h = scale_outputs(family, value, g, h, p)
    if failed is None:
        return value, g, h
    xp, lost = namespace(x), failed[..., None]
    return xp.where(failed, xp.nan, value), xp.where(lost, xp.nan, g), xp.where(lost, xp.nan, h)


def _count_draws(family: RoughFamily, dim: int) -> int:
    """Normal numbers that a call takes from chance: those of the noise, and one that says whether the call fails."""
    noise = NOISES[family.noise].count_draws(dim, 1 + sum(family.counts(dim))) if family.noise else 0
    return noise + int(family.failing is not None and FAILURES[family.failing].by_chance)


def _change_outputs(change: Callable[[Array], Array], value: Array, g: Array, h: Array) -> Values:
    """f, g and h after change() of all outputs side by side [B, N, 1 + p + q]."""
    changed = change(namespace(value).concat([value[..., None], g, h], axis=-1))
    first = 1 + g.shape[-1]
    return changed[..., 0], changed[..., 1:first], changed[..., first:]


def _find_failed(
    family: RoughFamily, v: Array, g: Array, p: Mapping[str, Mapping[str, Any]], z: Array | None
) -> Array | None:
    """Which calls fail [B, N]; None where none can. The last of the numbers of chance z decides, where it does."""
    if family.failing is None:
        return None
    kind = FAILURES[family.failing]
    if not kind.by_chance:
        return kind.fails(v, p["fail"])
    return None if z is None else kind.fails(v, p["fail"], g, z[..., -1])
