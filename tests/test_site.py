"""The docs site: built without a warning, with pictures, notebooks, report and search, and looked at in a browser."""

import functools
import json
import os
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings")
browsing = pytest.importorskip("tools.browser", reason="only a checkout has the tools")
gallery = pytest.importorskip("tools.gallery")
screenshots = pytest.importorskip("tools.screenshots")
docs_build = pytest.importorskip("tools.docs_build")
needs_browser = pytest.mark.skipif(
    browsing.find_browser() is None, reason="NO BROWSER: install chromium to look at the pages"
)
pytestmark = pytest.mark.docs
ROOT = Path(__file__).parent.parent
PAGES = ("", "gallery/", "methods/", "reference/", "tutorials/first-problem/", "results/")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return out


@pytest.fixture(scope="module")
def address(site):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as made:
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}).start()
        yield f"http://127.0.0.1:{made.server_address[1]}/"
        made.shutdown()


def test_what_is_made_is_there(site):
    assert {p.name for p in (site / "made").iterdir()} == set(gallery.PICTURES)
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        assert json.loads((site / "tutorials" / f"{page.stem}.ipynb").read_text())["nbformat"] == 4
    assert (site / "report.html").read_bytes() == (ROOT / "results" / "report.html").read_bytes()
    words = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert any("trust region" in entry["text"] for entry in words)


def test_a_page_that_is_gone_leads_to_one_that_is_there(site):
    for name, place in docs_build.REDIRECTS.items():
        page, _, anchor = place.partition("#")
        up = "../" * (1 + name.count("/"))
        assert f'content="0; url={up}{place}"' in (site / name / "index.html").read_text()
        target = (site / page / "index.html").read_text()
        assert not anchor or f'id="{anchor}"' in target


def test_every_picture_of_the_gallery_is_on_its_page(site):
    page = (site / "gallery" / "index.html").read_text()
    assert not [name for name in gallery.PICTURES if f"made/{name}" not in page]


def test_parameters_are_a_table(site):
    page = (site / "reference" / "index.html").read_text()
    start = page.index('id="meco._minimize.minimize"')
    assert "<table>" in page[start : page.index("checkpoint</code>", start)]


@pytest.fixture(scope="module")
def browser():
    with browsing.Browser() as made:
        yield made


@needs_browser
@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_without_a_complaint_on_a_desk_and_on_a_phone(address, browser, page):
    browser.size(1400, 900)
    browser.open(address + page)
    browser.wait("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    browser.size(390, 844)
    browser.wait("document.documentElement.scrollWidth === 390")
    assert browser.errors == []


@needs_browser
def test_the_search_finds_what_is_written(address, browser):
    browser.size(1400, 900)
    browser.open(address)
    browser.ask("document.querySelector('.md-search__input').focus()")
    browser.call("Input.insertText", text="asynchronous")
    browser.wait("document.querySelectorAll('.md-search-result__item').length > 0")


@needs_browser
def test_screenshots_show_something(site, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    made = screenshots.main(site, tmp_path)
    kept = {p.name: p.stat().st_size for p in screenshots.SCREENS.glob("*.png")}
    assert {p.name for p in made} == set(kept)
    assert max(kept.values()) < 300_000
    for path in made:
        assert image.imread(path)[..., :3].std() > 0.03, path.name
