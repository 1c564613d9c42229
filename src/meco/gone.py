"""Names that left the library in 0.4, and what to use instead; errors and imports answer with these lines until 0.5."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

VERSION = "0.4"
_TR = "use TR, the default; learning to control it did not beat a constant"
_VERSION_OF_POLICY = "load_policy(name).metadata['library_version'] is the version that trained a policy"
_SPLITS = tuple(f"split-{dim}d" for dim in (10, 30, 50, 100))
_DRAWN_MISSIONS = (
    "mission-rows", "mission-fork", "mission-cross", "wide-spiral", "wide-outpost", "wide-bend", "wide-shore",
    "wide-fan", "dense-spiral", "dense-rows", "dense-fork", "dense-shore", "dense-cross",
)  # fmt: skip
_ROUGH_FAMILIES = (
    "bowl-fails", "steps-cliff", "bowl-digits", "valley-digits", "bowl-even", "valley-even", "bowl-beside",
    "valley-chance", "ripples-many", "bowl-stepped", "basin-stepped", "edges-proportional", "bowl-rare", "valley-holes",
    "basin-rising", "growth-mesh", "chain-mesh", "wells-table", "growth-table", "chain-heavy", "growth-moved",
    "chain-pocket", "wells-bands", "growth-strained",
)  # fmt: skip
_RWCO_PROBLEMS = tuple(
    f"RC{k:02d}" for k in range(1, 58) if k not in (19, 20, 23, 24, 25, 27, 29, 32)
)  # of the CEC 2020 suite
_RWCO_MODULES = (
    "chemical", "separation", "synthesis", "livestock", "microgrid", "official", "power_flow", "power_systems", "pwm",
    "topology", "wind_farm",
)  # fmt: skip
NAMES: dict[str, dict[str, str]] = {  # by kind, as UnknownName has it
    "command": {
        "challenge": "judge a policy with meco bench, e.g. --methods MeCO:policy=mine.safetensors MeCO",
        "episodes": "record your own from gymnasium.make('meco.gym:MeCO-v0')",
        "watch": "meco report FOLDER --follow rewrites a page that refreshes itself",
        "train-tr": "learning to control TR did not beat a constant; meco train trains the policy of MeCO",
    },
    "option of train": {
        "--device": "training runs on the CPU; leave it out",
        "--select": "fix the seeds beforehand: --seeds 1,2,3 trains a policy of each",
    },
    "method": {
        "TR-ES": _TR,
        "MeCO-TR": _TR,
        "COLSHADE": "use SHADE-FR",
        "NOMAD": "benchmarks/peers_on_problems.py in the repository calls it",
        "Optuna-TPE": "benchmarks/peers_on_problems.py in the repository calls it",
        "Optuna-GP": "benchmarks/peers_on_problems.py in the repository calls it",
        "SCBO": "benchmarks/peers_on_problems.py in the repository calls it",
    },
    "policy": {"meco-tr": _TR, "meco-tr-es": _TR},
    "training preset": {
        **{f"paper-{name}": f"use {name}, the training as printed" for name in ("10d", "loo50", *_SPLITS)},
        "as-printed": "use loo50 and 10d with --seeds 1,2,3,4,5",
    },
    "training setting": {
        "device": "training runs on the CPU; leave it out",
        "compiled": "training runs on the CPU; leave it out",
    },
    "feature set": {"tr-search": _TR, "model-search": _TR},
    "name of meco.paper": {"TrustRegionEpisode": _TR, "Correcting": _TR, "Choosing": _TR},
    "experiment": {
        f"steering-{on}": "its stored tables are in `meco report results`" for on in ("10d", "30d", "uav", "families")
    },
    "problem": dict.fromkeys(_RWCO_PROBLEMS, "a clone of the repository has it: pip install ./benchmarks/rwco"),
    "suite": {
        "s2mpj": "benchmarks/s2mpj.py in the repository makes its problems",
        "rwco": "a clone of the repository has it: pip install ./benchmarks/rwco, then meco_rwco.get_suite()",
    },
    "family of generated problems": {
        **dict.fromkeys(_DRAWN_MISSIONS, "use UAV-01 to UAV-16"),
        **dict.fromkeys(_ROUGH_FAMILIES, "benchmarks/rough_families in the repository draws it"),
    },
}
MODULES = {  # below meco, with all that is inside
    "api": "from meco import minimize",
    "run.session": "meco.run.run.Run",
    "run.calling": "from meco import Command; meco.run.answer reads answers",
    "run.function_fingerprint": "a note says that the source of fun has changed",
    "run.kkt": "meco.answer.multipliers",
    "run.limit_prices": "meco.answer.prices",
    "run.make_result": "meco.answer.build",
    "run.minima": "meco.answer.minima",
    "run.noisy_answer": "meco.answer.noise",
    "run.cheap_constraints": "meco.run.cheap",
    "run.function_source": "meco.space",
    "commands.watch": "meco report FOLDER --follow",
    "figures": "result.plot() and result.report() draw, with meco.plot",
    "bench.report": "meco.report has frame, stats, tables, figures and page",
    "commands.challenge": "meco bench compares policies",
    "commands.episodes": "gymnasium.make('meco.gym:MeCO-v0') has the decisions of MeCO",
    "commands.train_tr": _TR,
    "device": "solve(..., xp=torch, device='cuda') runs SHADE, MA-ES and MeCO on a GPU",
    "bench.run.used_packages": "every stored run names its platform, and meco verify repeats runs",
    "files.source_digest": "meco.files.modules.file_digest",
    "tr.steered": _TR,
    "tr.profiles": "give controls to the method: meco.Method('TR', margin=0.05)",
    "tr.features": _TR,
    "tr.profile_features": _TR,
    "tr.knowledge": _TR,
    "tr.proposers.offspring": _TR,
    "tr.proposers.strategy": "MA-ES is meco.engines.es.maes",
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
        (f"problems.realworld.{name}" for name in _RWCO_MODULES),
        "pip install ./benchmarks/rwco in a clone, then meco_rwco",
    ),
    "adapters.optiprofiler": "benchmarks/optiprofiler_solver.py in the repository has it",
    "problems.s2mpj": "benchmarks/s2mpj.py in the repository has it",
    "problems.uav.layouts": "tools/missions/layouts.py in the repository has them",
    "problems.uav.obstacles": "tools/missions/obstacles.py in the repository has them",
    "engines.external.scbo": "benchmarks/peers/scbo.py in the repository has it",
    "learn": "import it from meco.paper",
    "policies": "import it from meco.paper",
    "engines.de.mdecgo": "use meco.paper.baselines.mdecgo",
    "engines.de.c2ode": "use meco.paper.baselines.c2ode",
    "engines.es.bpmages": "use meco.paper.baselines.bpepsmages",
    "engines.rbf": "use meco.paper.baselines",
}


def find_advice(kind: str, name: object) -> str | None:
    """What to use instead of a name of this kind that left, whatever its capitalisation; None for other names."""
    return next((told for gone, told in NAMES.get(kind, {}).items() if gone.lower() == str(name).lower()), None)


def refuse_gone(kind: str, name: str) -> None:
    """Raise ImportError for a name of this kind that left; others pass."""
    if told := find_advice(kind, name):
        raise ImportError(f"{kind} {name!r} left in {VERSION}: {told}", name=name)


def find_names(kind: str) -> Collection[str]:
    """The names of this kind that left."""
    return NAMES.get(kind, {}).keys()


class GoneModules:
    """A finder for sys.meta_path that answers an import of a module that left with the line of MODULES."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        """None for other modules; ImportError for one that left."""
        for gone, told in MODULES.items():
            if f"{name}.".startswith(f"meco.{gone}."):
                raise ImportError(f"meco.{gone} left in {VERSION}: {told}", name=name)
