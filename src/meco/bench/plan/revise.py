"""The same experiment otherwise: fewer runs, other contenders, more results beside, pinned to what exists now."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from meco.bench.plan.contender import PIN_DIGITS, Contender, is_removed, split_name_and_options
from meco.bench.plan.experiment import Experiment, read_dim_and_digest
from meco.errors import InvalidInput, MecoError, UnknownName
from meco.files.archive import DamagedArchive
from meco.files.modules import names_a_file
from meco.methods import METHODS

PRESET_POLICIES = re.compile(r"meco-(10d|loo50|split-\d+d)(?:-C\d+)?$")
LEFT_OUT = "left out"  # marks a note of a report that names contenders without their policies


def pin_versions(experiment: Experiment) -> Experiment:
    """The same experiment with the digests of its policies and user problems: what is new makes new runs.

    A report finds the runs by these digests, without the policies and files themselves. Users' files are executed;
    a policy that is not installed gets no digest.
    """
    now = replace(
        experiment, versions={name: read_dim_and_digest(path, name) for name, path in experiment.files.items()}
    )
    names = {name for c in experiment.contenders for name in _list_policy_files(c, now)}
    found = {name: read_policy_digest(name) for name in sorted(names)}
    return replace(now, pins={name: digest for name, digest in found.items() if digest})


def adjust_experiment(
    experiment: Experiment,
    runs: int | None = None,
    quick: bool = False,
    methods: Iterable[str] | None = None,
    surrogate_runs: int | None = None,
) -> Experiment:
    """A copy with other run counts or contenders; a number of runs that is given holds for all, costly ones too.

    quick keeps the contenders of a quick look, 3 runs each; methods chooses contenders and adds others with their
    defaults; surrogate_runs is for costly ones alone. Unknown methods and less than 1 run are errors.
    """
    contenders = experiment.contenders
    if quick and experiment.quick:
        contenders = tuple(c for c in contenders if c.label in experiment.quick)
    if methods:
        contenders = tuple(_choose_contender(experiment, text) for text in methods)
    if runs is not None and runs < 1:
        raise InvalidInput(f"--runs must be at least 1; got {runs}")
    if runs is not None:
        contenders = tuple(replace(c, most=None) for c in contenders)
    if surrogate_runs is not None:
        contenders = tuple(replace(c, most=surrogate_runs) if c.costly else c for c in contenders)
    return replace(experiment, contenders=contenders, runs=runs or (3 if quick else experiment.runs))


def find_contender(experiment: Experiment, text: str) -> Contender | None:
    """The contender of this label, or of the method that it is a spelling of; None without either."""
    known = {c.label.lower(): c for c in experiment.contenders}
    exact = METHODS.resolve(text) if not split_name_and_options(text)[1] and text in METHODS else text
    names = (name.lower() for name in (text, exact))
    return next((known[name] for name in names if name in known), None)


def _choose_contender(experiment: Experiment, text: str) -> Contender:
    """The contender of this label; another method joins with its defaults, what is neither is an error."""
    found = find_contender(experiment, text)
    if found is not None:
        return found
    if split_name_and_options(text)[0] not in METHODS:
        raise UnknownName("method", text, [*list_labels(experiment), *METHODS])
    return Contender.parse(text).with_few_surrogate_runs()


def join_experiments(first: Experiment, second: Experiment) -> Experiment:
    """The first with what another of the same name adds; where they differ, the second counts."""
    mine, theirs = ({c.label: c for c in e.contenders} for e in (first, second))
    runs = max(first.runs, second.runs)

    def join_contender(label: str) -> Contender:
        """The contender of a label, from both plans where both have it."""
        if label not in mine or label not in theirs or mine[label].most == theirs[label].most:
            return theirs.get(label) or mine[label]
        most = max(first.run_count(mine[label]), second.run_count(theirs[label]))  # a smaller number takes nothing back
        return replace(theirs[label], most=most if most < runs else None)

    return replace(
        second,
        contenders=tuple(join_contender(label) for label in {**mine, **theirs}),
        problems=tuple(dict.fromkeys((*first.problems, *second.problems))),
        dims=tuple(dict.fromkeys((*first.dims, *second.dims))),
        runs=runs,
        pins={**first.pins, **second.pins},
        versions={**first.versions, **second.versions},
        files={**first.files, **second.files},
    )


def without_missing_policies(experiment: Experiment) -> tuple[Experiment, str]:
    """The experiment without contenders whose policies are not installed, and a line that says so and the way out.

    The line is a note of its report, too. The same experiment and "" where none is missing. Policies are read from
    their files to find out.
    """
    lost: dict[str, int] = {}
    missing_names: set[str] = set()
    for contender in (c for c in experiment.contenders if not is_removed(c.method)):
        if missing := {name for name in _list_policy_files(contender, experiment) if not read_policy_digest(name)}:
            lost[contender.label] = len(missing)
            missing_names |= missing
    if not lost:
        return experiment, ""
    kept = tuple(c for c in experiment.contenders if c.label not in lost)
    said = (
        f"{experiment.name}: {LEFT_OUT} {'; '.join(lost)}: {sum(lost.values())} policies that only the paper's "
        "experiments use are not installed; get the repository and set MECO_POLICIES=<it>/results/archive/<version>"
        "-policies.tar.xz"
        f"{_compose_training_command(missing_names)}"
    )
    report = replace(experiment.report, notes=(*experiment.report.notes, said))
    return replace(experiment, contenders=kept, report=report), said


def list_left_out(experiment: Experiment) -> list[str]:
    """The notes of an experiment as it was run that say which contenders had no policies; [] where all had them."""
    return [note for note in experiment.report.notes if note.startswith(f"{experiment.name}: {LEFT_OUT}")]


def _list_policy_files(contender: Contender, experiment: Experiment) -> set[str]:
    """Names of trained policies that a contender plays; constants and classes of Python files are none."""
    policy = contender.options.get("policy")
    if not isinstance(policy, str) or names_a_file(policy):
        return set()
    return {json.loads(contender.options_json(case))["policy"] for case in experiment.cases()}


def _compose_training_command(names: Iterable[str]) -> str:
    """How to train those of these policies that presets of `meco train` make; "" where they make none."""
    found = [PRESET_POLICIES.match(name) for name in sorted(names)]
    presets = dict.fromkeys(match[1] for match in found if match)
    if not presets:
        return ""
    commands = " and ".join(f"meco train --preset {preset} --out policies" for preset in presets)
    which = "them" if all(found) else "those of the presets"
    return f", or train {which}: {commands}, then set MECO_POLICIES=policies"


def list_labels(experiment: Experiment) -> list[str]:
    """What the contenders of an experiment are called."""
    return [c.label for c in experiment.contenders]


@lru_cache(maxsize=256)
def read_policy_digest(name: str) -> str:
    """The first digits of a policy's digest, from its file; "" for a policy that is not there or cannot be read.

    DamagedArchive where the archive of policies is damaged: others would be taken for missing, too.
    """
    from meco.paper.store import load_policy

    try:
        return str(load_policy(name).metadata["digest"])[:PIN_DIGITS]
    except DamagedArchive:
        raise
    except MecoError:
        return ""
