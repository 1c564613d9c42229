"""The page of a report: one file that fetches nothing, and works in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from meco.bench.report.campaign_report import write_campaign_report
from meco.figures.figure import COLOURS

pytest.importorskip("scipy")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def test_the_page_is_one_file_that_fetches_nothing(report):
    text = report.page.read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    assert "@import" not in text
    assert "url(http" not in text
    assert "A small &lt;experiment&gt;" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    targets = set(re.findall(r'href="#([^"]+)"', text))
    assert targets <= set(ids)


def test_every_picture_has_an_accessible_name_that_tells_its_figure(report):
    text = report.page.read_text(encoding="utf-8")
    names = re.findall(r'<title id="small-[^"]+">([^<]+)</title>', text)
    assert "Normalised convergence: f+ν" in names
    assert len(names) == len(set(names))


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2: (lighter + 0.05) / (darker + 0.05)."""
    parts = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in (one, other)])
    light = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    return float((light.max() + 0.05) / (light.min() + 0.05))


def test_every_series_colour_can_be_read_as_text_in_light_and_dark():
    blocks = re.findall(r"\{([^{}]*--s0: [^{}]*)\}", COLOURS)
    themes = [dict(re.findall(r"--(\w+): (#\w+)", block)) for block in blocks]
    assert len(themes) == 4  # light, dark twice, print
    for theme in themes:
        paper = theme["paper"] if len(theme["paper"]) == 7 else "#ffffff"
        assert min(contrast(theme[f"s{k}"], paper) for k in range(8)) >= 4.5


def test_the_page_says_what_was_run(report):
    text = html.unescape(report.page.read_text(encoding="utf-8"))
    for word in ("seeds from 1", "NumPy", "cores", "Missing or incomplete", "nobody", "seconds a run"):
        assert word in text


def test_a_report_written_twice_is_the_same_but_for_its_date(report, folder):
    first = report.page.read_text(encoding="utf-8")
    second = write_campaign_report(folder, page_only=True).page.read_text(encoding="utf-8")
    date = re.compile(r"page of [\d :-]+ UTC")
    assert date.sub("", first) == date.sub("", second)


PROBE = """
<script>
const found = {errors: window.trouble};
const table = document.querySelector("#small-ranks table");
const column = (i) => [...table.tBodies[0].rows].map((r) => r.cells[i].dataset.v);
const press = (i) => table.querySelectorAll("thead button")[i].click();
press(1); found.up = column(1).map(Number); found.sort = table.querySelectorAll("thead th")[1].ariaSort;
press(1); found.down = column(1).map(Number);
press(0); found.names = column(0);
const box = document.querySelector('#small-score input[data-hide="no-paper"]');
const line = document.querySelector("#small-score .paper");
found.before = getComputedStyle(line).display; box.click(); found.after = getComputedStyle(line).display;
const key = document.querySelector("#small-progress .legend button");
key.click(); found.pressed = key.getAttribute("aria-pressed");
found.lit = document.querySelectorAll("#small-progress .lit").length;
const back = getComputedStyle(document.body).backgroundColor;
document.getElementById("theme").click(); found.theme = [back, getComputedStyle(document.body).backgroundColor];
found.overflow = document.documentElement.scrollWidth - innerWidth;
document.documentElement.setAttribute("data-found", JSON.stringify(found));
</script>
"""


@pytest.fixture(scope="module")
def browser(report, tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("NO BROWSER: the page was NOT tried in one (Debian package: chromium)")
    profile = tmp_path_factory.mktemp("chromium")

    def look(text: str, *options: str) -> subprocess.CompletedProcess:
        page = profile / "page.html"
        page.write_text(text, encoding="utf-8")
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        command += [
            "--enable-logging=stderr",
            "--virtual-time-budget=4000",
            "--hide-scrollbars",
            *options,
            page.as_uri(),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return look


@pytest.mark.docs
@pytest.mark.parametrize("size", ["1400,900", "500,900"])
def test_in_a_browser_tables_sort_switches_switch_and_nothing_complains(report, browser, size):
    text = report.page.read_text(encoding="utf-8")
    early = "<script>window.trouble = []; addEventListener('error', (e) => trouble.push(e.message));</script>"
    text = text.replace("<head>", "<head>" + early).replace("</body>", PROBE + "</body>")
    done = browser(text, "--dump-dom", f"--window-size={size}")
    said = re.search(r'data-found="([^"]*)"', done.stdout)
    assert said, done.stderr
    found = json.loads(html.unescape(said[1]))
    assert found["errors"] == []
    assert "CONSOLE" not in done.stderr
    assert found["up"] == sorted(found["up"])
    assert found["down"] == sorted(found["up"], reverse=True)
    assert found["sort"] == "ascending"
    assert found["names"] == sorted(found["names"])
    assert (found["before"], found["after"]) == ("block", "none")
    assert found["pressed"] == "true"
    assert found["lit"] == 2
    assert found["theme"][0] != found["theme"][1]
    assert found["overflow"] <= 0  # no sideways scrolling of the whole page, on a phone neither


@pytest.mark.docs
def test_a_screenshot_of_the_page_is_not_blank(report, browser, tmp_path):
    shot = tmp_path / "page.png"
    browser(report.page.read_text(encoding="utf-8"), f"--screenshot={shot}", "--window-size=1200,1600")
    image = pytest.importorskip("matplotlib.image").imread(shot)
    assert image.shape[:2] == (1600, 1200)
    assert np.std(image[..., :3]) > 0.03
