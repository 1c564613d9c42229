"""Whatever text a run folder holds, its page and what is told of it to a browser are the same with other words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import meco
from meco.cli import main
from meco.files.names import escape_for_terminal
from page_skeleton import Skeleton

HOSTILE = [
    "\"'><script>alert(1)</script><!--</style></svg></title><img src=x onerror=alert(2)>&lt;",
    "\r\n\u2028\x0b|x|",
    "\ud800 \x00 \uffff \x1b[2J \u202e",
]


def run(folder, more):
    """A run whose variables, constraints, failures and notes say more."""

    def fun(x):
        if x[0] > 1.0:
            raise ValueError(f"no mesh{more}")
        return {"f": float(x @ x), "g": {f"reach{more}": 0.5 - x[0]}, "h": {f"tie{more}": x[1] - x[2]}}

    bounds = {f"a{more}": (-2.0, 2.0, f"m{more}"), "b": (-2.0, 2.0), "c": (-2.0, 2.0)}
    result = meco.minimize(
        lambda x: fun(np.array(list(x.values()))), bounds, method="SHADE", budget=80, seed=1, checkpoint=folder
    )
    told = replace(result.run, notes=(f"a note{more}",), versions={**result.run.versions, "policy": f"a name{more}"})
    return replace(result, run=told)


@pytest.mark.parametrize("more", HOSTILE)
def test_the_page_of_a_run_with_hostile_texts_has_the_elements_of_any_other(tmp_path, more):
    plain, hostile = (
        Skeleton(run(tmp_path / name, text).report(tmp_path / f"{name}.html").read_text(encoding="utf-8")).parts
        for name, text in (("plain", " and more"), ("hostile", more))
    )
    assert hostile == plain
    assert plain.count(("script",)) == 1


@pytest.mark.parametrize("more", HOSTILE)
def test_the_page_of_such_a_folder_has_the_elements_of_any_other(tmp_path, more):
    parts = []
    for name, text in (("plain", " and more"), ("hostile", more)):
        run(tmp_path / name, text)
        assert main(["report", str(tmp_path / name)]) == 0
        parts.append(Skeleton((tmp_path / name / "report.html").read_text(encoding="utf-8")).parts)
    assert parts[0] == parts[1]


def test_names_of_others_do_not_command_the_terminal(tmp_path, capsys):
    assert escape_for_terminal("a\x1b[2Jb\r\u202ec\ud800\tν – \n") == "a\\x1b[2Jb\\r\\u202ec\\ud800\tν – \n"
    assert main(["solve", "no\x1b[2Jsuch", "--quiet"]) == 2
    assert main(["policy", "show", str(tmp_path / "p\x1b[2J.npz")]) == 2
    assert "\x1b" not in capsys.readouterr().err
