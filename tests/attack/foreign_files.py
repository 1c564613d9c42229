"""Stores, archives and folders as strangers send them: nothing runs, nothing lands outside, memory stays small."""

from __future__ import annotations

import json
import lzma
import os
import random
import shutil
import sqlite3
import sys
import traceback
from pathlib import Path

from changed_fields import FUNCTION, _store
from in_process import call, complaint

from meco.bench.run.campaign_folder import PACKED_FILE
from meco.run.folder import FILES
from meco.run.log import FILE_NAME, encode, read_events

MORE = 400 << 20  # bytes of memory that reading may take beyond what was there
MUCH = 1 << 30  # bytes that a bomb unpacks to
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
    """One foreign file, used by a process of its own; what surprised, or nothing."""
    if os.name != "posix":
        return _attempt(seed, folder)
    before = resident()
    said, most = in_child(lambda: _attempt(seed, folder))
    return said or (f"took {(most - before) >> 20} MB of memory" if most - before > MORE else "")


def _attempt(seed, folder):
    draw, place = random.Random(f"foreign {seed}"), Path(folder) / "deep" / "work"
    place.mkdir(parents=True)
    kind = draw.choice(WAYS)
    (place.parent / "prey").write_text("not ours")
    outside = listing(folder, place)
    wrong = kind(draw, place)
    if not wrong and (place.parent / "prey").read_text() != "not ours":
        wrong = "a file outside was changed"
    if not wrong and listing(folder, place) != outside:
        wrong = f"files outside: {sorted(listing(folder, place) - outside)}"
    return wrong and f"{kind.__name__}: {wrong}"


def in_child(work):
    """What a piece of work said, and the most memory in bytes that a forked process took for it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException:
            said = traceback.format_exc(limit=-3)
        os.write(writing, said.encode("utf-8", "backslashreplace")[:60_000])
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, status, used = os.wait4(child, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    return said or (f"ended with {status}" if status else ""), used.ru_maxrss * unit


def resident():
    """Memory at hand, in bytes: what a forked process begins with."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0


def listing(folder, place):
    return {str(p) for p in Path(folder).rglob("*") if place not in (p, *p.parents)}


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
    """A packed store that unpacks to much."""
    (place / "s").mkdir()
    kept = place.parents[2] / "bomb.xz"  # made once
    if not kept.exists():
        packer, zeros = lzma.LZMACompressor(preset=0), bytes(1 << 20)
        kept.with_suffix(".new").write_bytes(
            b"".join(packer.compress(zeros) for _ in range(MUCH >> 20)) + packer.flush()
        )
        kept.with_suffix(".new").rename(kept)
    shutil.copy(kept, place / "s" / PACKED_FILE)
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
    events, _ = read_events(place / "r" / FILE_NAME)
    facts = events[0][1]
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
    (place / "r" / FILE_NAME).write_bytes(b"".join(map(encode, events)))
    code, said, _ = call(["resume", "r", "--quiet"], place)
    if mark.exists():
        return f"{what}: it ran unasked"
    return complaint(code, said) or ("" if code == 2 and "--yes" in said else f"{what}: exit {code}: {said[-200:]}")


def lying_log(draw, place):
    """A log whose frames are whole and wrong."""
    (place / "p.py").write_text(FUNCTION)
    call(["solve", "p.py:fun", "--budget", "10", "--method", "SHADE", "--checkpoint", "r", "--quiet"], place)
    events, _ = read_events(place / "r" / FILE_NAME)
    for _ in range(draw.choice([1, 3])):
        at = draw.randrange(1, len(events))
        event = events[at]
        place_of = draw.randrange(len(event))
        wrong = draw.choice([None, -1, 2**63, "x", [], [[]], {}, 1e308, float("nan"), True])
        what = draw.choice(["field", "kind", "twice", "lost", "short"])
        if what == "field":
            event[place_of] = wrong
        elif what == "kind":
            event[0] = draw.choice(["ask", "tell", "known", "budget", "state", "end", "begin"])
        elif what == "twice":
            events.insert(at, event)
        elif what == "lost":
            del events[at]
        else:
            del event[-1]
    lines = [encode(event) for event in events]
    (place / "r" / FILE_NAME).write_bytes(b"".join(lines) + bytes(draw.choice([0, 5, 100])))
    known = "solve p.py:fun --budget 5 --evaluated r --quiet"
    for line in ("export r", "export r --jsonl", known, "resume r --quiet --yes --max-time 5"):
        code, said, _ = call(line.split(), place)
        if complaint(code, said):
            return f"{line}: {complaint(code, said)}"
    return ""


def leading_folder(draw, place):
    """A run folder whose files are links, devices or folders that lead elsewhere."""
    (place / "p.py").write_text(FUNCTION)
    words = "solve p.py:fun --budget 10 --method SHADE --pop-size 5 --checkpoint r --quiet"
    call(words.split(), place)
    name = draw.choice([FILE_NAME, "result.json", "lock", FILES[-1]])
    file = place / "r" / name
    file.unlink(missing_ok=True)
    what = led_elsewhere(file, draw)
    for line in ("resume r --quiet --yes --max-time 5", "export r", "solve p.py:fun --budget 5 --evaluated r --quiet"):
        code, said, _ = call(line.split(), place)
        if complaint(code, said):
            return f"{name}, {what}: {line}: {complaint(code, said)}"
    return ""


def leading_store(draw, place):
    """A folder of results whose files and folders are links, pipes or worse."""
    file = _copied(place)
    if draw.random() < 0.5:
        call(["report", "s", "--pack"], place)
    made = [p for p in (place / "s").rglob("*") if p.is_file()] + [place / "s" / n for n in ("tables", ".lock", "x")]
    file = draw.choice(sorted(made))
    what = led_elsewhere(file, draw)
    again = ["bench", "--problem", "sphere", "--methods", "SHADE", "--dim", "2", "--budget", "60", "--runs", "1"]
    for words in (["report", "s"], [*again, "--executor", "serial", "--quiet", "--no-report", "--out", "s"]):
        code, said, _ = call(words, place)
        if complaint(code, said):
            return f"{file.name}, {what}: {words[0]}: {complaint(code, said)}"
    return ""


def led_elsewhere(file, draw):
    """Put something that is no plain file in a file's place; what it is."""
    what = draw.choice(["link", "link to a folder", "dangling", "loop", "folder", "fifo", "endless", "empty", "closed"])
    shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
    outside = next(p for p in file.parents if p.name == "deep")
    ends = {"link": outside / "prey", "link to a folder": outside, "dangling": outside / "none", "loop": file}
    if what in ends or what == "endless":
        file.symlink_to(ends.get(what, "/dev/zero"))
    elif what == "folder":
        file.mkdir()
    elif what == "fifo":
        os.mkfifo(file)
    else:
        file.write_bytes(b"")
        file.chmod(0 if what == "closed" else 0o644)
    return what


WAYS = (named_store, bomb, computing_store, foreign_run, lying_log, leading_folder, leading_store)
