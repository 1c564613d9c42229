"""What the benchmarks conclude from their numbers; nothing is timed here."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

RESULTS = ROOT / "benchmarks" / "results"


def test_only_what_is_a_fifth_above_the_kept_ratio_is_called_slower():
    pytest.importorskip("scipy", reason="SCIPY MISSING: the fast benchmarks are NOT checked")
    from bench import slower_ratios

    assert slower_ratios(
        {"same": 1.0, "noise": 1.19, "slower": 1.21, "new": 9.0}, {"same": 1, "noise": 1, "slower": 1}
    ) == ["slower"]


def test_what_is_kept_are_ratios_with_machine_and_commit():
    kept = json.loads((RESULTS / "bench.json").read_text())
    assert set(kept["machine"]) == {"commit", "cpu", "python", "numpy"}
    assert all("/" in name and ratio > 0 for name, ratio in kept["ratios"].items())
