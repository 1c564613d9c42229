"""A small campaign and its report, made once for all files that look at them."""

from __future__ import annotations

import pytest

from small_campaign import SMALL, make_small_campaign

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from meco.bench.run.result_store import read_results
from meco.report.frame import read_runs
from meco.report.page import write_campaign_report


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return make_small_campaign(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="session")
def report(folder):
    return write_campaign_report(folder)


@pytest.fixture(scope="session")
def runs(folder):
    return read_runs(read_results(folder), SMALL, 10)
