"""A fact that fails for some names says for which."""

import pytest

from for_every import for_every


def test_a_failure_names_what_failed():
    def odd(name, least):
        assert int(name) % 2 == 1
        assert int(name) >= least

    many = for_every(["1", "2", "3"])(odd)
    many(names=["1", "3"], least=0)
    with pytest.raises(AssertionError) as one:
        many(names=["1", "2", "3"], least=0)
    assert one.value.__notes__ == ["this was 2"]
    with pytest.raises(ExceptionGroup) as both:
        many(names=["1", "2", "3"], least=2)
    assert [error.__notes__ for error in both.value.exceptions] == [["this was 1"], ["this was 2"]]
