"""One field changed in a file that people send each other: stores of results, missions, policies.

Either the change is refused in one line, or nothing that depends on it changes. Run folders, states and checkpoints are
no such files: who changes his own changes his own run. `foreign_files` tries those that strangers send.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import numpy as np
from in_process import call, complaint

from meco.errors import MecoError
from meco.files.safetensors import pack_tensors, parse_tensors
from meco.paper.files import METADATA_DIGEST
from meco.paper.store import load_policy, policy_path
from meco.problems.uav.mission import load_mission, parse_mission

VALUES = (
    None, True, False, 0, 1, -1, 2, 7.5, -0.0, 1e308, 2**31, 2**63, 10**400, float("inf"), float("nan"), "", "0", "a",
    "nowhere", "nowhere.py:X", "../x", "\udc80", "\x00", "a" * 5000, [], [[]], [1], [None], ["a"], {}, {"a": 1},
    [[1, 2], [3]],
)  # fmt: skip
FUNCTION = "bounds = [(-5, 5)] * 3\ndef fun(x):\n    return float(x @ x), [1 - x[0]]\n"


def attempt(seed, folder):
    """Change one field of one kind of file, and use it."""
    draw = random.Random(f"fields {seed}")
    return draw.choice(FILES)(draw, Path(folder))


def changed(value, draw):
    """A copy of a JSON value with one place changed or removed, and what was done."""
    made = copy.deepcopy(value)
    places = list(_places(made))
    holder, key = draw.choice(places)
    if draw.random() < 0.15 and isinstance(holder, dict):
        return made, f"{key} removed", holder.pop(key)
    before = holder[key]
    if isinstance(before, (int, float)) and not isinstance(before, bool) and draw.random() < 0.4:
        holder[key] = before + draw.choice([1, -1, 0.5, 1e-9])
    elif isinstance(before, str) and before and draw.random() < 0.4:
        at = draw.randrange(len(before))
        holder[key] = before[:at] + draw.choice("x0/ ") + before[at + 1 :]
    else:
        holder[key] = draw.choice(VALUES)
    return made, f"{key}: {before!r:.40} -> {holder[key]!r:.40}", None


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)


# -- stores ----------------------------------------------------------------------------------


def _store(place):
    """A small store, made once and copied."""
    kept = place.parent / "store"
    if not (kept / "results.sqlite").exists():
        words = [
            "bench",
            "--problem",
            "sphere",
            "tilted",
            "--methods",
            "SHADE",
            "SHADE-FR",
            "--dim",
            "2",
            "--budget",
            "60",
        ]
        code, said, _ = call(
            [*words, "--runs", "3", "--executor", "serial", "--quiet", "--no-report", "--out", str(kept)], place
        )
        assert code == 0, said
    shutil.copytree(kept, place / "s")
    return kept


def store(draw, place):
    _store(place)
    file = place / "s" / "results.sqlite"
    if draw.random() < 0.5:
        content = bytearray(file.read_bytes())
        at = draw.randrange(len(content))
        content[at] ^= 1 << draw.randrange(8)
        file.write_bytes(content)
        did = f"bit in byte {at}"
    else:
        did = _changed_cell(file, draw)
    code, said, _ = call(["report", "s", "--page-only"], place)
    wrong = complaint(code, said)
    return wrong and f"store, {did}: {wrong}"


def _changed_cell(file, draw):
    with sqlite3.connect(file) as db:
        table = draw.choice(["meta", "runs", "experiments", "sessions"])
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        column, key = draw.choice(columns), draw.choice(db.execute(f"SELECT {columns[0]} FROM {table}").fetchall())[0]
        plain = [v for v in VALUES if v is None or isinstance(v, (str, float)) or (isinstance(v, int) and v < 2**62)]
        value = draw.choice([v for v in plain if v not in ("\udc80",)] + [b"", b"\xff\x00"])
        with suppress(sqlite3.IntegrityError):  # the database itself says no
            db.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {columns[0]} = ?", (value, key))
    db.close()
    return f"{table}.{column} = {value!r:.40}"


# -- missions and policies -------------------------------------------------------------------


def mission(draw, place):
    name = f"UAV-{draw.randint(1, 16):02d}"
    made, did, _ = changed(json.loads(load_mission(name).to_json()), draw)
    text = json.dumps(made)
    if draw.random() < 0.1:
        text = draw.choice(["[" * 100_000, text[: len(text) // 2], "\x00", '{"area": ' + "9" * 5000 + "}"])
    try:
        problem = parse_mission(text, "a mission", "mine").problem()
        problem.raw(problem.lower + 0.5 * (problem.upper - problem.lower))
    except MecoError:
        return ""
    except Exception as error:
        return f"mission {name}, {did}: {type(error).__name__}: {error}"
    return ""


def policy(draw, place):
    content = policy_path("meco-10d").read_bytes()
    if draw.random() < 0.4:
        spoilt = bytearray(content)
        spoilt[draw.randrange(len(spoilt))] ^= 1 << draw.randrange(8)
        content, did = bytes(spoilt), "a bit"
    else:
        tensors, texts = parse_tensors(content, "policy")
        record, did, _ = changed(json.loads(texts["policy"]), draw)
        content = pack_tensors(tensors, {**texts, "policy": json.dumps(record)})
    (place / "mine.safetensors").write_bytes(content)
    original = load_policy("meco-10d")
    try:
        found = load_policy(place / "mine.safetensors")
    except MecoError:
        return ""
    except Exception as error:
        return f"policy, {did}: {type(error).__name__}: {error}"
    left_out = ("name", METADATA_DIGEST)
    one, other = ({k: v for k, v in p.metadata.items() if k not in left_out} for p in (original, found))
    same = all(np.array_equal(a, b) for a, b in zip(original.weights, found.weights)) and one == other
    return "" if same else f"policy, {did}: a silent change of the policy"


FILES = (store, mission, policy)
