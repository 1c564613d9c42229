"""Command lines that nobody would write, in a folder of their own: one line, a documented code, nothing outside.

Left out is what would take long, reach the network or change the machine: whole experiments, trainings, downloads.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from in_process import call, complaint

NUMBERS = (
    "0", "-1", "1", "3", "12", "1.5", "1e3", "nan", "inf", "-inf", "1e400", "abc", "", " ", "²", "0x10", "1,2",
    "9" * 5000,
)  # fmt: skip
TEXTS = (
    "", "a", "--", "-", "{}", "[[", "[" * 9000, "]", "{input}", "'", '"', "\\", "%s", "\udc80", "🙂", "a" * 4000,
    "a\nb", "*", "~", "$(x)", "p.py", "p.py:", "p.py:fun", "p.py:bounds", "bad.py:fun", "binary", "sub", "sub/none",
    "r", "none.json", "bad.json",
)  # fmt: skip
BOUNDS = (
    "0,1", "-5,5 0,2", "[[0,1],[2,3]]", "1,0", "0", "0,1,2", "[[0,1],[2]]", "0,inf", "[]", "{}", "binary", "0,1;2,3",
    "1e308,-1e308",
)  # fmt: skip
METHODS = ("SHADE", "MeCO", "TR", "MA-ES", "COBYQA", "nope", "shade", "p.py:fun", "bad.py:X", "")
TARGETS = (
    "p.py:fun", "p.py:fun", "p.py:rows", "p.py:raises", "sphere", "C01", "RC19", "UAV-02", "G-bowl-linear-0007", *TEXTS
)  # fmt: skip
BENCH = ["bench", "--runs", "1", "--budget", "6", "--out", "b", "--quiet", "--no-report"]
SMALL = ("5", "12", "20")  # budgets; a larger one would only take longer
FILES = {
    "p.py": "import numpy as np\nbounds = [(-5, 5)] * 3\ndef fun(x):\n    return float(x @ x), [1 - x[0]]\n"
    "def rows(x):\n    return (x**2).sum(1)\ndef raises(x):\n    raise ValueError('no')\n",
    "bad.py": "raise RuntimeError('broken file')\n",
    "bad.json": '{"area": [1e999, "a"], "start": ' + "[" * 2000,
}


def solve(draw):
    words = ["solve", draw.choice(TARGETS)] if draw.random() < 0.85 else ["solve", "--command", draw.choice(TEXTS)]
    options = {
        "--bounds": BOUNDS, "--dim": ("2", "3", *NUMBERS), "--instance": NUMBERS + TEXTS, "--integer": NUMBERS + TEXTS,
        "--names": TEXTS, "--method": METHODS, "--policy": TEXTS, "--pop-size": ("6", "-3", "0", "x"),
        "--runs": ("1", "2", "0", "-1", "x"),
        "--seed": NUMBERS, "--x0": ("1,1,1", *BOUNDS), "--evaluated": TEXTS, "--workers": ("1", "0", "-2", "x"),
        "--eval-timeout": ("1e9", "inf", "nan", "-1", "0", "x"), "--on-error": ("retry", "raise", "x"),
        "--eq-tol": NUMBERS, "--ineq-tol": NUMBERS, "--max-time": ("0", "0.2", "inf", "nan", "x"),
        "--target": NUMBERS, "--stop": ("feasible", "x"), "--plot": ("x.abc", "sub", "none/x.png", ""),
        "--checkpoint": ("r", "sub", "p.py", "new", "a" * 300, "new/deep"),
    }  # fmt: skip
    for name in draw.sample(sorted(options), draw.randint(0, 4)):
        words += [name, draw.choice(options[name])]
    for flag in ("--vectorized", "--json", "--fsync", "--keep-calls"):
        words += [flag] if draw.random() < 0.1 else []
    return [*words, "--budget", draw.choice(SMALL), "--quiet"]


def other(draw):
    text = draw.choice(TEXTS)
    return draw.choice([
        ["resume", text, *draw.choice([[], ["--yes"], ["--workers", draw.choice(NUMBERS)], ["--max-time", "x"]])],
        ["export", text, *draw.choice([[], ["--jsonl"], ["--csv"]])],
        ["export", text, "--output", draw.choice(("out.csv", "sub", "none/x"))],
        ["report", text, *draw.choice([[], ["--page-only"], ["--merge", draw.choice(TEXTS)], ["--pack"]])],
        ["policy", draw.choice(("list", "show", "verify", text)), text],
        ["policy", "verify", draw.choice(("meco-10d", text))],
        ["list", draw.choice(("methods", "problems", "suites", text))],
        ["data", draw.choice(("where", text))],
        ["reproduce", text or "none"],
        ["train", "--preset", text or "none"],
        ["train", "--set", text],
        ["train", "--dim", draw.choice(("x", "-1", "0"))],
        ["demo", "--budget", draw.choice(("x", "-3", "0")), "--output", "demo"],
        [*BENCH, "--problem", text or "none", "--executor", "serial"],
        [*BENCH, "--problem", "sphere", "--methods", draw.choice((*METHODS, f"SHADE:{text}", "SHADE:pop_size=x")),
         "--executor", "serial"],
        [*BENCH, "--problem", "sphere", "--executor", draw.choice(("zz", "dask:x", text or "none"))],
        ["watch", text, *draw.choice([[], ["--port", draw.choice(("-1", "70000", "x"))]])],
        *made(draw),
        [text, *draw.sample(TEXTS, 2)],
        [draw.choice(("--version", "--help", "-h", "solve", "--nope"))],
    ])  # fmt: skip


def made(draw):
    """Calls on the folder of a real run, which is there as "run"."""
    number = draw.choice(NUMBERS)
    return [
        ["resume", "run", "--yes", "--quiet", draw.choice(("--workers", "--max-time", "--budget")), number],
        ["resume", draw.choice(("run/result.json", "run/", "./run", "run/events.jsonl")), "--yes", "--quiet"],
        ["export", "run", *draw.choice([[], ["--jsonl"], ["--output", draw.choice(TEXTS)], ["--output", "new.csv"]])],
        ["report", "run", *draw.choice([[], ["--page-only"]])],
        ["solve", "p.py:fun", "--budget", "12", "--quiet", "--checkpoint", "run"],
        ["solve", "p.py:fun", "--budget", "12", "--quiet", "--evaluated", draw.choice(("run", "run/events.jsonl"))],
    ]  # fmt: skip


def attempt(seed, folder):
    """One call; what is wrong with how it ended, or nothing."""
    draw, place = random.Random(f"commands {seed}"), Path(folder) / "work"
    (place / "sub").mkdir(parents=True)
    (place / "sub" / "other").write_text("not ours")
    (place / "binary").write_bytes(bytes(range(256)))
    for name, content in FILES.items():
        (place / name).write_text(content)
    shutil.copytree(_run(Path(folder).parent), place / "run")
    words = solve(draw) if draw.random() < 0.6 else other(draw)
    if draw.random() < 0.2:
        words.insert(draw.randrange(len(words) + 1), draw.choice(TEXTS))
    if draw.random() < 0.1 and len(words) > 1:
        words.pop(draw.randrange(1, len(words)))
    if dangerous(words):
        return ""
    before = {k: os.environ.get(k) for k in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    os.environ.update(dict.fromkeys(before, str(place / "home")))
    try:
        code, said = started(words, place) if draw.random() < 0.02 else call(words, place)[:2]
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})
    outside = [p.name for p in Path(folder).iterdir() if p.name != "work"]
    wrong = complaint(code, said) or (f"files outside: {outside}" if outside else "")
    return wrong and f"meco {[w[:60] for w in words]}: {wrong}"


def _run(shared):
    """The folder of a run, made once."""
    kept = shared / "kept run"
    if not kept.exists():
        (shared / "p.py").write_text(FILES["p.py"])
        words = "solve p.py:fun --method SHADE-FR --pop-size 6 --budget 20 --seed 1 --quiet --max-time 0 --checkpoint"
        code, said, _ = call([*words.split(), "kept run"], shared)
        assert code in (0, 2), said
    return kept


def dangerous(words):
    """Whether a call lost the options that keep it short, or would reach the network."""
    called = next((w for w in words if not w.startswith("-")), "")
    if called == "solve":
        return not any(words[i : i + 2] == ["--budget", b] for i in range(len(words)) for b in SMALL)
    if called in ("bench", "reproduce", "train", "demo", "data"):
        asked = {"bench": "--budget", "demo": "--budget"}.get(called)
        real = {"reproduce": "all", "train": "10d", "data": "fetch"}.get(called)
        short = called == "train" and len(words) < 3
        return (asked is not None and asked not in words) or real in words or short
    return False


def started(words, place):
    """The same as a process of its own."""
    words = [w.replace("\x00", "") for w in words]
    done = subprocess.run(
        [sys.executable, "-m", "meco", *words], cwd=place, capture_output=True, stdin=subprocess.DEVNULL, timeout=300
    )
    return done.returncode, done.stderr.decode(errors="replace")
