"""Screenshots of the pages as people meet them, for the docs: python -m tools.screenshots, after `make docs`."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import meco
from meco.cli import main as run_command
from tools.browser import Browser
from tools.gallery import vessel

ROOT = Path(__file__).parent.parent
SCREENS = ROOT / "docs" / "images" / "screens"
WIDE, HIGH = 1000, 720
VESSEL_BOUNDS = {
    "shell": (0.1, 10, "in"),
    "head": (0.1, 10, "in"),
    "radius": (10, 100, "in"),
    "length": (10, 240, "in"),
}
START = {"shell": 1.0, "head": 0.5, "radius": 90.0, "length": 200.0}
PAGES = {  # of the site: name of the picture, page, whether on a phone in the dark
    "home": ("index.html", False),
    "first-problem": ("tutorials/first-problem/index.html", False),
    "methods": ("methods/index.html", False),
    "reference": ("reference/index.html", False),
    "gallery-phone": ("gallery/index.html", True),
}


def named_vessel(x: dict[str, float]) -> Any:
    """The pressure vessel of the first tutorial, with names."""
    return vessel(np.array(list(x.values())))


def capture_run_page(browser: Browser, picture: Path) -> None:
    """The page that a result writes of itself."""
    with tempfile.TemporaryDirectory() as folder:
        result = meco.minimize(named_vessel, VESSEL_BOUNDS, budget=200, seed=1)
        page = result.report(Path(folder) / "run.html", "Pressure vessel", "A. Engineer", "750 cubic feet, steel.")
        capture_page(browser, page.as_uri(), picture)


def capture_bench(browser: Browser, picture: Path) -> None:
    """The page of `meco bench` on one problem of one's own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vessel.py"
        code = (ROOT / "docs" / "tutorials" / "first-problem.md").read_text(encoding="utf-8")
        file.write_text(re.findall(r"```python\n(.*?)```", code, flags=re.DOTALL)[0], encoding="utf-8")
        words = ["--methods", "TR", "MA-ES", "COBYQA", "--runs", "5", "--budget", "200", "--workers", "1"]
        if run_command(["bench", "--problem", f"{file}:vessel", *words, "--out", folder + "/out"]):
            raise RuntimeError("the bench did not end well")
        capture_page(browser, (Path(folder) / "out" / "report.html").as_uri(), picture)


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
        capture_page(browser, (site / "report.html").as_uri(), folder / "report.png")
        capture_run_page(browser, folder / "run-page.png")
        capture_bench(browser, folder / "bench.png")
    for name, (page, phone) in PAGES.items():
        with Browser() as browser:  # a new one: pages remember whether they were light or dark
            capture_page(browser, (site / page).as_uri(), folder / f"{name}.png", phone)
    return sorted(folder.glob("*.png"))


if __name__ == "__main__":
    for made in main():
        print(made.relative_to(ROOT), made.stat().st_size // 1024, "kB")
