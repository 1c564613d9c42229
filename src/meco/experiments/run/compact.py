"""All results of a folder in one small file: what the repository keeps in place of the store.

Kept exactly are the final numbers of every run, the plans and the sessions. Of the curves of a
method on a problem it keeps CURVES runs, those at even ranks of their final f + nu (all of them
where there are no more), at the checkpoints of the report; whole curves only where a view shows
the actions in them. Designs are those of the best run on each problem, and of each method's best
where a view draws them.

The file is an npz of plain arrays under xz, and nothing in it runs: anyone reads it with
np.load(lzma.open("runs.npz.xz")). checkpoints.py says what the codes of a curve mean.
"""

from __future__ import annotations

import io
import json
import lzma
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import DamagedFile, InvalidInput, MecoError
from meco.experiments.plan.experiment import Experiment, Run, TestCase
from meco.experiments.plan.forms import SESSION
from meco.experiments.run.checkpoints import NAMES, POINTS, codes, thin
from meco.experiments.run.folder import write_whole
from meco.experiments.run.record import Record, checked_record, unpack
from meco.experiments.run.results import Results
from meco.files.npz import read_npz
from meco.files.plain import read_plain
from meco.files.schema import check, parse_json

FORMAT = 1
CURVES = 9  # most curves of a method on a problem
DRAWN = {"trajectories"}  # views of designs
LARGEST_FILE, LARGEST_CONTENT = 1 << 25, 1 << 27  # bytes, packed and unpacked
LARGEST_MEMORY = 1 << 28  # bytes that unpacking itself may take
# most bytes belong to numbers of eight bytes, and are like those at the same place in other numbers
PACKING = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 3, "pb": 3}]
EXACT = ("f", "nu", "score", "snapshot_f", "snapshot_nu", "final_score", "first_score", "seconds")
TEXT = {
    "format": int, "meco": str, "digest": str, "contenders": [[str]], "cases": [[object]], "notes": {str: str},
    "failures": {str: str}, "experiments": [str], "sessions": {str: SESSION},
}  # fmt: skip
FLAGS, COUNTS = ("feasible", "snapshot_feasible"), ("nfev", "nfail")


def write_compact(results: Results, path: Path) -> Path:
    """Write results as one small file."""
    runs, records = list(results.runs), list(results.runs.values())
    methods = list(dict.fromkeys(run[:2] for run in runs))
    cases = list(dict.fromkeys(run.case for run in runs))
    arrays = _numbers(records) | {
        "contender": np.array([methods.index(run[:2]) for run in runs], dtype=np.uint16),
        "case": np.array([cases.index(run.case) for run in runs], dtype=np.uint16),
        "seed": np.array([run.seed for run in runs], dtype=np.int64),
    }
    shown, best = _with_curves(results.runs), _with_designs(results)
    kept = [codes(records[i], runs[i].case.budget) for i in shown]
    arrays["curve_run"] = np.array(shown, dtype=np.uint32)
    for k, name in enumerate(NAMES):
        arrays[f"curve_{name}"] = np.array([curve[k] for curve in kept], dtype=np.uint16).reshape(-1, POINTS)
    arrays |= _blobs("whole_curve", {i: records[i].curve for i in _steered(results)})
    arrays |= _blobs("design", {i: records[i].x for i in best})
    text = {
        "format": FORMAT,
        "meco": results.meco,
        "digest": results.digest,
        "contenders": methods,
        "cases": cases,
        "notes": {i: record.notes for i, record in enumerate(records) if record.notes},
        "failures": {run.to_json(): reason for run, reason in results.failures.items()},
        "experiments": [e.to_json() for e in results.experiments],
        "sessions": results.sessions,
    }
    arrays["text"] = np.frombuffer(
        json.dumps(text, ensure_ascii=False).encode("utf-8", "backslashreplace"), dtype=np.uint8
    )
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    write_whole(path, lzma.compress(content.getvalue(), filters=PACKING))
    return path


def _numbers(records: Sequence[Record]) -> dict[str, np.ndarray]:
    """The final numbers of every run, a column each."""

    def column(name: str, kind: Any) -> np.ndarray:
        return np.array([getattr(record, name) for record in records], dtype=kind)

    made = {name: column(name, np.float64) for name in EXACT} | {name: column(name, bool) for name in FLAGS}
    made |= {name: column(name, np.int64) for name in COUNTS}
    made["feasible_at"] = np.array([-1 if r.feasible_at is None else r.feasible_at for r in records], dtype=np.int64)
    return made


def _groups(runs: Iterable[Run], key: Callable[[Run], Hashable]) -> list[list[Run]]:
    """The runs that have something in common."""
    groups: dict[Hashable, list[Run]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return list(groups.values())


def _with_curves(runs: Mapping[Run, Record]) -> list[int]:
    """Which runs keep a curve: at even ranks among those of a method on a problem."""
    shown, place = [], {run: i for i, run in enumerate(runs)}
    for group in _groups(runs, lambda run: run[:3]):
        ranked = sorted(group, key=lambda run: runs[run].score)
        even = np.linspace(0, len(ranked) - 1, min(CURVES, len(ranked))).round().astype(int)
        shown += [place[ranked[k]] for k in even]
    return sorted(shown)


def _with_designs(results: Results) -> list[int]:
    """Which runs keep their design: the best on each problem, and each method's best where a view draws them."""
    runs, views = results.runs, (e for e in results.experiments if DRAWN & set(e.views))
    drawn = [run for e in views for _, run in e.wanted() if run in runs]
    groups = (*_groups(runs, lambda run: run.case), *_groups(drawn, lambda run: run[:3]))
    best = {min(group, key=lambda run: runs[run].order()) for group in groups}
    return [i for i, run in enumerate(runs) if run in best]


def _steered(results: Results) -> list[int]:
    """The runs whose actions a view shows."""
    shown = {run for e in results.experiments if "actions" in e.views for _, run in e.wanted()}
    return [i for i, (run, r) in enumerate(results.runs.items()) if run in shown and "action" in unpack(r.curve)]


def _blobs(name: str, blobs: Mapping[int, bytes]) -> dict[str, np.ndarray]:
    """Bytes of some of the runs, one after another."""
    return {
        f"{name}_run": np.array(list(blobs), dtype=np.uint32),
        f"{name}_length": np.array([len(b) for b in blobs.values()], dtype=np.uint32),
        f"{name}_bytes": np.frombuffer(b"".join(blobs.values()), dtype=np.uint8),
    }


# -- reading ---------------------------------------------------------------------------------


def read_compact(path: Path) -> Results:
    """Back from write_compact(), with curves as thin as the file has them."""
    arrays = _arrays(path)
    try:
        text = parse_json(arrays["text"].tobytes(), str(path))
        check(text, TEXT, f"{path}: text")
        if text["format"] != FORMAT:
            raise InvalidInput(
                f"{path} was written by meco {text['meco']} in format {text['format']}; this meco reads {FORMAT}"
            )
        return Results(
            text["meco"],
            _runs(arrays, text),
            {Run.from_json(run): reason for run, reason in text["failures"].items()},
            [Experiment.from_json(spec) for spec in text["experiments"]],
            text["sessions"],
            text["digest"],
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, MecoError):
            raise
        raise DamagedFile(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=LARGEST_MEMORY)
        content = unpacker.decompress(read_plain(path, LARGEST_FILE), LARGEST_CONTENT)
        if not unpacker.eof:
            raise DamagedFile(f"{path} is damaged: it is cut short, or more than {LARGEST_CONTENT} bytes unpacked")
        return read_npz(content, str(path), LARGEST_CONTENT)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
    except (lzma.LZMAError, EOFError) as error:
        raise DamagedFile(f"{path} is damaged: {error}") from error


def _runs(arrays: Mapping[str, np.ndarray], text: Mapping[str, Any]) -> dict[Run, Record]:
    columns = {name: arrays[name].tolist() for name in (*EXACT, *FLAGS, *COUNTS, "seed", "feasible_at")}
    methods, cases = [(m[0], m[1]) for m in text["contenders"]], [TestCase.checked(c) for c in text["cases"]]
    names: list[tuple[str, str, TestCase]] = [
        (*methods[m], cases[c]) for m, c in zip(arrays["contender"], arrays["case"], strict=True)
    ]
    kept = np.stack([arrays[f"curve_{name}"] for name in NAMES], axis=1).reshape(-1, len(NAMES), POINTS)
    curves = {i: thin(curve) for i, curve in zip(arrays["curve_run"].tolist(), kept, strict=True)}
    curves |= _unblobbed("whole_curve", arrays)
    designs = _unblobbed("design", arrays)
    made = {}
    for i, name in enumerate(names):
        values = {key: column[i] for key, column in columns.items()}
        at, seed = values.pop("feasible_at"), values.pop("seed")
        values |= {
            "feasible_at": None if at < 0 else at, "notes": text["notes"].get(str(i), ""),
            "x": designs.get(i, b""), "curve": curves.get(i, b""),
        }  # fmt: skip
        made[Run(*name, seed)] = checked_record(seed, values, f"run {i}")
    return made


def _unblobbed(name: str, arrays: Mapping[str, np.ndarray]) -> dict[int, bytes]:
    ends = np.cumsum(arrays[f"{name}_length"].astype(np.int64))
    content = arrays[f"{name}_bytes"].tobytes()
    starts = ends - arrays[f"{name}_length"]
    return {i: content[a:b] for i, a, b in zip(arrays[f"{name}_run"].tolist(), starts, ends, strict=True)}
