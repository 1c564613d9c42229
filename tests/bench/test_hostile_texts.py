"""Whatever text a stranger's store holds, the page is the same page with other words in it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import fields, replace
from xml.etree import ElementTree

import pytest

from meco.bench.plan.contender import Contender
from meco.bench.plan.run import Run
from meco.bench.report.campaign_report import write_campaign_report
from meco.bench.run.campaign_folder import PACKED_FILE, STORE_FILE
from meco.bench.run.result_store import ResultStore, read_results, write_packed
from meco.bench.run.store_contents import StoreContents
from meco.cli import main
from page_skeleton import Skeleton

KEPT = ("views", "printed", "report")  # of a plan: words that choose what is shown
SENTENCE = " and more"
HOSTILE = "".join(
    [
        "\"'><script>alert(1)</script><!--</style></svg></title><img src=x onerror=alert(2)>&lt;&#x3c;",  # markup
        "\r\\input{evil}\r\n|x|\u2028\x0b",  # ends of lines
        "\ud800 \x00 \uffff \x1b[2J \u202e",  # what no file can say
    ]
)


def worded(value, more):
    """The same value, with more text at the end of every text in it, names of fields included."""
    if isinstance(value, str):
        return value + more
    if isinstance(value, dict):
        return {worded(k, more): worded(v, more) for k, v in value.items()}
    return [worded(v, more) for v in value] if isinstance(value, (list, tuple)) else value


def of_a_stranger(results, more):
    """The same results with more text wherever a store holds any."""

    def run(known):
        method, options, case, seed = known
        told = json.dumps(worded(json.loads(options), more), separators=(",", ":"))
        return Run(method + more, told, case._replace(problem=case.problem + more, instance=case.instance + more), seed)

    def plan(known):
        texts, shown = (
            {f.name: worded(getattr(record, f.name), more) for f in fields(record) if f.name not in KEPT}
            for record in (known, known.report)
        )
        contenders = [
            Contender(c.label + more, c.method + more, worded(c.options, more), c.most) for c in known.contenders
        ]
        report = replace(known.report, **shown | {"notes": ("note" + more,)})
        return replace(known, **texts | {"contenders": tuple(contenders), "report": report})

    return StoreContents(
        results.meco,
        {run(name): replace(record, notes=record.notes + more) for name, record in results.runs.items()},
        {run(name): reason + more for name, reason in results.failures.items()},
        [plan(experiment) for experiment in results.experiments],
        {
            name + more: {k: v if k in ("started",) else worded(v, more) for k, v in facts.items()}
            for name, facts in results.sessions.items()
        },
    )


def reported(folder, capsys, *words):
    assert main(["report", str(folder), *words]) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    return Skeleton((folder / "report.html").read_text(encoding="utf-8")), out


def write_store(results, place, more, packed):
    """The same results with more text wherever there is any, as a folder holds them."""
    results = of_a_stranger(results, more)
    if packed:
        write_packed(results, place / PACKED_FILE)
        return
    with ResultStore.open_campaign(place) as store:
        store.merge(results)
    with sqlite3.connect(place / STORE_FILE) as db:
        said = more.encode(errors="replace").decode()
        db.execute("UPDATE meta SET value = value || ? WHERE name = 'meco'", (said,))
    db.close()


@pytest.fixture(scope="module")
def plain(folder, tmp_path_factory):
    """Elements of the page of a store with harmless texts, which has the same ones when it is packed."""
    place = tmp_path_factory.mktemp("plain")
    write_store(read_results(folder), place, SENTENCE, packed=True)
    return Skeleton(write_campaign_report(place, page_only=True).page.read_text(encoding="utf-8")).parts


@pytest.mark.parametrize("packed", [True, False])
def test_a_page_of_hostile_texts_has_the_elements_of_any_other(folder, plain, tmp_path, capsys, packed):
    write_store(read_results(folder), tmp_path, HOSTILE, packed)
    hostile, said = reported(tmp_path, capsys, *([] if packed else ["--page-only"]))  # files are made of one of them
    assert hostile.parts == plain
    assert ("script",) in plain
    assert not set(said) & set("\x00\x1b\r\x0b\u2028\u202e")
    for drawing in (tmp_path / "figures").glob("*.svg"):
        ElementTree.parse(drawing)
    for table in (tmp_path / "tables").glob("*.tex"):
        comment, *rest = table.read_bytes().decode().splitlines()  # at every character that ends a line somewhere
        assert comment.startswith("% ")
        assert "\\input" not in "".join(rest)


def test_a_session_that_says_little_has_its_row(folder, tmp_path, capsys):
    write_packed(replace(read_results(folder), sessions={"a": {}, "b": {"started": None}}), tmp_path / PACKED_FILE)
    assert "0 (?)" in reported(tmp_path, capsys, "--page-only")[0].text
