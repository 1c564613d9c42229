"""Screenshots of the pages as people meet them, for the docs: python -m tools.screenshots, after `make docs`."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import meco
from meco.commands.watch import make_server
from tools.browser import Browser
from tools.gallery import vessel

ROOT = Path(__file__).parent.parent
SCREENS = ROOT / "docs" / "images" / "screens"
WIDE, HIGH = 1000, 720
PAGES = {  # of the site: name of the picture, page, whether on a phone in the dark
    "home": ("index.html", False),
    "first-problem": ("tutorials/first-problem/index.html", False),
    "methods": ("methods/index.html", False),
    "reference": ("reference/index.html", False),
    "gallery-phone": ("gallery/index.html", True),
}


def capture_watch(browser: Browser, picture: Path) -> None:
    """A run in the watching page."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "vessel"
        bounds = [(0.1, 10), (0.1, 10), (10, 100), (10, 240)]
        meco.minimize(vessel, bounds, x0=[1.0, 0.5, 90.0, 200.0], budget=200, seed=1, checkpoint=run)
        browser.size(WIDE, 900)
        with make_server(run) as made:
            threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}).start()
            try:
                browser.open(f"http://127.0.0.1:{made.server_address[1]}/")
                browser.wait("document.querySelector('#best')")
                browser.picture(picture)
            finally:
                made.shutdown()


def capture_page(browser: Browser, address: str, picture: Path, phone: bool = False) -> None:
    """A page in its first window."""
    browser.size(390 if phone else WIDE, HIGH, dark=phone)
    browser.open(address)
    browser.wait("[...document.images].every(image => image.complete)")
    browser.picture(picture)


def main(site: Path = ROOT / "site", folder: Path = SCREENS) -> list[Path]:
    """Take all of them; the pictures that were made."""
    folder.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        capture_watch(browser, folder / "watch.png")
        capture_page(browser, (site / "report.html").as_uri(), folder / "report.png")
        for name, (page, phone) in PAGES.items():
            capture_page(browser, (site / page).as_uri(), folder / f"{name}.png", phone)
    return sorted(folder.glob("*.png"))


if __name__ == "__main__":
    for made in main():
        print(made.relative_to(ROOT), made.stat().st_size // 1024, "kB")
