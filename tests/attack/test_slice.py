"""A seeded slice of the attack; `make test-attack` runs all of it."""

import pytest
import terminated_commands

from attack import KINDS, attack, kept, summary, together

TRIES = {"objectives": 4, "interruptions": 1, "terminations": 1, "fields": 6, "commands": 6, "foreign": 2, "scipy": 4}
STARTS_PROCESSES = ("interruptions", "terminations")  # tests of run folders and commands kill some in every run


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.attack] if kind in STARTS_PROCESSES else []) for kind in KINDS]
)
def test_a_slice_of_the_attack_finds_nothing(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(terminated_commands, "SOON", 120.0)  # how soon is measured by the attack itself, alone
    found = attack([(kind, seed) for seed in range(1, 1 + TRIES[kind])], tmp_path)
    skipped = [row["said"] for row in found if row["said"].startswith("SKIPPED")]
    if skipped:
        pytest.skip(skipped[0])
    assert {row["seed"]: row["said"] for row in found if row["said"]} == {}


def test_an_attack_goes_on_where_it_was(tmp_path):
    (tmp_path / "out").mkdir()
    attack([("objectives", 1), ("objectives", 2)], tmp_path, tmp_path / "out")
    log = tmp_path / "out" / "objectives.jsonl"
    before = log.read_text()
    log.write_text(before + '{"kind": "objec')  # torn
    attack([("objectives", seed) for seed in (1, 2, 3)], tmp_path, tmp_path / "out", "-1of2")
    assert [row["seed"] for row in kept(tmp_path / "out")] == [3, 1, 2]
    assert "3 of 3 well, 7 not made" in summary(kept(tmp_path / "out"), {"objectives": 10})[0]


def test_parts_make_up_the_whole_and_hold_every_kind():
    parts = [together(KINDS, 20, 1, i, 3) for i in (1, 2, 3)]
    assert sorted(some for part in parts for some in part) == sorted(
        (kind, seed) for kind in KINDS for seed in range(1, 21)
    )
    assert all({kind for kind, _ in part} == set(KINDS) for part in parts)
