"""A seeded slice of the attack; `make test-attack` runs all of it."""

import pytest

from attack import KINDS, attack

TRIES = {"objectives": 60, "interruptions": 4, "terminations": 4, "fields": 80, "commands": 80, "foreign": 10}


@pytest.mark.parametrize("kind", KINDS)
def test_a_slice_of_the_attack_finds_nothing(kind, tmp_path):
    found = attack(kind, range(1, 1 + TRIES[kind]), tmp_path)
    skipped = [said for said in found.values() if said.startswith("SKIPPED")]
    if skipped:
        pytest.skip(skipped[0])
    assert {seed: said for seed, said in found.items() if said} == {}


def test_an_attack_goes_on_where_it_was(tmp_path):
    log = tmp_path / "log.jsonl"
    attack("objectives", range(1, 3), tmp_path, log)
    before = log.read_text()
    attack("objectives", range(1, 4), tmp_path, log)
    assert log.read_text().startswith(before)
    assert len(log.read_text().splitlines()) == 3
