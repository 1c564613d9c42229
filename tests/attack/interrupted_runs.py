"""Runs that are killed, stopped, frozen or out of room at file calls and at random moments, and then resumed."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import numpy as np
from victim import Victim

from event_logs import what_happened

KINDS = ("SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "ENOSPC", "SIGSTOP")
METHODS = (
    ("SHADE-FR", {}), ("SHADE", {"pop_size": 7}), ("MeCO", {}), ("MA-ES", {}), ("TR", {"batch": 2}),
    ("TR", {"batch": 1}), ("TR", {"batch": 3}), ("TR", {"batch": 2}),
)  # fmt: skip
HANGS = 120  # seconds


def attempt(seed, folder):
    """Interrupt a run a few times, resume it, and compare with one that was left alone; what differs, or nothing."""
    if os.name != "posix":
        return "SKIPPED: signals of POSIX"
    draw, place = random.Random(f"interrupted {seed}"), Path(folder)
    method, options = draw.choice(METHODS)
    common = {
        "method": method, "options": options, "budget": draw.randint(20, 90), "dim": draw.randint(2, 5), "seed": seed,
        "on_error": draw.choice(["penalize", "retry"]), "fails": draw.choice([4.0, 1.0, 9.0]), "fsync": False,
        "workers": 1, "pause": 0.0, "at": 0, "after": False, "kind": "", "eager": False,
        "folder": str(place / "run"), "output": str(place / "out.npz"),
    }  # fmt: skip
    told = []
    for _ in range(draw.randint(1, 3)):
        order = common | blow(draw)
        told.append(f"{order['kind']} at {order['at'] or 'a random moment'}, {order['workers']} workers")
        if not strike(Victim(order, fresh=draw.random() < 0.05), order, draw):
            return f"hung: {common['method']}, {told}"
    said = ended(common | {"workers": draw.choice([1, 2])})
    whole = place / "whole"
    whole.mkdir()
    said = said or ended(common | {"folder": str(whole / "run"), "output": str(whole / "out.npz")})
    said = said or difference(whole, place)
    return said and f"{said}: {common['method']}, {told}"


def blow(draw):
    """When and how a run is hit."""
    kind = draw.choice(KINDS)
    at = draw.randint(1, draw.choice([12, 60, 250])) if kind == "ENOSPC" or draw.random() < 0.7 else 0
    return {
        "kind": kind, "at": at, "after": draw.random() < 0.5, "pause": draw.choice([0.0, 0.002, 0.02]),
        "eager": draw.random() < 0.6, "fsync": draw.random() < 0.15, "workers": draw.choice([1, 1, 1, 2]),
    }  # fmt: skip


def strike(victim, order, draw):
    """Let the blow fall, and wait for the end; whether it came."""
    kind = order["kind"]
    if not order["at"]:
        time.sleep(draw.choice([0.0, 0.02, 0.1, 0.5]) * draw.random() + (0.4 if victim.fresh else 0.0))
        for _ in range(draw.randint(1, 5) if kind in ("SIGTERM", "SIGINT") else 1):
            victim.send(getattr(signal, kind))
            time.sleep(draw.choice([0.0, 0.003, 0.05, 0.4]))
    until = time.monotonic() + HANGS
    while victim.code(0.3) is None and time.monotonic() < until:
        if kind == "SIGSTOP":
            victim.send(signal.SIGCONT)
    if victim.code() is None:
        victim.send(signal.SIGKILL)
        victim.code(HANGS)
        return False
    return True


def ended(order):
    """What kept a run from ending by itself, or nothing."""
    victim = Victim(order, fresh=False)
    code = victim.code(HANGS)
    if code is None:
        victim.send(signal.SIGKILL)
    return "" if code == 0 else f"a resumed run ended with {code}"


def difference(whole, place):
    """In what a resumed run differs from one that was left alone, to the last bit."""
    with np.load(whole / "out.npz") as one, np.load(place / "out.npz") as other:
        for key in one.files:
            if not np.array_equal(one[key], other[key], equal_nan=True):
                return f"{key} differs after resuming"
    one, other = (sorted(map(str, what_happened(folder / "run"))) for folder in (whole, place))
    if one != other:
        return "the log differs after resuming"
    return ""
