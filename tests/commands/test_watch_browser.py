"""meco watch in a real browser: live updates, a quiet console, a phone, the dark, and the keyboard."""

import re
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

import meco
from meco.cli import main
from meco.commands.watch import make_server

browsing = pytest.importorskip("tools.browser", reason="only a checkout has the tools")
pytestmark = [
    pytest.mark.docs,
    pytest.mark.skipif(browsing.find_browser() is None, reason="NO BROWSER: install chromium to look at the pages"),
]


def beam(x):
    if x[2] > 2:
        raise RuntimeError("no <mesh>")
    return x @ x, {"reach <b>": 2.0 - x[0] - x[1]}, {"level": x[2] - 0.5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "run"
    meco.minimize(beam, [(-5, 5)] * 3, budget=90, seed=1, checkpoint=path)
    return path


@pytest.fixture(scope="module", autouse=True)
def window():
    """One browser for all of them."""
    with browsing.Browser() as made:
        page.browser = made
        yield


@contextmanager
def page(folder, width=1200, height=900, dark=False):
    browser = page.browser
    browser.size(width, height, dark)
    browser.errors.clear()
    with make_server(folder) as made:
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}).start()
        try:
            browser.open(f"http://127.0.0.1:{made.server_address[1]}/")
            browser.wait("document.querySelector('#failures')")
            yield browser
        finally:
            browser.open("about:blank")
            made.shutdown()


def text(browser, where):
    return browser.ask(f"document.querySelector({where!r}).innerText")


def test_a_finished_run_is_shown_without_a_complaint(folder):
    with page(folder) as browser:
        titles = browser.ask("[...document.querySelectorAll('h2')].map(h => h.textContent)")
        assert titles[:2] == ["Best feasible f", "Least violation"]
        assert {"Theta, the violation that a step may leave", "Radius of the trust region"} <= set(titles)
        assert "reach <b>" in text(browser, "#constraints")
        assert "no <mesh>" in text(browser, "#failures")
        drawn = browser.ask("document.querySelectorAll('#points path.good, #points path.bad').length")
        assert drawn == browser.ask("document.querySelectorAll('#best tbody tr').length") > 1
        assert "NaN" not in browser.ask("document.body.innerHTML")
        assert browser.errors == []


def test_a_phone_has_no_sideways_scrolling(folder):
    with page(folder, width=390, height=844) as browser:
        assert browser.ask("document.documentElement.scrollWidth") == 390


def test_the_constraints_fit_a_phone(tmp_path):
    def spring(x):
        return float(x @ x), {"shear stress": 1.0 - 7e3 * x[0], "free length": -1.23456e-9 - x[1] ** 2}

    meco.minimize(spring, [(-5, 5)] * 2, budget=30, seed=1, checkpoint=tmp_path / "run")
    with page(tmp_path / "run", width=360) as browser:
        table = "document.querySelector('#constraints .scroll')"
        assert browser.ask(f"{table}.scrollWidth <= {table}.clientWidth")


def test_the_dark_is_dark_and_readable(folder):
    def brightness(browser, which):
        colour = browser.ask(f"getComputedStyle(document.body).{which}")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 765

    with page(folder, dark=True) as browser:
        assert brightness(browser, "backgroundColor") < 0.2
        assert brightness(browser, "color") > 0.8
    with page(folder) as browser:
        assert brightness(browser, "backgroundColor") > 0.8


def test_pointing_and_arrow_keys_read_the_curves(folder):
    with page(folder) as browser:
        first = "document.querySelector('#f .chart')"
        browser.press("Tab")
        assert browser.ask(f"document.activeElement === {first}")
        last = text(browser, "#f output")
        browser.press("Home")
        assert text(browser, "#f output") != last
        assert browser.ask("document.querySelector('#f .cursor').getAttribute('d')") != ""
        browser.press("Escape")
        assert text(browser, "#f output") == last
        box = browser.ask(f"(b => [b.left, b.top, b.width, b.height])({first}.getBoundingClientRect())")
        browser.point(box[0] + 0.3 * box[2], box[1] + 0.5 * box[3])
        browser.wait(f"document.querySelector('#f output').innerText !== {last!r}")


@contextmanager
def ending(go_on, run):
    """However a test ends, its run does too."""
    try:
        yield
    finally:
        go_on.set()
        run.join()


def test_new_evaluations_arrive_and_the_focus_stays(tmp_path):
    go_on, seen = threading.Event(), threading.Event()

    def slow(x):
        if slow.count >= 30:
            seen.set()
            go_on.wait(60)
        slow.count += 1
        return x @ x, [1.0 - x[0]]

    slow.count = 0
    run = threading.Thread(
        target=lambda: meco.minimize(slow, [(-5, 5)] * 2, budget=60, seed=1, checkpoint=tmp_path / "r")
    )
    run.start()
    assert seen.wait(60)
    with ending(go_on, run), page(tmp_path / "r") as browser:
        browser.wait("document.querySelector('#headline').innerText.endsWith('of 60 evaluations')")
        browser.press("Tab")
        begun = int(re.search(r"(\d+) of 60", text(browser, "#headline"))[1])
        assert 0 < begun <= 31
        go_on.set()
        browser.wait("document.querySelector('#facts').innerText.includes('ended')")
        assert browser.ask("document.title").startswith("60/60")
        assert browser.ask("document.activeElement === document.querySelector('#f .chart')")
        assert browser.errors == []


def test_a_page_whose_server_has_gone_says_so(folder):
    command = [sys.executable, "-m", "meco", "watch", str(folder)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    address = re.search(r"http://\S+/", started.stdout.readline())[0]
    browser = page.browser
    browser.open(address)
    browser.wait("document.querySelector('#failures')")
    started.terminate()
    assert started.wait(timeout=20) == 0
    started.stdout.close()
    browser.wait("document.querySelector('#facts').innerText.includes('has stopped')")
    assert text(browser, "#title").startswith("beam")


@pytest.mark.parametrize("width", [1200, 390])
def test_a_campaign_is_shown_without_a_complaint(tmp_path, width):
    given = "--problem sphere C01 --methods SHADE MA-ES --runs 2 --budget 120 --quiet --no-report"
    assert main(["bench", *given.split(), "--executor", "serial", "--out", str(tmp_path / "c")]) == 0
    with page(tmp_path / "c", width=width) as browser:
        assert text(browser, "#headline") == "8 of 8 runs"
        assert "MA-ES" in text(browser, "#standing-0")
        assert browser.ask("document.querySelectorAll('#grid-0 .cell').length") == 4
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.errors == []


@pytest.mark.parametrize("width", [360, 500, 768, 1400])
def test_no_number_beside_an_axis_is_cut_off(folder, width):
    with page(folder, width=width) as browser:
        cut = browser.ask(
            "[...document.querySelectorAll('svg text')].filter(t => {"
            " const box = t.getBBox(), view = t.ownerSVGElement.viewBox.baseVal;"
            " return box.width && (box.x < 0 || box.x + box.width > view.width + 0.5); }).map(t => t.textContent)"
        )
        assert cut == []


def test_the_words_of_the_method_are_behind_a_fold_and_last(folder):
    with page(folder) as browser:
        order = browser.ask("[...document.querySelector('#main').children].map(e => e.id || e.className)")
        assert order[:4] == ["f", "nu", "constraints", "failures"]
        assert order[-1] == "whole fold"
        assert not browser.ask("document.querySelector('.fold').open")
        assert browser.ask("document.querySelector('#steer-theta').closest('details') !== null")


def test_numbers_keep_their_zeros_and_their_powers(folder):
    """-4.6566e-10 is not -4.6566e-1, and 240000 is not 24."""
    shown = {-4.6566e-10: "-4.6566e-10", 240000: "240000", 100: "100", 1e20: "1e+20", 1e-10: "1e-10", 0.5: "0.5",
             12671.3: "12671.3", 5804.376217: "5804.38", 1.05: "1.05", 2e-4: "2e-4"}  # fmt: skip
    with page(folder) as browser:
        assert {value: browser.ask(f"short({value!r})") for value in shown} == shown
