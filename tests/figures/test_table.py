"""Numbers as tables and pages print them."""

import pytest

from meco.figures.table import format_share

SHARES = {0.0: "0 %", 1e-3: "0.1 %", 0.0423: "4.2 %", 0.1: "10 %", 0.125: "13 %", 0.996: "100 %", 1.0: "100 %"}


@pytest.mark.parametrize(("share", "text"), SHARES.items())
def test_a_share_is_whole_percents_and_two_digits_below_a_tenth(share, text):
    assert format_share(share) == text
