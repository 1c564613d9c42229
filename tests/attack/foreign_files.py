"""Stores, archives and folders as strangers send them: nothing runs, nothing lands outside, memory stays small."""

from __future__ import annotations

import io
import json
import lzma
import random
import shutil
import sqlite3
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
from changed_fields import FUNCTION, _store
from in_process import call, complaint

from meco.blackbox.log_file import FRAME, HEAD, HEADER, MARK
from meco.blackbox.runreader import write_facts

MORE = 400 << 20  # bytes of memory that reading may take beyond what was there
NAMES = (
    "../../outside",
    "../outside",
    "/outside",
    "a/b",
    "..",
    ".",
    "",
    "x" * 500,
    "con",
    "a\x00b",
    "a\nb",
    "\u202eabc",
    "<b>&",
    "~",
    "*",
)


def attempt(seed, folder):
    """One foreign file, used; what surprised, or nothing."""
    draw, place = random.Random(f"foreign {seed}"), Path(folder) / "deep" / "work"
    place.mkdir(parents=True)
    before, kind = peak(), draw.choice((named_store, bomb, computing_store, foreign_run, lying_log, lying_array))
    outside = listing(folder, place)
    wrong = kind(draw, place)
    if not wrong and listing(folder, place) != outside:
        wrong = f"files outside: {sorted(listing(folder, place) - outside)}"
    if not wrong and peak() - before > MORE:
        wrong = f"took {(peak() - before) >> 20} MB of memory"
    return wrong and f"{kind.__name__}: {wrong}"


def listing(folder, place):
    return {str(p) for p in Path(folder).rglob("*") if place not in (p, *p.parents)}


def peak():
    """Most memory so far, in bytes."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _copied(place):
    """A copy of a small store, which is made once."""
    inner = place / "inner"
    inner.mkdir()
    shared = place.parents[2]
    holder = shared / "holder"
    holder.mkdir(exist_ok=True)
    _store_in(holder)
    shutil.copytree(shared / "store", place / "s")
    return place / "s" / "results.sqlite"


def _store_in(holder):
    shutil.rmtree(holder / "s", ignore_errors=True)
    _store(holder)


def named_store(draw, place):
    """An experiment, problems and contenders with names that lead elsewhere."""
    file, name = _copied(place), draw.choice(NAMES)
    mark = place / "ran"
    evil = place / "s" / "evil.py"
    evil.write_text(f"open({str(mark)!r}, 'w')\n")
    with sqlite3.connect(file) as db:
        (spec,) = db.execute("SELECT spec FROM experiments").fetchone()
        plan = json.loads(spec)
        what = draw.choice(["name", "title", "label", "method", "file", "view", "printed", "runs"])
        if what in ("name", "title", "printed"):
            plan[what] = name
        elif what == "label":
            plan["contenders"][0]["label"] = name
        elif what == "method":
            plan["contenders"][0]["method"] = f"{evil}:X"
        elif what == "view":
            plan["views"] = [*plan["views"], name]
        elif what == "runs":
            plan["runs"] = 10**15
        else:
            plan["files"], plan["problems"] = {"evil.py:x": str(evil)}, ["evil.py:x"]
        db.execute("DROP TABLE checksums")  # a stranger's store may have none
        db.execute("UPDATE experiments SET name = ?, spec = ?", (plan["name"], json.dumps(plan)))
    db.close()
    code, said, _ = call(["report", "s"], place)
    return complaint(code, said) or ("a file of the store ran" if mark.exists() else "")


def computing_store(draw, place):
    """A store whose tables are views and triggers."""
    file = _copied(place)
    with sqlite3.connect(file) as db:
        db.execute("DROP TABLE runs")
        db.execute(draw.choice([
            "CREATE VIEW runs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
            "CREATE TABLE runs (run)",
            "CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM meta; END",
            "CREATE VIRTUAL TABLE runs USING fts5(run)",
        ]))  # fmt: skip
    db.close()
    code, said, _ = call(["report", "s", "--page-only"], place)
    return complaint(code, said) or ("" if code == 2 else f"exit {code}")


def bomb(draw, place):
    """Little that unpacks to much."""
    (place / "s").mkdir()
    much = 300 << 20
    inner = io.BytesIO()
    if draw.random() < 0.5:
        content = lzma.compress(bytes(much), preset=0)
    else:
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("text.npy", bytes(much))
        content = lzma.compress(inner.getvalue(), preset=0)
    (place / "s" / "runs.npz.xz").write_bytes(content)
    code, said, _ = call(["report", "s", "--page-only"], place)
    return complaint(code, said) or ("" if code == 2 else f"exit {code}")


def lying_array(draw, place):
    """An array that claims to be larger than its file."""
    (place / "s").mkdir()
    shape = draw.choice([(1 << 40,), (1 << 20, 1 << 20), (-1,), (1 << 62, 4), (0, 1 << 62), (3.5,)])
    head = repr({"descr": draw.choice(["<f8", "|O", "<U9", "|V0"]), "fortran_order": False, "shape": shape}).encode()
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) + 1) + head + b"\n" + b"\0" * 64
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("text.npy", array)
    (place / "s" / "runs.npz.xz").write_bytes(lzma.compress(inner.getvalue(), preset=0))
    code, said, _ = call(["report", "s", "--page-only"], place)
    return complaint(code, said) or ("" if code == 2 else f"exit {code}")


def foreign_run(draw, place):
    """A run folder that names a program, a file or a method to run."""
    mark = place / "ran"
    (place / "p.py").write_text(FUNCTION)
    (place / "evil.py").write_text(f"open({str(mark)!r}, 'w')\n{FUNCTION}")
    call(
        ["solve", "p.py:fun", "--budget", "10", "--method", "SHADE", "--checkpoint", "r", "--max-time", "0", "--quiet"],
        place,
    )
    facts = json.loads((place / "r" / "run.json").read_text())
    program = f"{sys.executable} -c \"open('{mark}', 'w')\" {{input}} {{output}}"
    what = draw.choice(["command", "file", "method", "copy"])
    if what == "command":
        facts["source"] |= {"kind": "command", "command": program, "keep": False}
    elif what == "file":
        facts["source"] |= {"path": str(place / "evil.py")}
    elif what == "method":
        facts["inputs"]["method"] = f"{place / 'evil.py'}:X"
    else:
        facts["source"] |= {"path": str(place / "evil.py")}
        (place / "r").rename(place / "r2")
        (place / "r").mkdir()
    if what != "copy":
        facts["place"] = draw.choice([None, "0" * 64, ""])
    write_facts(place / "r", facts)
    code, said, _ = call(["resume", "r", "--quiet"], place)
    if mark.exists():
        return f"{what}: it ran unasked"
    return complaint(code, said) or ("" if code == 2 and "--yes" in said else f"{what}: exit {code}: {said[-200:]}")


def lying_log(draw, place):
    """A log whose frames are whole and wrong."""
    (place / "p.py").write_text(FUNCTION)
    call(["solve", "p.py:fun", "--budget", "10", "--method", "SHADE", "--checkpoint", "r", "--quiet"], place)
    numbers = [draw.choice([0, 1, 5, 2**31, 2**32 - 1]) for _ in range(4)]
    body = HEAD.pack(draw.choice([0, 3, 2**63]), numbers[0], draw.choice([0, 2, 999]), 0, *numbers[1:])
    body += np.random.default_rng(numbers).bytes(draw.choice([0, 7, 8, 40, 800]))
    frames = HEADER
    for kind, content in ((1, body), (2, draw.choice([b"", b"[", b"[[1],[2]]", b'{"a":1}', b"[" * 5000])), (9, b"")):
        block = FRAME.pack(MARK, kind, len(content)) + content
        frames += block + struct.pack("<I", zlib.crc32(block))
    (place / "r" / "evals.bin").write_bytes(frames + bytes(draw.choice([0, 5, 100])))
    known = "solve p.py:fun --budget 5 --evaluated r --quiet"
    for line in ("export r", "export r --jsonl", known, "resume r --quiet --yes --max-time 5"):
        code, said, _ = call(line.split(), place)
        if complaint(code, said):
            return f"{line}: {complaint(code, said)}"
    return ""
