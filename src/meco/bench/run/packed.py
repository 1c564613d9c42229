"""A store in little room: what of each run is kept, and the store as one xz file.

The final numbers of every run stay exactly, and so do plans and sessions. Curves stay where a view shows them, those of
at most CURVES runs of a method on a problem, at even ranks of their final f + nu; where a view shows actions they stay
too, of every run. Designs are those of the best run on each problem, and of each method's best where a view draws them.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from meco.bench.plan.run import Run, TestCase
from meco.bench.run.store_contents import StoreContents
from meco.errors import DamagedFile, InvalidInput
from meco.files.archive import ARCHIVE_FOLDER, read_archive
from meco.files.regular_files import read_regular

CURVES = 9  # most curves of a method on a problem
SHOW_CURVES = {
    "progress",
    "ecdf",
    "convergence",
    "choice",
    "profiles",
    "ert",
    "u-score",
}  # views that read RunArrays.curves
LARGEST_FILE, LARGEST_CONTENT = 1 << 25, 1 << 27  # bytes, packed and unpacked
LARGEST_MEMORY = 1 << 28  # bytes that unpacking itself may take


def drop_unshown(contents: StoreContents) -> StoreContents:
    """A copy in which runs keep the curves, actions and designs that views need; elsewhere these are b""."""
    steered = {run for run in _find_shown(contents, {"actions"}) if contents.runs[run].actions}
    designs = _choose_designs(contents)
    curves = _choose_curves(contents).intersection(_find_shown(contents, SHOW_CURVES)) | steered
    runs = {
        run: replace(
            record,
            curve=record.curve if run in curves else b"",
            actions=record.actions if run in steered else b"",
            x=record.x if run in designs else b"",
        )
        for run, record in contents.runs.items()
    }
    return replace(contents, runs=runs)


def _find_shown(contents: StoreContents, views: Collection[str]) -> list[Run]:
    """The runs of the contents that any of these views shows."""
    plans = (e for e in contents.experiments if not set(views).isdisjoint(e.report.views))
    wanted = {run for plan in plans for _, run in plan.wanted_runs()}
    return [run for run in contents.runs if run in wanted]


def _choose_curves(contents: StoreContents) -> set[Run]:
    """CURVES runs of each method on each problem, or all of them where there are no more."""
    kept: set[Run] = set()
    for group in _group_runs(contents.runs, _without_seed):
        ranked = sorted(group, key=lambda run: contents.runs[run].score)
        even = np.linspace(0, len(ranked) - 1, min(CURVES, len(ranked))).round().astype(int)
        kept.update(ranked[k] for k in even)
    return kept


def _choose_designs(contents: StoreContents) -> set[Run]:
    """The best run on each problem, and of each method where a view draws its design."""
    groups = [*_group_runs(contents.runs, lambda run: run.case)]
    groups += _group_runs(_find_shown(contents, {"trajectories"}), _without_seed)
    return {min(group, key=lambda run: contents.runs[run].sort_key()) for group in groups}


def _without_seed(run: Run) -> tuple[str, str, TestCase]:
    """What the runs of a method on a problem have in common."""
    return run.method, run.options, run.case


def _group_runs(runs: Iterable[Run], key: Callable[[Run], Hashable]) -> Iterator[list[Run]]:
    """The runs of equal key together, in the order of their first ones."""
    groups: dict[Hashable, list[Run]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    yield from groups.values()


def compress_store(content: bytes) -> bytes:
    """The bytes of a database as those of the file that is kept."""
    return lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)


def decompress_store(path: Path) -> bytes:
    """The database in a file that others may have made; xz notices what changed in it since, SHA256SUMS in an archive.

    A missing, damaged or too large file is an error.
    """
    try:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=LARGEST_MEMORY)
        packed = read_archive(path) if path.parent.name == ARCHIVE_FOLDER else read_regular(path, LARGEST_FILE)
        content = unpacker.decompress(packed, LARGEST_CONTENT)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
    except (lzma.LZMAError, EOFError) as error:
        raise DamagedFile(f"{path} is damaged: {error}") from error
    if not unpacker.eof:
        raise DamagedFile(f"{path} is damaged: it is cut short, or more than {LARGEST_CONTENT} bytes unpacked")
    return content
