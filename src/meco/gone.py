"""Names that left the library in 0.4, and what to use instead; errors and imports answer with these lines until 0.5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

VERSION = "0.4"
DRAWN_MISSIONS = (
    "mission-rows", "mission-fork", "mission-cross", "wide-spiral", "wide-outpost", "wide-bend", "wide-shore",
    "wide-fan", "dense-spiral", "dense-rows", "dense-fork", "dense-shore", "dense-cross",
)  # fmt: skip
ROUGH_FAMILIES = (
    "bowl-fails", "steps-cliff", "bowl-digits", "valley-digits", "bowl-even", "valley-even", "bowl-beside",
    "valley-chance", "ripples-many", "bowl-stepped", "basin-stepped", "edges-proportional", "bowl-rare", "valley-holes",
    "basin-rising", "growth-mesh", "chain-mesh", "wells-table", "growth-table", "chain-heavy", "growth-moved",
    "chain-pocket", "wells-bands", "growth-strained",
)  # fmt: skip
RWCO_PROBLEMS = tuple(
    f"RC{k:02d}" for k in range(1, 58) if k not in (19, 20, 23, 24, 25, 27, 29, 32)
)  # of the CEC 2020 suite
RWCO_MODULES = (
    "chemical", "separation", "synthesis", "livestock", "microgrid", "official", "power_flow", "power_systems", "pwm",
    "topology", "wind_farm",
)  # fmt: skip
NAMES: dict[str, dict[str, str]] = {  # by kind, as UnknownName has it
    "command": {},
    "method": {
        "COLSHADE": "use SHADE-FR",
        "NOMAD": "benchmarks/peers_on_problems.py in the repository calls it",
        "Optuna-TPE": "benchmarks/peers_on_problems.py in the repository calls it",
        "Optuna-GP": "benchmarks/peers_on_problems.py in the repository calls it",
        "SCBO": "benchmarks/peers_on_problems.py in the repository calls it",
    },
    "problem": dict.fromkeys(RWCO_PROBLEMS, "a clone of the repository has it: pip install ./benchmarks/rwco"),
    "suite": {
        "s2mpj": "benchmarks/s2mpj.py in the repository makes its problems",
        "rwco": "a clone of the repository has it: pip install ./benchmarks/rwco, then meco_rwco.get_suite()",
    },
    "family of generated problems": {
        **dict.fromkeys(DRAWN_MISSIONS, "use UAV-01 to UAV-16"),
        **dict.fromkeys(ROUGH_FAMILIES, "benchmarks/rough_families in the repository draws it"),
    },
}
MODULES = {  # below meco, with all that is inside
    "bench.plan.plan_schema": "meco.bench.plan.experiment.Experiment.from_json() reads a plan",
    "engines.de.colshade": "use meco.engines.de.shade",
    "engines.external.nomad": "benchmarks/peers/nomad.py in the repository has it",
    "engines.external.optuna": "benchmarks/peers/optuna.py in the repository has it",
    "problems.generated.drawn_missions": "meco.get_suite('uav') has sixteen missions",
    "problems.generated.failure_kinds": "benchmarks/rough_families in the repository has it",
    "problems.generated.noise_kinds": "benchmarks/rough_families in the repository has it",
    "problems.generated.simulator_kinds": "benchmarks/rough_families in the repository has it",
    "problems.generated.mission_layouts": "tools/missions/layouts.py in the repository has those of the suite",
    **dict.fromkeys(
        (f"problems.realworld.{name}" for name in RWCO_MODULES),
        "pip install ./benchmarks/rwco in a clone, then meco_rwco",
    ),
    "adapters.optiprofiler": "benchmarks/optiprofiler_solver.py in the repository has it",
    "problems.s2mpj": "benchmarks/s2mpj.py in the repository has it",
    "problems.uav.layouts": "tools/missions/layouts.py in the repository has them",
    "problems.uav.obstacles": "tools/missions/obstacles.py in the repository has them",
    "engines.external.scbo": "benchmarks/peers/scbo.py in the repository has it",
}


def find_advice(kind: str, name: object) -> str | None:
    """What to use instead of a name of this kind that left, whatever its capitalisation; None for other names."""
    return next((told for gone, told in NAMES.get(kind, {}).items() if gone.lower() == str(name).lower()), None)


class GoneModules:
    """A finder for sys.meta_path that answers an import of a module that left with the line of MODULES."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        """None for other modules; ImportError for one that left."""
        for gone, told in MODULES.items():
            if f"{name}.".startswith(f"meco.{gone}."):
                raise ImportError(f"meco.{gone} left in {VERSION}: {told}", name=name)
