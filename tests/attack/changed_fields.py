"""One field changed in a file that meco wrote: run.json, states, stores, missions, policies.

Either the change is refused in one line, or nothing that depends on it changes.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import sqlite3
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from in_process import call, complaint

import meco
from meco.blackbox.runreader import SEAL, write_facts
from meco.blackbox.search_state import unpacked
from meco.commands.watched import seen
from meco.errors import MecoError
from meco.files.safetensors import parse_tensors, write_tensors
from meco.mdp.policy_store import load_policy, policy_path
from meco.problems.mission import load_mission, parse_mission

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


# -- run.json --------------------------------------------------------------------------------


def run_json(draw, place):
    (place / "p.py").write_text(FUNCTION)
    line = ["p.py:fun", "--method", "SHADE-FR", "--budget", "30", "--pop-size", "8", "--seed", "3", "--quiet"]
    call(["solve", *line, "--checkpoint", "whole"], place)
    call(["solve", *line, "--checkpoint", "r", "--max-time", "0"], place)
    facts = json.loads((place / "r" / "run.json").read_text())
    made, did, _ = changed(facts, draw)
    crafted = draw.random() < 0.4 and isinstance(made, dict) and SEAL in made  # a forger can make a seal too
    if crafted:
        write_facts(place / "r", made)
    else:
        (place / "r" / "run.json").write_text(json.dumps(made))
    code, said, _ = call(["resume", "r", "--yes", "--quiet", "--max-time", "5"], place)
    wrong = complaint(code, said)
    if not wrong and not crafted and not any(line.startswith("meco: ") for line in said.splitlines()):
        same = (place / "r" / "evals.bin").read_bytes() == (place / "whole" / "evals.bin").read_bytes()
        wrong = "" if same else "a silent change of the search"
    return wrong and f"run.json, {did}{', sealed' if crafted else ''}: {wrong}"


# -- states ----------------------------------------------------------------------------------


@cache
def _state():
    search = meco.Optimizer([(-5, 5)] * 3, n_ineq=1, method="SHADE-FR", budget=40, pop_size=8, seed=3)
    for n in (None, None, 5):
        x = search.ask(n)
        search.tell(x[: n or len(x)], (x**2).sum(1), 1 - x[:, :1])
    return search.state(), search.ask()


def state(draw, place):
    before, asked = _state()
    made = dict(before)
    if draw.random() < 0.6:
        inputs, did, _ = changed(json.loads(before["inputs"]), draw)
        made["inputs"] = json.dumps(inputs)
    else:
        key = draw.choice([k for k in before if k != "inputs"])
        made[key] = draw.choice(VALUES)
        if draw.random() < 0.6 and isinstance(before[key], np.ndarray) and before[key].size:
            made[key] = before[key].copy()
            made[key].flat[draw.randrange(made[key].size)] += 1
        did = f"{key} changed"
    unsealed = draw.random() < 0.3
    if unsealed:
        made.pop("sha256", None)
    try:
        found = meco.Optimizer.from_state(made)
    except MecoError:
        return ""
    if not unsealed and not np.array_equal(found.ask(), asked):
        return f"state, {did}: a silent change of the search"
    return ""


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
        content = write_tensors(tensors, {**texts, "policy": json.dumps(record)})
    (place / "mine.safetensors").write_bytes(content)
    original = load_policy("meco-10d")
    try:
        found = load_policy(place / "mine.safetensors")
    except MecoError:
        return ""
    except Exception as error:
        return f"policy, {did}: {type(error).__name__}: {error}"
    left_out = ("name", SEAL)
    one, other = ({k: v for k, v in p.metadata.items() if k not in left_out} for p in (original, found))
    same = all(np.array_equal(a, b) for a, b in zip(original.weights, found.weights)) and one == other
    return "" if same else f"policy, {did}: a silent change of the policy"


# -- where a search and a training stand -----------------------------------------------------


def search_state(draw, place):
    """Every other file of a run folder: a bit, a byte, a piece or all of it; or a state that a forger sealed anew."""
    (place / "p.py").write_text(FUNCTION)
    method = draw.choice(["SHADE-FR", "MeCO", "MA-ES", "TR", "TR-ES", "MeCO-TR"])
    line = ["p.py:fun", "--method", method, "--budget", "30", "--seed", "3", "--quiet", "--checkpoint"]
    call(["solve", *line, "whole"], place)
    shutil.copytree(place / "whole", place / "r")
    facts = json.loads((place / "r" / "run.json").read_text())
    write_facts(place / "r", facts)
    forged = draw.random() < 0.3
    if forged or draw.random() < 0.5:  # as if killed: the log ends early, and what the state says lies ahead of it
        log = (place / "r" / "evals.bin").read_bytes()
        (place / "r" / "evals.bin").write_bytes(log[: draw.randrange(len(log) // 2 if forged else 32, len(log))])
    file = draw.choice(sorted(p for p in (place / "r").iterdir() if p.name not in ("run.json", "lock")))
    did = f"{method}, {file.name}: {_spoilt(file, draw)}" if not forged else f"{method}: {_forged(place, draw)}"
    with suppress(MecoError, OSError):  # what `meco watch` shows, of a folder that is damaged too
        json.dumps(seen(place / "r"))
    code, said, _ = call(["resume", "r", "--yes", "--quiet", "--max-time", "20"], place)
    wrong = complaint(2 if forged and code == 70 else code, said)  # numbers that no search makes may end in one line
    if not wrong and not forged and not any(line.startswith("meco: ") for line in said.splitlines()):
        one, other = ((place / name / "evals.bin").read_bytes() for name in ("r", "whole"))
        wrong = "" if one == other else "a silent change of the search"
    return wrong and f"{did}: {wrong}"


def _forged(place, draw):
    """One entry of the state changed under a seal that fits; what was done."""
    file = place / "r" / "state.bin"
    state = unpacked(file.read_bytes()) if file.exists() else None
    if state is None:
        return "no state"
    shutil.copy(place / "whole" / "evals.bin", place / "r" / "evals.bin")  # the state covers what the log holds
    name, record = draw.choice(sorted(state.record)), dict(state.record)
    what = draw.choice(["gone", "empty", "wider", "nan", "huge", "negative", "text", "renamed", "number"])
    value = record.pop(name)
    made = {
        "empty": value[:0] if value.ndim else value, "wider": np.stack([value, value]), "renamed": value,
        "nan": np.full(value.shape, np.nan), "huge": np.full(value.shape, 1e300), "negative": np.zeros(value.shape) - 1,
        "text": np.frombuffer(b"[[[[{}", np.uint8),
    }  # fmt: skip
    if what in made:
        record[name + ("x" if what == "renamed" else "")] = made[what]
    number = {}
    if what == "number":
        number, record = (
            {draw.choice(["covered", "generation", "batch"]): draw.choice([0, 1, 10**9, 10**30])},
            state.record,
        )
    file.write_bytes(state._replace(record=record, **number).packed())
    return f"{name} {what} {number or ''}"


def _spoilt(file, draw):
    content, what = bytearray(file.read_bytes()), draw.choice(["a bit", "a byte less", "half", "twice", "none", "text"])
    if what == "a bit" and content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    made = {"a byte less": content[:-1], "half": content[: len(content) // 2], "twice": content * 2, "none": b""}
    file.write_bytes(made.get(what, b"[" * 5000 if what == "text" else content))
    return what


@cache
def _training(parent):
    """A training that was stopped: its settings, its checkpoint, and what comes of it."""
    from meco.training import Trainer, TrainingConfig

    config = TrainingConfig(name="a", suite="toy", dim=2, problems=("tilted", "ring"), epochs=3, budget=150)
    trainer = Trainer([config], parent / "training.npz")
    trainer.run(lambda: True)
    content = (parent / "training.npz").read_bytes()
    return config, content, trainer.run()[0]


def training_state(draw, place):
    """One field or bit of a training's checkpoint."""
    try:
        from meco.training import Trainer
        from meco.training.checkpoint import read_checkpoint, write_checkpoint
    except ImportError:
        return ""  # no torch here: nothing reads such a file
    config, content, whole = _training(place.parent)
    file, sealed = place / "c.npz", False
    file.write_bytes(content)
    arrays, told = read_checkpoint(file)
    if draw.random() < 0.4:
        spoilt = bytearray(content)
        spoilt[draw.randrange(len(spoilt))] ^= 1 << draw.randrange(8)
        file.write_bytes(spoilt)
        did = "a bit"
    else:
        told, did, _ = changed(told, draw)
        sealed = isinstance(told, dict) and draw.random() < 0.5
        inner = dict(np.load(file))
        inner["state.json"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
        np.savez(file, **inner)
        if sealed:
            write_checkpoint(file, arrays, told)
    try:
        trainer = Trainer([config], file)
        trainer.resume()
        found = trainer.run()[0] if not sealed else None
    except MecoError:
        return ""
    except Exception as error:
        return f"training, {did}{', sealed' if sealed else ''}: {type(error).__name__}: {error}"
    same = sealed or all(np.array_equal(a, b) for a, b in zip(found.weights, whole.weights))
    return "" if same else f"training, {did}: a silent change of the training"


FILES = (run_json, run_json, search_state, search_state, state, state, store, store, mission, policy, training_state)
