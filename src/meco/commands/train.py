"""meco train: train policies of MeCO, one or many at once."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from meco.core.progress_line import ProgressLine
from meco.core.signals import note_signals
from meco.errors import InvalidInput, MecoError, load_extra
from meco.files.modules import file_digest, names_a_file, split_file_name
from meco.paper.config import INSTANCES, TaskSettings, TrainingConfig
from meco.paper.presets import (
    PRESETS,
    list_problems_without,
    make_configs_for_seeds,
    make_leave_one_out_configs,
    select_configs,
)
from meco.paper.record import write_policy_and_log
from meco.paper.store import SUFFIX, load_policy
from meco.problems.suite import get_problem

TASK_OPTIONS = (
    "suite",
    "problem",
    "dim",
    "leave_one_out",
    "holdout",
    "name",
)  # options that say what to train, as a preset does
OWN_OPTIONS = ("epochs", "instances", "source", "dim", "problems", "seed")  # settings with an option of their own
FEW_DECISIONS = 5  # in an episode, below which a training teaches next to nothing; the paper's least is 9
EXIT_STOPPED = 130  # exit code after a clean stop that can be continued
# options with a value that do not change the policy
OTHER_OPTIONS = ("--out", "--only", "--save-every", "--seconds", "--together")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco train`."""
    what = parser.add_argument_group("what to train")
    what.add_argument("--preset", help=f"a training of the paper: {', '.join(PRESETS)}")
    what.add_argument("--suite", help="problems to train on (default: cec2017)")
    what.add_argument(
        "--problem",
        nargs="+",
        metavar="NAME",
        help="problems of the suite, or your own: file.py:name, a meco.Problem or a function of D that makes one",
    )
    what.add_argument("--dim", type=int, help="number of variables (default: that of your own problems, else 10)")
    what.add_argument(
        "--leave-one-out", action="store_true", default=None, help="a policy per problem, trained on all the others"
    )
    what.add_argument("--holdout", type=_parse_names, help="problems to leave out, e.g. C07,C08")
    what.add_argument("--name", help="name of the policy (default: made from suite and D)")
    what.add_argument("--only", type=_parse_names, help="train these of the policies only, by name")
    how = parser.add_argument_group("how")
    how.add_argument("--instances", help="of the problems: " + ", ".join(INSTANCES) + " (default: paper)")
    how.add_argument("--epochs", type=int, help="episodes per training problem (default: 50)")
    how.add_argument("--seeds", type=_parse_seeds, default=(1,), help="a policy for each, e.g. 1,2,3 (default: 1)")
    names = ", ".join(n for n in TrainingConfig.setting_names() if n not in OWN_OPTIONS)
    how.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=f"any other setting: {names}")
    how.add_argument("--out", type=Path, default=Path("policies"), help="folder of the policies (default: policies)")
    how.add_argument("--quiet", action="store_true", help="no progress line")
    how.add_argument(
        "--together", type=int, metavar="N", help="policies in one batch at most, written when it ends (default: all)"
    )
    parser.add_argument("--seconds", type=float, help="stop after so long; the same command with --resume goes on")
    parser.add_argument("--resume", action="store_true", help="go on where a stopped or killed training was")
    parser.add_argument("--save-every", type=float, default=30.0, help="seconds between checkpoints (default: 30)")


def run(args: argparse.Namespace) -> int:
    """Train in groups that go in lockstep, and write policies and logs; 0, or EXIT_STOPPED by a signal or --seconds.

    Stopped in between, the same command with --resume goes on.
    """
    load_extra("torch", "train", "training")
    _check_batch_options(args)
    configs = read_configs(args)
    if not args.quiet:
        for note in dict.fromkeys(filter(None, map(warn_of_short_episodes, configs))):
            print(f"meco: {note}", file=sys.stderr)
    for config in configs:
        _refuse_to_overwrite(config, args.out)
    args.out.mkdir(parents=True, exist_ok=True)
    from meco.paper.training import lockstep_groups

    end = math.inf if args.seconds is None else time.monotonic() + args.seconds
    with note_signals() as signalled:
        stop = _make_stop_check(signalled, end)
        for group in lockstep_groups(configs, args.together):
            pending = [c for c in group if not _is_done(args.out, c)] if args.resume else group
            if pending and (stop() or not _train_group(pending, args, stop)):
                print(f"stopped; the same command with --resume goes on (checkpoint in {args.out})", file=sys.stderr)
                return EXIT_STOPPED
    return 0


def warn_of_short_episodes(config: TrainingConfig) -> str:
    """A sentence for a training whose episodes have too few decisions to learn from, and the way out; "" for others."""
    if config.steps >= FEW_DECISIONS:
        return ""
    size, evaluations = config.episode.pop_size, config.evaluations
    decisions = "1 decision" if config.steps == 1 else f"{config.steps} decisions"
    return (
        f"{evaluations} evaluations with a population of {size} leave {decisions} in an episode, from which next to "
        f"nothing is learnt: give a larger budget, --set budget={20 * size}, or a smaller population, "
        f"--set pop_size={max(4, evaluations // 20)}"
    )


def _check_batch_options(args: argparse.Namespace) -> None:
    """Refuse batches of none."""
    if args.together is not None and args.together < 1:
        raise InvalidInput(f"--together must be at least 1; got {args.together}")


def _make_stop_check(signalled: Callable[[], bool], end: float) -> Callable[[], bool]:
    """A function that tells whether a signal came, or the clock (monotonic) is past its end."""
    return lambda: signalled() or time.monotonic() >= end


def read_configs(args: argparse.Namespace) -> list[TrainingConfig]:
    """The trainings that the options ask for; unknown names and values that cannot be are errors."""
    configs = make_configs_for_seeds(_find_preset(args), args.seeds)
    changes: dict[str, Any] = {k: getattr(args, k) for k in ("instances", "epochs")}
    changes = {k: v for k, v in changes.items() if v is not None}
    configs = [c.with_settings(**changes).with_texts(_read_settings(args)) for c in configs]
    return configs if args.only is None else select_configs(configs, args.only)


def _find_preset(args: argparse.Namespace) -> Callable[[int], list[TrainingConfig]]:
    """What makes the trainings of a seed: a preset, or what the options describe; InvalidInput for both at once."""
    if args.preset:
        given = [f"--{name.replace('_', '-')}" for name in TASK_OPTIONS if getattr(args, name) is not None]
        if given:
            raise InvalidInput(f"a preset says what to train; leave out {given[0]}")
        return partial(_read_preset, args.preset)
    if args.problem:
        return _train_on_problems(args)
    suite, dim = args.suite or "cec2017", 10 if args.dim is None else args.dim
    name = args.name or f"{suite}-{dim}d"
    if args.leave_one_out:
        return partial(make_leave_one_out_configs, name, suite=suite, dim=dim)
    problems = list_problems_without(suite, args.holdout or ())
    task = TaskSettings(suite, dim, problems)
    return lambda seed: [TrainingConfig(name, task, seed=seed)]


def _train_on_problems(args: argparse.Namespace) -> Callable[[int], list[TrainingConfig]]:
    """What makes the training of a seed on named problems; files of one's own are executed, and their D must agree."""
    given = [f"--{name.replace('_', '-')}" for name in ("leave_one_out", "holdout") if getattr(args, name) is not None]
    if given:
        raise InvalidInput(f"--problem says what to train on; leave out {given[0]}")
    problems = tuple(_name_version(name) for name in args.problem)
    own = [name for name in problems if names_a_file(name)]
    sizes = {name: get_problem(name, args.dim).dim for name in own}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} {dim}" for name, dim in zip(args.problem, sizes.values()))
        raise InvalidInput(f"a policy is trained on problems of equal D; variables of {said}")
    dim = next(iter(sizes.values()), 10 if args.dim is None else args.dim)
    label = Path(split_file_name(own[0])[0]).stem if own else args.suite or "cec2017"
    task = TaskSettings(args.suite or "cec2017", dim, problems)
    return lambda seed: [TrainingConfig(args.name or f"{label}-{dim}d", task, seed=seed)]


def _name_version(name: str) -> str:
    """A name in a file with the version of that file, so that no training goes on with an edited one."""
    return f"{name}@{file_digest(split_file_name(name)[0])}" if names_a_file(name) and "@" not in name else name


def _read_preset(name: str, seed: int) -> list[TrainingConfig]:
    """The trainings of a preset, which may be a function of a file, which is executed; what makes none is an error."""
    preset = PRESETS[name]
    try:
        found = preset(seed) if callable(preset) else None
    except Exception as error:
        if isinstance(error, MecoError) or not names_a_file(name):
            raise
        raise InvalidInput(f"{name} made no trainings: {type(error).__name__}: {error}") from error
    if not isinstance(found, (list, tuple)) or not all(isinstance(each, TrainingConfig) for each in found):
        raise InvalidInput(f"{name!r:.60} is no training preset: it must make trainings from a seed")
    return list(found)


def _train_group(group: list[TrainingConfig], args: argparse.Namespace, stop: Callable[[], bool]) -> bool:
    """Train one batch of policies and write them; False if it was stopped before the end.

    The checkpoint lies beside them, and is removed when they are written.
    """
    from meco.paper.training import Trainer

    label = group[0].name if len(group) == 1 else f"{group[0].name} and {len(group) - 1} more"
    checkpoint = args.out / f"{group[0].name}.checkpoint.npz"
    report = None if args.quiet else TrainingLine(label)
    trainer = Trainer(group, checkpoint, args.save_every, report)
    if args.resume and checkpoint.is_file():
        trainer.resume()
    done = trainer.run(stop)
    if report:
        report.end()
    for trained in done:
        print(write_policy_and_log(args.out, trained, command_of_policy(sys.argv[1:], trained.config.name)))
    if done:
        checkpoint.unlink(missing_ok=True)
    return bool(done)


def command_of_policy(arguments: Sequence[str], name: str) -> str:
    """The command that makes this one policy again, whatever was trained beside it."""
    return shlex.join(["meco", *words_of_policy(arguments), "--only", name])


def words_of_policy(arguments: Sequence[str]) -> list[str]:
    """The words of a command that change the policy; where it is written and how long that may take are left out."""
    words, rest = [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word in OTHER_OPTIONS:
            rest.pop(0)
        elif word not in ("--resume", "--quiet") and not word.startswith(tuple(f"{o}=" for o in OTHER_OPTIONS)):
            words.append(word)
    return words


def _refuse_to_overwrite(config: TrainingConfig, folder: Path) -> None:
    """InvalidInput where the folder has a policy of that name that is of another training or not ours."""
    path = folder / (config.name + SUFFIX)
    if path.exists() and not _is_done(folder, config):
        way_out = "give another name or --out, or remove it"
        raise InvalidInput(f"{path} is {_describe_other(path, config)}, and is not overwritten: {way_out}")


def _describe_other(path: Path, wanted: TrainingConfig) -> str:
    """What a policy file is instead of the policy of this training: the first settings in which they differ."""
    try:
        there = load_policy(path).metadata.get("training")
    except MecoError:
        return "no policy that can be read"
    here = wanted.as_dict()
    if not isinstance(there, dict):
        return "a policy that was made otherwise"
    names = [k for k in {**here, **there} if k != "name" and there.get(k) != here.get(k)]
    told = "; ".join(f"{k} {there.get(k)!s:.60} there, {here.get(k)!s:.60} here" for k in names[:3])
    return f"the policy of another training ({told})"


def _is_done(folder: Path, config: TrainingConfig) -> bool:
    """Whether the folder holds the policy of this very training."""
    try:
        return load_policy(folder / (config.name + SUFFIX)).metadata.get("training") == config.as_dict()
    except MecoError:
        return False


class TrainingLine:
    """Says how far the training is, what it earns and what it does."""

    BARS = " ▁▂▃▄▅▆▇█"

    def __init__(self, label: str) -> None:
        self.label, self._line = label, ProgressLine(every=10.0)

    def __call__(self, status: Any) -> None:
        """Rewrite the line where that is due; status is a TrainingStatus of the trainer."""
        if self._line.due or status.played == status.episodes:
            self._line.show(self.format_status(status))

    def format_status(self, status: Any) -> str:
        """Share done, mean return and loss of the round, the actions taken as bars, time left, in one line."""
        many = status.outcomes
        counts = [sum(o.actions[a] for o in many) for a in range(len(many[0].actions))]
        bars = "".join(self.BARS[-(-c * 8 // max(1, *counts))] for c in counts)
        reward, loss = (sum(getattr(o, k) for o in many) / len(many) for k in ("reward", "loss"))
        left = f"{status.left:.0f} s" if status.left < 120 else f"{status.left / 60:.0f} min"
        return (
            f"{self.label}: {status.played / status.episodes:5.1%}, return {reward:+.3f}, loss {loss:.4f}, "
            f"actions |{bars}|, {left} left"
        )

    def end(self) -> None:
        """Leave the last line as it is."""
        self._line.end()


def _parse_names(text: str) -> tuple[str, ...]:
    """The names in "C07,C08"."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parse_seeds(text: str) -> tuple[int, ...]:
    """The numbers in "1,2,3"; ValueError for other text."""
    return tuple(int(part) for part in _parse_names(text))


def _read_settings(args: argparse.Namespace) -> dict[str, str]:
    """What --set gives, texts by name; InvalidInput for one without "="."""
    return dict(_parse_setting(text) for text in args.set)


def _parse_setting(text: str) -> tuple[str, str]:
    """Name and value of one --set NAME=VALUE, both text; InvalidInput without "="."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"--set takes NAME=VALUE; got {text!r}")
    return name.strip(), value.strip()
